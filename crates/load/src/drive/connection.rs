//! One connection of a thread: its socket and the request it carries.

use std::io;

use super::throttle::Throttle;
use crate::count::{Ended, ErrorKind};
use crate::http::Scanner;
use crate::input::Slow;
use crate::wire::{Endpoint, Link, TlsClient};

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No socket.
    Closed,
    /// A request waits for the socket to connect.
    Connecting,
    /// A request waits for the TLS handshake.
    Securing,
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
    pub(crate) link: Option<Link>,
    pub(crate) phase: Phase,
    /// Which socket this is; events and timers of earlier ones are stale.
    pub(crate) life: u32,
    /// The first connection of the visit that it serves.
    pub(crate) owner: u32,
    /// The next one that its visit keeps for a page to come.
    pub(crate) next_spare: Option<u32>,
    /// It is in one of its pool's lists.
    pub(crate) is_parked: bool,
    pub(crate) request: u32,
    /// The request's bytes are those of the table, not `outgoing`.
    pub(crate) is_fixed: bool,
    /// A request that was rendered for this once.
    pub(crate) outgoing: Vec<u8>,
    /// Bytes of the request written.
    pub(crate) written: usize,
    /// All of them.
    pub(crate) is_written: bool,
    /// Bytes that the link had sent before the request.
    sent_before: u64,
    base_ns: u64,
    issued_ns: u64,
    connected_ns: Option<u64>,
    secured_ns: Option<u64>,
    written_ns: Option<u64>,
    first_byte_ns: Option<u64>,
    is_measured: bool,
    is_object: bool,
    number: u64,
    /// The socket has answered a request before this one.
    is_reused: bool,
    pub(crate) has_retried: bool,
    /// A write met a reset.
    pub(crate) saw_reset: bool,
    /// Why its socket could not even begin to connect.
    pub(crate) refusal: Option<ErrorKind>,
    pub(crate) scanner: Scanner,
    /// Answers so far on this socket.
    pub(crate) n_answers: u64,
    /// Opened for a slow user.
    pub(crate) is_slow: bool,
    /// There was more to read than a turn of the loop allows; it is read on in the next one.
    pub(crate) is_unread: bool,
    /// The peer will send no more, as was said before all of it was read.
    pub(crate) is_ending: bool,
    /// How fast a slow one may be.
    pub(crate) pace: Option<Box<SlowLine>>,
    backoff_ns: u64,
}

/// The two directions of a slow line.
#[derive(Debug)]
pub(crate) struct SlowLine {
    pub(crate) reading: Throttle,
    pub(crate) writing: Throttle,
    /// The socket may have more to read than the line lets through.
    pub(crate) has_more: bool,
    /// The peer will send no more.
    pub(crate) is_ended: bool,
    /// A timer is set for it.
    pub(crate) has_timer: bool,
    /// The whole answer was read, and is with the user when the line has carried it.
    pub(crate) read: Option<ReadAnswer>,
}

/// How the reading of a whole answer ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadAnswer {
    pub(crate) is_reusable: bool,
    /// The peer closed with it.
    pub(crate) is_closed: bool,
}

/// A request as a connection takes it up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    pub(crate) request: u32,
    pub(crate) number: u64,
    pub(crate) base_ns: u64,
    pub(crate) is_measured: bool,
    /// An object of a page.
    pub(crate) is_object: bool,
}

/// After a connection could not be made the closed loop waits this long before the next try...
const MIN_BACKOFF_NS: u64 = 1_000_000;
/// ... and twice as long each time, up to this: a dead server must not become a busy loop.
const MAX_BACKOFF_NS: u64 = 100_000_000;

impl Connection {
    pub(crate) fn new(arm: usize) -> Self {
        Self {
            arm,
            link: None,
            phase: Phase::Closed,
            life: 0,
            owner: 0,
            next_spare: None,
            is_parked: false,
            request: 0,
            is_fixed: true,
            outgoing: Vec::new(),
            written: 0,
            is_written: false,
            sent_before: 0,
            base_ns: 0,
            issued_ns: 0,
            connected_ns: None,
            secured_ns: None,
            written_ns: None,
            first_byte_ns: None,
            is_measured: false,
            is_object: false,
            number: 0,
            is_reused: false,
            has_retried: false,
            saw_reset: false,
            refusal: None,
            scanner: Scanner::new(),
            n_answers: 0,
            is_slow: false,
            is_unread: false,
            is_ending: false,
            pace: None,
            backoff_ns: MIN_BACKOFF_NS,
        }
    }

    /// Take up a request.
    pub(crate) fn take_up(&mut self, taken: Taken, now_ns: u64) {
        self.request = taken.request;
        self.number = taken.number;
        self.base_ns = taken.base_ns;
        self.is_measured = taken.is_measured;
        self.is_object = taken.is_object;
        self.issued_ns = now_ns;
        self.connected_ns = None;
        self.secured_ns = None;
        self.written_ns = None;
        self.first_byte_ns = None;
        self.has_retried = false;
        self.is_reused = self.phase == Phase::Idle;
    }

    /// The socket is connected.
    pub(crate) fn connected(&mut self, now_ns: u64) {
        self.connected_ns = Some(now_ns);
    }

    /// The TLS handshake is done.
    pub(crate) fn secured(&mut self, now_ns: u64) {
        self.secured_ns = Some(now_ns);
    }

    /// Begin to write the request that was taken up.
    pub(crate) fn begin(&mut self, now_ns: u64, is_head: bool) {
        self.phase = Phase::Busy;
        self.sent_before = self.link.as_ref().map_or(0, Link::sent_bytes);
        self.written = 0;
        self.is_written = false;
        self.is_unread = false;
        self.written_ns = Some(now_ns);
        self.backoff_ns = MIN_BACKOFF_NS;
        self.saw_reset = false;
        self.scanner.expect(is_head);
        if let Some(pace) = &mut self.pace {
            pace.read = None;
            pace.has_timer = false;
            pace.writing.begin(now_ns);
            pace.reading.begin(now_ns);
        }
    }

    /// The number of the step that its request belongs to.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// The instant that the patience of its request counts from.
    pub(crate) const fn base_ns(&self) -> u64 {
        self.base_ns
    }

    /// A byte of the answer came.
    pub(crate) const fn has_answer(&self) -> bool {
        self.first_byte_ns.is_some()
    }

    /// Bytes of the answer came.
    #[inline]
    pub(crate) fn received(&mut self, now_ns: u64) {
        self.first_byte_ns.get_or_insert(now_ns);
    }

    /// Whether its request never had a connection to go on, TLS included.
    pub(crate) fn is_unconnected(&self) -> bool {
        self.written_ns.is_none()
    }

    /// The request's record, ended now.
    pub(crate) const fn ended(&self, end_ns: u64) -> Ended {
        Ended {
            base_ns: self.base_ns,
            issued_ns: Some(self.issued_ns),
            connected_ns: self.connected_ns,
            secured_ns: self.secured_ns,
            written_ns: self.written_ns,
            first_byte_ns: self.first_byte_ns,
            end_ns,
            is_measured: self.is_measured,
            is_object: self.is_object,
            request: self.request,
            is_slow: self.is_slow,
            due_index: self.number,
        }
    }

    /// Open a socket and begin to connect it.
    pub(crate) fn open(
        &mut self,
        endpoint: &Endpoint,
        tls: Option<&TlsClient>,
        slow: Option<&Slow>,
    ) -> io::Result<&Link> {
        self.phase = Phase::Connecting;
        self.written = 0;
        self.written_ns = None;
        self.is_reused = false;
        self.n_answers = 0;
        self.is_slow = slow.is_some();
        let buffer = slow.map_or(0, |slow| slow.receive_buffer_bytes);
        match slow.map(|slow| slow.bytes_per_s).filter(|&rate| rate > 0.0) {
            Some(rate) => self.pace = Some(Box::new(SlowLine::new(rate))),
            None => self.pace = None,
        }
        Ok(self.link.insert(Link::open(endpoint, tls, buffer)?))
    }

    /// End the socket, if there is one.
    pub(crate) fn close(&mut self, farewell: Farewell) {
        if let Some(mut link) = self.link.take() {
            match farewell {
                Farewell::Orderly => link.say_goodbye(),
                // Failing, it would close with a FIN: no harm but a port held for a minute.
                Farewell::Abrupt => drop(link.set_linger_zero()),
            }
        }
        self.phase = Phase::Closed;
        (self.is_unread, self.is_ending) = (false, false);
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
            let acknowledged = self.link.as_ref().and_then(Link::acknowledged_bytes);
            acknowledged.is_some_and(|bytes| bytes <= self.sent_before)
        };
        self.is_reused && !self.has_retried && !self.saw_reset && is_unacknowledged()
    }

    /// How long to wait before the next try to connect; doubles each time.
    pub(crate) fn next_backoff_ns(&mut self) -> u64 {
        let wait_ns = self.backoff_ns;
        self.backoff_ns = (wait_ns * 2).min(MAX_BACKOFF_NS);
        wait_ns
    }
}

impl SlowLine {
    fn new(bytes_per_s: f64) -> Self {
        Self {
            reading: Throttle::reading(bytes_per_s),
            writing: Throttle::writing(bytes_per_s),
            has_more: false,
            is_ended: false,
            has_timer: false,
            read: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind as IoErrorKind, Read, Write};
    use std::net::TcpListener;
    use std::time::{Duration, Instant};

    use super::*;

    const TAKEN: Taken =
        Taken { request: 0, number: 0, base_ns: 0, is_measured: false, is_object: false };

    /// Try what would block until it does not.
    fn insist<T>(mut attempt: impl FnMut() -> io::Result<T>) -> T {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            match attempt() {
                Ok(value) => return value,
                Err(error) => assert_eq!(error.kind(), IoErrorKind::WouldBlock, "{error}"),
            }
            assert!(Instant::now() < deadline);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// A connection that was answered once and then took up `abc`, and the server's end of it.
    fn reused(is_server_gone_before: bool) -> Connection {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut connection = Connection::new(0);
        let address = listener.local_addr().unwrap();
        connection.take_up(TAKEN, 0);
        connection.open(&Endpoint::Tcp(address), None, None).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        connection.begin(0, false);
        let write = |connection: &mut Connection| {
            let link = connection.link.as_mut().unwrap();
            assert_eq!(insist(|| link.write(b"abc")), 3);
        };
        write(&mut connection);
        server.read_exact(&mut [0; 3]).unwrap();
        server.write_all(b"x").unwrap();
        assert_eq!(insist(|| connection.link.as_mut().unwrap().read(&mut [0; 9])), 1);
        connection.phase = Phase::Idle;
        connection.take_up(TAKEN, 0);
        connection.begin(0, false);
        if is_server_gone_before {
            drop(server);
            write(&mut connection);
        } else {
            write(&mut connection);
            server.read_exact(&mut [0; 3]).unwrap();
            drop(server);
        }
        assert_eq!(insist(|| connection.link.as_mut().unwrap().read(&mut [0; 1])), 0);
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
        connection.begin(1, false);
        assert_eq!(connection.next_backoff_ns(), 1_000_000);
    }
}
