//! What the head of an answer says about its body and its connection.

use memchr::memchr;

/// For each byte, whether a field's name may have it.
static IS_TOKEN: [bool; 256] = {
    let mut is_token = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        is_token[byte] = is_token_byte(byte as u8);
        byte += 1;
    }
    is_token
};

/// The answer is not HTTP/1 as RFC 9112 has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// The parts of a head that matter here, gathered line by line. A line comes without its end, and
/// with neither a carriage return nor a NUL in it.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a head")]
pub(super) struct Head {
    pub(super) status: u16,
    is_http_1_0: bool,
    content_length: Option<u64>,
    has_transfer_encoding: bool,
    /// A transfer coding is `chunked`.
    has_chunked: bool,
    /// The last transfer coding is `chunked`.
    is_chunked: bool,
    says_close: bool,
    says_keep_alive: bool,
    pub(super) coding: Coding,
    /// It would have been another one for another `Accept-Encoding`.
    varies_by_coding: bool,
}

/// What was done to the content before it was sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Coding {
    #[default]
    Plain,
    /// Its last four bytes are the length that it had before, modulo 2³² (RFC 1952).
    Gzip,
    Other,
}

/// How the end of a body is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Length(u64),
    Chunked,
    UntilClose,
}

impl Head {
    /// Take the status line.
    pub(super) fn status_line(&mut self, line: &[u8]) -> Result<(), Malformed> {
        let (version, rest) = line.split_at_checked(8).ok_or(Malformed)?;
        self.is_http_1_0 = match version {
            b"HTTP/1.1" => false,
            b"HTTP/1.0" => true,
            _ => return Err(Malformed),
        };
        let (&[b' ', hundreds @ b'1'..=b'9', tens, ones], reason) =
            rest.split_first_chunk::<4>().ok_or(Malformed)?
        else {
            return Err(Malformed);
        };
        if !tens.is_ascii_digit() || !ones.is_ascii_digit() {
            return Err(Malformed);
        }
        // The reason may be missing, with its space too: some servers do that.
        if !matches!(reason.first(), None | Some(b' ')) {
            return Err(Malformed);
        }
        let digit = |byte: u8| u16::from(byte - b'0');
        self.status = digit(hundreds) * 100 + digit(tens) * 10 + digit(ones);
        Ok(())
    }

    /// Take a header line; returns the value of a `Set-Cookie`.
    #[inline]
    pub(super) fn header_line<'a>(
        &mut self,
        line: &'a [u8],
    ) -> Result<Option<&'a [u8]>, Malformed> {
        let (name, value) = field(line)?;
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"vary") => self.vary(value),
            10 if name.eq_ignore_ascii_case(b"connection") => self.connection(value),
            10 if name.eq_ignore_ascii_case(b"set-cookie") => return Ok(Some(value)),
            14 if name.eq_ignore_ascii_case(b"content-length") => self.length(value)?,
            16 if name.eq_ignore_ascii_case(b"content-encoding") => self.content_coding(value),
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.encoding(value)?,
            _ => {}
        }
        Ok(None)
    }

    fn connection(&mut self, value: &[u8]) {
        for option in list(value) {
            self.says_close |= option.eq_ignore_ascii_case(b"close");
            self.says_keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    fn vary(&mut self, value: &[u8]) {
        self.varies_by_coding |=
            list(value).any(|name| name.eq_ignore_ascii_case(b"accept-encoding"));
    }

    /// Whether the body came as it is though somebody else would have got it coded.
    pub(super) fn is_plain_by_choice(&self) -> bool {
        self.varies_by_coding && self.coding == Coding::Plain
    }

    /// Equal lengths may be repeated, in one header or several (RFC 9112 section 6.3).
    fn length(&mut self, value: &[u8]) -> Result<(), Malformed> {
        for part in list(value) {
            let length = decimal(part)?;
            if self.content_length.is_some_and(|other| other != length) {
                return Err(Malformed);
            }
            self.content_length = Some(length);
        }
        Ok(())
    }

    fn encoding(&mut self, value: &[u8]) -> Result<(), Malformed> {
        self.has_transfer_encoding = true;
        for coding in list(value).filter(|coding| !coding.is_empty()) {
            let (name, parameters) = match memchr(b';', coding) {
                Some(at) => (trim(&coding[..at]), &coding[at..]),
                None => (coding, &b""[..]),
            };
            let is_chunked = name.eq_ignore_ascii_case(b"chunked");
            // Chunked is applied once, and has no parameters (RFC 9112 sections 6.1 and 7.1). Where
            // it is not the last coding, the body lasts until the close (section 6.3).
            if is_chunked && (self.has_chunked || !parameters.is_empty()) {
                return Err(Malformed);
            }
            self.has_chunked |= is_chunked;
            self.is_chunked = is_chunked;
        }
        Ok(())
    }

    fn content_coding(&mut self, value: &[u8]) {
        for coding in list(value) {
            self.coding = match coding {
                b"" => continue,
                _ if coding.eq_ignore_ascii_case(b"identity") => continue,
                _ if self.coding != Coding::Plain => Coding::Other,
                _ if coding.eq_ignore_ascii_case(b"gzip") => Coding::Gzip,
                _ if coding.eq_ignore_ascii_case(b"x-gzip") => Coding::Gzip,
                _ => Coding::Other,
            };
        }
    }

    /// An interim answer: the real one follows. We never ask to switch protocols, so 101 is wrong.
    pub(super) fn is_interim(&self) -> bool {
        (100..200).contains(&self.status) && self.status != 101
    }

    /// How the body of the answer to a request is framed: RFC 9112 section 6.3.
    pub(super) fn framing(&self, is_answer_to_head: bool) -> Framing {
        if is_answer_to_head || matches!(self.status, 204 | 304) {
            Framing::Length(0)
        } else if self.is_chunked {
            Framing::Chunked
        } else if self.has_transfer_encoding {
            Framing::UntilClose
        } else {
            self.content_length.map_or(Framing::UntilClose, Framing::Length)
        }
    }

    /// Whether the server will take another request on this connection: RFC 9112 section 9.3.
    pub(super) fn keeps_alive(&self) -> bool {
        // A length beside a transfer coding, or a transfer coding in HTTP/1.0, means that somebody
        // on the way misunderstands the framing (section 6.1): the connection can't be trusted.
        let is_doubtful =
            self.has_transfer_encoding && (self.content_length.is_some() || self.is_http_1_0);
        !self.says_close && !is_doubtful && (!self.is_http_1_0 || self.says_keep_alive)
    }
}

/// The name and the value of a header line or trailer.
#[inline]
pub(super) fn field(line: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let n_name = line.iter().position(|&byte| !IS_TOKEN[usize::from(byte)]).ok_or(Malformed)?;
    // This refuses a space before the colon too, as RFC 9112 section 5.1 asks.
    if n_name == 0 || line[n_name] != b':' {
        return Err(Malformed);
    }
    Ok((&line[..n_name], &line[n_name + 1..]))
}

/// The parts of a list, some of which may be empty: RFC 9110 section 5.6.1.
fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(trim)
}

/// White space within a line.
pub(super) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Without the white space around it, which is spaces and tabs only: RFC 9110 section 5.6.3.
fn trim(text: &[u8]) -> &[u8] {
    let is_text = |byte: &u8| !is_space(*byte);
    let start = text.iter().position(is_text).unwrap_or(text.len());
    let end = text.iter().rposition(is_text).map_or(start, |last| last + 1);
    &text[start..end]
}

fn decimal(digits: &[u8]) -> Result<u64, Malformed> {
    if digits.is_empty() {
        return Err(Malformed);
    }
    digits.iter().try_fold(0_u64, |number, &byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0')).ok_or(Malformed)?;
        number.checked_mul(10).and_then(|tenfold| tenfold.checked_add(digit)).ok_or(Malformed)
    })
}

/// The size of a chunk from its line, extensions left out: RFC 9112 section 7.1.
pub(super) fn chunk_size(line: &[u8]) -> Result<u64, Malformed> {
    let before_extensions = memchr(b';', line).map_or(line, |at| &line[..at]);
    let n_digits = before_extensions.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (digits, rest) = before_extensions.split_at(n_digits);
    let is_size = (1..=16).contains(&n_digits) && trim(rest).is_empty();
    if !is_size {
        return Err(Malformed);
    }
    Ok(digits
        .iter()
        .fold(0, |size, &byte| size << 4 | u64::from(char::from(byte).to_digit(16).unwrap_or(0))))
}

/// A byte that a method or header name may have: RFC 9110 section 5.6.2.
pub(crate) const fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}
