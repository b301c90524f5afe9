//! What an answer is, the slow way: httparse reads heads, chunk sizes and trailers, all bytes are
//! there at once, and nothing of the scanner is used.

use super::{End, Outcome};
use crate::http::scanner::{AtClose, MAX_HEAD_BYTES};

/// The answer is wrong.
struct Bad;

/// There is no whole head.
enum NoHead {
    Bad,
    /// Its bytes end before it does.
    Open,
}

impl From<Bad> for NoHead {
    fn from(_: Bad) -> Self {
        Self::Bad
    }
}

/// A head as httparse has it.
struct Parsed {
    is_http_1_0: bool,
    status: u16,
    fields: Vec<(String, Vec<u8>)>,
}

pub(super) fn outcome(bytes: &[u8], is_answer_to_head: bool) -> Outcome {
    let (head, at) = match last_head(bytes) {
        Ok(found) => found,
        Err(NoHead::Bad) => return Outcome::default(),
        Err(NoHead::Open) => {
            return Outcome { end: End::Open(AtClose::InHead), ..Outcome::default() };
        }
    };
    let Ok((end, body_bytes)) = body(&head, &bytes[at..], is_answer_to_head) else {
        return Outcome::default();
    };
    let end = match end {
        End::Whole { consumed, keeps_alive } => End::Whole { consumed: at + consumed, keeps_alive },
        other => other,
    };
    let cookies = head.fields.iter().filter(|(name, _)| name == "set-cookie");
    let cookies = cookies.map(|(_, value)| value.clone()).collect();
    Outcome { end, status: head.status, body_bytes, cookies }
}

/// The head of the answer itself, and where it ends.
fn last_head(bytes: &[u8]) -> Result<(Parsed, usize), NoHead> {
    let mut at = 0;
    loop {
        let (head, length) = head(&bytes[at..], at)?;
        at += length;
        match head.status {
            101 => return Err(NoHead::Bad),
            100..200 => {}
            _ => return Ok((head, at)),
        }
    }
}

/// How the body ends, with what is consumed of `bytes`, and how many bytes it has.
fn body(head: &Parsed, bytes: &[u8], is_answer_to_head: bool) -> Result<(End, u64), Bad> {
    let length = content_length(head)?;
    let (is_encoded, is_chunked) = encoding(head)?;
    let connection = head.list("connection");
    let says = |option: &str| connection.iter().any(|said| said == option);
    let is_doubtful = is_encoded && (length.is_some() || head.is_http_1_0);
    let keeps_alive = !is_doubtful && !says("close") && (says("keep-alive") || !head.is_http_1_0);
    let is_empty = is_answer_to_head || head.status == 204 || head.status == 304;

    let available = bytes.len() as u64;
    let (consumed, body_bytes) = match length {
        _ if is_empty => (Some(0), 0),
        _ if is_chunked => chunks(bytes)?,
        Some(length) if !is_encoded && length <= available => (Some(length as usize), length),
        Some(_) if !is_encoded => (None, available),
        _ => return Ok((End::Open(AtClose::Whole), available)),
    };
    let end = consumed
        .map_or(End::Open(AtClose::InBody), |consumed| End::Whole { consumed, keeps_alive });
    Ok((end, body_bytes))
}

/// A head and its length, of bytes that `before` bytes of interim answers came before.
fn head(bytes: &[u8], before: usize) -> Result<(Parsed, usize), NoHead> {
    // Empty lines may come before it.
    let empty = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let empty = bytes[..empty].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    if before + empty > MAX_HEAD_BYTES || is_broken(&bytes[..empty]) {
        return Err(NoHead::Bad);
    }
    let (bytes, before) = (&bytes[empty..], before + empty);
    if matches!(bytes, b"" | b"\r") {
        let is_bad = before + bytes.len() > MAX_HEAD_BYTES;
        return Err(if is_bad { NoHead::Bad } else { NoHead::Open });
    }
    let start = bytes.len().min(7);
    if bytes[..start] != b"HTTP/1."[..start] {
        return Err(NoHead::Bad);
    }
    let (lines, is_whole) = lines(bytes);
    let used = if is_whole { lines } else { bytes };
    if before + used.len() > MAX_HEAD_BYTES || is_broken(used) {
        return Err(NoHead::Bad);
    }
    let (unfolded, is_last_open) = unfold(lines, &bytes[lines.len()..], 1);
    let unfolded = if is_last_open { before_last(&unfolded)? } else { &unfolded[..] };
    let mut text = harmless(unfolded, 12);
    if text.is_empty() {
        return Err(NoHead::Open);
    }
    if !is_whole {
        // As far as it goes it must be right.
        text.extend_from_slice(b"\r\n");
    }
    let mut headers = vec![httparse::EMPTY_HEADER; memchr::memchr_iter(b'\n', &text).count()];
    let mut response = httparse::Response::new(&mut headers);
    let Ok(httparse::Status::Complete(length)) = response.parse(&text) else {
        return Err(NoHead::Bad);
    };
    assert_eq!(length, text.len(), "httparse sees the head's end elsewhere");
    let status = response.code.filter(|code| (100..1000).contains(code)).ok_or(NoHead::Bad)?;
    let is_http_1_0 = response.version == Some(0);
    let fields = response.headers.iter();
    let fields = fields.map(|field| (field.name.to_ascii_lowercase(), field.value.to_vec()));
    let head = Parsed { is_http_1_0, status, fields: fields.collect() };
    // Interim answers too must have lengths and codings that are some.
    content_length(&head)?;
    encoding(&head)?;
    if is_whole { Ok((head, empty + lines.len())) } else { Err(NoHead::Open) }
}

/// Whether these bytes, the last of which may be cut off, have what no line may have: a NUL, or a
/// carriage return before anything but a line feed.
fn is_broken(bytes: &[u8]) -> bool {
    bytes.contains(&0) || bytes.windows(2).any(|pair| pair[0] == b'\r' && pair[1] != b'\n')
}

/// The lines up to an empty one and with it, or as many as are whole; and whether there is one.
fn lines(bytes: &[u8]) -> (&[u8], bool) {
    let mut end = 0;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        if !line.ends_with(b"\n") {
            break;
        }
        end += line.len();
        if matches!(line, b"\n" | b"\r\n") {
            return (&bytes[..end], true);
        }
    }
    (&bytes[..end], false)
}

/// These lines without their folds but for the first `n_plain`, and whether the last one, of which
/// `rest` follows, may go on.
fn unfold(lines: &[u8], rest: &[u8], n_plain: usize) -> (Vec<u8>, bool) {
    let mut text: Vec<u8> = Vec::new();
    let mut n_lines = 0;
    for line in lines.split_inclusive(|&byte| byte == b'\n') {
        if matches!(line[0], b' ' | b'\t') && n_lines > n_plain {
            let end = if text.ends_with(b"\r\n") { 2 } else { 1 };
            text.truncate(text.len() - end);
        }
        text.extend_from_slice(line);
        n_lines += 1;
    }
    let may_go_on = rest.first().is_none_or(|byte| matches!(byte, b' ' | b'\t'));
    let is_whole = text.ends_with(b"\n\n") || text.ends_with(b"\n\r\n");
    (text, may_go_on && n_lines > n_plain && !is_whole)
}

/// The lines before the last one, which has a name and a colon.
fn before_last(lines: &[u8]) -> Result<&[u8], Bad> {
    let end = lines.len() - 1;
    let start = lines[..end].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let colon = lines[start..].iter().position(|&byte| byte == b':').ok_or(Bad)?;
    let alone = [&lines[start..=start + colon], b"\r\n\r\n"].concat();
    match httparse::parse_headers(&alone, &mut [httparse::EMPTY_HEADER; 2]) {
        Ok(httparse::Status::Complete(_)) => Ok(&lines[..start]),
        _ => Err(Bad),
    }
}

/// The same lines, with an `x` for each control character that does no harm. httparse refuses
/// them; RFC 9110 section 5.5 lets a recipient take them, which the scanner does. They may be in
/// the value of a field, and in the first line from its byte `free_from` on.
pub(super) fn harmless(lines: &[u8], free_from: usize) -> Vec<u8> {
    let mut text = lines.to_vec();
    for (index, line) in text.split_inclusive_mut(|&byte| byte == b'\n').enumerate() {
        let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
        let free_from = if index == 0 { free_from } else { colon };
        for byte in line.iter_mut().skip(free_from) {
            if matches!(byte, 1..=8 | 0x0b | 0x0c | 0x0e..=0x1f | 0x7f) {
                *byte = b'x';
            }
        }
    }
    text
}

impl Parsed {
    /// The parts of all fields of this name, which is a list: RFC 9110 section 5.6.1.
    fn list(&self, name: &str) -> Vec<String> {
        let values = self.fields.iter().filter(|(of, _)| of == name).map(|(_, value)| value);
        let text = values.map(|value| String::from_utf8_lossy(value).to_lowercase());
        let text = text.collect::<Vec<_>>().join(",");
        text.split(',').map(|part| part.trim_matches([' ', '\t']).to_owned()).collect()
    }

    fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|(of, _)| of == name)
    }
}

fn content_length(head: &Parsed) -> Result<Option<u64>, Bad> {
    if !head.has("content-length") {
        return Ok(None);
    }
    let mut length = None;
    for part in head.list("content-length") {
        if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Bad);
        }
        let value: u64 = part.parse().map_err(|_| Bad)?;
        if length.is_some_and(|other| other != value) {
            return Err(Bad);
        }
        length = Some(value);
    }
    Ok(length)
}

/// Whether there is a transfer coding, and whether the last one is `chunked`.
fn encoding(head: &Parsed) -> Result<(bool, bool), Bad> {
    let codings = head.list("transfer-encoding");
    let codings: Vec<&String> = codings.iter().filter(|coding| !coding.is_empty()).collect();
    let is_chunked = |coding: &String| coding.as_str() == "chunked";
    let with_parameter = |coding: &&&String| {
        coding.split_once(';').is_some_and(|(name, _)| name.trim_matches([' ', '\t']) == "chunked")
    };
    if codings.iter().filter(|coding| is_chunked(coding)).count() > 1
        || codings.iter().any(|coding| with_parameter(&coding))
    {
        return Err(Bad);
    }
    Ok((head.has("transfer-encoding"), codings.last().is_some_and(|last| is_chunked(last))))
}

/// How many bytes a chunked body takes, `None` if it isn't whole; and how many it has.
fn chunks(bytes: &[u8]) -> Result<(Option<usize>, u64), Bad> {
    let (mut at, mut body_bytes) = (0, 0);
    loop {
        let rest = &bytes[at..];
        let Some(&first) = rest.first() else { return Ok((None, body_bytes)) };
        // To httparse a line without digits is a 0.
        if !first.is_ascii_hexdigit() {
            return Err(Bad);
        }
        let end = rest.iter().position(|&byte| byte == b'\n');
        let taken = end.map_or(rest.len(), |end| end + 1);
        if taken > MAX_HEAD_BYTES || is_broken(&rest[..taken]) {
            return Err(Bad);
        }
        let Some(end) = end else { return Ok((None, body_bytes)) };
        let size = chunk_size(&rest[..end])?;
        at += taken;
        let rest = &bytes[at..];
        if size == 0 {
            let consumed = trailers(rest)?.map(|length| at + length);
            return Ok((consumed, body_bytes));
        }
        let available = size.min(rest.len() as u64);
        body_bytes += available;
        at += available as usize;
        match &bytes[at..] {
            b"" | b"\r" => return Ok((None, body_bytes)),
            [b'\r', b'\n', ..] => at += 2,
            _ => return Err(Bad),
        }
    }
}

fn chunk_size(line: &[u8]) -> Result<u64, Bad> {
    let text = line.strip_suffix(b"\r").unwrap_or(line);
    match httparse::parse_chunk_size(&[text, b"\r\n"].concat()) {
        Ok(httparse::Status::Complete((_, size))) => Ok(size),
        _ => Err(Bad),
    }
}

/// The length of the trailers and the empty line; `None` where that didn't come yet.
fn trailers(bytes: &[u8]) -> Result<Option<usize>, Bad> {
    let (lines, is_whole) = lines(bytes);
    let used = if is_whole { lines } else { bytes };
    if used.len() > MAX_HEAD_BYTES || is_broken(used) {
        return Err(Bad);
    }
    let (lines, _) = unfold(lines, b"", 0);
    let first_colon = lines.iter().position(|&byte| byte == b':').unwrap_or(lines.len());
    let text = harmless(&lines, first_colon);
    let mut headers = vec![httparse::EMPTY_HEADER; memchr::memchr_iter(b'\n', &text).count()];
    match httparse::parse_headers(&text, &mut headers) {
        Err(_) => Err(Bad),
        Ok(httparse::Status::Partial) => Ok(None),
        Ok(httparse::Status::Complete(_)) => Ok(Some(used.len())),
    }
}
