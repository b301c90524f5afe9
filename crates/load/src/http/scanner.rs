//! Finds the end of an answer in bytes that come in pieces.
//!
//! The scanner keeps nothing of a body and, as long as lines come whole, nothing of a head: it
//! allocates only for the part of a line that a read cut off, and keeps that room.

use memchr::memchr3;

use super::head::{Coding, Framing, Head, Malformed, chunk_size, field, is_space};

/// The most that a head (its interim answers included), a chunk's line or the trailers may be: as
/// curl has it.
const MAX_HEAD_BYTES: usize = 300 * 1024;

/// A gzip of nothing: its head, an empty block, its trailer.
const MIN_GZIP_BYTES: u64 = 20;

/// One answer under way.
#[derive(Debug)]
pub(crate) struct Scanner {
    stage: Stage,
    head: Head,
    is_answer_to_head: bool,
    body_bytes: u64,
    /// The last bytes of a body in gzip.
    tail: [u8; 4],
    /// Bytes of lines since the head, chunk or trailers began.
    line_bytes: usize,
    /// The part of a line whose end did not come yet; or one that ended with the last byte that came,
    /// and a line feed: the next one says whether the line goes on.
    rest: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    StatusLine,
    Headers,
    Body { left: u64 },
    ChunkSize,
    Chunk { left: u64 },
    ChunkEnd,
    Trailers,
    UntilClose,
    Done,
}

/// How far the bytes given have led.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scanned {
    /// All were taken, more are needed.
    Partial,
    /// The answer is whole with the first `consumed` of them.
    Whole { consumed: usize },
}

/// What the end of the connection means for the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtClose {
    /// The end of the body.
    Whole,
    InHead,
    InBody,
}

impl Scanner {
    pub(crate) fn new() -> Self {
        Self {
            stage: Stage::StatusLine,
            head: Head::default(),
            is_answer_to_head: false,
            body_bytes: 0,
            tail: [0; 4],
            line_bytes: 0,
            // Room for the usual cut-off line, so that even those allocate nothing later.
            rest: Vec::with_capacity(256),
        }
    }

    /// Get ready for the next answer.
    pub(crate) fn expect(&mut self, is_answer_to_head: bool) {
        self.stage = Stage::StatusLine;
        self.head = Head::default();
        self.is_answer_to_head = is_answer_to_head;
        self.body_bytes = 0;
        self.line_bytes = 0;
        self.rest.clear();
    }

    /// The status of an answer whose head is whole.
    pub(crate) fn status(&self) -> u16 {
        self.head.status
    }

    /// Bytes of the body so far, chunks decoded.
    #[cfg(test)]
    pub(crate) fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// How long the body was before it was coded; `None` where that is not known. Of gzip it is what
    /// the body itself says, modulo 2³².
    pub(crate) fn decoded_bytes(&self) -> Option<u64> {
        match self.head.coding {
            Coding::Plain => Some(self.body_bytes),
            _ if self.body_bytes == 0 => Some(0),
            Coding::Gzip if self.body_bytes >= MIN_GZIP_BYTES => {
                Some(u32::from_le_bytes(self.tail).into())
            }
            Coding::Gzip | Coding::Other => None,
        }
    }

    /// Whether there was a body that came as it is though somebody else would have got it coded.
    pub(crate) fn is_plain_by_choice(&self) -> bool {
        self.head.is_plain_by_choice() && self.body_bytes > 0
    }

    /// Whether the body, decoded, has this length.
    pub(crate) fn has_length(&self, expected: u64) -> bool {
        let is_gzip = self.head.coding == Coding::Gzip;
        self.decoded_bytes() == Some(if is_gzip { expected % (1 << 32) } else { expected })
    }

    /// Whether the connection may be used again after this whole answer.
    pub(crate) fn keeps_alive(&self) -> bool {
        self.stage == Stage::Done && self.head.keeps_alive()
    }

    /// Take the next bytes of the connection.
    pub(crate) fn feed(&mut self, input: &[u8]) -> Result<Scanned, Malformed> {
        self.feed_with(input, |_| {})
    }

    /// The same, and pass on the value of each `Set-Cookie` of the answer, interim answers' left
    /// out. What is passed on before an answer turns out malformed was passed on.
    pub(crate) fn feed_with(
        &mut self,
        input: &[u8],
        mut on_cookie: impl FnMut(&[u8]),
    ) -> Result<Scanned, Malformed> {
        let mut at = 0;
        loop {
            at += match self.stage {
                Stage::Done => return Ok(Scanned::Whole { consumed: at }),
                _ if at == input.len() => return Ok(Scanned::Partial),
                Stage::Body { left } => self.skip_body(left, &input[at..]),
                Stage::Chunk { left } => self.skip_chunk(left, &input[at..]),
                Stage::UntilClose => self.count_body(&input[at..]),
                _ => self.take_line(&input[at..], &mut on_cookie)?,
            };
        }
    }

    /// Why the answer was refused with these bytes: a word that readers put into a sentence, and what
    /// belongs into it.
    #[cold]
    pub(crate) fn fault(&self, input: &[u8]) -> (&'static str, String) {
        let start = if self.rest.is_empty() { input } else { &self.rest };
        let word = match (self.stage, start) {
            _ if self.line_bytes > MAX_HEAD_BYTES => "long",
            // A frame of HTTP/2: its length, then settings or the farewell; a record of TLS.
            (Stage::StatusLine, [0, _, _, 4 | 7, ..]) => "http2",
            (Stage::StatusLine, [0x15 | 0x16, 3, ..]) => "tls",
            (Stage::StatusLine, _) => {
                let is_text = |byte: &&u8| matches!(byte, b' '..=b'~');
                let text = start.iter().take(32).take_while(is_text).copied().collect();
                return ("start", String::from_utf8(text).unwrap_or_default());
            }
            (Stage::Headers, _) if self.head.status == 101 => "switched",
            (Stage::Headers | Stage::Trailers, _) => "header",
            _ => "chunk",
        };
        (word, String::new())
    }

    /// What the end of the connection means now.
    pub(crate) fn at_close(&self) -> AtClose {
        match self.stage {
            Stage::Done | Stage::UntilClose => AtClose::Whole,
            Stage::StatusLine | Stage::Headers => AtClose::InHead,
            _ => AtClose::InBody,
        }
    }

    fn count_body(&mut self, taken: &[u8]) -> usize {
        self.body_bytes += taken.len() as u64;
        if self.head.coding == Coding::Gzip {
            let n_new = taken.len().min(4);
            self.tail.rotate_left(n_new);
            self.tail[4 - n_new..].copy_from_slice(&taken[taken.len() - n_new..]);
        }
        taken.len()
    }

    fn skip_body(&mut self, left: u64, available: &[u8]) -> usize {
        let taken = left.min(available.len() as u64);
        self.stage = if taken == left { Stage::Done } else { Stage::Body { left: left - taken } };
        self.count_body(&available[..taken as usize])
    }

    fn skip_chunk(&mut self, left: u64, available: &[u8]) -> usize {
        let taken = left.min(available.len() as u64);
        self.stage =
            if taken == left { Stage::ChunkEnd } else { Stage::Chunk { left: left - taken } };
        self.count_body(&available[..taken as usize])
    }

    /// Take a line, or what there is of it; returns how many bytes that was.
    #[inline]
    fn take_line(
        &mut self,
        input: &[u8],
        on_cookie: &mut impl FnMut(&[u8]),
    ) -> Result<usize, Malformed> {
        let last = self.rest.last();
        if last == Some(&b'\n') {
            self.end_or_go_on(input, on_cookie)?;
            return Ok(0);
        }
        let is_cut_in_its_end = last == Some(&b'\r');
        let line = if is_cut_in_its_end { Line::rest_of_end(input)? } else { Line::first(input)? };
        let taken = line.map_or(input.len(), |line| line.taken);
        self.line_bytes += taken;
        if self.line_bytes > MAX_HEAD_BYTES {
            return Err(Malformed);
        }
        match line {
            None => {
                self.rest.extend_from_slice(input);
                self.check_rest()?;
            }
            Some(line) if self.rest.is_empty() => {
                let (text, next) = (&input[..line.length], input.get(line.taken));
                if self.may_go_on(text, next) {
                    self.rest.extend_from_slice(text);
                    self.hold(next)?;
                } else {
                    self.line(text, line.has_return, on_cookie)?;
                }
            }
            Some(line) => {
                self.rest.extend_from_slice(&input[..line.length]);
                self.rest.truncate(self.rest.len() - usize::from(is_cut_in_its_end));
                let next = input.get(line.taken);
                if self.may_go_on(&self.rest, next) {
                    self.hold(next)?;
                } else {
                    self.end_rest(line.has_return, on_cookie)?;
                }
            }
        }
        Ok(taken)
    }

    /// Whether a line goes on with the next one, which begins with that byte, or might: it is folded
    /// then (RFC 9112 section 5.2).
    #[inline]
    fn may_go_on(&self, text: &[u8], next: Option<&u8>) -> bool {
        next.is_none_or(|byte| is_space(*byte))
            && !text.is_empty()
            && matches!(self.stage, Stage::Headers | Stage::Trailers)
    }

    /// Keep a line, which is the rest, until its end is known. As far as it goes it must be right.
    fn hold(&mut self, next: Option<&u8>) -> Result<(), Malformed> {
        field(&self.rest)?;
        if next.is_none() {
            self.rest.push(b'\n');
        }
        Ok(())
    }

    /// What follows the line that was kept shows whether that was all of it.
    fn end_or_go_on(
        &mut self,
        input: &[u8],
        on_cookie: &mut impl FnMut(&[u8]),
    ) -> Result<(), Malformed> {
        self.rest.pop();
        if is_space(input[0]) { Ok(()) } else { self.end_rest(true, on_cookie) }
    }

    /// The rest is a whole line: take it.
    fn end_rest(
        &mut self,
        has_return: bool,
        on_cookie: &mut impl FnMut(&[u8]),
    ) -> Result<(), Malformed> {
        let mut whole = std::mem::take(&mut self.rest);
        let result = self.line(&whole, has_return, on_cookie);
        whole.clear();
        self.rest = whole;
        result
    }

    /// Refuse the beginning of a line that can't become right. Who sends such bytes may be waiting
    /// for us by now, and no line end would ever come.
    fn check_rest(&self) -> Result<(), Malformed> {
        const START: &[u8] = b"HTTP/1.";
        let is_right = match self.stage {
            Stage::StatusLine => {
                let n_start = self.rest.len().min(START.len());
                self.rest[..n_start] == START[..n_start] || self.rest == b"\r"
            }
            Stage::ChunkSize => self.rest[0].is_ascii_hexdigit(),
            Stage::ChunkEnd => self.rest == b"\r",
            _ => true,
        };
        if is_right { Ok(()) } else { Err(Malformed) }
    }

    /// Take a whole line without its end. A missing carriage return is tolerated, as RFC 9112
    /// section 2.2 allows, but for the end of a chunk.
    #[inline]
    fn line(
        &mut self,
        text: &[u8],
        has_return: bool,
        on_cookie: &mut impl FnMut(&[u8]),
    ) -> Result<(), Malformed> {
        match self.stage {
            // Some servers end the body before with a line end too many.
            Stage::StatusLine if text.is_empty() => {}
            Stage::StatusLine => {
                self.head.status_line(text)?;
                self.stage = Stage::Headers;
            }
            Stage::Headers if text.is_empty() => self.end_head()?,
            Stage::Headers => {
                if let Some(cookie) = self.head.header_line(text)?
                    && !self.head.is_interim()
                {
                    on_cookie(cookie);
                }
            }
            Stage::ChunkSize => {
                self.line_bytes = 0;
                self.stage = match chunk_size(text)? {
                    0 => Stage::Trailers,
                    left => Stage::Chunk { left },
                };
            }
            Stage::ChunkEnd if text.is_empty() && has_return => {
                self.line_bytes = 0;
                self.stage = Stage::ChunkSize;
            }
            Stage::Trailers if text.is_empty() => self.stage = Stage::Done,
            // Trailers can't change the framing: they are checked, and dropped.
            Stage::Trailers => drop(field(text)?),
            _ => return Err(Malformed),
        }
        Ok(())
    }

    fn end_head(&mut self) -> Result<(), Malformed> {
        if self.head.status == 101 {
            return Err(Malformed);
        }
        if self.head.is_interim() {
            self.head = Head::default();
            self.stage = Stage::StatusLine;
            return Ok(());
        }
        self.line_bytes = 0;
        self.stage = match self.head.framing(self.is_answer_to_head) {
            Framing::Length(0) => Stage::Done,
            Framing::Length(left) => Stage::Body { left },
            Framing::Chunked => Stage::ChunkSize,
            Framing::UntilClose => Stage::UntilClose,
        };
        Ok(())
    }
}

/// Where the first line of some bytes ends.
#[derive(Debug, Clone, Copy)]
struct Line {
    /// Without its end.
    length: usize,
    /// With it.
    taken: usize,
    has_return: bool,
}

impl Line {
    /// The first line, if it is whole. In no line is there a carriage return but at the end, nor a
    /// NUL: one search finds all three.
    #[inline]
    fn first(input: &[u8]) -> Result<Option<Self>, Malformed> {
        let Some(length) = memchr3(b'\n', b'\r', 0, input) else { return Ok(None) };
        match input[length..] {
            [b'\r', b'\n', ..] => Ok(Some(Self { length, taken: length + 2, has_return: true })),
            [b'\n', ..] => Ok(Some(Self { length, taken: length + 1, has_return: false })),
            [b'\r'] => Ok(None),
            _ => Err(Malformed),
        }
    }

    /// What follows a carriage return.
    fn rest_of_end(input: &[u8]) -> Result<Option<Self>, Malformed> {
        match input.first() {
            Some(b'\n') => Ok(Some(Self { length: 0, taken: 1, has_return: true })),
            Some(_) => Err(Malformed),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
#[path = "scanner_tests.rs"]
mod tests;
