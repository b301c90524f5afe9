//! A user's cookies: RFC 6265 as far as one host goes.
//!
//! A jar belongs to one user of one server, so `Domain` is not looked at: it either names this
//! host or would make a browser refuse the cookie. `Secure`, `HttpOnly` and `SameSite` are not
//! looked at either: a server under test is sent its cookies over whatever it is tested over.
//! `Path`, `Max-Age` and `Expires` are kept to.
//!
//! The header is kept ready to send. Usually all cookies have the path `/`, and sending them is one
//! copy: each request pays for it, so this is no general store.

use memchr::memchr;

use super::cookie_date;

/// The longest name and value together that browsers keep, and the longest path
/// (draft-ietf-httpbis-rfc6265bis, sections 5.6 and 5.7).
const MAX_PAIR_BYTES: usize = 4096;
const MAX_PATH_BYTES: usize = 1024;
/// As many as Chromium keeps of a site (RFC 6265 section 6.1 asks for 50).
const MAX_COOKIES: usize = 180;

const NAME: &[u8] = b"Cookie: ";
/// Behind each cookie but the last, which has the line end: as long.
const SEPARATOR: [u8; 2] = *b"; ";
const LINE_END: [u8; 2] = *b"\r\n";
const NEVER: u64 = u64::MAX;

/// The cookies of one user.
#[derive(Debug, Clone, Default)]
pub(crate) struct Jar {
    /// The header with all cookies, in the order in which they are sent; empty without any.
    line: Vec<u8>,
    /// Their paths one after the other, in the same order.
    paths: Vec<u8>,
    /// Longer paths first, then older cookies (section 5.4).
    cookies: Vec<Cookie>,
    /// When the first of them ends.
    next_end_ms: u64,
}

#[derive(Debug, Clone, Copy)]
struct Cookie {
    name_len: u16,
    /// `name=value`.
    pair_len: u16,
    path_len: u16,
    /// In Unix time.
    end_ms: u64,
}

/// Where a cookie is.
#[derive(Debug, Clone, Copy)]
struct Place {
    index: usize,
    in_line: usize,
    in_paths: usize,
}

impl Jar {
    /// Do what a `Set-Cookie` header in an answer to `target` says. What is malformed is ignored,
    /// as browsers do. False: there was no room for the cookie, and it is lost.
    pub(crate) fn take(&mut self, set_cookie: &[u8], target: &[u8], unix_now_ms: u64) -> bool {
        self.expire(unix_now_ms);
        let Some(cookie) = SetCookie::parse(set_cookie, unix_now_ms) else { return true };
        let path = cookie.path.unwrap_or_else(|| default_path(target));
        let known = self.place_of(cookie.name, path);
        if cookie.end_ms <= unix_now_ms {
            if let Some(place) = known {
                self.remove(place);
            }
            return true;
        }
        let is_full = known.is_none() && self.cookies.len() == MAX_COOKIES;
        if is_full || cookie.pair_len() > MAX_PAIR_BYTES || path.len() > MAX_PATH_BYTES {
            return false;
        }
        match known {
            Some(place) => self.replace(place, &cookie),
            None => self.insert(&cookie, path),
        }
        self.next_end_ms = self.next_end_ms.min(cookie.end_ms);
        true
    }

    /// Write the header for a request of `target` behind what `out` has; nothing where no cookie
    /// is for it. Where `out` ends with a `Cookie` line, the request's own, that one goes on: there
    /// may be no other (RFC 6265 section 5.4).
    #[inline]
    pub(crate) fn write_header(&self, target: &[u8], has_own: bool, out: &mut Vec<u8>) {
        // The longest path is the first.
        match self.cookies.first() {
            None => {}
            Some(&Cookie { path_len: 1, .. }) if !has_own => out.extend_from_slice(&self.line),
            Some(_) => self.write_matching(path_of(target), has_own, out),
        }
    }

    fn write_matching(&self, path: &[u8], has_own: bool, out: &mut Vec<u8>) {
        let start = out.len();
        if has_own {
            end_line(out, SEPARATOR);
        } else {
            out.extend_from_slice(NAME);
        }
        let first_pair = out.len();
        let (mut line, mut paths) = (&self.line[NAME.len()..], &self.paths[..]);
        for cookie in &self.cookies {
            let (pair, of_cookie);
            (pair, line) = line.split_at(usize::from(cookie.pair_len));
            (of_cookie, paths) = paths.split_at(usize::from(cookie.path_len));
            line = &line[SEPARATOR.len()..];
            if is_path_match(path, of_cookie) {
                out.extend_from_slice(pair);
                out.extend_from_slice(&SEPARATOR);
            }
        }
        if out.len() == first_pair {
            out.truncate(start);
        }
        if has_own || out.len() > start {
            end_line(out, LINE_END);
        }
    }

    /// Drop the cookies whose time is over. [`take`](Self::take) does this too; call it before
    /// they are sent.
    #[inline]
    pub(crate) fn expire(&mut self, unix_now_ms: u64) {
        if !self.cookies.is_empty() && unix_now_ms >= self.next_end_ms {
            self.drop_ended(unix_now_ms);
        }
    }

    fn drop_ended(&mut self, unix_now_ms: u64) {
        while let Some(place) = self.ended(unix_now_ms) {
            self.remove(place);
        }
        self.next_end_ms = self.cookies.iter().map(|cookie| cookie.end_ms).min().unwrap_or(NEVER);
    }

    /// Forget all cookies, and keep the room.
    pub(crate) fn clear(&mut self) {
        self.line.clear();
        self.paths.clear();
        self.cookies.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }

    fn places(&self) -> impl Iterator<Item = Place> {
        let first = Place { index: 0, in_line: NAME.len(), in_paths: 0 };
        self.cookies.iter().scan(first, |next, cookie| {
            let place = *next;
            next.index += 1;
            next.in_line += usize::from(cookie.pair_len) + SEPARATOR.len();
            next.in_paths += usize::from(cookie.path_len);
            Some(place)
        })
    }

    fn ended(&self, unix_now_ms: u64) -> Option<Place> {
        self.places().find(|place| self.cookies[place.index].end_ms <= unix_now_ms)
    }

    fn place_of(&self, name: &[u8], path: &[u8]) -> Option<Place> {
        self.places().find(|place| {
            let Cookie { name_len, path_len, .. } = self.cookies[place.index];
            usize::from(name_len) == name.len()
                && usize::from(path_len) == path.len()
                && self.line[place.in_line..].starts_with(name)
                && self.paths[place.in_paths..].starts_with(path)
        })
    }

    /// It keeps its place: that of when it was first set (section 5.3, step 11).
    fn replace(&mut self, place: Place, cookie: &SetCookie) {
        let Cookie { path_len, pair_len, .. } = self.cookies[place.index];
        cookie.write_to(room(&mut self.line, place.in_line, pair_len.into(), cookie.pair_len()));
        self.cookies[place.index] = cookie.kept(path_len);
    }

    fn insert(&mut self, cookie: &SetCookie, path: &[u8]) {
        if self.line.is_empty() {
            self.line.extend_from_slice(NAME);
            self.next_end_ms = NEVER;
        } else {
            end_line(&mut self.line, SEPARATOR);
        }
        let end = Place {
            index: self.cookies.len(),
            in_line: self.line.len(),
            in_paths: self.paths.len(),
        };
        let is_before =
            |place: &Place| usize::from(self.cookies[place.index].path_len) < path.len();
        let place = self.places().find(is_before).unwrap_or(end);
        let new_len = cookie.pair_len() + SEPARATOR.len();
        let (pair, separator) =
            room(&mut self.line, place.in_line, 0, new_len).split_at_mut(cookie.pair_len());
        cookie.write_to(pair);
        separator.copy_from_slice(&SEPARATOR);
        end_line(&mut self.line, LINE_END);
        room(&mut self.paths, place.in_paths, 0, path.len()).copy_from_slice(path);
        self.cookies.insert(place.index, cookie.kept(path.len() as u16));
    }

    fn remove(&mut self, place: Place) {
        let Cookie { pair_len, path_len, .. } = self.cookies.remove(place.index);
        room(&mut self.line, place.in_line, usize::from(pair_len) + SEPARATOR.len(), 0);
        room(&mut self.paths, place.in_paths, path_len.into(), 0);
        if self.cookies.is_empty() {
            self.line.clear();
        } else {
            end_line(&mut self.line, LINE_END);
        }
    }
}

/// Make `new_len` bytes of room in place of `old_len` bytes.
fn room(buffer: &mut Vec<u8>, at: usize, old_len: usize, new_len: usize) -> &mut [u8] {
    let (old_end, new_end, end) = (at + old_len, at + new_len, buffer.len());
    if new_len > old_len {
        buffer.resize(end + new_len - old_len, 0);
    }
    buffer.copy_within(old_end..end, new_end);
    buffer.truncate(end + new_len - old_len);
    &mut buffer[at..new_end]
}

/// What the last cookie is followed by.
fn end_line(line: &mut [u8], with: [u8; 2]) {
    if let Some(end) = line.last_chunk_mut() {
        *end = with;
    }
}

/// A `Set-Cookie` header: section 5.2.
#[derive(Debug)]
struct SetCookie<'a> {
    name: &'a [u8],
    value: &'a [u8],
    /// `None`: that of the request.
    path: Option<&'a [u8]>,
    end_ms: u64,
}

impl<'a> SetCookie<'a> {
    fn parse(header: &'a [u8], unix_now_ms: u64) -> Option<Self> {
        // They would break the request; browsers refuse them (draft-ietf-httpbis-rfc6265bis).
        if header.iter().any(|&byte| byte.is_ascii_control() && byte != b'\t') {
            return None;
        }
        let mut parts = header.split(|&byte| byte == b';');
        let (name, value) = halves(parts.next()?)?;
        if name.is_empty() {
            return None;
        }
        let (mut path, mut max_age_end_ms, mut date_s) = (None, None, None);
        for part in parts {
            let (attribute, value) = halves(part).unwrap_or((part.trim_ascii(), b""));
            // Of each the last counts.
            if attribute.eq_ignore_ascii_case(b"path") {
                let is_path = value.starts_with(b"/") && value.len() <= MAX_PATH_BYTES;
                path = is_path.then_some(value);
            } else if attribute.eq_ignore_ascii_case(b"max-age") {
                max_age_end_ms = end_by_age(value, unix_now_ms).or(max_age_end_ms);
            } else if attribute.eq_ignore_ascii_case(b"expires") {
                date_s = cookie_date::unix_s(value).or(date_s);
            }
        }
        let end_ms = max_age_end_ms.or(date_s.map(|at_s| at_s * 1000)).unwrap_or(NEVER);
        Some(Self { name, value, path, end_ms })
    }

    fn pair_len(&self) -> usize {
        self.name.len() + 1 + self.value.len()
    }

    fn write_to(&self, pair: &mut [u8]) {
        let (name, rest) = pair.split_at_mut(self.name.len());
        name.copy_from_slice(self.name);
        rest[0] = b'=';
        rest[1..].copy_from_slice(self.value);
    }

    /// Lengths that a jar has room for are small.
    fn kept(&self, path_len: u16) -> Cookie {
        Cookie {
            name_len: self.name.len() as u16,
            pair_len: self.pair_len() as u16,
            path_len,
            end_ms: self.end_ms,
        }
    }
}

/// What is before and behind the first `=`.
fn halves(part: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr(b'=', part)?;
    Some((part[..at].trim_ascii(), part[at + 1..].trim_ascii()))
}

/// When a `Max-Age` ends; `None` where it isn't one. 0 and less end before all time.
fn end_by_age(value: &[u8], unix_now_ms: u64) -> Option<u64> {
    let (digits, is_negative) = match value.strip_prefix(b"-") {
        Some(digits) => (digits, true),
        None => (value, false),
    };
    let age_s = digits.iter().try_fold(0_u64, |age, &byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        Some(age.saturating_mul(10).saturating_add(digit))
    })?;
    match age_s {
        _ if digits.is_empty() => None,
        0 => Some(0),
        _ if is_negative => Some(0),
        age_s => Some(unix_now_ms.saturating_add(age_s.saturating_mul(1000))),
    }
}

/// The path of a request target, without its query.
fn path_of(target: &[u8]) -> &[u8] {
    let from_path = if target.starts_with(b"/") {
        target
    } else {
        // `http://host/path`, as a proxy is asked; anything else has no path.
        let behind_scheme = memchr(b':', target)
            .and_then(|colon| target[colon + 1..].strip_prefix(b"//"))
            .unwrap_or(b"");
        memchr(b'/', behind_scheme).map_or(&b"/"[..], |slash| &behind_scheme[slash..])
    };
    let end = from_path.iter().position(|byte| matches!(byte, b'?' | b'#'));
    &from_path[..end.unwrap_or(from_path.len())]
}

/// The path of a cookie that names none: section 5.1.4.
fn default_path(target: &[u8]) -> &[u8] {
    let path = path_of(target);
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(slash) if slash > 0 => &path[..slash],
        _ => b"/",
    }
}

/// Section 5.1.4.
fn is_path_match(path: &[u8], of_cookie: &[u8]) -> bool {
    path.strip_prefix(of_cookie)
        .is_some_and(|rest| rest.is_empty() || of_cookie.ends_with(b"/") || rest.starts_with(b"/"))
}

#[cfg(test)]
#[path = "jar_tests.rs"]
mod tests;
