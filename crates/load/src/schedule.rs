//! When requests are due in an open loop.
//!
//! A schedule never looks at the server: it says when each request is *due*, in closed form from
//! its index, and latency counts from that instant. A stalled server shows up as latency, not as
//! a lower rate ("coordinated omission"). Because due times are computed, the queue of requests
//! that wait for a connection is a range of indices: it costs no memory however long it gets.
//!
//! Nothing here sleeps or reads a clock.

const NS_PER_S: f64 = 1e9;

/// The due times of one thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    start_ns: u64,
    rate_per_s: f64,
    share: Share,
}

/// Which indices are a thread's: one of every `n_threads`.
///
/// Which one changes after every `period` of them, the number of an arm's requests. If it stayed,
/// two threads would share two requests so that each sends only one of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    pub(crate) thread: u64,
    pub(crate) n_threads: u64,
    pub(crate) period: u64,
}

impl Share {
    const ALL: Self = Self { thread: 0, n_threads: 1, period: 1 };
}

impl Schedule {
    /// `rate_per_s` must be positive and finite.
    pub(crate) fn new(start_ns: u64, rate_per_s: f64, share: Share) -> Self {
        Self { start_ns, rate_per_s, share }
    }

    /// The index over all threads of this thread's `turn`-th request.
    pub(crate) fn index(&self, turn: u64) -> u64 {
        let Share { thread, n_threads, period } = self.share;
        turn * n_threads + (thread + turn / period) % n_threads
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
        let mut turn = index as u64 / self.share.n_threads;
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
        let turn = index / self.share.n_threads;
        if self.index(turn) < index { turn + 1 } else { turn }
    }

    /// The first index over all threads that is due at `instant_ns` or later.
    pub(crate) fn first_index_from(&self, instant_ns: u64) -> u64 {
        Self { share: Share::ALL, ..*self }.due_before(instant_ns)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn schedule(rate_per_s: f64, thread: u64, n_threads: u64, period: u64) -> Schedule {
        Schedule::new(7, rate_per_s, Share { thread, n_threads, period })
    }

    #[test]
    fn a_constant_rate_does_not_drift() {
        assert_eq!(schedule(3.0, 0, 1, 1).due_ns(3_000_000), 7 + 1_000_000_000_000_000);
    }

    #[test]
    fn each_thread_sends_each_of_the_requests() {
        for (n_threads, n_requests) in [(2, 2), (2, 4), (3, 2), (4, 6), (1, 3)] {
            for thread in 0..n_threads {
                let schedule = schedule(1.0, thread, n_threads, n_requests);
                let turns = 0..n_threads * n_requests;
                let sent: std::collections::BTreeSet<u64> =
                    turns.map(|turn| schedule.index(turn) % n_requests).collect();
                assert_eq!(sent.len() as u64, n_requests, "{n_threads} threads, {n_requests}");
            }
        }
    }

    proptest! {
        #[test]
        fn threads_share_one_schedule_without_gap_or_overlap(
            n_threads in 1..5_u64,
            period in 1..7_u64,
        ) {
            let mut shared: Vec<u64> = (0..n_threads)
                .flat_map(|thread| {
                    (0..20).map(move |turn| schedule(1.0, thread, n_threads, period).index(turn))
                })
                .collect();
            shared.sort_unstable();
            prop_assert_eq!(shared, (0..20 * n_threads).collect::<Vec<_>>());
        }

        #[test]
        fn counting_agrees_with_the_due_times(
            rate_per_s in 0.001..1e8_f64,
            thread in 0..4_u64,
            period in 1..7_u64,
            elapsed_ns in 0..100_000_000_u64,
        ) {
            let schedule = schedule(rate_per_s, thread, 4, period);
            let instant_ns = 7 + elapsed_ns;
            let count = schedule.due_before(instant_ns);
            prop_assert!(schedule.due_ns(count) >= instant_ns);
            prop_assert!(count == 0 || schedule.due_ns(count - 1) < instant_ns);
        }

        #[test]
        fn the_first_turn_from_an_index_is_the_first(
            thread in 0..5_u64,
            period in 1..7_u64,
            index in 0..1000_u64,
        ) {
            let schedule = schedule(1.0, thread, 5, period);
            let turn = schedule.first_turn_from(index);
            prop_assert!(schedule.index(turn) >= index);
            prop_assert!(turn == 0 || schedule.index(turn - 1) < index);
        }
    }
}
