//! What a path asks for. The grammar is documented at the top of the crate.

use std::time::Duration;

use crate::Error;
use crate::service::{Service, parse_time};

macro_rules! behaviours {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)+) => {
        /// What a request made the server do.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Behaviour {
            $($(#[$doc])* $variant,)+
        }

        impl Behaviour {
            /// All of them.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The name in paths, logs and counts.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

behaviours! {
    /// 200 with Content-Length.
    Plain = "plain",
    /// 200 in chunks.
    Chunked = "chunked",
    /// 200 whose body ends with the connection.
    UntilClose = "until-close",
    /// Another status, with Content-Length where the status allows a body.
    Status = "status",
    /// 100, then 200.
    Continue = "continue",
    /// 103, then 200.
    EarlyHints = "early-hints",
    /// An HTTP/1.0 answer, then FIN.
    Http10 = "http10",
    /// 200 with `Connection: close`, then FIN.
    Close = "close",
    /// The body in small pieces, one each interval.
    Drip = "drip",
    /// RST without a byte.
    ResetBefore = "reset-before",
    /// RST amid the header.
    ResetInHeaders = "reset-in-headers",
    /// RST after half of the body.
    ResetInBody = "reset-in-body",
    /// The whole answer, then RST.
    ResetAfter = "reset-after",
    /// FIN without a byte.
    FinBefore = "fin-before",
    /// FIN amid the header.
    FinInHeaders = "fin-in-headers",
    /// FIN after half of the body.
    ShortBody = "short-body",
    /// The whole body under a Content-Length ten bytes too long, then FIN.
    LongLength = "long-length",
    /// A chunk size that is no number.
    BadChunk = "bad-chunk",
    /// Chunks, then FIN without the last one.
    UnendedChunks = "unended-chunks",
    /// No HTTP at all.
    Garbage = "garbage",
    /// Header fields for ever.
    EndlessHeaders = "endless-headers",
    /// No answer, ever.
    Never = "never",
    /// The whole answer, then bytes that belong to none.
    ExtraBytes = "extra-bytes",
    /// The whole answer, then closed without having said so: FIN, and RST to what still comes.
    SilentClose = "silent-close",
    /// The whole answer, then FIN without having said so; what still comes is thrown away.
    SilentLinger = "silent-linger",
    /// 400: the path or the request made no sense.
    BadRequest = "bad-request",
}

/// The behaviours that stand under `/fault/`.
const FAULTS: [Behaviour; 16] = [
    Behaviour::ResetBefore,
    Behaviour::ResetInHeaders,
    Behaviour::ResetInBody,
    Behaviour::ResetAfter,
    Behaviour::FinBefore,
    Behaviour::FinInHeaders,
    Behaviour::ShortBody,
    Behaviour::LongLength,
    Behaviour::BadChunk,
    Behaviour::UnendedChunks,
    Behaviour::Garbage,
    Behaviour::EndlessHeaders,
    Behaviour::Never,
    Behaviour::ExtraBytes,
    Behaviour::SilentClose,
    Behaviour::SilentLinger,
];

/// The longest body that a path may ask for.
const MAX_BODY_BYTES: usize = 64 << 20;

/// What the server itself is asked for, under `/oracle/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Control {
    Log { since_ns: u64 },
    Stats,
    Stall(Duration),
    Hold(Duration),
    StallAccept(Duration),
}

/// All that a path says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Route {
    pub(crate) behaviour: Behaviour,
    pub(crate) control: Option<Control>,
    pub(crate) service: Service,
    pub(crate) status: u16,
    pub(crate) body_bytes: usize,
    /// Bytes of a chunk or of a drip.
    pub(crate) piece_bytes: usize,
    pub(crate) interval: Duration,
}

/// What a path that says nothing of it gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Defaults {
    pub(crate) service: Service,
    pub(crate) body_bytes: usize,
}

impl Route {
    /// Parse a path with its query.
    pub(crate) fn parse(target: &str, defaults: Defaults) -> Result<Self, Error> {
        let wrong = || Error::Path(target.to_owned());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut route = Self {
            behaviour: Behaviour::Plain,
            control: None,
            service: defaults.service,
            status: 200,
            body_bytes: defaults.body_bytes,
            piece_bytes: 1,
            interval: Duration::ZERO,
        };
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        route.read_path(&parts, query).ok_or_else(wrong)?;
        for (key, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            match key {
                "service" => route.service = Service::parse(value)?,
                "length" => route.body_bytes = bytes(value).ok_or_else(wrong)?,
                _ => {}
            }
        }
        Ok(route)
    }

    /// Read the path proper; `None` when its first word is known and the rest makes no sense.
    fn read_path(&mut self, parts: &[&str], query: &str) -> Option<()> {
        match *parts {
            ["fixed" | "exp" | "lognormal" | "bimodal", ..] => {
                self.service = Service::from_parts(parts)?;
            }
            ["bytes", length] => self.body_bytes = bytes(length)?,
            ["chunked", length, piece] => {
                self.behaviour = Behaviour::Chunked;
                self.body_bytes = bytes(length)?;
                self.piece_bytes = bytes(piece).filter(|piece| *piece > 0)?;
            }
            ["until-close", length] => {
                self.behaviour = Behaviour::UntilClose;
                self.body_bytes = bytes(length)?;
            }
            ["status", code] => {
                self.behaviour = Behaviour::Status;
                self.status = code.parse().ok().filter(|code| (200..=599).contains(code))?;
            }
            ["continue"] => self.behaviour = Behaviour::Continue,
            ["early-hints"] => self.behaviour = Behaviour::EarlyHints,
            ["http10"] => self.behaviour = Behaviour::Http10,
            ["close"] => self.behaviour = Behaviour::Close,
            ["drip", length, piece, interval] => {
                self.behaviour = Behaviour::Drip;
                self.body_bytes = bytes(length)?;
                self.piece_bytes = bytes(piece).filter(|piece| *piece > 0)?;
                self.interval = parse_time(interval)?;
            }
            ["fault", name] => {
                self.behaviour = *FAULTS.iter().find(|fault| fault.name() == name)?;
            }
            ["oracle", ref rest @ ..] => self.control = Some(Control::parse(rest, query)?),
            [
                "bytes" | "chunked" | "until-close" | "status" | "continue" | "early-hints"
                | "http10" | "close" | "drip" | "fault",
                ..,
            ] => return None,
            _ => {}
        }
        Some(())
    }
}

impl Control {
    fn parse(parts: &[&str], query: &str) -> Option<Self> {
        match *parts {
            ["log"] => {
                let since = query.strip_prefix("since_ns=").unwrap_or("0");
                Some(Self::Log { since_ns: since.parse().ok()? })
            }
            ["stats"] => Some(Self::Stats),
            ["stall", time] => Some(Self::Stall(parse_time(time)?)),
            ["hold", time] => Some(Self::Hold(parse_time(time)?)),
            ["stall-accept", time] => Some(Self::StallAccept(parse_time(time)?)),
            _ => None,
        }
    }
}

fn bytes(text: &str) -> Option<usize> {
    text.parse().ok().filter(|bytes| *bytes <= MAX_BODY_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULTS: Defaults = Defaults { service: Service::IMMEDIATE, body_bytes: 12 };

    fn parsed(target: &str) -> Route {
        Route::parse(target, DEFAULTS).unwrap()
    }

    #[test]
    fn a_path_of_no_meaning_gets_the_default_answer() {
        for target in ["/", "/index.html", "/a/b?c=d", "*", "/bytesized"] {
            let route = parsed(target);
            assert_eq!((route.behaviour, route.body_bytes), (Behaviour::Plain, 12), "{target}");
        }
    }

    #[test]
    fn path_and_query_combine() {
        let route = parsed("/fault/reset-in-body?service=fixed:5ms&length=100&id=7");
        assert_eq!(route.behaviour, Behaviour::ResetInBody);
        assert_eq!(route.service, Service::Fixed(Duration::from_millis(5)));
        assert_eq!(route.body_bytes, 100);
        assert_eq!(parsed("/exp/5ms").service, Service::Exponential(Duration::from_millis(5)));
        assert_eq!(
            parsed("/oracle/stall/500ms").control,
            Some(Control::Stall(Duration::from_millis(500)))
        );
        assert_eq!(parsed("/oracle/log?since_ns=5").control, Some(Control::Log { since_ns: 5 }));
    }

    #[test]
    fn a_known_word_with_a_senseless_rest_is_refused() {
        for target in [
            "/fixed/abc",
            "/fault/unheard-of",
            "/status/100",
            "/status/abc",
            "/chunked/10/0",
            "/bytes/99999999999",
            "/drip/10",
            "/oracle/nothing",
            "/?length=-1",
        ] {
            assert_eq!(
                Route::parse(target, DEFAULTS).unwrap_err(),
                Error::Path(target.to_owned()),
                "{target}"
            );
        }
        assert!(Route::parse("/?service=soon", DEFAULTS).is_err());
    }

    #[test]
    fn behaviours_have_names_of_their_own_and_know_their_place() {
        for (index, behaviour) in Behaviour::ALL.into_iter().enumerate() {
            assert_eq!(behaviour as usize, index);
            assert_eq!(Behaviour::ALL.iter().filter(|b| b.name() == behaviour.name()).count(), 1);
        }
        for fault in FAULTS {
            assert_eq!(parsed(&format!("/fault/{}", fault.name())).behaviour, fault);
        }
    }
}
