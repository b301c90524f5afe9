//! Answers that take many turns of the loop, or have no end.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::Duration;

use super::tests::{counted, finished, only, spec, timed};
use super::*;
use crate::{Arm, ErrorKind, Request};

/// A server of an answer without an end, in chunks of a byte, as fast as the socket takes them.
/// On a Unix socket: there the room is the sender's from the beginning, so no read is short.
struct Torrent(PathBuf);

impl Torrent {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("httpdyno-{name}-{}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                // As much as an ordinary user may have.
                socket2::SockRef::from(&stream).set_send_buffer_size(1 << 20).unwrap();
                std::thread::spawn(move || {
                    let chunks = b"1\r\nx\r\n".repeat(100_000);
                    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
                    let mut sent = stream.read(&mut [0; 4096]).and_then(|_| stream.write_all(head));
                    while sent.is_ok() {
                        sent = stream.write_all(&chunks);
                    }
                });
            }
        });
        Self(path)
    }

    fn spec(&self, window: Window) -> LoadSpec {
        let address = format!("unix:{}", self.0.display());
        let arm = Arm::new(address, vec![Request::get("h", "/")]);
        LoadSpec { arms: vec![arm], threads: 1, ..spec(&[], &[window]) }
    }
}

impl Drop for Torrent {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0); // it is in a folder that is emptied anyway
    }
}

#[test]
fn an_answer_that_never_stops_coming_does_not_outlast_patience_or_the_window() {
    let torrent = Torrent::new("patience");
    let spec = LoadSpec { timeout_s: 0.1, drain_s: 0.05, ..torrent.spec(timed(0, 0.0, 0.3)) };
    let result = only(&spec);
    assert!(result.errors.of(ErrorKind::Timeout) >= 3, "{:?}", result.errors);
    assert_eq!(result.completed, 0);
}

#[test]
fn a_stop_is_heard_through_an_answer_that_never_stops_coming() {
    let torrent = Torrent::new("stop");
    let run = Run::start(&torrent.spec(timed(0, 0.0, 3600.0)), None).unwrap();
    assert!(!run.wait(Duration::from_millis(100)).unwrap());
    run.stop();
    let results = finished(&run);
    assert_eq!(results[0].errors.of(ErrorKind::Unfinished), results[0].offered);
}

#[test]
fn an_answer_of_many_turns_is_read_whole_with_the_end_of_its_connection() {
    let whole = move |has_length: bool| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let length = if has_length { "Content-Length: 8000000\r\n" } else { "" };
                let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\n{length}\r\n");
                let answer = [head.as_bytes(), &b"x".repeat(8_000_000)].concat();
                // The end has come before the last of it is read.
                let sent = stream.read(&mut [0; 4096]).and_then(|_| stream.write_all(&answer));
                sent.unwrap();
            }
        });
        only(&spec(&[address], &[counted(6)]))
    };
    for has_length in [true, false] {
        let result = whole(has_length);
        assert_eq!((result.completed, result.sockets.connects), (6, 6), "{:?}", result.errors);
        assert!(result.sockets.bytes_received > 6 * 8_000_000);
    }
}
