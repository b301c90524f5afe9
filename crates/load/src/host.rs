//! What the host did to the client over a window, as the conductor sees it.

use crate::network::NetworkCounters;
use crate::quota::QuotaMeter;
use crate::sys;
use crate::watchdog::Watchdog;

/// Watches the host while a window is under way.
#[derive(Debug)]
pub(crate) struct HostMeter {
    pub(crate) watchdog: Watchdog,
    quota: QuotaMeter,
    opened_ns: u64,
    network: NetworkCounters,
    throttled_ns: Vec<u64>,
}

/// What happened over a window.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HostChange {
    pub(crate) elapsed_ns: u64,
    /// This process was stopped from outside.
    pub(crate) frozen_ns: u64,
    /// Its control group was throttled, summed over CPUs.
    pub(crate) throttled_ns: u64,
    pub(crate) network: NetworkCounters,
}

impl HostMeter {
    /// For the calling thread, which is to be the watchdog.
    pub(crate) fn new() -> Self {
        Self {
            watchdog: Watchdog::new(),
            quota: QuotaMeter::default(),
            opened_ns: 0,
            network: NetworkCounters::default(),
            throttled_ns: Vec::new(),
        }
    }

    pub(crate) fn open(&mut self) {
        self.watchdog.frozen_ns = 0;
        self.network = NetworkCounters::read();
        // Each time anew: a process can be moved from group to group.
        self.quota = QuotaMeter::of_this_process();
        self.throttled_ns = self.quota.read();
        self.opened_ns = sys::monotonic_ns();
    }

    pub(crate) fn close(&self) -> HostChange {
        HostChange {
            elapsed_ns: sys::monotonic_ns().saturating_sub(self.opened_ns),
            frozen_ns: self.watchdog.frozen_ns,
            throttled_ns: self.quota.since(&self.throttled_ns),
            network: NetworkCounters::read().since(&self.network),
        }
    }
}
