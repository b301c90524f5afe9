//! The jar against tables, and against a plain list that does the same the slow way.

use proptest::prelude::*;

use super::*;

/// In Unix time.
const NOW_MS: u64 = 1_700_000_000_000;
const S: u64 = 1000;

fn header(jar: &Jar, target: &str) -> String {
    let mut out = b"Host: x\r\n".to_vec();
    jar.write_header(target.as_bytes(), false, &mut out);
    String::from_utf8(out).unwrap().strip_prefix("Host: x\r\n").unwrap().to_owned()
}

fn jar_of(set_cookies: &[&str]) -> Jar {
    let mut jar = Jar::default();
    for set_cookie in set_cookies {
        jar.take(set_cookie.as_bytes(), b"/", NOW_MS);
    }
    jar
}

/// What is sent to `/` after these.
fn sent(set_cookies: &[&str]) -> String {
    header(&jar_of(set_cookies), "/")
}

#[test]
fn an_empty_jar_sends_nothing() {
    assert_eq!(sent(&[]), "");
    assert!(Jar::default().is_empty());
}

#[test]
fn cookies_are_sent_in_the_order_in_which_they_came() {
    assert_eq!(sent(&["a=1"]), "Cookie: a=1\r\n");
    assert_eq!(sent(&["b=1", "a=2; Path=/", "c=3"]), "Cookie: b=1; a=2; c=3\r\n");
    assert!(!jar_of(&["a=1"]).is_empty());
}

#[test]
fn the_same_name_and_path_is_replaced_in_its_place() {
    assert_eq!(sent(&["a=1", "b=2", "a=3"]), "Cookie: a=3; b=2\r\n");
    assert_eq!(sent(&["a=1", "b=2", "a=longer"]), "Cookie: a=longer; b=2\r\n");
    assert_eq!(sent(&["a=long", "b=2", "a="]), "Cookie: a=; b=2\r\n");
    assert_eq!(sent(&["a=1", "b=2", "b=33"]), "Cookie: a=1; b=33\r\n");
    assert_eq!(sent(&["a=1", "A=2", "ab=3"]), "Cookie: a=1; A=2; ab=3\r\n");
}

#[test]
fn values_are_kept_as_they_are_but_for_white_space() {
    for (set_cookie, pair) in [
        ("a=b=c", "a=b=c"),
        ("a=\"b c\"", "a=\"b c\""),
        (" a \t=  b \t; Path=/", "a=b"),
        ("a=b;HttpOnly", "a=b"),
        ("a=", "a="),
        ("a=\u{e9}\t.", "a=\u{e9}\t."),
        ("a=b; Domain=elsewhere.example; Secure; HttpOnly; SameSite=Strict; x; =; ;;", "a=b"),
    ] {
        assert_eq!(sent(&[set_cookie]), format!("Cookie: {pair}\r\n"), "{set_cookie:?}");
    }
}

#[test]
fn what_is_malformed_is_ignored() {
    for set_cookie in ["", "a", "=b", " = b", ";a=b", "; Path=/", "a; b=c", "a=b\r\nX: y", "a=\0"] {
        assert_eq!(sent(&["kept=1", set_cookie]), "Cookie: kept=1\r\n", "{set_cookie:?}");
    }
}

#[test]
fn an_age_or_a_date_in_the_past_deletes() {
    for attribute in [
        "Max-Age=0",
        "max-age=-1",
        "MAX-AGE = 0",
        "Max-Age=-99999999999999999999999",
        "Expires=Thu, 01 Jan 1970 00:00:00 GMT",
        "expires=Sunday, 06-Nov-94 08:49:37 GMT",
        "Expires=Wed, 01 Jan 2098 00:00:00 GMT; Max-Age=0",
        "Max-Age=5; Max-Age=0",
        "Expires=Wed, 01 Jan 2098 00:00:00 GMT; Expires=Sun Nov  6 08:49:37 1994",
    ] {
        let delete = format!("a=; {attribute}");
        assert_eq!(sent(&["a=1", "b=2", &delete]), "Cookie: b=2\r\n", "{attribute}");
        assert_eq!(sent(&["b=2", "a=1", &delete]), "Cookie: b=2\r\n", "{attribute}");
        assert_eq!(sent(&["a=1", &delete]), "", "{attribute}");
        assert_eq!(sent(&["c=2", &delete]), "Cookie: c=2\r\n", "{attribute}");
    }
}

#[test]
fn what_is_no_age_and_no_date_does_nothing() {
    for attribute in [
        "Max-Age=",
        "Max-Age=-",
        "Max-Age=0x",
        "Max-Age=1.5",
        "Max-Age=+0",
        "Max-Age",
        "Expires=yesterday",
        "Expires=0",
        "Expires",
        "Max-Age=9; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
        "Max-Age=99999999999999999999999",
        "Max-Age=60; Max-Age=x",
    ] {
        assert_eq!(sent(&[&format!("a=1; {attribute}")]), "Cookie: a=1\r\n", "{attribute}");
    }
}

#[test]
fn a_cookie_ends_when_its_time_is_over() {
    let mut jar = jar_of(&["a=1; Max-Age=10", "b=2", "c=3; Max-Age=20"]);
    jar.expire(NOW_MS + 10 * S - 1);
    assert_eq!(header(&jar, "/"), "Cookie: a=1; b=2; c=3\r\n");
    jar.expire(NOW_MS + 10 * S);
    assert_eq!(header(&jar, "/"), "Cookie: b=2; c=3\r\n");
    // Any other cookie is an occasion too.
    jar.take(b"d=4", b"/", NOW_MS + 20 * S);
    assert_eq!(header(&jar, "/"), "Cookie: b=2; d=4\r\n");
    jar.take(b"b=5; Expires=Tue, 14 Nov 2023 22:13:50 GMT", b"/", NOW_MS + 21 * S);
    jar.expire(NOW_MS + 29 * S);
    assert_eq!(header(&jar, "/"), "Cookie: b=5; d=4\r\n");
    jar.expire(NOW_MS + 30 * S);
    assert_eq!(header(&jar, "/"), "Cookie: d=4\r\n");
}

#[test]
fn longer_paths_come_first_and_only_where_they_match() {
    let mut jar = Jar::default();
    for set_cookie in ["r=1", "s=2; Path=/shop/", "o=3; Path=/shop", "i=4; Path=/shop/item", "r=5"]
    {
        jar.take(set_cookie.as_bytes(), b"/", NOW_MS);
    }
    for (target, pairs) in [
        ("/", "r=5"),
        ("/x/shop", "r=5"),
        ("/shop", "o=3; r=5"),
        ("/shopping", "r=5"),
        ("/shop?item/", "o=3; r=5"),
        ("/shop/", "s=2; o=3; r=5"),
        ("/shop/item?a=b", "i=4; s=2; o=3; r=5"),
        ("/shop/item/7", "i=4; s=2; o=3; r=5"),
        ("http://host:80/shop", "o=3; r=5"),
        ("http://host", "r=5"),
        ("*", "r=5"),
    ] {
        assert_eq!(header(&jar, target), format!("Cookie: {pairs}\r\n"), "{target}");
    }
    let only_deep = jar_of(&["s=2; Path=/shop"]);
    assert_eq!(header(&only_deep, "/"), "");
}

#[test]
fn without_a_path_it_is_that_of_the_request() {
    for (target, matching, other) in [
        ("/", "/a/b", ""),
        ("/login", "/a", ""),
        ("/a/login?next=/x/y", "/a", "/ab"),
        ("/a/b/", "/a/b/c", "/a"),
        ("http://h/a/b", "/a/x", "/"),
        ("*", "/", ""),
    ] {
        for attributes in ["", "; Path", "; Path=", "; Path=relative", "; Path=/z; Path=z"] {
            let mut jar = Jar::default();
            jar.take(format!("s=1{attributes}").as_bytes(), target.as_bytes(), NOW_MS);
            assert_eq!(header(&jar, matching), "Cookie: s=1\r\n", "{target}, {attributes}");
            assert!(other.is_empty() || header(&jar, other).is_empty(), "{target}, {attributes}");
        }
    }
    let other_path = ["a=1; Path=/x", "a=2; Path=/x; Path=/", "a=; Path=/x; Max-Age=0"];
    assert_eq!(sent(&other_path), "Cookie: a=2\r\n");
}

#[test]
fn a_jar_has_room_for_what_browsers_keep_and_says_what_it_has_not() {
    let mut jar = Jar::default();
    let mut takes = |name: &str, n_bytes: usize, path: &str| {
        let value = "x".repeat(n_bytes - name.len() - 1);
        jar.take(format!("{name}={value}; Path={path}").as_bytes(), b"/", NOW_MS)
    };
    for number in 0..1000 {
        let is_kept = takes(&format!("name{number:04}"), MAX_PAIR_BYTES, "/");
        assert_eq!(is_kept, number < MAX_COOKIES, "{number}");
    }
    // What is in may be replaced, and stays if it would grow too large.
    assert!(takes("name0000", 12, "/"));
    assert!(!takes("name0001", MAX_PAIR_BYTES + 1, "/"));
    let sent = header(&jar, "/");
    assert!(sent.starts_with("Cookie: name0000=xxx; name0001=xxx"));
    assert_eq!(sent.matches('=').count(), MAX_COOKIES);
    // A path that is too long is none; where that of the request is, there is no room.
    let mut jar = Jar::default();
    let long = format!("/{}", "p".repeat(MAX_PATH_BYTES));
    assert!(jar.take(format!("a=1; Path={long}").as_bytes(), b"/", NOW_MS));
    assert_eq!(header(&jar, "/"), "Cookie: a=1\r\n");
    assert!(!jar.take(b"b=2", format!("{long}/").as_bytes(), NOW_MS));
}

#[test]
fn a_cleared_jar_is_empty_and_keeps_its_room() {
    let mut jar = jar_of(&["a=1", "b=2; Path=/x"]);
    let room = (jar.line.as_ptr(), jar.paths.as_ptr(), jar.cookies.as_ptr());
    jar.clear();
    assert!(jar.is_empty());
    assert_eq!(header(&jar, "/x"), "");
    jar.take(b"c=3", b"/", NOW_MS);
    jar.take(b"d=4; Path=/x", b"/", NOW_MS);
    assert_eq!(header(&jar, "/x"), "Cookie: d=4; c=3\r\n");
    assert_eq!((jar.line.as_ptr(), jar.paths.as_ptr(), jar.cookies.as_ptr()), room);
}

#[test]
fn a_session_that_is_renewed_moves_nothing() {
    let mut jar = jar_of(&["session=0123456789abcdef", "lang=en"]);
    let before = (jar.line.as_ptr(), jar.line.capacity());
    let mut out = Vec::with_capacity(200);
    let room = out.as_ptr();
    for number in 0..100 {
        jar.take(format!("session={number:016x}; Path=/; HttpOnly").as_bytes(), b"/", NOW_MS);
        out.clear();
        jar.write_header(b"/", false, &mut out);
        assert_eq!(out, format!("Cookie: session={number:016x}; lang=en\r\n").into_bytes());
    }
    assert_eq!((jar.line.as_ptr(), jar.line.capacity()), before);
    assert_eq!((out.as_ptr(), out.capacity()), (room, 200));
}

/// A jar as a plain list.
#[derive(Default)]
struct List(Vec<Listed>);

struct Listed {
    name: String,
    value: String,
    path: String,
    end_ms: u64,
}

impl List {
    fn set(&mut self, listed: Listed, now_ms: u64) {
        self.0.retain(|old| old.end_ms > now_ms);
        let known =
            self.0.iter().position(|old| (&old.name, &old.path) == (&listed.name, &listed.path));
        match known {
            Some(at) if listed.end_ms <= now_ms => drop(self.0.remove(at)),
            Some(at) => self.0[at] = listed,
            None if listed.end_ms > now_ms => self.0.push(listed),
            None => {}
        }
    }

    fn header(&self, path: &str) -> String {
        let is_match = |of_cookie: &str| {
            let of_folder = format!("{}/", of_cookie.trim_end_matches('/'));
            path == of_cookie || path.starts_with(&of_folder)
        };
        let mut matching: Vec<&Listed> = self.0.iter().filter(|c| is_match(&c.path)).collect();
        matching.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let pairs: Vec<String> =
            matching.iter().map(|cookie| format!("{}={}", cookie.name, cookie.value)).collect();
        if pairs.is_empty() { String::new() } else { format!("Cookie: {}\r\n", pairs.join("; ")) }
    }
}

proptest! {
    #[test]
    fn a_jar_does_what_a_plain_list_does(
        steps in prop::collection::vec(
            ("[a-d]", "[a-z]{0,6}", "(/|/a|/a/|/a/b)", prop::option::of(0..5_u64), 0..3000_u64),
            1..40,
        ),
    ) {
        let (mut jar, mut list, mut now_ms) = (Jar::default(), List::default(), NOW_MS);
        for (name, value, path, age_s, pause_ms) in steps {
            now_ms += pause_ms;
            let age = age_s.map(|age_s| format!("; Max-Age={age_s}")).unwrap_or_default();
            jar.take(format!("{name}={value}; Path={path}{age}").as_bytes(), b"/", now_ms);
            let end_ms = match age_s {
                None => NEVER,
                Some(0) => 0,
                Some(age_s) => now_ms + age_s * S,
            };
            list.set(Listed { name, value, path, end_ms }, now_ms);
            for target in ["/", "/a", "/a/", "/a/b", "/ab"] {
                prop_assert_eq!(header(&jar, target), list.header(target));
            }
            prop_assert_eq!(jar.is_empty(), list.0.is_empty());
        }
    }

    #[test]
    fn whatever_a_server_sets_the_header_stays_one_line(
        set_cookies in prop::collection::vec(
            (prop_oneof!["[a-c]{0,2}=[ -~]{0,300}", "[ -~\t\r\n\\x00é]{0,40}"], "/[a/]{0,9}"),
            0..20,
        ),
        target in "/[a/?]{0,9}",
    ) {
        let mut jar = Jar::default();
        for (set_cookie, from) in &set_cookies {
            jar.take(set_cookie.as_bytes(), from.as_bytes(), NOW_MS);
            let sent = header(&jar, &target);
            prop_assert!(sent.is_empty() || sent.starts_with("Cookie: ") && sent.ends_with("\r\n"));
            prop_assert_eq!(sent.matches(['\r', '\n', '\0']).count(), 2 * usize::from(!sent.is_empty()));
        }
    }
}
