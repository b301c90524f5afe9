//! What a thread's loop stands on: a clock, sockets, and the wait for both. The kernel's, or in
//! tests one in which time passes as the test says.

use std::fmt::Debug;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::error::Error;
use crate::request::Target;
use crate::sys::{self, Epoll, Event, Network, Waker};
use crate::wire::{Handshake, Link};

/// A clock and a net that belong together. Chosen when the engine is compiled: it costs nothing.
pub(super) trait Platform: Debug {
    type Time: Time;
    type Link: Stream;
    type Net: Net<Link = Self::Link>;
}

pub(super) trait Time: Debug {
    /// Nanoseconds that never go back.
    fn now_ns(&self) -> u64;

    /// The calendar's time, for cookies that expire.
    fn unix_ms(&self) -> u64;
}

/// Opens streams, and waits for what happens on them.
pub(super) trait Net {
    type Link: Stream;

    /// Begin to connect, see [`Link::open`].
    fn open(&mut self, target: &Target, receive_buffer_bytes: usize) -> io::Result<Self::Link>;

    /// Tell of what happens on the stream under this token, once each time.
    fn watch(&mut self, link: &Self::Link, token: u64) -> io::Result<()>;

    /// Wait at most so long, `None`: for ever; how many events came.
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize>;

    /// The `index`-th event of the last wait.
    fn event(&self, index: usize) -> Event;
}

/// A connection to a server. What the methods promise is said at [`Link`].
pub(super) trait Stream: Debug {
    fn handshake(&mut self) -> io::Result<bool>;
    fn resumption(&self) -> Option<Handshake>;
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize>;
    fn is_drained_by_short_read(&self) -> bool;
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;
    fn wants_flush(&self) -> bool;
    fn flush(&mut self) -> io::Result<bool>;
    fn is_reusable(&self) -> bool;
    fn send_close_notify(&mut self);
    fn set_linger_zero(&self) -> io::Result<()>;
    fn sent_bytes(&self) -> u64;
    fn acknowledged_bytes(&self) -> Option<u64>;
    fn take_error(&self) -> io::Result<Option<io::Error>>;
}

/// The kernel's clock and its sockets.
#[derive(Debug)]
pub(super) struct Kernel;

impl Platform for Kernel {
    type Time = MonotonicTime;
    type Link = Link;
    type Net = EpollNet;
}

#[derive(Debug)]
pub(super) struct MonotonicTime;

impl Time for MonotonicTime {
    #[inline]
    fn now_ns(&self) -> u64 {
        sys::monotonic_ns()
    }

    fn unix_ms(&self) -> u64 {
        let unix_now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        unix_now.map_or(0, |since| since.as_millis() as u64)
    }
}

/// Each connection is registered once, edge-triggered.
pub(super) struct EpollNet {
    epoll: Epoll,
    /// The namespace that the thread went into last, where arms name any.
    network: Option<Arc<Network>>,
}

impl EpollNet {
    /// Watches the waker too, under this token.
    pub(super) fn new(waker: &Waker, token: u64) -> Result<Self, Error> {
        let epoll = Epoll::new().map_err(Error::system("epoll_create1"))?;
        epoll.add_waker(waker, token).map_err(Error::system("epoll_ctl"))?;
        Ok(Self { epoll, network: None })
    }

    /// Have the thread's next sockets be there. It stays, so this is once for each change of arms.
    fn enter(&mut self, network: &Arc<Network>) -> io::Result<()> {
        if !self.network.as_ref().is_some_and(|current| Arc::ptr_eq(current, network)) {
            network.enter()?;
            self.network = Some(Arc::clone(network));
        }
        Ok(())
    }
}

impl Net for EpollNet {
    type Link = Link;

    fn open(&mut self, target: &Target, receive_buffer_bytes: usize) -> io::Result<Link> {
        if let Some(network) = &target.network {
            self.enter(network)?;
        }
        Link::open(&target.endpoint, target.tls.as_ref(), receive_buffer_bytes)
    }

    fn watch(&mut self, link: &Link, token: u64) -> io::Result<()> {
        self.epoll.add_stream(link, token)
    }

    #[inline]
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        self.epoll.wait(timeout)
    }

    #[inline]
    fn event(&self, index: usize) -> Event {
        self.epoll.event(index)
    }
}

impl Stream for Link {
    fn handshake(&mut self) -> io::Result<bool> {
        Self::handshake(self)
    }

    fn resumption(&self) -> Option<Handshake> {
        Self::resumption(self)
    }

    #[inline]
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        Self::read(self, room)
    }

    #[inline]
    fn is_drained_by_short_read(&self) -> bool {
        Self::is_drained_by_short_read(self)
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Self::write(self, bytes)
    }

    #[inline]
    fn wants_flush(&self) -> bool {
        Self::wants_flush(self)
    }

    fn flush(&mut self) -> io::Result<bool> {
        Self::flush(self)
    }

    #[inline]
    fn is_reusable(&self) -> bool {
        Self::is_reusable(self)
    }

    fn send_close_notify(&mut self) {
        Self::send_close_notify(self);
    }

    fn set_linger_zero(&self) -> io::Result<()> {
        Self::set_linger_zero(self)
    }

    #[inline]
    fn sent_bytes(&self) -> u64 {
        Self::sent_bytes(self)
    }

    fn acknowledged_bytes(&self) -> Option<u64> {
        Self::acknowledged_bytes(self)
    }

    fn take_error(&self) -> io::Result<Option<io::Error>> {
        Self::take_error(self)
    }
}
