//! What a path asks for. The grammar is documented at the top of the crate.

use std::time::Duration;

use crate::Error;
use crate::behaviour::Behaviour;
use crate::cookie;
use crate::reception::Reception;
use crate::service::{Service, parse_time};

/// The longest body that a path may ask for.
const MAX_BODY_BYTES: usize = 1 << 30;
/// The longest that is chunked, because it is written whole.
const MAX_CHUNKED_BODY_BYTES: usize = 64 << 20;
/// From piece to piece, where a path says nothing of it.
const DRIP_INTERVAL: Duration = Duration::from_millis(10);

/// What the server itself is asked for, under `/oracle/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Control {
    Log {
        since_ns: u64,
    },
    Stats,
    Connections,
    Sessions,
    Requests,
    Stall(Duration),
    Hold(Duration),
    StallAccept(Duration),
    /// Receive so many connections so, or all of them.
    Receive(Reception, Option<u32>),
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
    /// Header fields that the answer has besides the usual ones, each with its CRLF.
    pub(crate) fields: String,
    /// Whether an echo leaves the request's header out.
    pub(crate) echoes_body_alone: bool,
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
            interval: DRIP_INTERVAL,
            fields: String::new(),
            echoes_body_alone: false,
        };
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        route.read_path(&parts, query).ok_or_else(wrong)?;
        for (key, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            match key {
                "service" => route.service = Service::parse(value)?,
                "length" => route.body_bytes = bytes(value).ok_or_else(wrong)?,
                "interval" => route.interval = parse_time(value).ok_or_else(wrong)?,
                _ => {}
            }
        }
        if route.behaviour == Behaviour::Chunked && route.body_bytes > MAX_CHUNKED_BODY_BYTES {
            return Err(wrong());
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
            ["echo"] => self.behaviour = Behaviour::Echo,
            ["echo", "body"] => {
                self.behaviour = Behaviour::Echo;
                self.echoes_body_alone = true;
            }
            ["session"] => self.behaviour = Behaviour::Session,
            ["cookies", what, ref rest @ ..] => {
                self.behaviour = Behaviour::Cookies;
                self.fields = cookie::fields(what, rest, query)?;
            }
            ["fault", name] => {
                self.behaviour = Behaviour::named(name).filter(|fault| fault.is_fault())?;
            }
            ["oracle", ref rest @ ..] => self.control = Some(Control::parse(rest, query)?),
            [
                "bytes" | "chunked" | "until-close" | "status" | "continue" | "early-hints"
                | "http10" | "close" | "drip" | "echo" | "session" | "cookies" | "fault",
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
            ["connections"] => Some(Self::Connections),
            ["sessions"] => Some(Self::Sessions),
            ["requests"] => Some(Self::Requests),
            ["stall", time] => Some(Self::Stall(parse_time(time)?)),
            ["hold", time] => Some(Self::Hold(parse_time(time)?)),
            ["stall-accept", time] => Some(Self::StallAccept(parse_time(time)?)),
            ["receive", name] => Some(Self::Receive(Reception::named(name)?, None)),
            ["receive", name, count] => {
                Some(Self::Receive(Reception::named(name)?, Some(count.parse().ok()?)))
            }
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
            "/chunked/10/1?length=1000000000",
            "/bytes/99999999999",
            "/drip/10",
            "/oracle/nothing",
            "/?length=-1",
            "/session/x",
            "/cookies/set/a",
            "/cookies/delete/a;b",
            "/oracle/receive/nobody",
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
    fn faults_stand_under_their_names_and_nothing_else_does() {
        for behaviour in Behaviour::ALL {
            let target = format!("/fault/{}", behaviour.name());
            let route = Route::parse(&target, DEFAULTS);
            assert_eq!(route.is_ok(), behaviour.is_fault(), "{target}");
            assert!(route.is_err() || route.unwrap().behaviour == behaviour);
        }
    }
}
