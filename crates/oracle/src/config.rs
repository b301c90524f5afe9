//! What a server is told before it starts.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::Error;
use crate::reception::Reception;
use crate::service::Service;

/// How the server behaves where a path says nothing of it.
#[derive(Debug, Clone)]
pub struct OracleConfig {
    /// Where to listen; loopback only, IPv4 or IPv6, without TLS. Port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where else to listen.
    pub doors: Vec<Door>,
    /// How the doors with TLS do it.
    pub tls: TlsOptions,
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
    /// How long the first message of a TLS handshake waits before it is read.
    pub handshake_delay: Duration,
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
    /// Never sleep: arrivals are stamped without the 10 to 50 µs of a wake-up, which come only after
    /// a longer gap and so bend short ones. Meanwhile the server passes bytes to itself, lest the
    /// kernel's way for packets leave the caches. Takes a processor whole.
    pub spins: bool,
}

impl Default for OracleConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            doors: Vec::new(),
            tls: TlsOptions::default(),
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
            handshake_delay: Duration::ZERO,
            send_buffer_bytes: None,
            receive_buffer_bytes: None,
            close_after: None,
            idle_close: None,
            stall_every: None,
            routes: Vec::new(),
            cpu: None,
            spins: false,
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

impl FromStr for Place {
    type Err = Error;

    /// Parse what [`Display`](fmt::Display) writes.
    fn from_str(text: &str) -> Result<Self, Error> {
        match text.strip_prefix("unix:") {
            Some(path) if !path.is_empty() => Ok(Self::Unix(path.into())),
            _ => text.parse().map(Self::Tcp).map_err(|_| {
                let reason = format!("`{text}` is neither ADDRESS:PORT nor unix:PATH");
                Error::Argument(reason)
            }),
        }
    }
}

/// A way into the server: a place, and how who comes there is received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Door {
    /// Where it is.
    pub place: Place,
    /// Whether it speaks TLS.
    pub is_tls: bool,
    /// How each connection is received.
    pub reception: Reception,
}

impl Door {
    /// A door without TLS.
    pub fn plain(place: Place) -> Self {
        Self { place, is_tls: false, reception: Reception::Usual }
    }

    /// A door with TLS.
    pub fn tls(place: Place) -> Self {
        Self { is_tls: true, ..Self::plain(place) }
    }
}

/// How the doors with TLS do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsOptions {
    /// The versions that are spoken.
    pub versions: TlsVersions,
    /// Whether a client without a certificate of the same authority is refused.
    pub needs_client_certificate: bool,
    /// Whether sessions can be resumed: tickets of both versions.
    pub resumes: bool,
}

impl Default for TlsOptions {
    fn default() -> Self {
        Self { versions: TlsVersions::Any, needs_client_certificate: false, resumes: true }
    }
}

/// Versions of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsVersions {
    /// 1.2 and 1.3.
    Any,
    /// 1.2 alone.
    Only12,
    /// 1.3 alone.
    Only13,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_they_are_written() {
        for text in ["127.0.0.1:80", "[::1]:0", "unix:/tmp/a b"] {
            assert_eq!(text.parse::<Place>().unwrap().to_string(), text);
        }
        for text in ["", "localhost", "127.0.0.1", "unix:", "/tmp/a"] {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
    }
}
