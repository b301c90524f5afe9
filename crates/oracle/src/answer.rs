//! The scripts that connections play: bytes, pauses, and ways to end.

use std::rc::Rc;
use std::sync::LazyLock;

use crate::behaviour::Behaviour;
use crate::fault;
use crate::route::Route;

/// One step of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Send(Source),
    /// Send it in pieces, each after a pause.
    Drip {
        source: Source,
        piece_bytes: usize,
        every_ns: u64,
    },
    /// Send these bytes over and over.
    Repeat {
        bytes: Rc<[u8]>,
        every_ns: u64,
    },
    /// Wait until the client has sent FIN.
    AwaitEnd,
    /// Send FIN, and read on until the client ends too ("lingering close").
    Fin,
    /// The same without the `close_notify` of TLS.
    Cut,
    /// Close at once: FIN, and RST to whatever still comes.
    Close,
    /// Close with RST.
    Reset,
    /// Do nothing more, until the client leaves.
    Hang,
}

/// Where bytes come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    These(Rc<[u8]>),
    /// So many of [`body`].
    Body(usize),
}

impl Source {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::These(bytes) => bytes.len(),
            Self::Body(length) => *length,
        }
    }

    /// Some of the bytes in this range: as many as lie together in memory.
    pub(crate) fn some(&self, from: usize, until: usize) -> &[u8] {
        match self {
            Self::These(bytes) => &bytes[from..until],
            Self::Body(_) => {
                let start = from % CONTENT_BYTES;
                &CONTENT[start..CONTENT_BYTES.min(start + until - from)]
            }
        }
    }
}

/// A script: what falls off its end goes on to the next request.
pub(crate) type Script = Rc<[Step]>;

/// What the request and the server's state add to the route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Manner {
    pub(crate) is_head: bool,
    pub(crate) ending: Ending,
}

/// What becomes of the connection after a whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    KeepAlive,
    /// `Connection: close`, then FIN.
    Announced,
    /// Closed without a word.
    Silent,
}

impl Ending {
    pub(crate) fn step(self) -> Option<Step> {
        match self {
            Self::KeepAlive => None,
            Self::Announced => Some(Step::Fin),
            Self::Silent => Some(Step::Close),
        }
    }

    /// The header field that announces it, or nothing.
    pub(crate) fn field(self) -> &'static str {
        if self == Self::Announced { "Connection: close\r\n" } else { "" }
    }
}

const ALPHABET: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/";
/// A multiple of the alphabet's length, and enough for one write.
const CONTENT_BYTES: usize = 256 << 10;
static CONTENT: LazyLock<Vec<u8>> = LazyLock::new(|| body(CONTENT_BYTES));
/// A body no longer than this goes out with its header, in one write.
const ONE_WRITE_BYTES: usize = 64 << 10;

/// Return `length` bytes of known content.
pub fn body(length: usize) -> Vec<u8> {
    let mut bytes = ALPHABET.repeat(length.div_ceil(ALPHABET.len()));
    bytes.truncate(length);
    bytes
}

/// Write the script of an answer.
pub(crate) fn script(route: &Route, manner: Manner) -> Script {
    match route.behaviour {
        Behaviour::Chunked => chunked(route, manner),
        Behaviour::Drip => drip(route, manner),
        _ => {
            let whole = Whole::of(route, manner);
            fault::steps(route, &whole, manner).unwrap_or_else(|| whole.played(manner))
        }
    }
    .into()
}

/// An answer whose body is this.
pub(crate) fn echo(content: &[u8], manner: Manner) -> Script {
    let mut bytes = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: message/http\r\nContent-Length: {}\r\n{}\r\n",
        content.len(),
        manner.ending.field()
    )
    .into_bytes();
    if !manner.is_head {
        bytes.extend(content);
    }
    [Some(send(bytes)), manner.ending.step()].into_iter().flatten().collect()
}

/// An answer to a control request.
pub(crate) fn control(json: &str) -> Script {
    let bytes = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{json}",
        json.len()
    );
    Rc::new([send(bytes)])
}

/// The refusal of a request that makes no sense; the connection ends with it.
pub(crate) fn bad_request(reason: &str) -> Script {
    let bytes = format!(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{reason}",
        reason.len()
    );
    Rc::new([send(bytes), Step::Fin])
}

/// An answer with Content-Length (or none), before anything is done to it.
pub(crate) struct Whole {
    pub(crate) head: String,
    /// Bytes of the body that follow.
    pub(crate) length: usize,
}

impl Whole {
    pub(crate) fn of(route: &Route, manner: Manner) -> Self {
        use Behaviour::{Close, Continue, CutUntilClose, Early413, Early413Reset};
        use Behaviour::{EarlyHints, Http10, LongLength, UntilClose};
        let status =
            if matches!(route.behaviour, Early413 | Early413Reset) { 413 } else { route.status };
        let has_body = status != 204 && status != 304;
        let length = if has_body { route.body_bytes } else { 0 };
        let interim = match route.behaviour {
            Continue => "HTTP/1.1 100 Continue\r\n\r\n",
            EarlyHints => "HTTP/1.1 103 Early Hints\r\nLink: </s.css>; rel=preload\r\n\r\n",
            _ => "",
        };
        let version = if route.behaviour == Http10 { "1.0" } else { "1.1" };
        let content_length = match route.behaviour {
            UntilClose | CutUntilClose => String::new(),
            LongLength => format!("Content-Length: {}\r\n", length + 10),
            _ if status == 204 => String::new(),
            // A 304 may tell the length of what it does not send: a trap for careless readers.
            _ if status == 304 => format!("Content-Length: {}\r\n", route.body_bytes),
            _ => format!("Content-Length: {length}\r\n"),
        };
        let announces = matches!(route.behaviour, Close | Early413 | Early413Reset);
        let ending = if announces { Ending::Announced } else { manner.ending };
        let (close, fields) = (ending.field(), &route.fields);
        let head = format!(
            "{interim}HTTP/{version} {status} {}\r\nContent-Type: text/plain\r\n\
             {content_length}{fields}{close}\r\n",
            reason(status)
        );
        Self { head, length: if manner.is_head { 0 } else { length } }
    }

    /// All of it.
    pub(crate) fn sent(&self) -> Vec<Step> {
        content(self.head.as_bytes(), self.length)
    }

    /// The answer as it should be.
    fn played(&self, manner: Manner) -> Vec<Step> {
        let mut steps = self.sent();
        steps.extend(manner.ending.step());
        steps
    }
}

/// Send a header and so many bytes of a body: in one write if they are few.
pub(crate) fn content(head: &[u8], length: usize) -> Vec<Step> {
    if length <= ONE_WRITE_BYTES {
        return vec![send([head, &body(length)].concat())];
    }
    vec![send(head), Step::Send(Source::Body(length))]
}

fn chunked(route: &Route, manner: Manner) -> Vec<Step> {
    let close = manner.ending.field();
    let mut bytes =
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{close}\r\n").into_bytes();
    if !manner.is_head {
        for chunk in body(route.body_bytes).chunks(route.piece_bytes) {
            bytes.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
            bytes.extend(chunk);
            bytes.extend(b"\r\n");
        }
        bytes.extend(b"0\r\n\r\n");
    }
    let mut steps = vec![send(bytes)];
    steps.extend(manner.ending.step());
    steps
}

fn drip(route: &Route, manner: Manner) -> Vec<Step> {
    let whole = Whole::of(route, manner);
    let mut steps = vec![send(whole.head.as_str())];
    if whole.length > 0 {
        steps.push(Step::Drip {
            source: Source::Body(whole.length),
            piece_bytes: route.piece_bytes,
            every_ns: route.interval.as_nanos() as u64,
        });
    }
    steps.extend(manner.ending.step());
    steps
}

pub(crate) fn send(bytes: impl AsRef<[u8]>) -> Step {
    Step::Send(Source::These(bytes.as_ref().into()))
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        403 => "Forbidden",
        404 => "Not Found",
        413 => "Content Too Large",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        // The phrase may be empty, the blank before it may not be left out.
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_body_is_the_known_content_over_its_whole_length() {
        let length = CONTENT_BYTES * 2 + 1000;
        let source = Source::Body(length);
        let mut bytes: Vec<u8> = Vec::new();
        while bytes.len() < length {
            let some = source.some(bytes.len(), length.min(bytes.len() + 100_000));
            assert!(!some.is_empty());
            bytes.extend(some);
        }
        assert!(bytes == body(length));
    }
}
