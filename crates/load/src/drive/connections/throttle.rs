//! A slow line: how much of a connection's bytes may move, and when.
//!
//! A thousand slow clients must not cost what a thousand fast ones do, so bytes move in pieces
//! that are large for the rate, and waits of many connections end together. None of that may
//! change how long a transfer takes, so both directions count from its beginning, never from the
//! last piece, and a late wake-up is made up for by the next piece:
//!
//! - writing, a piece goes when the line has had the time for all of it. The last byte goes when
//!   the line would have carried it, to the nanosecond;
//! - reading, a piece is taken at once and its time is waited for afterwards: what is still to
//!   come isn't known. The answer is with the user when its last piece is
//!   [paid](Throttle::paid_ns), not when it was read.
//!
//! Time in which the other side had nothing to give, or did not take what it was offered, is lost:
//! a line doesn't save up for a burst.

const NS_PER_S: f64 = 1e9;
/// At a low rate a piece is worth so long: four wake-ups a second.
const LOW_RATE_S: f64 = 0.25;
/// Unless that is more than so many bytes: then so many, the packets of slow lines.
const PACKET_BYTES: f64 = 512.0;
/// And at a high rate so long again, however many bytes.
const HIGH_RATE_S: f64 = 0.015;
/// Waits end on a common grid, this much finer than a piece's time or somewhat more.
const TICKS_PER_PIECE: f64 = 64.0;

/// One direction of a connection.
#[derive(Debug, Clone)]
pub(super) struct Throttle {
    direction: Direction,
    bytes_per_s: f64,
    piece_bytes: u64,
    /// A power of two.
    tick_ns: u64,
    /// When the line began to work without a pause.
    start_ns: u64,
    /// What it moved since then.
    moved_bytes: u64,
    /// What was allowed and did not move: the other side held the line up.
    held_up_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Reading,
    Writing,
}

impl Throttle {
    /// For reading at `bytes_per_s`, above 0.
    pub(super) fn reading(bytes_per_s: f64) -> Self {
        Self::new(Direction::Reading, bytes_per_s)
    }

    /// For writing at `bytes_per_s`, above 0.
    pub(super) fn writing(bytes_per_s: f64) -> Self {
        Self::new(Direction::Writing, bytes_per_s)
    }

    fn new(direction: Direction, bytes_per_s: f64) -> Self {
        let at_low_rate = (bytes_per_s * LOW_RATE_S).min(PACKET_BYTES);
        let piece_bytes = at_low_rate.max(bytes_per_s * HIGH_RATE_S).ceil().max(1.0);
        let tick_ns = (piece_bytes / bytes_per_s * NS_PER_S / TICKS_PER_PIECE) as u64;
        Self {
            direction,
            bytes_per_s,
            piece_bytes: piece_bytes as u64,
            tick_ns: 1 << tick_ns.max(1).ilog2(),
            start_ns: 0,
            moved_bytes: 0,
            held_up_bytes: 0,
        }
    }

    /// A message begins: what came before it is no reason to move faster.
    pub(super) fn begin(&mut self, now_ns: u64) {
        let start_ns = match self.direction {
            Direction::Reading => now_ns.max(self.paid_ns()),
            Direction::Writing => now_ns,
        };
        self.restart(start_ns);
    }

    /// How many bytes may move now, of `wanted_bytes` at most: of a message to write all that is
    /// left of it, for reading the room there is. 0: none before [`ready_ns`](Self::ready_ns).
    ///
    /// Say with [`spend`](Self::spend) how many did.
    pub(super) fn allowance(&mut self, now_ns: u64, wanted_bytes: usize) -> usize {
        let wanted_bytes = wanted_bytes as u64;
        let allowed_bytes = match self.direction {
            Direction::Writing if self.held_up_bytes > 0 => {
                // These are through the line already, and wait at its end.
                let held_up_bytes = self.held_up_bytes;
                self.restart(now_ns.saturating_sub(self.time_ns(held_up_bytes)));
                held_up_bytes
            }
            _ if now_ns < self.due_ns(wanted_bytes) => return 0,
            Direction::Writing if now_ns >= self.carried_ns(wanted_bytes) => wanted_bytes,
            Direction::Writing => self.carried_bytes(now_ns).max(self.piece_bytes),
            Direction::Reading => {
                if self.held_up_bytes > 0 {
                    self.restart(now_ns);
                }
                self.carried_bytes(now_ns) + self.piece_bytes
            }
        };
        self.held_up_bytes = allowed_bytes.min(wanted_bytes);
        self.held_up_bytes as usize
    }

    /// So many of the allowed bytes moved.
    pub(super) fn spend(&mut self, bytes: usize) {
        self.moved_bytes += bytes as u64;
        self.held_up_bytes = self.held_up_bytes.saturating_sub(bytes as u64);
    }

    /// When to ask again after all that was allowed has moved; `wanted_bytes` as in
    /// [`allowance`](Self::allowance). After less than that moved, wait for the socket instead.
    pub(super) fn ready_ns(&self, wanted_bytes: usize) -> u64 {
        let due_ns = self.due_ns(wanted_bytes as u64);
        let on_grid_ns = due_ns.checked_next_multiple_of(self.tick_ns).unwrap_or(due_ns);
        match self.direction {
            Direction::Reading => on_grid_ns,
            // The end of a message decides when it arrives, and doesn't wait for the grid.
            Direction::Writing => on_grid_ns.min(self.carried_ns(wanted_bytes as u64)),
        }
    }

    /// When the line has carried all that moved: when what was read is with the user, if it wasn't
    /// read even later.
    pub(super) fn paid_ns(&self) -> u64 {
        self.carried_ns(0)
    }

    /// When the next piece may move.
    fn due_ns(&self, wanted_bytes: u64) -> u64 {
        match self.direction {
            Direction::Reading => self.paid_ns(),
            Direction::Writing => self.carried_ns(self.piece_bytes.min(wanted_bytes)),
        }
    }

    /// When the line has carried so many bytes more than moved.
    fn carried_ns(&self, more_bytes: u64) -> u64 {
        self.start_ns.saturating_add(self.time_ns(self.moved_bytes.saturating_add(more_bytes)))
    }

    /// What the line could have carried by now beyond what moved.
    fn carried_bytes(&self, now_ns: u64) -> u64 {
        let elapsed_s = now_ns.saturating_sub(self.start_ns) as f64 / NS_PER_S;
        ((elapsed_s * self.bytes_per_s) as u64).saturating_sub(self.moved_bytes)
    }

    fn time_ns(&self, bytes: u64) -> u64 {
        (bytes as f64 * NS_PER_S / self.bytes_per_s).ceil() as u64
    }

    fn restart(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        self.moved_bytes = 0;
        self.held_up_bytes = 0;
    }
}

#[cfg(test)]
#[path = "throttle_tests.rs"]
mod tests;
