//! What a server is told before it starts.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use crate::reception::Reception;
use crate::service::Service;

/// How the server behaves where a path says nothing of it.
#[derive(Debug, Clone)]
pub struct OracleConfig {
    /// Where to listen; loopback only, IPv4 or IPv6, without TLS. Port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where else to listen.
    pub doors: Vec<Door>,
    /// The service time of each request.
    pub service: Service,
    /// The length of a body.
    pub body_bytes: usize,
    /// How many requests are served at once; the others queue. `None`: all of them.
    pub workers: Option<NonZeroUsize>,
    /// Gives the service times, drawn in order of arrival.
    pub seed: u64,
    /// How many arrivals the log holds.
    pub log_capacity: usize,
    /// How many connections their log holds.
    pub connection_log_capacity: usize,
    /// How many requests are kept whole, header and body.
    pub keep_requests: usize,
    /// How many connections may wait to be accepted; `None`: as `std` sets it.
    pub backlog: Option<i32>,
    /// Whether connections are accepted at all.
    pub accepts: bool,
    /// How long a connection waits, accepted, before anything is read from it.
    pub accept_delay: Duration,
    /// `SO_SNDBUF` of each connection, of which the kernel makes the double; `None`: as it likes.
    pub send_buffer_bytes: Option<usize>,
    /// `SO_RCVBUF` of each connection, of which the kernel makes the double; `None`: as it likes.
    pub receive_buffer_bytes: Option<usize>,
    /// After how many requests a connection ends.
    pub close_after: Option<CloseAfter>,
    /// After how much idleness a connection ends.
    pub idle_close: Option<Duration>,
    /// Stalls that come by themselves.
    pub stall_every: Option<PeriodicStall>,
    /// Paths that stand for others: `("/cart", "/fixed/20ms")`.
    pub routes: Vec<(String, String)>,
    /// The processor to run on.
    pub cpu: Option<usize>,
}

impl Default for OracleConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            doors: Vec::new(),
            service: Service::IMMEDIATE,
            body_bytes: 12,
            workers: None,
            seed: 1,
            log_capacity: 1 << 17,
            connection_log_capacity: 1 << 16,
            keep_requests: 0,
            backlog: None,
            accepts: true,
            accept_delay: Duration::ZERO,
            send_buffer_bytes: None,
            receive_buffer_bytes: None,
            close_after: None,
            idle_close: None,
            stall_every: None,
            routes: Vec::new(),
            cpu: None,
        }
    }
}

/// A place to listen at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// An address and port of loopback.
    Tcp(SocketAddr),
    /// A path that does not exist yet; it is taken away when the server ends.
    Unix(PathBuf),
}

impl fmt::Display for Place {
    /// As a load generator takes it: `127.0.0.1:80`, `[::1]:80` or `unix:/path`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(addr) => addr.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A way into the server: a place, and how who comes there is received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Door {
    /// Where it is.
    pub place: Place,
    /// How each connection is received.
    pub reception: Reception,
}

impl Door {
    /// A door without TLS.
    pub fn plain(place: Place) -> Self {
        Self { place, reception: Reception::Usual }
    }
}

/// When a connection that is kept alive ends nevertheless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CloseAfter {
    /// With the answer to this many requests.
    pub requests: u32,
    /// Whether the last answer says `Connection: close`.
    pub is_announced: bool,
}

/// A stall at each multiple of a period after the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeriodicStall {
    /// From one stall's beginning to the next one's.
    pub period: Duration,
    /// How long each lasts.
    pub duration: Duration,
}
