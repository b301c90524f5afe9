//! Keeps the kernel's way for small packets warm where the server never sleeps.
//!
//! After two idle milliseconds the caches have lost the kernel's code and data for a packet, and it
//! takes three times as long to arrive. That comes after long gaps only, and would bend short ones.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use crate::sys::Epoll;

/// So long the way stays warm by itself.
const KEPT_NS: u64 = 50_000;

/// A connection from the server to itself, whose bytes come the way requests do.
#[derive(Debug)]
pub(crate) struct Warmth {
    from: TcpStream,
    to: TcpStream,
    kept_ns: u64,
}

impl Warmth {
    /// Connect over loopback, and have `epoll` tell under `token` when a byte came.
    pub(crate) fn new(epoll: &Epoll, token: u64) -> io::Result<Self> {
        let door = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let from = TcpStream::connect(door.local_addr()?)?;
        let (to, visitor) = door.accept()?;
        if visitor != from.local_addr()? {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        from.set_nodelay(true)?;
        from.set_nonblocking(true)?;
        to.set_nonblocking(true)?;
        epoll.watch_edges(to.as_raw_fd(), token)?;
        Ok(Self { from, to, kept_ns: 0 })
    }

    /// Something came the way that requests come.
    pub(crate) fn note_use(&mut self, now_ns: u64) {
        self.kept_ns = now_ns;
    }

    /// Send a byte if nothing has come for some time.
    pub(crate) fn keep(&mut self, now_ns: u64) {
        if now_ns.saturating_sub(self.kept_ns) >= KEPT_NS {
            self.kept_ns = now_ns;
            // If it does not get there, the way is as cold as without it.
            let _ = self.from.write(b".");
        }
    }

    /// Read what came.
    pub(crate) fn take(&mut self) {
        let _ = self.to.read(&mut [0; 64]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_comes_when_the_way_cools_and_is_taken() {
        let mut epoll = Epoll::new(4).unwrap();
        let mut warmth = Warmth::new(&epoll, 7).unwrap();
        let mut n_events = |warmth: &mut Warmth| {
            let mut events = Vec::new();
            epoll.wait(Some(0), &mut events).unwrap();
            assert!(events.iter().all(|event| event.token == 7));
            warmth.take();
            events.iter().filter(|event| event.readable).count()
        };
        n_events(&mut warmth); // that the socket can be written
        let now_ns = 1_000_000_000;
        warmth.keep(now_ns);
        assert_eq!(n_events(&mut warmth), 1);
        warmth.keep(now_ns + KEPT_NS - 1);
        assert_eq!(n_events(&mut warmth), 0, "it is warm");
        warmth.note_use(now_ns + KEPT_NS);
        warmth.keep(now_ns + KEPT_NS);
        assert_eq!(n_events(&mut warmth), 0, "a request keeps it warm");
        warmth.keep(now_ns + 2 * KEPT_NS);
        assert_eq!(n_events(&mut warmth), 1);
    }
}
