//! The scripts of misbehaviours.

use crate::answer::{Manner, Source, Step, Whole, body, content, send};
use crate::behaviour::Behaviour;
use crate::route::Route;

/// How often an endless header sends its next piece: it must not starve the other connections.
const FLOOD_EVERY_NS: u64 = 100_000;
/// How often an endless body sends its next piece.
const ENDLESS_BODY_EVERY_NS: u64 = 1_000_000;
const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Write the script of whatever is not a plain answer that follows the manner; else `None`.
pub(crate) fn steps(route: &Route, whole: &Whole, manner: Manner) -> Option<Vec<Step>> {
    let behaviour = route.behaviour;
    ends(behaviour, whole)
        .or_else(|| slow(route, whole, manner))
        .or_else(|| not_http(behaviour, whole))
        .or_else(|| odd_header(behaviour, whole, manner))
}

/// Those that are about how a connection ends.
fn ends(behaviour: Behaviour, whole: &Whole) -> Option<Vec<Step>> {
    Some(match behaviour {
        Behaviour::UntilClose
        | Behaviour::Http10
        | Behaviour::Close
        | Behaviour::LongLength
        | Behaviour::Early413
        | Behaviour::SilentLinger => then(whole.sent(), Step::Fin),
        Behaviour::SilentClose => then(whole.sent(), Step::Close),
        Behaviour::ResetBefore | Behaviour::ResetInRequest => vec![Step::Reset],
        Behaviour::ResetInHeaders => vec![half_head(whole), Step::Reset],
        Behaviour::ResetInBody => then(half_body(whole), Step::Reset),
        Behaviour::ResetAfter | Behaviour::Early413Reset => then(whole.sent(), Step::Reset),
        Behaviour::FinBefore => vec![Step::Fin],
        Behaviour::FinInHeaders => vec![half_head(whole), Step::Fin],
        Behaviour::ShortBody => then(half_body(whole), Step::Fin),
        Behaviour::CutInBody => then(half_body(whole), Step::Cut),
        Behaviour::CutUntilClose => then(whole.sent(), Step::Cut),
        Behaviour::UnendedChunks => vec![send(format!("{CHUNKED}5\r\n01234\r\n")), Step::Fin],
        Behaviour::HalfClosed => {
            let mut steps = vec![Step::AwaitEnd];
            steps.extend(then(whole.sent(), Step::Fin));
            steps
        }
        _ => return None,
    })
}

/// Those that are late, or never at an end.
fn slow(route: &Route, whole: &Whole, manner: Manner) -> Option<Vec<Step>> {
    Some(match route.behaviour {
        Behaviour::Never => vec![Step::Hang],
        Behaviour::HangInHeaders => vec![half_head(whole), Step::Hang],
        Behaviour::HangInBody => then(half_body(whole), Step::Hang),
        Behaviour::DripHeaders => {
            let source = Source::These(whole.head.as_bytes().into());
            let every_ns = route.interval.as_nanos() as u64;
            let mut steps = vec![Step::Drip { source, piece_bytes: 1, every_ns }];
            if whole.length > 0 {
                steps.push(Step::Send(Source::Body(whole.length)));
            }
            steps.extend(manner.ending.step());
            steps
        }
        Behaviour::EndlessHeaders => {
            let field = "X-Filler: 0123456789abcdefghijklmnopqrstuvwxyz0123456789\r\n";
            vec![send("HTTP/1.1 200 OK\r\n"), repeat(field.repeat(64), FLOOD_EVERY_NS)]
        }
        Behaviour::InterimFlood => {
            vec![repeat("HTTP/1.1 100 Continue\r\n\r\n".repeat(64), FLOOD_EVERY_NS)]
        }
        Behaviour::EndlessBody => {
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 1099511627776\r\n\r\n";
            vec![send(head), repeat(body(1024), ENDLESS_BODY_EVERY_NS)]
        }
        _ => return None,
    })
}

/// Those that are no HTTP.
fn not_http(behaviour: Behaviour, whole: &Whole) -> Option<Vec<Step>> {
    Some(match behaviour {
        Behaviour::BadChunk => {
            vec![send(format!("{CHUNKED}5\r\n01234\r\nxyz\r\n01234\r\n0\r\n\r\n"))]
        }
        Behaviour::ChunkOverflow => {
            vec![send(format!("{CHUNKED}5\r\n01234\r\nfffffffffffffffff\r\n01234\r\n0\r\n\r\n"))]
        }
        Behaviour::ChunkWithoutCrlf => {
            vec![send(format!("{CHUNKED}5\r\n012345\r\n56789\r\n0\r\n\r\n"))]
        }
        Behaviour::Garbage => vec![send("this is not HTTP\r\n\r\nat all\r\n\r\n")],
        Behaviour::Http2 => vec![send(HTTP2)],
        Behaviour::ExtraBytes => then(whole.sent(), send("extra bytes")),
        _ => return None,
    })
}

/// An empty SETTINGS frame, and GOAWAY for a protocol error (RFC 9113, 6.5 and 6.8).
const HTTP2: [u8; 26] =
    [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

/// Those whose header is one to wonder about; the body is as it should be.
fn odd_header(behaviour: Behaviour, whole: &Whole, manner: Manner) -> Option<Vec<Step>> {
    let of = |bytes: usize| format!("Content-Length: {bytes}\r\n");
    let length = of(whole.length);
    let fields = match behaviour {
        Behaviour::NoStatus => length,
        Behaviour::NoColon => format!("{length}this line has no colon\r\n"),
        Behaviour::HeaderFlood => {
            let field = format!("X-Filler: {}\r\n", "0123456789abcdef".repeat(2048));
            format!("{}{length}", field.repeat(12))
        }
        Behaviour::NegativeLength => "Content-Length: -12\r\n".to_owned(),
        Behaviour::LengthOverflow => "Content-Length: 99999999999999999999\r\n".to_owned(),
        Behaviour::DoubledLength => length.repeat(2),
        Behaviour::ConflictingLength => format!("{length}{}", of(whole.length + 1)),
        Behaviour::LengthAndChunked => format!("{}Transfer-Encoding: chunked\r\n", of(5)),
        _ => return None,
    };
    let status = if behaviour == Behaviour::NoStatus { "" } else { " 200 OK" };
    let mut head = format!("HTTP/1.1{status}\r\n{fields}{}\r\n", manner.ending.field());
    let mut steps = if behaviour == Behaviour::LengthAndChunked {
        if !manner.is_head {
            head.push_str("c\r\n0123456789ab\r\n0\r\n\r\n");
        }
        vec![send(head)]
    } else {
        content(head.as_bytes(), whole.length)
    };
    steps.extend(manner.ending.step());
    Some(steps)
}

/// Everything up to the middle of the body.
fn half_body(whole: &Whole) -> Vec<Step> {
    content(whole.head.as_bytes(), whole.length / 2)
}

/// Everything up to the middle of a header field, status line included.
fn half_head(whole: &Whole) -> Step {
    let status_line = whole.head.find("\r\n").unwrap_or(0) + 2;
    send(&whole.head.as_bytes()[..status_line + 10])
}

fn then(mut steps: Vec<Step>, last: Step) -> Vec<Step> {
    steps.push(last);
    steps
}

fn repeat(bytes: impl AsRef<[u8]>, every_ns: u64) -> Step {
    Step::Repeat { bytes: bytes.as_ref().into(), every_ns }
}
