//! One connection of a thread: a place for a socket, one after the other.

use crate::count::ErrorKind;
use crate::drive::{ids::ExchangeId, platform::Stream};

use super::slow_line::SlowLine;

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
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
pub(super) enum Close {
    /// With a FIN: the peer closed first, or the run is over.
    Fin,
    /// With a RST: leaves no `TIME_WAIT` that would hold on to a port.
    Reset,
}

/// A place for a socket.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not states of a machine")]
pub(super) struct Connection<L> {
    pub(super) arm: usize,
    pub(super) link: Option<L>,
    pub(super) phase: Phase,
    /// Which socket this is; events and timers of earlier ones are stale.
    pub(super) life: u32,
    /// The exchange that it carries, one at a time.
    pub(super) exchange: ExchangeId,
    /// It is in one of its pool's lists.
    pub(super) is_parked: bool,
    /// A write met a reset.
    pub(super) saw_reset: bool,
    /// Why its socket could not even begin to connect.
    pub(super) refusal: Option<ErrorKind>,
    /// Answers so far on this socket.
    pub(super) n_answers: u64,
    /// Opened for a slow user.
    pub(super) is_slow: bool,
    /// There was more to read than a turn of the loop allows; it is read on in the next one.
    pub(super) is_unread: bool,
    /// The peer will send no more, as was said before all of it was read.
    pub(super) is_ending: bool,
    /// How fast a slow one may be.
    pub(super) line: Option<Box<SlowLine>>,
    backoff_ns: u64,
}

/// After a connection could not be made the closed loop waits this long before the next try...
const MIN_BACKOFF_NS: u64 = 1_000_000;
/// ... and twice as long each time, up to this: a dead server must not become a busy loop.
const MAX_BACKOFF_NS: u64 = 100_000_000;

impl<L: Stream> Connection<L> {
    pub(super) fn new(arm: usize, exchange: ExchangeId) -> Self {
        Self {
            arm,
            link: None,
            phase: Phase::Closed,
            life: 0,
            exchange,
            is_parked: false,
            saw_reset: false,
            refusal: None,
            n_answers: 0,
            is_slow: false,
            is_unread: false,
            is_ending: false,
            line: None,
            backoff_ns: MIN_BACKOFF_NS,
        }
    }

    /// A socket is to be opened, for a user with a line of so many bytes per second: 0, no limit;
    /// `None`, a usual one.
    pub(super) fn prepare(&mut self, slow_bytes_per_s: Option<f64>) {
        self.phase = Phase::Connecting;
        self.n_answers = 0;
        self.is_slow = slow_bytes_per_s.is_some();
        let limited = slow_bytes_per_s.filter(|&rate| rate > 0.0);
        self.line = limited.map(|rate| Box::new(SlowLine::new(rate)));
    }

    /// A request begins to be written.
    #[inline]
    pub(super) fn begin(&mut self, now_ns: u64) {
        self.phase = Phase::Busy;
        self.is_unread = false;
        self.backoff_ns = MIN_BACKOFF_NS;
        self.saw_reset = false;
        if let Some(line) = &mut self.line {
            line.begin(now_ns);
        }
    }

    /// End the socket, if there is one.
    pub(super) fn close(&mut self, with: Close) {
        if let Some(mut link) = self.link.take() {
            match with {
                Close::Fin => link.send_close_notify(),
                // Failing, it would close with a FIN: no harm but a port held for a minute.
                Close::Reset => drop(link.set_linger_zero()),
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
    /// kernel never acknowledged a byte of this request, before which `sent_before` bytes were
    /// sent: then no server process has seen it, and to send it again on a fresh connection is what
    /// any client does. Else the server took the request and closed on it, and that is an error.
    pub(super) fn is_stale(&self, sent_before: u64) -> bool {
        let is_unacknowledged = || {
            let acknowledged = self.link.as_ref().and_then(Stream::acknowledged_bytes);
            acknowledged.is_some_and(|bytes| bytes <= sent_before)
        };
        self.n_answers > 0 && !self.saw_reset && is_unacknowledged()
    }

    /// How long to wait before the next try to connect; doubles each time.
    pub(super) fn next_backoff_ns(&mut self) -> u64 {
        let wait_ns = self.backoff_ns;
        self.backoff_ns = (wait_ns * 2).min(MAX_BACKOFF_NS);
        wait_ns
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind as IoErrorKind, Read, Write};
    use std::net::TcpListener;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::drive::ids::Id;
    use crate::wire::{Endpoint, Link};

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

    fn connection() -> Connection<Link> {
        Connection::new(0, ExchangeId::new(0))
    }

    /// Whether a connection is stale that was answered once, then sent `abc`, and whose server has
    /// closed it.
    fn is_stale_once_reused(is_server_gone_before: bool) -> bool {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut connection = connection();
        let address = listener.local_addr().unwrap();
        connection.prepare(None);
        connection.link = Some(Link::open(&Endpoint::Tcp(address), None, 0).unwrap());
        let (mut server, _) = listener.accept().unwrap();
        connection.begin(0);
        let write = |connection: &mut Connection<Link>| {
            let link = connection.link.as_mut().unwrap();
            assert_eq!(insist(|| link.write(b"abc")), 3);
        };
        write(&mut connection);
        server.read_exact(&mut [0; 3]).unwrap();
        server.write_all(b"x").unwrap();
        assert_eq!(insist(|| connection.link.as_mut().unwrap().read(&mut [0; 9])), 1);
        connection.phase = Phase::Idle;
        connection.n_answers = 1;
        connection.begin(0);
        let sent_before = connection.link.as_ref().unwrap().sent_bytes();
        if is_server_gone_before {
            drop(server);
            write(&mut connection);
        } else {
            write(&mut connection);
            server.read_exact(&mut [0; 3]).unwrap();
            drop(server);
        }
        assert_eq!(insist(|| connection.link.as_mut().unwrap().read(&mut [0; 1])), 0);
        connection.is_stale(sent_before)
    }

    #[test]
    fn a_connection_that_was_closed_before_the_request_came_is_stale() {
        assert!(is_stale_once_reused(true));
    }

    #[test]
    fn a_connection_that_was_closed_after_the_request_was_taken_is_not_stale() {
        assert!(!is_stale_once_reused(false));
    }

    #[test]
    fn backoff_doubles_up_to_its_limit_and_starts_anew() {
        let mut connection = connection();
        let waits: Vec<u64> = (0..9).map(|_| connection.next_backoff_ns() / 1_000_000).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 100, 100]);
        connection.begin(1);
        assert_eq!(connection.next_backoff_ns(), 1_000_000);
    }
}
