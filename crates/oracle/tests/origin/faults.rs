//! Each misbehaviour, byte for byte, as a plain client sees it.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

use crate::client::{
    BODY, End, HEAD, MS_NS, ask, check, connect, expect_answer, read_answer, read_to_end,
};
use crate::client::{start, wait_for, whole};
use httpdyno_oracle::{Behaviour, Oracle, body};

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234";

#[test]
fn misbehaviours_go_as_far_as_they_say_and_end_as_they_say() {
    let oracle = start();
    let head_half = "HTTP/1.1 200 OK\r\nContent-Ty";
    let body_half = format!("{HEAD}012345");
    let whole = whole();
    let too_long = format!("{}{BODY}", HEAD.replace("12", "22"));
    let unmeasured = whole.replace("Content-Length: 12\r\n", "");
    for (name, expected, end) in [
        ("reset-before", "", End::Reset),
        ("reset-in-headers", head_half, End::Reset),
        ("reset-in-body", &body_half, End::Reset),
        ("reset-after", &whole, End::Reset),
        ("reset-in-request", "", End::Reset),
        ("fin-before", "", End::Fin),
        ("fin-in-headers", head_half, End::Fin),
        ("short-body", &body_half, End::Fin),
        ("cut-in-body", &body_half, End::Fin),
        ("cut-until-close", &unmeasured, End::Fin),
        ("long-length", &too_long, End::Fin),
        ("unended-chunks", &format!("{CHUNKED}\r\n"), End::Fin),
        ("silent-close", &whole, End::Fin),
        ("silent-linger", &whole, End::Fin),
        ("bad-chunk", &format!("{CHUNKED}\r\nxyz\r\n01234\r\n0\r\n\r\n"), End::Open),
        ("chunk-without-crlf", &format!("{CHUNKED}5\r\n56789\r\n0\r\n\r\n"), End::Open),
        (
            "chunk-overflow",
            &format!("{CHUNKED}\r\nfffffffffffffffff\r\n01234\r\n0\r\n\r\n"),
            End::Open,
        ),
        ("garbage", "this is not HTTP\r\n\r\nat all\r\n\r\n", End::Open),
        ("extra-bytes", &format!("{whole}extra bytes"), End::Open),
        ("drip-headers?interval=100us", &whole, End::Open),
        ("early-answer", &whole, End::Open),
    ] {
        check(&oracle, ("GET", &format!("/fault/{name}")), expected, end);
    }
    let stats = oracle.stats();
    assert_eq!(stats.count(Behaviour::ResetInBody), 1);
    assert_eq!(stats.count(Behaviour::SilentClose), 1);
    // Twenty-one faults, and a plain request after each of the seven that go on.
    assert_eq!((stats.requests, stats.finished, stats.abandoned), (28, 28, 0));
}

#[test]
fn odd_headers_are_as_odd_as_they_say_and_end_when_the_client_wants_it() {
    let oracle = start();
    let of = |fields: &str| format!("HTTP/1.1 200 OK\r\n{fields}\r\n{BODY}");
    let length = "Content-Length: 12\r\n";
    let filler = format!("X-Filler: {}\r\n", "0123456789abcdef".repeat(2048));
    assert!(filler.len() * 12 > 300 * 1024);
    for (name, expected) in [
        ("no-status", format!("HTTP/1.1\r\n{length}\r\n{BODY}")),
        ("no-colon", of(&format!("{length}this line has no colon\r\n"))),
        ("header-flood", of(&format!("{}{length}", filler.repeat(12)))),
        ("negative-length", of("Content-Length: -12\r\n")),
        ("length-overflow", of("Content-Length: 99999999999999999999\r\n")),
        ("doubled-length", of(&length.repeat(2))),
        ("conflicting-length", of(&format!("{length}Content-Length: 13\r\n"))),
        (
            "length-and-chunked",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n\
             c\r\n0123456789ab\r\n0\r\n\r\n"
                .to_owned(),
        ),
    ] {
        let path = format!("/fault/{name}");
        check(&oracle, ("GET", &path), &expected, End::Open);
        let mut stream = connect(oracle.addr());
        stream
            .write_all(format!("GET {path} HTTP/1.1\r\nConnection: close\r\n\r\n").as_bytes())
            .unwrap();
        let announced = expected.replacen("\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1);
        assert_eq!(read_to_end(&mut stream), (announced, End::Fin), "{name}");
    }
}

#[test]
fn http2_frames_are_well_formed_and_not_http1() {
    let oracle = start();
    let mut stream = connect(oracle.addr());
    ask(&mut stream, "GET", "/fault/http2");
    let mut frames = [0; 26];
    stream.read_exact(&mut frames).unwrap();
    // Length, type, flags, stream: SETTINGS of nothing, then GOAWAY of eight bytes.
    assert_eq!(frames[..9], [0, 0, 0, 4, 0, 0, 0, 0, 0]);
    assert_eq!(frames[9..18], [0, 0, 8, 7, 0, 0, 0, 0, 0]);
    assert_eq!(frames[18..], [0, 0, 0, 0, 0, 0, 0, 1]);
}

#[test]
fn what_does_not_end_does_not_stop_others() {
    let oracle = start();
    for (name, beginning, forbidden) in [
        ("endless-headers", "HTTP/1.1 200 OK\r\nX-Filler: ", Some("\r\n\r\n")),
        (
            "interim-flood",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n",
            Some("200"),
        ),
        ("endless-body", "HTTP/1.1 200 OK\r\nContent-Length: 1099511627776\r\n\r\n0123456", None),
    ] {
        let mut stream = connect(oracle.addr());
        ask(&mut stream, "GET", &format!("/fault/{name}"));
        let mut got = vec![0; 60_000];
        stream.read_exact(&mut got).unwrap();
        let got = String::from_utf8(got).unwrap();
        assert!(got.starts_with(beginning), "{name}");
        assert!(forbidden.is_none_or(|text| !got.contains(text)), "{name}");
        check(&oracle, ("GET", "/"), &whole(), End::Open);
    }
    let log = oracle.log();
    let endless = log.arrivals.iter().filter(|arrival| arrival.behaviour.is_fault());
    assert!(endless.clone().all(|a| a.answered_ns.is_none() && a.first_written_ns.is_some()));
    assert_eq!(endless.count(), 3);
}

#[test]
fn an_endless_body_comes_as_a_drip() {
    let oracle = start();
    let mut stream = connect(oracle.addr());
    let start = Instant::now();
    ask(&mut stream, "GET", "/fault/endless-body");
    stream.read_exact(&mut vec![0; 100 * 1024]).unwrap();
    // A KiB each millisecond: the hundredth comes in the ninety-ninth, but for the header's room.
    assert!(start.elapsed() >= Duration::from_millis(95), "{:?}", start.elapsed());
}

#[test]
fn answers_that_stop_midway_stop_where_they_say_and_are_abandoned() {
    let oracle = start();
    for (count, (name, expected)) in [
        ("never", ""),
        ("hang-in-headers", "HTTP/1.1 200 OK\r\nContent-Ty"),
        ("hang-in-body", &format!("{HEAD}012345")),
    ]
    .into_iter()
    .enumerate()
    {
        let mut stream = connect(oracle.addr());
        ask(&mut stream, "GET", &format!("/fault/{name}"));
        expect_answer(&mut stream, expected);
        stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        assert_eq!(stream.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::WouldBlock, "{name}");
        let arrival = oracle.log().arrivals.pop().unwrap();
        assert_eq!((arrival.behaviour.name(), arrival.answered_ns), (name, None));
        assert_eq!(arrival.first_written_ns.is_some(), !expected.is_empty(), "{name}");
        drop(stream);
        // Two counters of a running server: each is right at its own moment.
        let abandoned = count as u64 + 1;
        wait_for(|| oracle.stats().abandoned == abandoned && oracle.stats().open == 0);
    }
    assert_eq!(oracle.stats().finished, 0);
}

#[test]
fn dripping_headers_take_their_time() {
    let oracle = start();
    let mut stream = connect(oracle.addr());
    ask(&mut stream, "GET", "/fault/drip-headers?interval=1ms");
    expect_answer(&mut stream, &whole());
    let arrival = oracle.log().arrivals.pop().unwrap();
    let least_ns = HEAD.len() as u64 * MS_NS;
    assert!(arrival.answered_ns.unwrap() - arrival.at_ns >= least_ns);
    assert!(arrival.first_written_ns.unwrap() >= arrival.at_ns + MS_NS);
}

/// Send a header that announces `length` bytes of a body, and `sent` of them.
fn begin_upload(oracle: &Oracle, path: &str, length: usize, sent: usize) -> std::net::TcpStream {
    let mut stream = connect(oracle.addr());
    let head = format!("POST {path} HTTP/1.1\r\nContent-Length: {length}\r\n\r\n");
    // In one piece: it may be answered, or broken, as soon as the header is there.
    stream.write_all(&[head.as_bytes(), &body(sent)].concat()).unwrap();
    stream
}

#[test]
fn early_answers_do_not_wait_for_the_request() {
    let oracle = start();
    let mut stream = begin_upload(&oracle, "/fault/early-answer", 100_000, 10);
    expect_answer(&mut stream, &whole());
    // The rest of the body belongs to nobody, and then all goes on.
    stream.write_all(&body(100_000 - 10)).unwrap();
    ask(&mut stream, "GET", "/after");
    expect_answer(&mut stream, &whole());
    let log = oracle.log();
    assert_eq!(log.arrivals[1].path, "/after");
    assert!(log.arrivals[0].bytes < 1000 && log.arrivals[0].answered_ns.is_some());

    let mut stream = begin_upload(&oracle, "/fault/early-413", 100_000, 10);
    let (answer, end) = read_to_end(&mut stream);
    assert!(answer.starts_with("HTTP/1.1 413 Content Too Large\r\n"), "{answer}");
    assert!(answer.contains("\r\nConnection: close\r\n") && answer.ends_with(BODY), "{answer}");
    assert_eq!(end, End::Fin);
    // It still reads, so that the answer is not lost to a reset.
    stream.write_all(&body(50_000)).unwrap();

    for (path, expected) in
        [("/fault/early-413-reset", "HTTP/1.1 413"), ("/fault/reset-in-request", "")]
    {
        let mut stream = begin_upload(&oracle, path, 100_000, 10);
        let (answer, end) = read_to_end(&mut stream);
        assert!(
            answer.starts_with(expected) && answer.is_empty() == expected.is_empty(),
            "{answer}"
        );
        assert_eq!(end, End::Reset, "{path}");
    }
    assert_eq!((oracle.stats().requests, oracle.stats().finished), (5, 5));
}

#[test]
fn an_answer_can_wait_for_the_clients_end() {
    let oracle = start();
    let mut stream = connect(oracle.addr());
    ask(&mut stream, "GET", "/fault/half-closed");
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    assert_eq!(stream.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::WouldBlock);
    stream.shutdown(Shutdown::Write).unwrap();
    stream.set_read_timeout(Some(crate::client::PATIENCE)).unwrap();
    assert_eq!(read_to_end(&mut stream), (whole(), End::Fin));
    let mut stream = connect(oracle.addr());
    ask(&mut stream, "GET", "/fault/half-closed");
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_to_end(&mut stream), (whole(), End::Fin));
    assert_eq!((oracle.stats().finished, oracle.stats().abandoned), (2, 0));
}

#[test]
fn a_request_that_comes_with_the_clients_end_is_answered() {
    let oracle = start();
    let stall = Duration::from_millis(100);
    oracle.stall(stall);
    let mut stream = connect(oracle.addr());
    ask(&mut stream, "GET", "/");
    stream.shutdown(Shutdown::Write).unwrap();
    let (head, got) = read_answer(&mut stream);
    assert_eq!(format!("{head}{}", String::from_utf8(got).unwrap()), whole());
    assert_eq!(read_to_end(&mut stream), (String::new(), End::Fin));
    wait_for(|| oracle.stats().open == 0);
    assert_eq!((oracle.stats().requests, oracle.stats().abandoned), (1, 0));
}
