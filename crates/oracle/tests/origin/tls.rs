//! Doors with TLS: versions, certificates, resumption, delays, and ways to break.

use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use crate::client::tls::{Client, Stream, secure};
use crate::client::{
    End, HEAD, MS_NS, ask, expect_answer, read_answer, read_to_end, wait_for, whole,
};
use httpdyno_oracle::{
    Authority, Door, Handshakes, Oracle, OracleConfig, Place, Reception, TlsOptions, TlsVersions,
    body, monotonic_ns,
};
use rustls::{HandshakeKind, ProtocolVersion};
use socket2::SockRef;

fn tls_door() -> Door {
    Door::tls(Place::Tcp("127.0.0.1:0".parse().unwrap()))
}

fn start_with(config: OracleConfig) -> Oracle {
    Oracle::start(OracleConfig { doors: vec![tls_door()], ..config }).unwrap()
}

fn start() -> Oracle {
    start_with(OracleConfig::default())
}

fn start_with_options(tls: TlsOptions) -> Oracle {
    start_with(OracleConfig { tls, ..OracleConfig::default() })
}

fn client(oracle: &Oracle) -> Client {
    Client::of(oracle.authority().unwrap())
}

fn handshakes(oracle: &Oracle) -> Handshakes {
    oracle.stats().handshakes
}

#[track_caller]
fn serves(stream: &mut Stream) {
    ask(stream, "GET", "/");
    expect_answer(stream, &whole());
}

/// The cause of a handshake that must fail.
#[track_caller]
fn refused(stream: &mut Stream) -> String {
    secure(stream).unwrap_err().to_string()
}

#[test]
fn answers_are_the_same_within_tls() {
    let oracle = start();
    let mut stream = client(&oracle).connect(&oracle);
    assert_eq!(secure(&mut stream).unwrap(), HandshakeKind::Full);
    for path in ["/", "/fixed/1ms", "/drip/12/4/1ms"] {
        ask(&mut stream, "GET", path);
        expect_answer(&mut stream, &whole());
    }
    // Far more than the socket holds, both ways.
    ask(&mut stream, "GET", "/bytes/5000000");
    assert!(read_answer(&mut stream).1 == body(5_000_000));
    let head = "POST /echo/body HTTP/1.1\r\nContent-Length: 3000000\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&body(3_000_000)).unwrap();
    assert!(read_answer(&mut stream).1 == body(3_000_000));
    stream.write_all(&b"GET / HTTP/1.1\r\n\r\n".repeat(3)).unwrap();
    for _ in 0..3 {
        expect_answer(&mut stream, &whole());
    }
    ask(&mut stream, "GET", "/close");
    // An end that TLS itself announces: without that, reading on would be an error.
    assert_eq!(read_to_end(&mut stream).1, End::Fin);

    let arrivals = oracle.log().arrivals;
    assert_eq!(arrivals.len(), 9);
    assert!(arrivals.iter().all(|a| a.at_ns <= a.answered_ns.unwrap()));
    let post = &arrivals[4];
    assert_eq!(post.bytes, 3_000_000 + head.len() as u64, "without what TLS adds");
    assert!(post.first_byte_ns <= post.at_ns && post.accepted_ns < post.first_byte_ns);
    let connection = &oracle.connections().connections[0];
    let secured_ns = connection.secured_ns.unwrap();
    assert!(connection.accepted_ns < secured_ns && secured_ns < arrivals[0].at_ns);
    // The plain door is next to it, and has no part in all this.
    crate::client::check(&oracle, ("GET", "/"), &whole(), End::Open);
    assert_eq!(handshakes(&oracle).full, 1);
}

#[test]
fn versions_are_spoken_as_they_are_allowed() {
    for (versions, version) in [
        (TlsVersions::Any, ProtocolVersion::TLSv1_3),
        (TlsVersions::Only12, ProtocolVersion::TLSv1_2),
        (TlsVersions::Only13, ProtocolVersion::TLSv1_3),
    ] {
        let oracle = start_with_options(TlsOptions { versions, ..TlsOptions::default() });
        let mut stream = client(&oracle).connect(&oracle);
        serves(&mut stream);
        assert_eq!(stream.conn.protocol_version(), Some(version), "{versions:?}");
        let told = handshakes(&oracle);
        let is_13 = u64::from(version == ProtocolVersion::TLSv1_3);
        assert_eq!((told.full, told.tls12, told.tls13), (1, 1 - is_13, is_13));
    }
}

#[test]
fn sessions_are_resumed_where_both_sides_want_it_and_counted_apart() {
    for versions in [TlsVersions::Only12, TlsVersions::Only13] {
        let oracle = start_with_options(TlsOptions { versions, ..TlsOptions::default() });
        let remembering = client(&oracle);
        for turn in 0..4 {
            let mut stream = remembering.connect(&oracle);
            serves(&mut stream);
            let kind = if turn == 0 { HandshakeKind::Full } else { HandshakeKind::Resumed };
            assert_eq!(stream.conn.handshake_kind(), Some(kind), "{versions:?} {turn}");
        }
        let forgetful = client(&oracle).forgetful();
        for _ in 0..2 {
            serves(&mut forgetful.connect(&oracle));
        }
        let told = handshakes(&oracle);
        assert_eq!((told.full, told.resumed, told.failed), (3, 3, 0), "{versions:?}");

        let oracle =
            start_with_options(TlsOptions { versions, resumes: false, ..TlsOptions::default() });
        let remembering = client(&oracle);
        for _ in 0..3 {
            serves(&mut remembering.connect(&oracle));
        }
        let told = handshakes(&oracle);
        assert_eq!((told.full, told.resumed), (3, 0), "{versions:?} without tickets");
    }
}

#[test]
fn a_client_has_to_show_the_certificate_that_it_was_given() {
    let needs_client_certificate = true;
    for versions in [TlsVersions::Only12, TlsVersions::Only13] {
        let oracle = start_with_options(TlsOptions {
            versions,
            needs_client_certificate,
            ..TlsOptions::default()
        });
        let authority = oracle.authority().unwrap();
        let stranger = Authority::generate().unwrap();
        serves(&mut Client::with(authority, Some(authority.client())).connect(&oracle));
        for identity in [None, Some(stranger.client())] {
            let mut stream = Client::with(authority, identity).connect(&oracle);
            // With TLS 1.3 the client is done before the server has seen its certificate.
            let asked = secure(&mut stream).map(|_| ask(&mut stream, "GET", "/"));
            assert_eq!(asked.is_ok(), versions == TlsVersions::Only13);
            let cause = match asked {
                Ok(()) => stream.read(&mut [0; 1]).unwrap_err().to_string(),
                Err(error) => error.to_string(),
            };
            assert!(cause.contains("alert"), "{cause}");
        }
        // Counted after the client was told.
        wait_for(|| handshakes(&oracle).failed == 2 && oracle.stats().open == 0);
        let told = handshakes(&oracle);
        assert_eq!((told.full, told.with_client_certificate), (1, 1));
        assert_eq!(oracle.stats().requests, 1);
    }
}

#[test]
fn the_name_that_the_client_asked_for_is_told() {
    let oracle = start();
    let authority = oracle.authority().unwrap();
    for server_name in ["oracle.test", "localhost", "127.0.0.1", "oracle.test"] {
        serves(&mut Client::of(authority).named(server_name).connect(&oracle));
    }
    let names: Vec<_> = handshakes(&oracle).server_names.into_iter().collect();
    assert_eq!(names, [("localhost".to_owned(), 1), ("oracle.test".to_owned(), 2)]);
    let json = oracle.stats().to_json();
    let expected = "\"handshakes\":{\"full\":4,\"resumed\":0,\"failed\":0,\"tls12\":0,\"tls13\":4,\
                    \"with_client_certificate\":0,\
                    \"server_names\":{\"localhost\":1,\"oracle.test\":2}}}";
    assert!(json.ends_with(expected), "{json}");
}

#[test]
fn certificates_are_wrong_in_the_way_that_was_asked_for() {
    let oracle = start();
    for (reception, cause) in [
        (Reception::UnknownAuthority, "UnknownIssuer"),
        (Reception::WrongName, "elsewhere.test"),
        (Reception::Expired, "expired"),
    ] {
        oracle.receive(reception, Some(1));
        let failed = refused(&mut client(&oracle).connect(&oracle));
        assert!(failed.contains(cause), "{reception:?}: {failed}");
        assert_eq!(oracle.stats().received(reception), 1);
        serves(&mut client(&oracle).connect(&oracle));
    }
    wait_for(|| handshakes(&oracle).failed == 3);
    assert_eq!(handshakes(&oracle).full, 3);
}

#[test]
fn handshakes_break_in_the_way_that_was_asked_for() {
    let oracle = start();
    for (reception, kind, cause) in [
        (Reception::ResetAtAccept, ErrorKind::ConnectionReset, ""),
        (Reception::ResetInHandshake, ErrorKind::ConnectionReset, ""),
        (Reception::FinAtAccept, ErrorKind::UnexpectedEof, ""),
        (Reception::FinInHandshake, ErrorKind::UnexpectedEof, ""),
        (Reception::TlsAlert, ErrorKind::InvalidData, "HandshakeFailure"),
        (Reception::TlsGarbage, ErrorKind::InvalidData, "corrupt message"),
    ] {
        oracle.receive(reception, Some(1));
        let connected = client(&oracle).try_to_connect(&oracle);
        let error = connected.and_then(|mut stream| secure(&mut stream)).unwrap_err();
        // A write that comes after the RST breaks in its own way.
        let is_reset = matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe);
        assert!(
            error.kind() == kind || (kind == ErrorKind::ConnectionReset && is_reset),
            "{reception:?}: {error:?}"
        );
        assert!(error.to_string().contains(cause), "{reception:?}: {error}");
    }
    oracle.receive(Reception::HangInHandshake, Some(1));
    let mut stream = client(&oracle).connect(&oracle);
    stream.sock.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    assert_eq!(secure(&mut stream).unwrap_err().kind(), ErrorKind::WouldBlock);
    serves(&mut client(&oracle).connect(&oracle));
}

#[test]
fn ends_without_close_notify_are_cut_off_and_others_are_not() {
    let oracle = start();
    for (path, expected, is_cut) in [
        ("/fault/cut-in-body", &format!("{HEAD}012345"), true),
        ("/fault/cut-until-close", &whole().replace("Content-Length: 12\r\n", ""), true),
        ("/fault/short-body", &format!("{HEAD}012345"), false),
        ("/fault/silent-close", &whole(), false),
        ("/until-close/12", &whole().replace("Content-Length: 12\r\n", ""), false),
    ] {
        let mut stream = client(&oracle).connect(&oracle);
        ask(&mut stream, "GET", path);
        let mut got = vec![0; expected.len()];
        stream.read_exact(&mut got).unwrap();
        assert_eq!(String::from_utf8(got).unwrap(), *expected);
        let end = stream.read(&mut [0; 1]);
        let was_cut = end.as_ref().is_err_and(|error| error.kind() == ErrorKind::UnexpectedEof);
        assert_eq!(was_cut, is_cut, "{path}: {end:?}");
        assert!(is_cut || end.unwrap() == 0, "{path}");
    }
    let mut stream = client(&oracle).connect(&oracle);
    ask(&mut stream, "GET", "/fault/reset-in-body");
    assert_eq!(read_to_end(&mut stream), (format!("{HEAD}012345"), End::Reset));
}

#[test]
fn delays_are_in_the_handshake() {
    let (accept_delay, handshake_delay) = (Duration::from_millis(40), Duration::from_millis(30));
    for (config, least) in [
        (OracleConfig { handshake_delay, ..OracleConfig::default() }, handshake_delay),
        (OracleConfig { accept_delay, ..OracleConfig::default() }, accept_delay),
        (
            OracleConfig { accept_delay, handshake_delay, ..OracleConfig::default() },
            accept_delay + handshake_delay,
        ),
    ] {
        let oracle = start_with(config);
        let start = Instant::now();
        let mut stream = client(&oracle).connect(&oracle);
        secure(&mut stream).unwrap();
        assert!(start.elapsed() >= least, "{:?}", start.elapsed());
        serves(&mut stream);
        serves(&mut stream);
        let connection = &oracle.connections().connections[0];
        let took_ns = connection.secured_ns.unwrap() - connection.accepted_ns;
        assert!(took_ns >= least.as_nanos() as u64, "{took_ns}");
    }
}

#[test]
fn a_slow_reader_of_tls_gets_all_of_it() {
    let send_buffer_bytes = Some(32 << 10);
    let oracle = start_with(OracleConfig { send_buffer_bytes, ..OracleConfig::default() });
    let mut stream = client(&oracle).connect(&oracle);
    // The kernel may let it grow to more than the answer.
    SockRef::from(&stream.sock).set_recv_buffer_size(32 << 10).unwrap();
    let length = 8 << 20;
    ask(&mut stream, "GET", &format!("/bytes/{length}"));
    wait_for(|| oracle.stats().requests == 1);
    std::thread::sleep(Duration::from_millis(50));
    let resumed_ns = monotonic_ns();
    assert_eq!(oracle.log().arrivals[0].answered_ns, None);
    assert!(read_answer(&mut stream).1 == body(length));
    let answered_ns = oracle.log().arrivals[0].answered_ns.unwrap();
    assert!(answered_ns > resumed_ns);
    serves(&mut stream);
    assert!(oracle.log().arrivals[1].at_ns < answered_ns + 10_000 * MS_NS);
}

#[test]
fn a_client_that_leaves_amid_the_handshake_is_a_failure_and_no_harm() {
    let oracle = start();
    for bytes in [&[][..], &[22, 3, 1], b"GET / HTTP/1.1\r\n\r\n"] {
        let mut stream = crate::client::connect(oracle.tls_addr().unwrap());
        stream.write_all(bytes).unwrap();
        drop(stream);
    }
    wait_for(|| handshakes(&oracle).failed == 3 && oracle.stats().open == 0);
    serves(&mut client(&oracle).connect(&oracle));
    assert_eq!((oracle.stats().requests, oracle.stats().abandoned), (1, 0));
}

#[test]
fn tls_goes_over_unix_sockets_and_ipv6_too() {
    let path = std::env::temp_dir().join(format!("httpdyno-oracle-{}-tls", std::process::id()));
    let doors = vec![
        Door::tls(Place::Unix(path.clone())),
        Door::tls(Place::Tcp("[::1]:0".parse().unwrap())),
    ];
    let oracle = Oracle::start(OracleConfig { doors, ..OracleConfig::default() }).unwrap();
    assert!(oracle.tls_addr().unwrap().is_ipv6(), "the first that has an address");
    let client = client(&oracle).named("::1");
    let mut stream = client.connect(&oracle);
    serves(&mut stream);
    let socket = std::os::unix::net::UnixStream::connect(&path).unwrap();
    let mut stream = rustls::StreamOwned::new(client.begin(), socket);
    ask(&mut stream, "GET", "/");
    expect_answer(&mut stream, &whole());
    assert_eq!(handshakes(&oracle).full, 1);
    assert_eq!(handshakes(&oracle).resumed, 1);
}
