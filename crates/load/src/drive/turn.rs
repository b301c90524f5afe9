//! What one turn of a thread's loop may read, so that no stream of answers keeps it from its
//! clock: patience, the window's end and a stop are looked at once a turn.
//!
//! An edge-triggered epoll tells of bytes once. A connection that has more than a turn allows is
//! therefore kept here, and read on in the next turn, which does not sleep before.

/// As much is read from one connection before others have their turn: eight reads, which a cache
/// holds, and so many that the call to epoll between them costs nothing.
const CONNECTION_BYTES: usize = 512 * 1024;

/// Beyond this, counted from the first connection that had more than one read's room takes, each
/// other connection of the turn gets one read. Chunks of a byte take fifty times as long as a body
/// in one piece, so bytes alone are no bound.
const TURN_NS: u64 = 1_000_000;

/// The bounds of a turn, and who is read on in the next one.
#[derive(Debug)]
pub(crate) struct Turn {
    /// Set by the first connection that has more than one read's room takes: the others need no
    /// bound.
    until_ns: u64,
    unread: Vec<u32>,
    /// Those of the turn before.
    earlier: Vec<u32>,
}

impl Turn {
    pub(crate) fn new(n_connections: usize) -> Self {
        let room = || Vec::with_capacity(n_connections);
        Self { until_ns: u64::MAX, unread: room(), earlier: room() }
    }

    /// A turn begins; what was left over from the one before stands at the indices up to the
    /// number that is returned.
    #[inline]
    pub(crate) fn begin(&mut self) -> usize {
        self.until_ns = u64::MAX;
        if !self.unread.is_empty() {
            std::mem::swap(&mut self.unread, &mut self.earlier);
        }
        self.earlier.len()
    }

    /// A connection that was left over from the turn before.
    pub(crate) fn earlier(&self, index: usize) -> u32 {
        self.earlier[index]
    }

    /// What was left over was read on.
    #[inline]
    pub(crate) fn end(&mut self) {
        self.earlier.clear();
    }

    /// Whether a connection must stop that has read so much in this turn, and has more.
    pub(crate) fn is_spent(&mut self, n_read: usize, now_ns: u64) -> bool {
        if self.until_ns == u64::MAX {
            self.until_ns = now_ns.saturating_add(TURN_NS);
        }
        n_read >= CONNECTION_BYTES || now_ns >= self.until_ns
    }

    /// Read this connection on in the next turn.
    pub(crate) fn leave(&mut self, member: u32) {
        self.unread.push(member);
    }

    /// How many connections have something to read for the next turn.
    #[inline]
    pub(crate) fn n_unread(&self) -> usize {
        self.unread.len()
    }

    /// Forget those that were left over: their requests are over.
    pub(crate) fn clear(&mut self) {
        self.unread.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_stops_after_its_bytes_and_all_after_the_turns_time() {
        let mut turn = Turn::new(2);
        turn.begin();
        assert!(!turn.is_spent(65_536, 1_000));
        assert!(turn.is_spent(CONNECTION_BYTES, 2_000));
        assert!(!turn.is_spent(65_536, 3_000), "another one has its own bytes");
        assert!(turn.is_spent(65_536, 1_000 + TURN_NS), "and the same time");
        turn.end();
        turn.begin();
        assert!(!turn.is_spent(65_536, 5_000 + TURN_NS), "the next turn has a time of its own");
    }

    #[test]
    fn who_is_left_over_comes_in_the_next_turn_and_may_be_left_over_again() {
        let mut turn = Turn::new(2);
        assert_eq!(turn.begin(), 0);
        turn.leave(7);
        turn.end();
        assert_eq!((turn.n_unread(), turn.begin(), turn.earlier(0)), (1, 1, 7));
        turn.leave(7);
        turn.end();
        assert_eq!((turn.begin(), turn.n_unread()), (1, 0));
        turn.end();
        assert_eq!(turn.begin(), 0);
    }
}
