//! When requests are due in an open loop.
//!
//! A schedule never looks at the server: it says when each request is *due*, in closed form from
//! its index, and latency counts from that instant. A stalled server shows up as latency, not as
//! a lower rate ("coordinated omission"). Because due times are computed, the queue of requests
//! that wait for a connection is a range of indices: it costs no memory however long it gets.
//!
//! Nothing here sleeps or reads a clock.

const NS_PER_S: f64 = 1e9;

/// The due times of one thread: it takes every `stride`-th index, from `offset` on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    start_ns: u64,
    rate_per_s: f64,
    offset: u64,
    stride: u64,
}

impl Schedule {
    /// `rate_per_s` must be positive and finite, `stride` at least 1.
    pub(crate) fn new(start_ns: u64, rate_per_s: f64, offset: u64, stride: u64) -> Self {
        Self { start_ns, rate_per_s, offset, stride }
    }

    /// The index over all threads of this thread's `turn`-th request.
    pub(crate) fn index(&self, turn: u64) -> u64 {
        self.offset + turn * self.stride
    }

    /// When this thread's `turn`-th request is due. Never decreases with `turn`.
    pub(crate) fn due_ns(&self, turn: u64) -> u64 {
        // From the index, not by adding gaps: rounding must not drift over a long run.
        let offset_ns = self.index(turn) as f64 * NS_PER_S / self.rate_per_s;
        self.start_ns.saturating_add(offset_ns as u64)
    }

    /// How many of this thread's requests are due before `instant_ns`.
    pub(crate) fn due_before(&self, instant_ns: u64) -> u64 {
        if instant_ns <= self.start_ns {
            return 0;
        }
        // A first guess from the inverse, put right by the closed form itself.
        let index = (instant_ns - self.start_ns) as f64 * self.rate_per_s / NS_PER_S;
        let mut turn = (index as u64).saturating_sub(self.offset) / self.stride;
        while turn > 0 && self.due_ns(turn - 1) >= instant_ns {
            turn -= 1;
        }
        while self.due_ns(turn) < instant_ns {
            turn += 1;
        }
        turn
    }

    /// This thread's first turn whose index over all threads is at least `index`.
    pub(crate) fn first_turn_from(&self, index: u64) -> u64 {
        index.saturating_sub(self.offset).div_ceil(self.stride)
    }

    /// The first index over all threads that is due at `instant_ns` or later.
    pub(crate) fn first_index_from(&self, instant_ns: u64) -> u64 {
        Self { offset: 0, stride: 1, ..*self }.due_before(instant_ns)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_constant_rate_does_not_drift() {
        let schedule = Schedule::new(7, 3.0, 0, 1);
        assert_eq!(schedule.due_ns(3_000_000), 7 + 1_000_000_000_000_000);
    }

    #[test]
    fn threads_share_one_schedule_without_gap_or_overlap() {
        let whole: Vec<u64> =
            (0..12).map(|turn| Schedule::new(5, 1e4, 0, 1).due_ns(turn)).collect();
        let mut shared: Vec<u64> = (0..3)
            .flat_map(|offset| {
                (0..4).map(move |turn| Schedule::new(5, 1e4, offset, 3).due_ns(turn))
            })
            .collect();
        shared.sort_unstable();
        assert_eq!(shared, whole);
    }

    proptest! {
        #[test]
        fn counting_agrees_with_the_due_times(
            start_ns in 0..1_000_000_000_000_u64,
            rate_per_s in 0.001..1e8_f64,
            offset in 0..4_u64,
            elapsed_ns in 0..100_000_000_u64,
        ) {
            let schedule = Schedule::new(start_ns, rate_per_s, offset, 4);
            let instant_ns = start_ns + elapsed_ns;
            let count = schedule.due_before(instant_ns);
            prop_assert!(schedule.due_ns(count) >= instant_ns);
            prop_assert!(count == 0 || schedule.due_ns(count - 1) < instant_ns);
        }

        #[test]
        fn the_first_turn_from_an_index_is_the_first(offset in 0..5_u64, index in 0..1000_u64) {
            let schedule = Schedule::new(0, 1.0, offset, 5);
            let turn = schedule.first_turn_from(index);
            prop_assert!(schedule.index(turn) >= index);
            prop_assert!(turn == 0 || schedule.index(turn - 1) < index);
        }
    }
}
