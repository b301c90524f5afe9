//! Requests rendered to bytes: once before the run where they are always the same, else as late
//! as they are sent.

use super::template::{self, Template, Vars};
use crate::error::Error;
use crate::http::{Jar, Scanner, is_token_byte};
use crate::input::Request;

/// A request as it goes on the wire, and what a right answer to it looks like.
#[derive(Debug, Clone)]
pub(crate) struct Rendered {
    /// All of it, where it never varies.
    fixed: Option<Box<[u8]>>,
    /// The request line and the headers but for the length, each with its line end; the last one is
    /// the request's own `Cookie`, if it has some.
    head: Template,
    has_cookie: bool,
    /// As it was given: cookies are chosen by it.
    pub(crate) target: Box<[u8]>,
    sends_length: bool,
    body: Template,
    /// The answer has no body, whatever its head says.
    pub(crate) is_head: bool,
    expect_status: u16,
    expect_length: Option<u64>,
}

impl Rendered {
    /// Check and render `request`; `field` is its name for messages.
    pub(super) fn new(request: &Request, says_close: bool, field: &str) -> Result<Self, Error> {
        check(request, field)?;
        let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.target);
        let mut add = |name: &str, value: &str| {
            for part in [name, ": ", value, "\r\n"] {
                head.push_str(part);
            }
        };
        for (name, value) in &request.headers {
            if !["content-length", "cookie"].contains(&&*name.to_ascii_lowercase()) {
                add(name, value);
            }
        }
        let has = |name: &str| request.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
        if says_close && !has("connection") {
            add("Connection", "close");
        }
        let cookies =
            request.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("cookie"));
        let cookies: Vec<&str> = cookies.map(|(_, value)| value.trim()).collect();
        if !cookies.is_empty() {
            add("Cookie", &cookies.join("; "));
        }
        let wants_length = matches!(request.method.as_str(), "POST" | "PUT" | "PATCH");
        let template = |part: &[u8], is_strict| {
            Template::parse(part, is_strict).map_err(|unknown| {
                let value = format!("with the unknown template `{{{}}}`", unknown.0);
                Error::invalid(field, value, "{n}, {user}, {random} or, as it stands, {{word}}")
            })
        };
        let mut rendered = Self {
            fixed: None,
            head: template(head.as_bytes(), true)?,
            has_cookie: !cookies.is_empty(),
            target: request.target.as_bytes().into(),
            sends_length: wants_length || has("content-length") || !request.body.is_empty(),
            body: template(&request.body, false)?,
            is_head: request.method == "HEAD",
            expect_status: request.expect_status,
            expect_length: request.expect_length,
        };
        if rendered.head.is_fixed() && rendered.body.is_fixed() {
            let mut bytes = Vec::new();
            rendered.render(&Vars { n: 0, user: 0, random: 0 }, None, &mut bytes);
            rendered.fixed = Some(bytes.into_boxed_slice());
        }
        Ok(rendered)
    }

    /// Nothing in it varies but cookies.
    pub(crate) fn is_fixed(&self) -> bool {
        self.fixed.is_some()
    }

    /// The bytes, where nothing in them varies and no cookie comes in between.
    #[inline]
    pub(crate) fn fixed(&self, jar: Option<&Jar>) -> Option<&[u8]> {
        match jar {
            Some(jar) if !jar.is_empty() => None,
            _ => self.fixed.as_deref(),
        }
    }

    /// Add the bytes to `out`.
    pub(crate) fn render(&self, vars: &Vars, jar: Option<&Jar>, out: &mut Vec<u8>) {
        self.head.render(vars, out);
        if let Some(jar) = jar {
            jar.write_header(&self.target, self.has_cookie, out);
        }
        if self.sends_length {
            out.extend_from_slice(b"Content-Length: ");
            template::push_decimal(self.body.len(vars) as u64, out);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
        self.body.render(vars, out);
    }

    pub(crate) fn expects_status(&self, status: u16) -> bool {
        match self.expect_status {
            0 => (200..400).contains(&status),
            expected => status == expected,
        }
    }

    /// Whether the body of an answer, decoded, is as long as it should be.
    pub(crate) fn expects_length_of(&self, answer: &Scanner) -> bool {
        self.expect_length.is_none_or(|expected| answer.has_length(expected))
    }
}

fn check(request: &Request, field: &str) -> Result<(), Error> {
    if !is_token(&request.method) {
        let expected = "a token such as GET";
        return Err(Error::invalid(format!("{field}.method"), quoted(&request.method), expected));
    }
    let target = &request.target;
    if target.is_empty() || target.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        let expected = "a request target without spaces and control characters, such as /";
        return Err(Error::invalid(format!("{field}.target"), quoted(target), expected));
    }
    if !matches!(request.expect_status, 0 | 100..=999) {
        let expected = "a status from 100 to 999, or 0 for any 2xx or 3xx";
        return Err(Error::invalid(
            format!("{field}.expect_status"),
            request.expect_status,
            expected,
        ));
    }
    check_headers(request, field)
}

fn check_headers(request: &Request, field: &str) -> Result<(), Error> {
    let mut n_hosts = 0;
    for (index, (name, value)) in request.headers.iter().enumerate() {
        let refuse = |what: &str, value: &str, expected: &str| {
            Err(Error::invalid(format!("{field}.headers[{index}] {what}"), quoted(value), expected))
        };
        if !is_token(name) {
            return refuse("name", name, "a header name such as Accept");
        }
        if value.bytes().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
            return refuse("value", value, "a value without line breaks and NUL");
        }
        match name.to_ascii_lowercase().as_str() {
            "host" => n_hosts += 1,
            "transfer-encoding" => return refuse("name", name, "a body sent with its length"),
            "content-length" if value.trim() != request.body.len().to_string() => {
                return refuse("value", value, "the length of the body, or no such header");
            }
            _ => {}
        }
    }
    if n_hosts != 1 {
        return Err(Error::invalid(
            format!("{field}.headers"),
            format!("with {n_hosts} Host headers"),
            "exactly one",
        ));
    }
    Ok(())
}

fn quoted(value: &str) -> String {
    format!("{value:?}")
}

/// RFC 9110 section 5.6.2.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_token_byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(request: &Request, keep_alive: bool) -> String {
        let rendered = Rendered::new(request, !keep_alive, "request").unwrap();
        String::from_utf8(rendered.fixed(None).unwrap().to_vec()).unwrap()
    }

    #[test]
    fn a_get_is_rendered_as_given() {
        let request = Request::get("a.example", "/x?y=1");
        let expected = "GET /x?y=1 HTTP/1.1\r\nHost: a.example\r\n\r\n";
        assert_eq!(rendered(&request, true), expected);
        assert!(rendered(&request, false).ends_with("\r\nConnection: close\r\n\r\n"));
    }

    #[test]
    fn a_body_gets_its_length() {
        let mut request = Request::get("h", "/");
        request.method = "POST".to_owned();
        assert!(rendered(&request, true).contains("\r\nContent-Length: 0\r\n"));
        request.body = b"abc".to_vec();
        assert!(rendered(&request, true).ends_with("\r\nContent-Length: 3\r\n\r\nabc"));
        request.headers.push(("content-length".to_owned(), "3".to_owned()));
        assert_eq!(rendered(&request, true).matches("ontent-").count(), 1);
    }

    #[test]
    fn what_varies_is_rendered_when_it_is_sent() {
        let mut request = Request::get("h", "/item/{n}");
        request.method = "POST".to_owned();
        request.body = br#"{"user": {user}}"#.to_vec();
        let rendered = Rendered::new(&request, false, "request").unwrap();
        assert!(rendered.fixed(None).is_none());
        let mut out = Vec::new();
        rendered.render(&Vars { n: 12, user: 345, random: 0 }, None, &mut out);
        let expected =
            "POST /item/12 HTTP/1.1\r\nHost: h\r\nContent-Length: 13\r\n\r\n{\"user\": 345}";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn there_is_one_cookie_line_wherever_cookies_come_from() {
        let mut jar = Jar::default();
        jar.take(b"sess=1; Path=/", b"/", 0);
        jar.take(b"deep=2; Path=/deep", b"/", 0);
        let cookies = |own: &[&str], jar: Option<&Jar>, target| {
            let mut request = Request::get("h", target);
            request.method = "POST".to_owned();
            request.headers.extend(own.iter().map(|own| ("cookie".to_owned(), (*own).to_owned())));
            let rendered = Rendered::new(&request, false, "request").unwrap();
            let mut out = Vec::new();
            rendered.render(&Vars { n: 7, user: 0, random: 0 }, jar, &mut out);
            let text = String::from_utf8(out).unwrap();
            assert!(text.contains("\r\nContent-Length: 0\r\n"), "{text}");
            let lines = text.split("\r\n").filter(|line| line.starts_with("Cookie: "));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let only_deep = {
            let mut jar = Jar::default();
            jar.take(b"deep=2; Path=/deep", b"/", 0);
            jar
        };
        assert_eq!(cookies(&[], None, "/"), [""; 0]);
        assert_eq!(cookies(&["a=1", "b={n}"], None, "/"), ["Cookie: a=1; b=7"]);
        assert_eq!(cookies(&[], Some(&jar), "/"), ["Cookie: sess=1"]);
        assert_eq!(cookies(&["a=1"], Some(&jar), "/"), ["Cookie: a=1; sess=1"]);
        assert_eq!(cookies(&["a=1"], Some(&jar), "/deep"), ["Cookie: a=1; deep=2; sess=1"]);
        assert_eq!(cookies(&["a=1"], Some(&only_deep), "/"), ["Cookie: a=1"]);
        assert_eq!(cookies(&["a=1"], Some(&Jar::default()), "/"), ["Cookie: a=1"]);
        assert_eq!(cookies(&[], Some(&only_deep), "/"), [""; 0]);
    }

    #[test]
    fn an_unknown_template_is_refused_by_name() {
        let error = Rendered::new(&Request::get("h", "/{nope}"), false, "request").unwrap_err();
        assert!(error.to_string().contains("unknown template `{nope}`"), "{error}");
    }

    #[test]
    fn what_would_break_the_message_is_refused_with_its_place() {
        let with = |name: &str, value: &str| {
            let mut request = Request::get("h", "/");
            request.headers.push((name.to_owned(), value.to_owned()));
            request
        };
        let of = |change: fn(&mut Request)| {
            let mut request = Request::get("h", "/");
            change(&mut request);
            request
        };
        for (request, message) in [
            (with("A", "b\r\nC: d"), "request.headers[1] value is \"b\\r\\nC: d\""),
            (with("A b", "c"), "request.headers[1] name is \"A b\""),
            (with("Host", "c"), "request.headers is with 2 Host headers"),
            (with("Content-Length", "9"), "request.headers[1] value is \"9\""),
            (of(|r| r.method = "G T".into()), "request.method is \"G T\""),
            (of(|r| r.target = "/a b".into()), "request.target is \"/a b\""),
            (of(|r| r.expect_status = 99), "request.expect_status is 99"),
            (of(|r| r.headers.clear()), "request.headers is with 0 Host headers"),
        ] {
            let error = Rendered::new(&request, false, "request").unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn any_2xx_or_3xx_is_right_unless_one_is_named() {
        let mut request = Request::get("h", "/");
        let any = Rendered::new(&request, false, "").unwrap();
        assert!(any.expects_status(204) && any.expects_status(304) && !any.expects_status(404));
        request.expect_status = 404;
        let one = Rendered::new(&request, false, "").unwrap();
        assert!(one.expects_status(404) && !one.expects_status(200));
    }
}
