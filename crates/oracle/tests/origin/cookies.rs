//! Sessions, cookies, and answers that tell the request.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::client::{
    End, HEAD, ask, connect, expect_answer, read_answer, read_to_end, start, whole,
};
use httpdyno_oracle::{Behaviour, body};

/// Ask with a `Cookie` field; return the values of the answer's `Set-Cookie` fields.
fn ask_with(stream: &mut TcpStream, path: &str, cookie: &str) -> Vec<String> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nCookie: {cookie}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    set_cookies(stream)
}

fn set_cookies(stream: &mut TcpStream) -> Vec<String> {
    let (head, body) = read_answer(stream);
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert_eq!(body.len(), 12);
    head.split("\r\n")
        .filter_map(|line| line.strip_prefix("Set-Cookie: "))
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_session_begins_for_who_brings_none_and_goes_on_for_who_brings_it() {
    let oracle = start();
    let mut stream = connect(oracle.addr());
    ask(&mut stream, "GET", "/session");
    let first = set_cookies(&mut stream).pop().unwrap();
    let cookie = first.strip_suffix("; Path=/").unwrap().to_owned();
    let id = cookie.strip_prefix("sid=").unwrap();
    assert!(id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    for other in [cookie.clone(), format!("a=b; {cookie}; c=d")] {
        assert_eq!(ask_with(&mut stream, "/session", &other), [""; 0]);
    }
    // Other paths belong to the session too, but never begin one.
    assert_eq!(ask_with(&mut stream, "/elsewhere", &cookie), [""; 0]);
    assert_eq!(ask_with(&mut stream, "/elsewhere", "sid=0000000000000000"), [""; 0]);
    let second = ask_with(&mut stream, "/session?service=fixed:1ms", "sid=0000000000000000");
    assert_eq!(second.len(), 1);
    assert_ne!(second[0], first);

    let sessions = oracle.sessions();
    let requests: Vec<_> = sessions.iter().map(|session| session.requests).collect();
    assert_eq!((sessions[0].id.as_str(), requests), (id, vec![4, 1]));
    let stats = oracle.stats();
    assert_eq!((stats.sessions_created, stats.session_requests), (2, 5));
    assert_eq!((stats.count(Behaviour::Session), stats.requests), (4, 6));
    ask(&mut stream, "GET", "/oracle/sessions");
    let json = String::from_utf8(read_answer(&mut stream).1).unwrap();
    assert!(
        json.starts_with(&format!("{{\"sessions\":[{{\"id\":\"{id}\",\"requests\":4}},")),
        "{json}"
    );
}

#[test]
fn who_keeps_no_cookies_begins_a_session_with_each_request() {
    let oracle = start();
    let mut stream = connect(oracle.addr());
    let mut seen = std::collections::HashSet::new();
    for _ in 0..20 {
        ask(&mut stream, "GET", "/session");
        seen.extend(set_cookies(&mut stream));
    }
    assert_eq!(seen.len(), 20);
    assert_eq!((oracle.stats().sessions_created, oracle.stats().session_requests), (20, 20));
    assert!(oracle.sessions().iter().all(|session| session.requests == 1));
}

#[test]
fn cookies_are_set_and_deleted_as_the_path_says() {
    let oracle = start();
    let mut stream = connect(oracle.addr());
    for (path, expected) in [
        ("/cookies/set/a/b", &["a=b; Path=/"][..]),
        ("/cookies/set/a/1/b/2", &["a=1; Path=/", "b=2; Path=/"]),
        ("/cookies/set/a/b?path=/shop&max-age=5", &["a=b; Path=/shop; Max-Age=5"]),
        ("/cookies/delete/a/b", &["a=; Path=/; Max-Age=0", "b=; Path=/; Max-Age=0"]),
    ] {
        ask(&mut stream, "GET", path);
        assert_eq!(set_cookies(&mut stream), expected, "{path}");
    }
    ask(&mut stream, "GET", "/cookies/set/a");
    assert!(read_to_end(&mut stream).0.starts_with("HTTP/1.1 400 "));
}

#[test]
fn an_echo_is_the_request_to_the_byte() {
    let oracle = start();
    let mut stream = connect(oracle.addr());
    let length = 3 << 20;
    let head =
        format!("PUT /echo HTTP/1.1\r\nX-N: 7\r\nCookie: a=b\r\nContent-Length: {length}\r\n\r\n");
    let request = [head.as_bytes(), &body(length)].concat();
    stream.write_all(&request).unwrap();
    let (answer, got) = read_answer(&mut stream);
    assert!(answer.contains("\r\nContent-Type: message/http\r\n"), "{answer}");
    assert!(got == request);
    assert_eq!(oracle.log().arrivals[0].bytes, request.len() as u64);

    stream.write_all(b"POST /echo/body HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello").unwrap();
    assert_eq!(read_answer(&mut stream).1, b"hello");
    stream.write_all(b"HEAD /echo/body HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello").unwrap();
    let mut head =
        vec![0; "HTTP/1.1 200 OK\r\nContent-Type: message/http\r\nContent-Length: 5\r\n\r\n".len()];
    stream.read_exact(&mut head).unwrap();
    assert!(head.ends_with(b"Content-Length: 5\r\n\r\n"));
    ask(&mut stream, "GET", "/");
    expect_answer(&mut stream, &whole());

    // A header that was seen before, with another body.
    stream.write_all(b"POST /echo/body HTTP/1.1\r\nContent-Length: 5\r\n\r\nworld").unwrap();
    assert_eq!(read_answer(&mut stream).1, b"world");
    stream.write_all(b"GET /echo HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
    let (answer, end) = read_to_end(&mut stream);
    assert!(answer.contains("Connection: close\r\n\r\nGET /echo HTTP/1.1\r\n"), "{answer}");
    assert_eq!(end, End::Fin);
    assert_eq!(oracle.stats().count(Behaviour::Echo), 5);
}

#[test]
fn bodies_too_long_to_echo_and_lengths_that_contradict_are_refused() {
    let oracle = start();
    let mut stream = connect(oracle.addr());
    let length = (8 << 20) + 1;
    stream
        .write_all(format!("PUT /echo HTTP/1.1\r\nContent-Length: {length}\r\n\r\n").as_bytes())
        .unwrap();
    stream.write_all(&body(length)).unwrap();
    assert!(read_to_end(&mut stream).0.ends_with("\r\n\r\nthe body is too long to be echoed"));
    for lengths in ["Content-Length: -1", "Content-Length: 1\r\nContent-Length: 2"] {
        let mut stream = connect(oracle.addr());
        stream.write_all(format!("PUT / HTTP/1.1\r\n{lengths}\r\n\r\n").as_bytes()).unwrap();
        let (answer, end) = read_to_end(&mut stream);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        assert_eq!(end, End::Fin);
    }
}

#[test]
fn thousands_of_different_headers_are_answered_alike() {
    let oracle = start();
    let mut stream = connect(oracle.addr());
    for turn in 0..3000 {
        let request = format!("GET /?n={turn} HTTP/1.1\r\nX-Turn: {turn}\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        expect_answer(&mut stream, &whole());
    }
    assert!(whole().starts_with(HEAD));
    let arrivals = oracle.log().arrivals;
    assert!(arrivals.iter().enumerate().all(|(turn, a)| a.path == format!("/?n={turn}")));
    assert_eq!(arrivals.len(), 3000);
}
