//! What all threads of a run share.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::count::LiveBoard;
use crate::sys;

/// What all threads share. Read in the loop, written at edges; for each request only where several
/// threads choose steps, and where a number of requests bounds a window.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// When the run was stopped; 0: it was not. An instant, because threads see it one by one.
    stopped_ns: AtomicU64,
    /// Requests that were claimed in a closed-loop window with `n_requests`.
    pub(super) claimed: AtomicU64,
    /// Users that have begun a step after the measured part of a credited window.
    pub(super) passed: AtomicU64,
    /// Of each arm, steps that users have chosen in all windows.
    turns: Box<[Count]>,
    /// New users who took the place of others.
    numbered: AtomicU64,
    n_threads: usize,
    pub(crate) live: LiveBoard,
}

/// On a cache line of its own: what others of them write does not take it away from who reads.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Count(AtomicU64);

impl Shared {
    pub(crate) fn new(live: LiveBoard, n_arms: usize, n_threads: usize) -> Self {
        let turns = (0..n_arms).map(|_| Count::default()).collect();
        Self { turns, n_threads, live, ..Self::default() }
    }

    /// The number of the next step in the run that users choose on an arm, whichever thread is
    /// theirs: so steps go in turn over all threads, and who is fast does not skew the mix.
    #[inline]
    pub(super) fn take_turn(&self, arm: usize) -> u64 {
        let Count(turns) = &self.turns[arm];
        if self.n_threads > 1 {
            return turns.fetch_add(1, Ordering::Relaxed);
        }
        // One thread needs no other to wait.
        let turn = turns.load(Ordering::Relaxed);
        turns.store(turn + 1, Ordering::Relaxed);
        turn
    }

    /// The number of a new user among those who took the place of others.
    pub(super) fn number_user(&self) -> u64 {
        self.numbered.fetch_add(1, Ordering::Relaxed)
    }

    /// The next window opens.
    pub(crate) fn open_window(&self) {
        self.claimed.store(0, Ordering::Relaxed);
        self.passed.store(0, Ordering::Relaxed);
    }

    /// Stop the run now, if it is not stopped already.
    pub(crate) fn stop(&self) {
        self.stop_at(sys::monotonic_ns().max(1));
    }

    /// Say that the run is stopped, and was then; after 0.
    pub(super) fn stop_at(&self, now_ns: u64) {
        let (running, order) = (0, Ordering::Relaxed);
        let _ = self.stopped_ns.compare_exchange(running, now_ns, order, order);
    }

    pub(crate) fn stopped_ns(&self) -> Option<u64> {
        let stopped_ns = self.stopped_ns.load(Ordering::Relaxed);
        (stopped_ns > 0).then_some(stopped_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_stopped_once() {
        let shared = Shared::default();
        assert_eq!(shared.stopped_ns(), None);
        let before_ns = sys::monotonic_ns();
        shared.stop();
        let stopped_ns = shared.stopped_ns().unwrap();
        assert!((before_ns..=sys::monotonic_ns()).contains(&stopped_ns));
        shared.stop();
        assert_eq!(shared.stopped_ns(), Some(stopped_ns));
    }
}
