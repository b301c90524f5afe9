//! A plain client: what it sees, to the byte, and how the connection ends.

pub(crate) mod tls;

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use httpdyno_oracle::{Oracle, OracleConfig};

/// Nothing here takes nearly as long; it only keeps a hung server from hanging the suite.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
pub(crate) const MS_NS: u64 = 1_000_000;
pub(crate) const HEAD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n\r\n";
pub(crate) const BODY: &str = "0123456789ab";

/// How the server left the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Open,
    Fin,
    Reset,
}

pub(crate) fn start() -> Oracle {
    Oracle::start(OracleConfig::default()).unwrap()
}

/// The usual answer.
pub(crate) fn whole() -> String {
    format!("{HEAD}{BODY}")
}

pub(crate) fn connect(addr: SocketAddr) -> TcpStream {
    try_to_connect(addr).unwrap()
}

/// To where a reset may come before the call that connects has returned.
pub(crate) fn try_to_connect(addr: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(addr)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// How a connection ends that the server may end before the client knows that it is one.
pub(crate) fn end_of_connecting(addr: SocketAddr) -> End {
    match try_to_connect(addr) {
        Ok(mut stream) => {
            let (got, end) = read_to_end(&mut stream);
            assert_eq!(got, "");
            end
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
            End::Reset
        }
    }
}

pub(crate) fn ask(stream: &mut impl Write, method: &str, path: &str) {
    let request = format!("{method} {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
}

/// Read until the connection ends.
pub(crate) fn read_to_end(stream: &mut impl Read) -> (String, End) {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    let end = loop {
        match stream.read(&mut piece) {
            Ok(0) => break End::Fin,
            Ok(got) => bytes.extend(&piece[..got]),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break End::Reset,
            Err(error) => panic!("{error}; so far {:?}", String::from_utf8_lossy(&bytes)),
        }
    };
    (String::from_utf8(bytes).unwrap(), end)
}

/// Read exactly the bytes expected.
#[track_caller]
pub(crate) fn expect_answer(stream: &mut impl Read, expected: &str) {
    let mut got = vec![0; expected.len()];
    stream.read_exact(&mut got).unwrap();
    assert_eq!(String::from_utf8_lossy(&got), expected);
}

/// Read one answer with a Content-Length; return header and body.
pub(crate) fn read_answer(stream: &mut impl Read) -> (String, Vec<u8>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.split("Content-Length: ").nth(1).unwrap().split("\r\n").next().unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    (head, body)
}

/// Send one request and compare all that comes back.
#[track_caller]
pub(crate) fn check(oracle: &Oracle, request: (&str, &str), expected: &str, end: End) {
    let mut stream = connect(oracle.addr());
    ask(&mut stream, request.0, request.1);
    if end == End::Open {
        expect_answer(&mut stream, expected);
        // The connection is good for another request: nothing is left over, nothing has ended.
        ask(&mut stream, "GET", "/");
        expect_answer(&mut stream, &whole());
    } else {
        let (got, how) = read_to_end(&mut stream);
        assert_eq!((got.as_str(), how), (expected, end), "{request:?}");
    }
}

#[track_caller]
pub(crate) fn wait_for(mut is_true: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_true() {
        assert!(Instant::now() < deadline, "waited in vain");
        std::thread::yield_now();
    }
}
