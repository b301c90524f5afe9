//! Each behaviour, byte for byte, as a plain client sees it.

use std::io::{ErrorKind, Write};
use std::time::Duration;

use crate::client::{BODY, End, HEAD, ask, check, connect, expect_answer, read_to_end, start};
use httpdyno_oracle::{Behaviour, CloseAfter, Oracle, OracleConfig, body};

#[test]
fn right_answers_are_right_to_the_byte() {
    let oracle = start();
    let plain = format!("{HEAD}{BODY}");
    check(&oracle, ("GET", "/"), &plain, End::Open);
    check(&oracle, ("HEAD", "/"), HEAD, End::Open);
    let empty = HEAD.replace(": 12", ": 0");
    check(&oracle, ("GET", "/bytes/0"), &empty, End::Open);
    let long = format!("{}{}", HEAD.replace(": 12", ": 300000"), text(300_000));
    check(&oracle, ("GET", "/bytes/300000"), &long, End::Open);
    let no_content = "HTTP/1.1 204 No Content\r\nContent-Type: text/plain\r\n\r\n";
    check(&oracle, ("GET", "/status/204"), no_content, End::Open);
    let not_modified = HEAD.replace("200 OK", "304 Not Modified");
    check(&oracle, ("GET", "/status/304"), &not_modified, End::Open);
    let not_found = plain.replace("200 OK", "404 Not Found");
    check(&oracle, ("GET", "/status/404"), &not_found, End::Open);
    let unnamed = plain.replace("200 OK", "299 ");
    check(&oracle, ("GET", "/status/299"), &unnamed, End::Open);
    let continued = format!("HTTP/1.1 100 Continue\r\n\r\n{plain}");
    check(&oracle, ("GET", "/continue"), &continued, End::Open);
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </s.css>; rel=preload\r\n\r\n";
    check(&oracle, ("GET", "/early-hints"), &format!("{hints}{plain}"), End::Open);
    check(&oracle, ("GET", "/drip/12/5/1ms"), &plain, End::Open);
    check(
        &oracle,
        ("GET", "/?length=3&id=9"),
        &format!("{}012", HEAD.replace("12", "3")),
        End::Open,
    );
}

fn text(length: usize) -> String {
    String::from_utf8(body(length)).unwrap()
}

#[test]
fn chunked_answers_come_in_the_chunks_asked_for() {
    let oracle = start();
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunked = format!("{head}5\r\n01234\r\n5\r\n56789\r\n2\r\nab\r\n0\r\n\r\n");
    check(&oracle, ("GET", "/chunked/12/5"), &chunked, End::Open);
    let one = format!("{head}14\r\n{}\r\n0\r\n\r\n", text(20));
    check(&oracle, ("GET", "/chunked/20/1000"), &one, End::Open);
    check(&oracle, ("GET", "/chunked/0/5"), &format!("{head}0\r\n\r\n"), End::Open);
    check(&oracle, ("HEAD", "/chunked/12/5"), head, End::Open);
}

#[test]
fn answers_that_end_the_connection_end_it_with_fin() {
    let oracle = start();
    let until_close = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n0123456789abcdefghij";
    check(&oracle, ("GET", "/until-close/20"), until_close, End::Fin);
    let http10 = format!("{}{BODY}", HEAD.replace("/1.1", "/1.0"));
    check(&oracle, ("GET", "/http10"), &http10, End::Fin);
    let close = format!("{}Connection: close\r\n\r\n{BODY}", HEAD.strip_suffix("\r\n").unwrap());
    check(&oracle, ("GET", "/close"), &close, End::Fin);
    let mut stream = connect(oracle.addr());
    stream.write_all(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
    assert_eq!(read_to_end(&mut stream), (close.clone(), End::Fin));
    let mut stream = connect(oracle.addr());
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    assert_eq!(read_to_end(&mut stream), (close, End::Fin));
}

#[test]
fn what_makes_no_sense_is_answered_400_and_ends() {
    let oracle = start();
    for request in [
        "GET /fixed/abc HTTP/1.1\r\n\r\n",
        "nonsense\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n",
    ] {
        let mut stream = connect(oracle.addr());
        stream.write_all(request.as_bytes()).unwrap();
        let (answer, end) = read_to_end(&mut stream);
        assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
        assert_eq!(end, End::Fin);
    }
    let mut stream = connect(oracle.addr());
    stream.write_all(&vec![b'x'; 65 * 1024]).unwrap();
    assert!(read_to_end(&mut stream).0.ends_with("the header is too long"));
    assert_eq!(oracle.stats().count(Behaviour::BadRequest), 3);
}

#[test]
fn requests_in_pieces_with_bodies_and_in_one_piece_are_all_read() {
    let oracle = start();
    let mut stream = connect(oracle.addr());
    let answer = format!("{HEAD}{BODY}");
    let post = "POST / HTTP/1.1\r\nContent-Length: 200000\r\n\r\n";
    for byte in post.as_bytes() {
        stream.write_all(&[*byte]).unwrap();
    }
    stream.write_all(&vec![b'G'; 199_999]).unwrap();
    assert_eq!(oracle.stats().requests, 0);
    // The last byte of the body comes with two more requests.
    stream.write_all(b"GGET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n").unwrap();
    for _ in 0..3 {
        expect_answer(&mut stream, &answer);
    }
    let arrivals = oracle.log().arrivals;
    let seen: Vec<_> =
        arrivals.iter().map(|a| (a.path.as_str(), a.connection, a.request)).collect();
    assert_eq!(seen, [("/", 0, 0), ("/a", 0, 1), ("/b", 0, 2)]);
}

#[test]
fn connections_end_after_the_requests_they_were_given() {
    for is_announced in [true, false] {
        let close_after = Some(CloseAfter { requests: 3, is_announced });
        let oracle =
            Oracle::start(OracleConfig { close_after, ..OracleConfig::default() }).unwrap();
        let mut stream = connect(oracle.addr());
        for _ in 0..2 {
            ask(&mut stream, "GET", "/");
            expect_answer(&mut stream, &format!("{HEAD}{BODY}"));
        }
        ask(&mut stream, "GET", "/");
        let (last, end) = read_to_end(&mut stream);
        assert_eq!((last.contains("Connection: close"), end), (is_announced, End::Fin));
    }
}

#[test]
fn idle_connections_end_and_busy_ones_do_not() {
    let idle_close = Some(Duration::from_millis(100));
    let oracle = Oracle::start(OracleConfig { idle_close, ..OracleConfig::default() }).unwrap();
    let mut stream = connect(oracle.addr());
    ask(&mut stream, "GET", "/fixed/300ms");
    expect_answer(&mut stream, &format!("{HEAD}{BODY}"));
    assert_eq!(read_to_end(&mut stream), (String::new(), End::Fin));
}

#[test]
fn routes_let_paths_stand_for_others() {
    let routes = vec![("/cart".to_owned(), "/status/503".to_owned())];
    let oracle = Oracle::start(OracleConfig { routes, ..OracleConfig::default() }).unwrap();
    let unavailable = format!("{HEAD}{BODY}").replace("200 OK", "503 Service Unavailable");
    check(&oracle, ("GET", "/cart"), &unavailable, End::Open);
    assert_eq!(oracle.log().arrivals[0].path, "/cart");
    let routes = vec![("/cart".to_owned(), "/fault/unheard-of".to_owned())];
    let error = Oracle::start(OracleConfig { routes, ..OracleConfig::default() }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn only_loopback_is_listened_on() {
    let listen = "0.0.0.0:0".parse().unwrap();
    let error = Oracle::start(OracleConfig { listen, ..OracleConfig::default() }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}
