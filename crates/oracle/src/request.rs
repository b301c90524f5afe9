//! Just enough of a request's header to answer it.

use crate::session;

/// The longest header that is read.
pub(crate) const MAX_HEAD_BYTES: usize = 64 * 1024;

/// What a header says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    pub(crate) wants_no_body: bool,
    pub(crate) target: &'a str,
    pub(crate) body_bytes: usize,
    pub(crate) wants_close: bool,
    /// The session that its cookie names.
    pub(crate) session: Option<u64>,
}

/// Return where the header ends, its blank line included.
pub(crate) fn head_end(received: &[u8]) -> Option<usize> {
    // A carriage return is rare, so looking for it first passes over the rest quickly.
    let mut from = 0;
    while let Some(at) = received[from..].iter().position(|byte| *byte == b'\r') {
        let rest = &received[from + at..];
        if rest.starts_with(b"\r\n\r\n") {
            return Some(from + at + 4);
        }
        from += at + 1;
    }
    None
}

impl<'a> Head<'a> {
    /// Parse a header that ends in its blank line; the error is a sentence for the client.
    pub(crate) fn parse(head: &'a [u8]) -> Result<Self, &'static str> {
        let text = std::str::from_utf8(head).map_err(|_| "the header is not UTF-8")?;
        let mut lines = text.split("\r\n");
        let mut words = lines.next().unwrap_or("").split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err("the request line is not METHOD TARGET VERSION");
        };
        if !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
            return Err("the version is neither HTTP/1.1 nor HTTP/1.0");
        }
        let mut length = None;
        let mut request = Self {
            wants_no_body: method == "HEAD",
            target,
            body_bytes: 0,
            // Keep-alive of HTTP/1.0 is not offered: closing is always a right answer to it.
            wants_close: version == "HTTP/1.0",
            session: None,
        };
        for line in lines.filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').ok_or("a header field has no colon")?;
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                let bytes = digits(value).ok_or("Content-Length is no number")?;
                if length.is_some_and(|before| before != bytes) {
                    return Err("two values of Content-Length are not the same");
                }
                length = Some(bytes);
            } else if name.eq_ignore_ascii_case("connection") {
                request.wants_close |= value.eq_ignore_ascii_case("close");
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                return Err("chunked requests are not read by this server");
            } else if name.eq_ignore_ascii_case("cookie") {
                request.session = request.session.or_else(|| session::identity(value));
            }
        }
        request.body_bytes = length.unwrap_or(0);
        Ok(request)
    }
}

/// Parse digits and nothing else: `parse` alone takes a sign.
fn digits(text: &str) -> Option<usize> {
    let are_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| are_digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_ends_at_its_first_blank_line() {
        assert_eq!(head_end(b"GET / HTTP/1.1\r\n\r\nmore"), Some(18));
        assert_eq!(head_end(b"GET / HTTP/1.1\r\nA: \r\r\n\r\n"), Some(24));
        assert_eq!(head_end(b"GET / HTTP/1.1\r\n\r"), None);
        assert_eq!(head_end(b""), None);
    }

    #[test]
    fn length_persistence_and_session_are_read_whatever_their_case() {
        let head = b"POST /x?y HTTP/1.1\r\nHost: a\r\ncontent-LENGTH: 12\r\nCONNECTION: Close\r\n\
                     COOKIE: a=b; sid=000000000000000f\r\nContent-Length: 12\r\n\r\n";
        let expected = Head {
            wants_no_body: false,
            target: "/x?y",
            body_bytes: 12,
            wants_close: true,
            session: Some(15),
        };
        assert_eq!(Head::parse(head), Ok(expected));
        assert!(Head::parse(b"HEAD / HTTP/1.1\r\n\r\n").unwrap().wants_no_body);
        assert!(Head::parse(b"GET / HTTP/1.0\r\n\r\n").unwrap().wants_close);
    }

    #[test]
    fn what_is_no_request_is_refused_with_a_reason() {
        for head in [
            "\r\n\r\n",
            "GET /\r\n\r\n",
            "GET / HTTP/2\r\n\r\n",
            "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
            "GET / HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
            "GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
            "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "GET / HTTP/1.1\r\nno colon\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        ] {
            assert!(Head::parse(head.as_bytes()).is_err(), "{head:?}");
        }
    }
}
