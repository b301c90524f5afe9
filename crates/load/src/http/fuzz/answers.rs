//! Answers to try the scanner on: mostly right ones, and what happens to right ones.

use crate::http::scanner::MAX_HEAD_BYTES;
use crate::schedule::random::Bits;

/// Bytes of one or more answers, as they come.
#[derive(Debug, Clone, Default)]
pub(super) struct Case {
    pub(super) bytes: Vec<u8>,
    /// Where reads end; ascending.
    pub(super) cuts: Vec<usize>,
    pub(super) is_answer_to_head: bool,
}

/// Draws by counting, so that a case is a function of its number.
struct Draw {
    bits: Bits,
    n_drawn: u64,
}

impl Draw {
    fn next(&mut self) -> u64 {
        self.n_drawn += 1;
        self.bits.at(self.n_drawn)
    }

    /// Below `bound`, which is above 0.
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn of<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }
}

/// What turns up in heads and at the ends of bodies, right and wrong.
const SCRAPS: &[&[u8]] = &[
    b"\r\n",
    b"\n",
    b"\r",
    b"\r\n\r\n",
    b"\n\n",
    b"\0",
    b" ",
    b"\t",
    b":",
    b";",
    b",",
    b"0\r\n\r\n",
    b"0\r\n",
    b"5\r\n",
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 101 \r\n",
    b"Content-Length: 3\r\n",
    b"Content-Length: ",
    b"Transfer-Encoding: chunked\r\n",
    b"chunked",
    b"Connection: close\r\n",
    b"Set-Cookie: a=b\r\n",
    b"\x0c",
    b"\x0b",
    b"\x7f",
    b"\xff",
    b"-1",
    b"+5",
    b"99999999999999999999",
    b"ffffffffffffffff",
    b"10000000000000000",
    b"\"",
    b"\r\n ",
    b"gzip, ",
];

impl Case {
    pub(super) fn numbered(seed: u64, number: u64) -> Self {
        let mut draw = Draw { bits: Bits::new(seed, number), n_drawn: 0 };
        let mut case = Self { is_answer_to_head: draw.percent(10), ..Self::default() };
        if draw.below(500) == 0 {
            large(&mut draw, &mut case.bytes);
        } else {
            answer(&mut draw, &mut case.bytes);
        }
        if draw.percent(15) {
            // The next answer, which is not this one's.
            answer(&mut draw, &mut case.bytes);
        }
        if draw.percent(35) {
            for _ in 0..=draw.below(3) {
                mutate(&mut draw, &mut case.bytes);
            }
        }
        if draw.percent(12) {
            // Anywhere, or in its last bytes.
            let length = case.bytes.len();
            let most = if draw.percent(50) { length } else { length.min(30) };
            case.bytes.truncate(length - draw.below(most + 1));
        }
        case.cuts = cuts(&mut draw, &case.bytes);
        case
    }

    /// The bytes of each read.
    pub(super) fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let ends = self.cuts.iter().copied().chain([self.bytes.len()]);
        ends.scan(0, |from, to| Some(&self.bytes[std::mem::replace(from, to)..to]))
    }
}

/// What the head says of the body.
#[derive(Clone, Copy, PartialEq)]
enum Body {
    Length(usize),
    Chunked,
    UntilClose,
}

fn answer(draw: &mut Draw, out: &mut Vec<u8>) {
    let end: &[u8] = if draw.percent(90) { b"\r\n" } else { b"\n" };
    while draw.percent(8) {
        let status = draw.of(&["100 Continue", "103 Early Hints", "102", "199 "]);
        line(out, &["HTTP/1.1 ", status], end);
        fields(draw, out, Body::UntilClose, end);
        out.extend_from_slice(end);
    }
    if draw.percent(3) {
        out.extend_from_slice(draw.of(&[b"\r\n", b"\n", b"\r\n\r\n"]));
    }
    let status = match draw.below(20) {
        0 => format!("{:03}", draw.below(1000)),
        1 => format!("{}", 100 + draw.below(900)),
        2 | 3 => draw.of(&["204", "304"]).to_owned(),
        _ => draw.of(&["200", "200", "201", "302", "404", "500"]).to_owned(),
    };
    let version = if draw.percent(12) { "HTTP/1.0 " } else { "HTTP/1.1 " };
    let reason =
        draw.of(&[" OK", " OK", " Not Found", " ", "", " caf\u{e9}", " a\tb", "\tx", " \u{7f}"]);
    line(out, &[version, &status, reason], end);
    let body = match draw.below(10) {
        0..4 => Body::Length(length(draw)),
        4..8 => Body::Chunked,
        _ => Body::UntilClose,
    };
    fields(draw, out, body, end);
    out.extend_from_slice(end);
    match body {
        Body::Length(length) => noise(draw, length, out),
        Body::Chunked => chunks(draw, out),
        Body::UntilClose => {
            let length = length(draw);
            noise(draw, length, out);
        }
    }
}

fn length(draw: &mut Draw) -> usize {
    match draw.below(8) {
        0 => 0,
        1 => draw.below(400),
        _ => draw.below(24),
    }
}

fn line(out: &mut Vec<u8>, parts: &[&str], end: &[u8]) {
    for part in parts {
        out.extend_from_slice(part.as_bytes());
    }
    out.extend_from_slice(end);
}

/// Some fields, those of the framing somewhere among them.
fn fields(draw: &mut Draw, out: &mut Vec<u8>, body: Body, end: &[u8]) {
    let n_before = draw.below(4);
    (0..n_before).for_each(|_| field(draw, out, end));
    match body {
        Body::Length(length) => {
            let name = draw.of(&["Content-Length:", "content-length: ", "CONTENT-LENGTH:\t "]);
            let behind = draw.of(&["", "", "", " ", "\t"]);
            match draw.below(24) {
                0 => line(out, &[name, &format!("{length}, {length}"), behind], end),
                1 => {
                    line(out, &[name, &length.to_string()], end);
                    line(out, &[name, &format!("00{length}")], end);
                }
                2 => line(out, &[name, &format!("{length},{}", draw.below(30))], end),
                _ => line(out, &[name, &length.to_string(), behind], end),
            }
        }
        Body::Chunked => {
            let name =
                draw.of(&["Transfer-Encoding: ", "transfer-encoding:", "TRANSFER-ENCODING:\t"]);
            let value = match draw.below(16) {
                0 => draw.of(&[
                    "gzip, chunked",
                    "chunked,",
                    ", chunked ,",
                    "gzip\r\nTransfer-Encoding: chunked",
                ]),
                1 => draw.of(&[
                    "chunked;x=y",
                    "chunked, gzip",
                    "chunked, chunked",
                    "x;chunked",
                    "",
                    "identity",
                ]),
                _ => draw.of(&["chunked", "chunked", "Chunked", "chunked\t"]),
            };
            line(out, &[name, value], end);
        }
        Body::UntilClose => {}
    }
    let n_behind = draw.below(3);
    (0..n_behind).for_each(|_| field(draw, out, end));
}

fn field(draw: &mut Draw, out: &mut Vec<u8>, end: &[u8]) {
    let text = match draw.below(32) {
        0 if draw.percent(50) => draw.of(&["Content-Length: 7", "Transfer-Encoding: chunked"]),
        2 | 3 => {
            draw.of(&["Connection: close", "connection:keep-alive", "Connection: x, Close ,y"])
        }
        4 => draw.of(&[
            "Connection: Upgrade",
            "Connection:",
            "Keep-Alive: close",
            "Connections: close",
        ]),
        5..9 => draw.of(&[
            "Set-Cookie: id=1; Path=/",
            "set-cookie:a=b",
            "Set-Cookie: ",
            "Set-Cookie:\tx y \t",
            "Set-Cookies: no",
        ]),
        9 if draw.percent(30) => draw.of(&[
            "no colon",
            "\r\n folded",
            " folded",
            ": no name",
            "spa ce: x",
            "A : b",
            "caf\u{e9}: x",
            "(x): y",
        ]),
        10 => draw.of(&["A: \u{1}", "A:\u{7f}b", "A: b\u{c}", "A:\tb\tc", "A: \u{e9}\u{fc}", "A:"]),
        11 => draw.of(&["A:\r\n b", "A: b\n\tc\r\n ", "Set-Cookie: a=b;\r\n Path=/"]),
        _ => draw.of(&[
            "Server: x",
            "Date: Thu, 01 Jan 1970 00:00:00 GMT",
            "X-A: b",
            "ETag:\"a:b\"",
            "A!#$%&'*+-.^_`|~9: x",
        ]),
    };
    line(out, &[text], end);
}

fn chunks(draw: &mut Draw, out: &mut Vec<u8>) {
    let n_chunks = draw.below(5);
    for size in (0..n_chunks).map(|_| length(draw)).collect::<Vec<_>>() {
        if size > 0 {
            chunk_line(draw, size, out);
            noise(draw, size, out);
            out.extend_from_slice(b"\r\n");
        }
    }
    chunk_line(draw, 0, out);
    while draw.percent(15) {
        field(draw, out, b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
}

fn chunk_line(draw: &mut Draw, size: usize, out: &mut Vec<u8>) {
    let digits = match draw.below(6) {
        0 => format!("{size:X}"),
        1 => format!("{size:0width$x}", width = draw.below(18)),
        _ => format!("{size:x}"),
    };
    let extension = match draw.below(8) {
        0 => draw.of(&[";a", ";a=b", " ;a=\"b;c\"", "\t; a = b", ";", " ", " \t", ";\u{e9}"]),
        1 if draw.percent(20) => draw.of(&[" 5", "x", ";\0", ";\ra", "\u{c}", ",", "g"]),
        _ => "",
    };
    let end: &[u8] = if draw.percent(95) { b"\r\n" } else { b"\n" };
    line(out, &[&digits, extension], end);
}

/// A body's bytes, which may look like anything.
fn noise(draw: &mut Draw, length: usize, out: &mut Vec<u8>) {
    let end = out.len() + length;
    while out.len() < end {
        if draw.percent(10) {
            out.extend_from_slice(draw.of(SCRAPS));
        } else {
            out.extend_from_slice(&draw.next().to_le_bytes());
        }
    }
    out.truncate(end);
}

/// Around the most that heads, chunks' lines and trailers may have.
fn large(draw: &mut Draw, out: &mut Vec<u8>) {
    let fill = |out: &mut Vec<u8>, name: &str, total: usize, end: &str| {
        out.extend_from_slice(name.as_bytes());
        let length = total.saturating_sub(name.len() + end.len());
        out.resize(out.len() + length, b'y');
        out.extend_from_slice(end.as_bytes());
    };
    let total = MAX_HEAD_BYTES - 2 + draw.below(5);
    match draw.below(4) {
        0 => fill(out, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nA: ", total, "\r\n\r\n"),
        1 => {
            let interim = "HTTP/1.1 100 Continue\r\nB: c\r\n\r\n";
            let n_interim = 1 + draw.below(100);
            out.extend_from_slice(interim.repeat(n_interim).as_bytes());
            let left = total - n_interim * interim.len();
            fill(out, "HTTP/1.1 204 No\r\nA: ", left, "\r\n\r\n");
        }
        2 => {
            out.extend_from_slice(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            if draw.percent(50) {
                out.extend_from_slice(b"3\r\nabc\r\n");
            }
            fill(out, "1;", total, "\r\n");
            out.extend_from_slice(b"x\r\n0\r\n\r\n");
        }
        _ => {
            out.extend_from_slice(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n",
            );
            fill(out, "A: ", total, "\r\n\r\n");
        }
    }
    out.extend_from_slice(b"zz");
}

fn mutate(draw: &mut Draw, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        return;
    }
    let at = draw.below(bytes.len());
    let to = (at + 1 + draw.below(8)).min(bytes.len());
    match draw.below(7) {
        0 => bytes[at] = draw.next() as u8,
        1 => bytes[at] ^= 1 << draw.below(8),
        2 => drop(bytes.drain(at..to)),
        3 => bytes.truncate(at),
        4 => {
            let copy = bytes[at..to].to_vec();
            bytes.splice(at..at, copy);
        }
        5 => drop(bytes.splice(at..at, draw.of(SCRAPS).iter().copied())),
        _ => drop(bytes.splice(at..to, draw.of(SCRAPS).iter().copied())),
    }
}

fn cuts(draw: &mut Draw, bytes: &[u8]) -> Vec<usize> {
    let mut cuts: Vec<usize> = match draw.below(10) {
        0 | 1 => Vec::new(),
        2 if bytes.len() < 1000 => (1..bytes.len()).collect(),
        3 | 4 => {
            // About the ends of lines.
            let ends = bytes.iter().enumerate().filter(|&(_, &byte)| byte == b'\n');
            ends.map(|(at, _)| (at + draw.below(3)).min(bytes.len())).collect()
        }
        _ => (0..=draw.below(6)).map(|_| draw.below(bytes.len() + 1)).collect(),
    };
    cuts.sort_unstable();
    cuts
}
