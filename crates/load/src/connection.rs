//! One connection of a thread: its socket and the request it carries.

use std::io;
use std::net::{SocketAddr, TcpStream};

use socket2::{Domain, SockRef, Socket, Type};

use crate::scanner::Scanner;
use crate::sys;
use crate::tally::Ended;

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No socket.
    Closed,
    /// A request waits for the socket to connect.
    Connecting,
    /// A request is written, or its answer read.
    Busy,
    /// Open, without a request.
    Idle,
}

/// How the engine ends a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Farewell {
    /// With a FIN: the peer closed first, or the run is over.
    Orderly,
    /// With a RST: leaves no `TIME_WAIT` that would hold on to a port.
    Abrupt,
}

/// A place for a socket, one after the other, and for a request, one after the other.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not states of a machine")]
pub(crate) struct Connection {
    pub(crate) arm: usize,
    pub(crate) stream: Option<TcpStream>,
    pub(crate) phase: Phase,
    /// Which socket this is; events of earlier ones are stale.
    pub(crate) life: u32,
    pub(crate) request: usize,
    /// Bytes of the request written.
    pub(crate) written: usize,
    /// Bytes written in this life before the request.
    written_before: u64,
    base_ns: u64,
    issued_ns: u64,
    pub(crate) connected_ns: Option<u64>,
    written_ns: Option<u64>,
    pub(crate) first_byte_ns: Option<u64>,
    pub(crate) due_index: u64,
    is_measured: bool,
    /// The socket has answered a request before this one.
    is_reused: bool,
    pub(crate) has_retried: bool,
    /// A byte of the answer came.
    pub(crate) has_answer: bool,
    /// A write met a reset.
    pub(crate) saw_reset: bool,
    pub(crate) scanner: Scanner,
    pub(crate) backoff_ns: u64,
}

/// After a connection could not be made the closed loop waits this long before the next try...
const MIN_BACKOFF_NS: u64 = 1_000_000;
/// ... and twice as long each time, up to this: a dead server must not become a busy loop.
const MAX_BACKOFF_NS: u64 = 100_000_000;

impl Connection {
    pub(crate) fn new(arm: usize) -> Self {
        Self {
            arm,
            stream: None,
            phase: Phase::Closed,
            life: 0,
            request: 0,
            written: 0,
            written_before: 0,
            base_ns: 0,
            issued_ns: 0,
            connected_ns: None,
            written_ns: None,
            first_byte_ns: None,
            due_index: 0,
            is_measured: false,
            is_reused: false,
            has_retried: false,
            has_answer: false,
            saw_reset: false,
            scanner: Scanner::new(),
            backoff_ns: MIN_BACKOFF_NS,
        }
    }

    /// Take up a request.
    pub(crate) fn take_up(&mut self, request: usize, base_ns: u64, now_ns: u64, is_measured: bool) {
        self.request = request;
        self.base_ns = base_ns;
        self.issued_ns = now_ns;
        self.connected_ns = None;
        self.written_ns = None;
        self.first_byte_ns = None;
        self.is_measured = is_measured;
        self.has_retried = false;
        self.is_reused = self.phase == Phase::Idle;
    }

    /// Begin to write the request that was taken up.
    pub(crate) fn begin(&mut self, now_ns: u64, is_head: bool) {
        self.phase = Phase::Busy;
        self.written_before += self.written as u64;
        self.written = 0;
        self.written_ns = Some(now_ns);
        self.has_answer = false;
        self.saw_reset = false;
        self.scanner.expect(is_head);
    }

    /// The instant that the patience of its request counts from.
    pub(crate) const fn base_ns(&self) -> u64 {
        self.base_ns
    }

    /// The request's record, ended now.
    pub(crate) const fn ended(&self, end_ns: u64) -> Ended {
        Ended {
            base_ns: self.base_ns,
            issued_ns: Some(self.issued_ns),
            connected_ns: self.connected_ns,
            secured_ns: None,
            written_ns: self.written_ns,
            first_byte_ns: self.first_byte_ns,
            end_ns,
            is_measured: self.is_measured,
            request: self.request as u32,
            is_slow: false,
            due_index: self.due_index,
        }
    }

    /// Open a socket and begin to connect it.
    pub(crate) fn open(&mut self, address: SocketAddr) -> io::Result<&TcpStream> {
        self.phase = Phase::Connecting;
        self.written = 0;
        self.written_before = 0;
        self.written_ns = None;
        self.is_reused = false;
        let kind = Type::STREAM.nonblocking().cloexec();
        let socket = Socket::new_raw(Domain::for_address(address), kind, None)?;
        // A body's last segment must not wait for the acknowledgement of the one before.
        socket.set_tcp_nodelay(true)?;
        match socket.connect(&address.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
            _ => Ok(self.stream.insert(socket.into())),
        }
    }

    /// End the socket, if there is one.
    pub(crate) fn close(&mut self, farewell: Farewell) {
        if let Some(stream) = self.stream.take()
            && farewell == Farewell::Abrupt
        {
            // Failing, it would close with a FIN: no harm but a port that is held for a minute.
            let _ = SockRef::from(&stream).set_linger(Some(std::time::Duration::ZERO));
        }
        self.phase = Phase::Closed;
        self.life = self.life.wrapping_add(1);
    }

    /// Whether a connection that the peer closed without a byte of an answer was stale: an idle
    /// connection that the server closed while the request was on its way.
    ///
    /// It was, when an earlier request was answered on it, the end came as a FIN, and the server's
    /// kernel never acknowledged a byte of this request: then no server process has seen it, and
    /// to send it again on a fresh connection is what any client does. Else the server took the
    /// request and closed on it, and that is an error.
    pub(crate) fn is_stale(&self) -> bool {
        let is_unacknowledged = || {
            let acknowledged = self.stream.as_ref().and_then(sys::acknowledged_bytes);
            acknowledged.is_some_and(|bytes| bytes <= self.written_before)
        };
        self.is_reused && !self.has_retried && !self.saw_reset && is_unacknowledged()
    }

    /// How long to wait before the next try to connect; doubles each time.
    pub(crate) fn next_backoff_ns(&mut self) -> u64 {
        let wait_ns = self.backoff_ns;
        self.backoff_ns = (wait_ns * 2).min(MAX_BACKOFF_NS);
        wait_ns
    }

    /// A connection was made: forget the failures before.
    pub(crate) const fn reset_backoff(&mut self) {
        self.backoff_ns = MIN_BACKOFF_NS;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// A connection that was answered once and then took up `abc`, and the server's end of it.
    fn reused(is_server_gone_before: bool) -> Connection {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let mut connection = Connection::new(0);
        connection.stream = Some(client);
        connection.take_up(0, 0, 0, false);
        connection.begin(0, false);
        let write = |connection: &mut Connection| {
            connection.stream.as_ref().unwrap().write_all(b"abc").unwrap();
            connection.written = 3;
        };
        write(&mut connection);
        server.read_exact(&mut [0; 3]).unwrap();
        server.write_all(b"x").unwrap();
        connection.stream.as_ref().unwrap().read_exact(&mut [0; 1]).unwrap();
        connection.phase = Phase::Idle;
        connection.take_up(0, 0, 0, false);
        connection.begin(0, false);
        if is_server_gone_before {
            drop(server);
            write(&mut connection);
        } else {
            write(&mut connection);
            server.read_exact(&mut [0; 3]).unwrap();
            drop(server);
        }
        assert_eq!(connection.stream.as_ref().unwrap().read(&mut [0; 1]).unwrap(), 0);
        connection
    }

    #[test]
    fn a_connection_that_was_closed_before_the_request_came_is_stale() {
        assert!(reused(true).is_stale());
    }

    #[test]
    fn a_connection_that_was_closed_after_the_request_was_taken_is_not_stale() {
        assert!(!reused(false).is_stale());
    }

    #[test]
    fn a_request_is_sent_again_only_once() {
        let mut connection = reused(true);
        connection.has_retried = true;
        assert!(!connection.is_stale());
    }

    #[test]
    fn backoff_doubles_up_to_its_limit_and_starts_anew() {
        let mut connection = Connection::new(0);
        let waits: Vec<u64> = (0..9).map(|_| connection.next_backoff_ns() / 1_000_000).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 100, 100]);
        connection.reset_backoff();
        assert_eq!(connection.next_backoff_ns(), 1_000_000);
    }
}
