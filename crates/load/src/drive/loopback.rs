//! Keeps the kernel's way for small packets warm while a thread polls.
//!
//! After two idle milliseconds a packet takes three times as long through the kernel as right after
//! another one, though nobody sleeps: its code and data have left the caches. That delay comes
//! after long gaps only, so it shortens the next gap, and arrivals that were sent as planned reach
//! the server bunched. A byte that a thread passes to itself now and then keeps the way short.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

use socket2::SockRef;

use crate::sys;

/// So long the way stays warm by itself.
const KEPT_NS: u64 = 50_000;

/// Nothing else is begun so shortly before a request is due: a byte takes 5 to 30 µs.
const MARGIN_NS: u64 = 40_000;

/// A connection from a thread to itself.
#[derive(Debug)]
pub(super) struct Loopback {
    from: TcpStream,
    to: TcpStream,
    kept_ns: u64,
}

impl Loopback {
    /// Connect over loopback.
    ///
    /// # Errors
    ///
    /// There is no loopback, no descriptor or no port; or somebody else came to the door first.
    pub(super) fn new() -> io::Result<Self> {
        let door = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let from = TcpStream::connect(door.local_addr()?)?;
        let (to, visitor) = door.accept()?;
        if visitor != from.local_addr()? {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        from.set_nodelay(true)?;
        // Its end takes no port for a minute.
        SockRef::from(&from).set_linger(Some(Duration::ZERO))?;
        from.set_nonblocking(true)?;
        to.set_nonblocking(true)?;
        Ok(Self { from, to, kept_ns: 0 })
    }

    /// A packet went this way then.
    pub(super) fn note_use(&mut self, used_ns: u64) {
        self.kept_ns = self.kept_ns.max(used_ns);
    }

    /// Pass a byte if nothing has gone this way for some time, and nothing has to soon.
    pub(super) fn keep(&mut self, now_ns: u64, due_ns: u64) {
        let is_cooling = now_ns.saturating_sub(self.kept_ns) >= KEPT_NS;
        if is_cooling && due_ns.saturating_sub(now_ns) >= MARGIN_NS {
            self.kept_ns = now_ns;
            // If it does not get there, the way is as cold as without it: nothing is lost.
            let _ = sys::send(&self.from, b".");
            let _ = sys::receive(&self.to, &mut [0; 64]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many bytes have been passed.
    fn passed(loopback: &Loopback) -> u64 {
        sys::acknowledged_bytes(&loopback.from).unwrap()
    }

    #[test]
    fn a_byte_is_passed_when_the_way_cools_and_there_is_time() {
        let mut loopback = Loopback::new().unwrap();
        let start_ns = 1_000_000_000;
        for (after_ns, until_due_ns, expected) in [
            (0, 20_000_000, 1),
            (KEPT_NS - 1, 20_000_000, 1),
            (KEPT_NS, MARGIN_NS - 1, 1),
            (KEPT_NS, MARGIN_NS, 2),
            (2 * KEPT_NS - 1, 20_000_000, 2),
            (3 * KEPT_NS, 20_000_000, 3),
        ] {
            let now_ns = start_ns + after_ns;
            loopback.keep(now_ns, now_ns + until_due_ns);
            assert_eq!(passed(&loopback), expected, "after {after_ns} ns");
        }
    }

    #[test]
    fn a_request_keeps_the_way_warm_as_well() {
        let mut loopback = Loopback::new().unwrap();
        let now_ns = 1_000_000_000;
        loopback.note_use(now_ns);
        loopback.keep(now_ns + KEPT_NS - 1, u64::MAX);
        assert_eq!(passed(&loopback), 0);
        loopback.keep(now_ns + KEPT_NS, u64::MAX);
        assert_eq!(passed(&loopback), 1);
        // The last request is noted in each turn, also where a byte went after it.
        loopback.note_use(now_ns);
        loopback.keep(now_ns + 2 * KEPT_NS - 1, u64::MAX);
        assert_eq!(passed(&loopback), 1);
    }

    #[test]
    fn no_byte_is_left_behind() {
        let mut loopback = Loopback::new().unwrap();
        for step in 0..1_000 {
            let now_ns = 1_000_000_000 + step * KEPT_NS;
            loopback.keep(now_ns, u64::MAX);
        }
        assert_eq!(passed(&loopback), 1_000);
        let left = sys::receive(&loopback.to, &mut [0; 64]).map_err(|error| error.kind());
        assert_eq!(left, Err(io::ErrorKind::WouldBlock));
    }
}
