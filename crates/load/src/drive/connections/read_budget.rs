//! What one turn of a thread's loop may read, so that no stream of answers keeps it from its
//! clock: patience, the window's end and a stop are looked at once a turn.
//!
//! An edge-triggered epoll tells of bytes once. A connection that has more than a turn allows is
//! therefore kept here, and read on in the next turn, which does not sleep before.

use crate::drive::ids::ConnectionId;

/// As much is read from one connection before others have their turn: eight reads, which a cache
/// holds, and so many that the call to epoll between them costs nothing.
const CONNECTION_BYTES: usize = 512 * 1024;

/// Beyond this, counted from the first connection that had more than one read's room takes, each
/// other connection of the turn gets one read. Chunks of a byte take fifty times as long as a body
/// in one piece, so bytes alone are no bound.
const TURN_NS: u64 = 1_000_000;

/// The bounds of a turn, and who is read on in the next one.
#[derive(Debug)]
pub(super) struct ReadBudget {
    /// Set by the first connection that has more than one read's room takes: the others need no
    /// bound.
    until_ns: u64,
    unread: Vec<ConnectionId>,
    /// Those of the turn before.
    earlier: Vec<ConnectionId>,
}

impl ReadBudget {
    pub(super) fn new(n_connections: usize) -> Self {
        let room = || Vec::with_capacity(n_connections);
        Self { until_ns: u64::MAX, unread: room(), earlier: room() }
    }

    /// A turn begins; what was left over from the one before stands at the indices up to the
    /// number that is returned.
    #[inline]
    pub(super) fn begin(&mut self) -> usize {
        self.until_ns = u64::MAX;
        if !self.unread.is_empty() {
            std::mem::swap(&mut self.unread, &mut self.earlier);
        }
        self.earlier.len()
    }

    /// A connection that was left over from the turn before.
    pub(super) fn earlier(&self, index: usize) -> ConnectionId {
        self.earlier[index]
    }

    /// What was left over was read on.
    #[inline]
    pub(super) fn end(&mut self) {
        self.earlier.clear();
    }

    /// Whether a connection must stop that has read so much in this turn, and has more.
    pub(super) fn is_spent(&mut self, n_read: usize, now_ns: u64) -> bool {
        if self.until_ns == u64::MAX {
            self.until_ns = now_ns.saturating_add(TURN_NS);
        }
        n_read >= CONNECTION_BYTES || now_ns >= self.until_ns
    }

    /// Read this connection on in the next turn.
    pub(super) fn leave(&mut self, connection: ConnectionId) {
        self.unread.push(connection);
    }

    /// How many connections have something to read for the next turn.
    #[inline]
    pub(super) fn n_unread(&self) -> usize {
        self.unread.len()
    }

    /// Forget those that were left over: their requests are over.
    pub(super) fn clear(&mut self) {
        self.unread.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::ids::Id;

    fn seven() -> ConnectionId {
        ConnectionId::new(7)
    }

    #[test]
    fn a_connection_stops_after_its_bytes_and_all_after_the_turns_time() {
        let mut turn = ReadBudget::new(2);
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
        let mut turn = ReadBudget::new(2);
        assert_eq!(turn.begin(), 0);
        turn.leave(seven());
        turn.end();
        assert_eq!((turn.n_unread(), turn.begin(), turn.earlier(0)), (1, 1, seven()));
        turn.leave(seven());
        turn.end();
        assert_eq!((turn.begin(), turn.n_unread()), (1, 0));
        turn.end();
        assert_eq!(turn.begin(), 0);
    }
}
