//! The scripts that connections play: bytes, pauses, and ways to end.

use std::rc::Rc;

use crate::route::{Behaviour, Route};

/// One step of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Send(Rc<[u8]>),
    Pause {
        ns: u64,
    },
    /// Send these bytes over and over.
    Repeat(Rc<[u8]>),
    /// Send FIN, and read on until the client ends too ("lingering close").
    Fin,
    /// Close at once: FIN, and RST to whatever still comes.
    Close,
    /// Close with RST.
    Reset,
    /// Do nothing more, until the client leaves.
    Hang,
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
    fn step(self) -> Option<Step> {
        match self {
            Self::KeepAlive => None,
            Self::Announced => Some(Step::Fin),
            Self::Silent => Some(Step::Close),
        }
    }
}

/// Return `length` bytes of known content.
pub fn body(length: usize) -> Vec<u8> {
    const ALPHABET: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/";
    ALPHABET.iter().copied().cycle().take(length).collect()
}

/// Write the script of an answer.
pub(crate) fn script(route: &Route, manner: Manner) -> Script {
    match route.behaviour {
        Behaviour::Chunked => chunked(route, manner),
        Behaviour::Drip => drip(route, manner),
        behaviour => {
            let whole = Whole::of(route, manner);
            fault(behaviour, &whole).unwrap_or_else(|| whole.played(manner))
        }
    }
    .into()
}

/// An answer to a control request.
pub(crate) fn control(status: &str, json: &str) -> Script {
    let bytes = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{json}",
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
struct Whole {
    head: String,
    body: Vec<u8>,
}

impl Whole {
    fn of(route: &Route, manner: Manner) -> Self {
        use Behaviour::{Close, Continue, EarlyHints, Http10, LongLength, UntilClose};
        let status = route.status;
        let has_body = status != 204 && status != 304;
        let length = if has_body { route.body_bytes } else { 0 };
        let interim = match route.behaviour {
            Continue => "HTTP/1.1 100 Continue\r\n\r\n",
            EarlyHints => "HTTP/1.1 103 Early Hints\r\nLink: </s.css>; rel=preload\r\n\r\n",
            _ => "",
        };
        let version = if route.behaviour == Http10 { "1.0" } else { "1.1" };
        let content_length = match route.behaviour {
            UntilClose => String::new(),
            LongLength => format!("Content-Length: {}\r\n", length + 10),
            _ if status == 204 => String::new(),
            // A 304 may tell the length of what it does not send: a trap for careless readers.
            _ if status == 304 => format!("Content-Length: {}\r\n", route.body_bytes),
            _ => format!("Content-Length: {length}\r\n"),
        };
        let announces = route.behaviour == Close || manner.ending == Ending::Announced;
        let close = if announces { "Connection: close\r\n" } else { "" };
        let head = format!(
            "{interim}HTTP/{version} {status} {}\r\nContent-Type: text/plain\r\n\
             {content_length}{close}\r\n",
            reason(status)
        );
        Self { head, body: body(if manner.is_head { 0 } else { length }) }
    }

    fn bytes(&self) -> Vec<u8> {
        [self.head.as_bytes(), &self.body].concat()
    }

    /// Everything up to the middle of the body.
    fn until_half_body(&self) -> Vec<u8> {
        [self.head.as_bytes(), &self.body[..self.body.len() / 2]].concat()
    }

    /// Everything up to the middle of a header field, status line included.
    fn until_half_head(&self) -> Vec<u8> {
        let status_line = self.head.find("\r\n").unwrap_or(0) + 2;
        self.head.as_bytes()[..status_line + 10].to_vec()
    }

    /// The answer as it should be.
    fn played(&self, manner: Manner) -> Vec<Step> {
        let mut steps = vec![send(self.bytes())];
        steps.extend(manner.ending.step());
        steps
    }
}

/// Whatever is not a plain answer that follows the manner.
fn fault(behaviour: Behaviour, whole: &Whole) -> Option<Vec<Step>> {
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    Some(match behaviour {
        Behaviour::UntilClose
        | Behaviour::Http10
        | Behaviour::Close
        | Behaviour::LongLength
        | Behaviour::SilentLinger => vec![send(whole.bytes()), Step::Fin],
        Behaviour::SilentClose => vec![send(whole.bytes()), Step::Close],
        Behaviour::ResetBefore => vec![Step::Reset],
        Behaviour::ResetInHeaders => vec![send(whole.until_half_head()), Step::Reset],
        Behaviour::ResetInBody => vec![send(whole.until_half_body()), Step::Reset],
        Behaviour::ResetAfter => vec![send(whole.bytes()), Step::Reset],
        Behaviour::FinBefore => vec![Step::Fin],
        Behaviour::FinInHeaders => vec![send(whole.until_half_head()), Step::Fin],
        Behaviour::ShortBody => vec![send(whole.until_half_body()), Step::Fin],
        Behaviour::BadChunk => {
            vec![send(format!("{CHUNKED}5\r\n01234\r\nxyz\r\n01234\r\n0\r\n\r\n"))]
        }
        Behaviour::UnendedChunks => vec![send(format!("{CHUNKED}5\r\n01234\r\n")), Step::Fin],
        Behaviour::Garbage => vec![send("this is not HTTP\r\n\r\nat all\r\n\r\n")],
        Behaviour::EndlessHeaders => {
            let field = "X-Filler: 0123456789abcdefghijklmnopqrstuvwxyz0123456789\r\n";
            vec![send("HTTP/1.1 200 OK\r\n"), Step::Repeat(field.repeat(64).into_bytes().into())]
        }
        Behaviour::Never => vec![Step::Hang],
        Behaviour::ExtraBytes => vec![send([whole.bytes(), b"extra bytes".to_vec()].concat())],
        _ => return None,
    })
}

fn chunked(route: &Route, manner: Manner) -> Vec<Step> {
    let close = if manner.ending == Ending::Announced { "Connection: close\r\n" } else { "" };
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
    for piece in whole.body.chunks(route.piece_bytes) {
        steps.push(Step::Pause { ns: route.interval.as_nanos() as u64 });
        steps.push(send(piece));
    }
    steps.extend(manner.ending.step());
    steps
}

fn send(bytes: impl AsRef<[u8]>) -> Step {
    Step::Send(bytes.as_ref().into())
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
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        // The phrase may be empty, the blank before it may not be left out.
        _ => "",
    }
}
