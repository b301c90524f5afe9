//! What all threads of a run share.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::count::LiveBoard;
use crate::sys;

/// What all threads share. Read in the loop, written at edges; only a window that is bounded by a
/// number of requests writes to it for each request.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// When the run was stopped; 0: it was not. An instant, because threads see it one by one.
    stopped_ns: AtomicU64,
    /// Requests that were claimed in a closed-loop window with `n_requests`.
    pub(super) claimed: AtomicU64,
    /// Users that have begun a step after the measured part of a credited window.
    pub(super) passed: AtomicU64,
    pub(crate) live: LiveBoard,
}

impl Shared {
    pub(crate) fn new(live: LiveBoard) -> Self {
        Self { live, ..Self::default() }
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
