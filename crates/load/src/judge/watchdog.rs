//! Whether this process was stopped from outside: by a CPU quota, a signal, a frozen machine.
//!
//! A thread that is held in this way may neither run nor wait on a run queue, so the scheduler's
//! account of it shows nothing. But a clock that goes on without it does: a thread that asks to be
//! woken after 5 ms and is woken much later was not allowed to run. The conductor is that thread;
//! it has nothing else to do while a window is under way.

use std::ops::Range;
use std::time::Duration;

use crate::count::EffortMeter;
use crate::sys;

/// The watchdog's sleep: short enough to see the stops of any usual quota (100 ms periods), long
/// enough to cost nothing (200 wake-ups a second, a fifth of a percent of a core).
pub(crate) const SLEEP: Duration = Duration::from_millis(5);

/// Oversleeping by less is the usual coming and going of a busy machine.
const STOPPED_NS: u64 = 5_000_000;
/// A thread that hardly ever wants a CPU is given one within a few turns of those that always do
/// (3 ms each). When it stands in the queue for longer, that is how a quota shows: some kernels
/// count it as waiting.
const LONGEST_QUEUE_NS: u64 = 20_000_000;

/// Adds up for how long the process was stopped.
#[derive(Debug)]
pub(super) struct Watchdog {
    meter: EffortMeter,
    asleep_since_ns: u64,
    waited_ns: u64,
    pub(super) frozen_ns: u64,
}

impl Watchdog {
    /// For the calling thread.
    pub(super) fn new() -> Self {
        let meter = EffortMeter::of_this_thread();
        Self { meter, asleep_since_ns: 0, waited_ns: 0, frozen_ns: 0 }
    }

    /// The thread goes to sleep, for [`SLEEP`] at most.
    pub(super) fn before_sleep(&mut self) {
        self.asleep_since_ns = sys::monotonic_ns();
        self.waited_ns = self.meter.wait_ns();
    }

    /// The thread woke up, and may go to sleep again. From when to when it was stopped; empty
    /// where it was not.
    pub(super) fn after_sleep(&mut self) -> Range<u64> {
        let (asleep_since_ns, waited_ns) = (self.asleep_since_ns, self.waited_ns);
        self.before_sleep();
        let elapsed_ns = self.asleep_since_ns.saturating_sub(asleep_since_ns);
        let wait_ns = self.waited_ns.saturating_sub(waited_ns);
        let stopped_ns = frozen_ns(elapsed_ns, wait_ns);
        self.frozen_ns += stopped_ns;
        // It slept, was stopped, and stood in the queue.
        let began_ns = (asleep_since_ns + elapsed_ns.min(SLEEP.as_nanos() as u64))
            .min(self.asleep_since_ns - stopped_ns);
        began_ns..began_ns + stopped_ns
    }
}

/// The part of a sleep in which the thread was stopped: what it overslept, without a short wait
/// for a CPU.
fn frozen_ns(elapsed_ns: u64, wait_ns: u64) -> u64 {
    let overslept_ns = elapsed_ns.saturating_sub(SLEEP.as_nanos() as u64);
    let queue_ns = if wait_ns < LONGEST_QUEUE_NS { wait_ns } else { 0 };
    let stopped_ns = overslept_ns.saturating_sub(queue_ns);
    if stopped_ns >= STOPPED_NS { stopped_ns } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_without_sleep_and_short_queue_is_frozen() {
        const MS: u64 = 1_000_000;
        for (elapsed_ms, wait_ms, frozen_ms) in [
            (5, 0, 0),
            (7, 0, 0),
            (3, 0, 0),
            (15, 0, 10),
            (15, 9, 0),
            (85, 0, 80),
            (85, 15, 65),
            (95, 88, 90),
        ] {
            let frozen = frozen_ns(elapsed_ms * MS, wait_ms * MS);
            assert_eq!(frozen, frozen_ms * MS, "{elapsed_ms} ms, {wait_ms} ms in a queue");
        }
    }

    #[test]
    fn a_sleep_that_is_cut_short_is_no_stop() {
        let mut watchdog = Watchdog::new();
        watchdog.before_sleep();
        assert!(watchdog.after_sleep().is_empty());
        assert_eq!(watchdog.frozen_ns, 0);
    }
}
