//! What the host did to the client over a window, as the conductor sees it.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::network::NetworkCounters;
use super::quota::QuotaMeter;
use super::stolen::StolenMeter;
use super::watchdog::Watchdog;
use crate::schedule::Plan;
use crate::sys::{self, Network};

/// Watches the host while a window is under way.
///
/// What it took from the client counts from the begin of the measured part to the end of sending,
/// as the threads' own accounts do: a second of which a fifth was taken, and a quiet one in which
/// the last answers were waited for, must not make two of which a tenth was taken.
#[derive(Debug)]
pub(crate) struct HostMeter {
    watchdog: Watchdog,
    quota: QuotaMeter,
    stolen: StolenMeter,
    /// Where the window's server is, if that is not where this thread is.
    place: Option<Arc<Network>>,
    network: NetworkCounters,
    began: Accounts,
    is_measuring: bool,
    /// Of the measured part, once it is over.
    taken: Option<Taken>,
    /// What others ran from the program's start to this window, if it is the first.
    before: Taken,
}

/// All accounts when this program was loaded: nothing had been sent yet.
static LOADED: OnceLock<Accounts> = OnceLock::new();

/// All accounts at an instant.
#[derive(Debug, Default)]
#[allow(clippy::struct_field_names, reason = "the unit is part of a name")]
struct Accounts {
    at_ns: u64,
    frozen_ns: u64,
    throttled_ns: Vec<u64>,
    stolen_ns: Vec<u64>,
    /// Of all CPUs of the machine, and of this process.
    busy_ns: u64,
    programs_ns: u64,
    idle_ns: u64,
    own_ns: u64,
}

/// What the host took from the client.
#[derive(Debug, Clone, Copy, Default)]
#[allow(clippy::struct_field_names, reason = "the unit is part of a name")]
pub(crate) struct Taken {
    pub(super) elapsed_ns: u64,
    /// This process was stopped from outside.
    pub(super) frozen_ns: u64,
    /// A control group that it is in was throttled, the one that was for longest, summed over CPUs.
    pub(super) throttled_ns: u64,
    /// The host of this virtual machine ran others on a CPU that the client may use, the one that
    /// lost most: where threads are not pinned, nobody knows which of them was on it.
    pub(super) stolen_ns: u64,
    /// CPU time on this machine that was not this process's: the server's, if it is here.
    pub(super) others_ns: u64,
    /// What of that programs ran: not what the kernel did for packets, whosever they were.
    pub(super) programs_ns: u64,
    /// Time for which CPUs of this machine had nothing to run, summed over them.
    pub(super) idle_ns: u64,
}

/// What happened over a window.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HostChange {
    /// From the begin of the measured part to the end of sending.
    pub(super) taken: Taken,
    /// From when this program was loaded to the window's begin; nothing of any other than the first.
    pub(super) before: Taken,
    /// Over the whole window.
    pub(super) network: NetworkCounters,
}

/// Remember what this machine's CPUs did so far. What others run from now to the first window is
/// not for its load.
pub fn remember_idle_host() {
    let _ = LOADED.get_or_init(|| HostMeter::new(&[]).read());
}

impl HostMeter {
    /// For the calling thread, which is to be the watchdog, and the CPUs of the client: all that it
    /// may use, if there are none.
    pub(crate) fn new(cpus: &[usize]) -> Self {
        Self {
            watchdog: Watchdog::new(),
            quota: QuotaMeter::default(),
            stolen: StolenMeter::new(cpus),
            place: None,
            network: NetworkCounters::default(),
            began: Accounts::default(),
            is_measuring: false,
            taken: None,
            before: Taken::default(),
        }
    }

    /// A window opens, on a server in this network.
    pub(crate) fn open(&mut self, place: Option<&Arc<Network>>) {
        self.watchdog.frozen_ns = 0;
        self.place = place.cloned();
        self.network = NetworkCounters::of(self.place.as_deref());
        // Each time anew: a process can be moved from group to group.
        self.quota = QuotaMeter::of_this_process();
        let is_first = self.began.at_ns == 0;
        self.began = self.read();
        let loaded = LOADED.get().filter(|_| is_first);
        self.before = loaded.map(|loaded| self.began.since(loaded)).unwrap_or_default();
        self.is_measuring = false;
        self.taken = None;
    }

    /// The thread goes to sleep, for [`super::watchdog::SLEEP`] at most.
    pub(crate) fn before_sleep(&mut self) {
        self.watchdog.before_sleep();
    }

    /// The thread woke up, and may go to sleep again.
    pub(crate) fn after_sleep(&mut self, plan: &Plan) {
        let stop = self.watchdog.after_sleep();
        let now_ns = sys::monotonic_ns();
        // A stop counts as far as it was within the measured part, also one that began before.
        let is_first = !self.is_measuring && now_ns >= plan.measure_start_ns;
        if is_first {
            self.is_measuring = true;
            self.began = self.read().at_edge(plan.measure_start_ns, &stop);
        }
        let is_known = self.is_measuring && (!is_first || !stop.is_empty());
        if is_known && now_ns >= plan.measure_end_ns && self.taken.is_none() {
            let ended = self.read().at_edge(plan.measure_end_ns, &stop);
            self.taken = Some(ended.since(&self.began));
        }
    }

    pub(crate) fn close(&self) -> HostChange {
        HostChange {
            taken: self.taken.unwrap_or_else(|| self.read().since(&self.began)),
            before: self.before,
            network: NetworkCounters::of(self.place.as_deref()).since(&self.network),
        }
    }

    fn read(&self) -> Accounts {
        let (stolen_ns, [busy_ns, programs_ns, idle_ns]) = self.stolen.read();
        Accounts {
            at_ns: sys::monotonic_ns(),
            frozen_ns: self.watchdog.frozen_ns,
            throttled_ns: self.quota.read(),
            stolen_ns,
            busy_ns,
            programs_ns,
            idle_ns,
            own_ns: sys::process_cpu_ns(),
        }
    }
}

impl Accounts {
    /// As they were at an edge of the measured part, if this stop, which is just over, lasted on
    /// beyond it.
    fn at_edge(self, edge_ns: u64, stop: &Range<u64>) -> Self {
        let beyond_ns = stop.end.saturating_sub(stop.start.max(edge_ns));
        if beyond_ns == 0 {
            return self;
        }
        Self { at_ns: edge_ns, frozen_ns: self.frozen_ns - beyond_ns, ..self }
    }

    fn since(&self, earlier: &Self) -> Taken {
        let own_ns = self.own_ns.saturating_sub(earlier.own_ns);
        let others_ns = |now: u64, before: u64| now.saturating_sub(before).saturating_sub(own_ns);
        Taken {
            elapsed_ns: self.at_ns.saturating_sub(earlier.at_ns),
            frozen_ns: self.frozen_ns.saturating_sub(earlier.frozen_ns),
            throttled_ns: most_grown(&self.throttled_ns, &earlier.throttled_ns),
            stolen_ns: most_grown(&self.stolen_ns, &earlier.stolen_ns),
            idle_ns: self.idle_ns.saturating_sub(earlier.idle_ns),
            others_ns: others_ns(self.busy_ns, earlier.busy_ns),
            programs_ns: others_ns(self.programs_ns, earlier.programs_ns),
        }
    }
}

/// By how much that of some accounts grew which grew most.
fn most_grown(now: &[u64], earlier: &[u64]) -> u64 {
    let grown = now.iter().zip(earlier).map(|(now, before)| now.saturating_sub(*before));
    grown.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::schedule::Model;

    const MS: u64 = 1_000_000;

    /// A window whose measured part begins and ends after so many milliseconds.
    fn plan(start_ms: u64, end_ms: u64) -> Plan {
        let opened_ns = sys::monotonic_ns();
        Plan {
            index: 0,
            arm: 0,
            opened_ns,
            measure_start_ns: opened_ns + start_ms * MS,
            measure_end_ns: opened_ns + end_ms * MS,
            n_requests: 0,
            drain_ns: 0,
            model: Model::Closed,
            spread_ns: 0,
            tail_ns: 0,
            is_entrance: false,
        }
    }

    fn sleep_ms(meter: &mut HostMeter, plan: &Plan, duration_ms: u64) {
        meter.before_sleep();
        thread::sleep(Duration::from_millis(duration_ms));
        meter.after_sleep(plan);
    }

    #[test]
    fn the_account_that_lost_most_counts() {
        assert_eq!(most_grown(&[10, 25, 7], &[9, 20, 8]), 5);
        assert_eq!(most_grown(&[], &[1]), 0);
    }

    #[test]
    fn only_what_is_taken_from_the_measured_part_counts() {
        let mut meter = HostMeter::new(&[]);
        meter.open(None);
        let plan = plan(30, 110);
        // Before: its stop is not counted.
        sleep_ms(&mut meter, &plan, 20);
        assert_eq!(meter.close().taken.frozen_ns, meter.watchdog.frozen_ns);
        sleep_ms(&mut meter, &plan, 15);
        let before = meter.close().taken;
        assert!(before.frozen_ns <= before.elapsed_ns, "{before:?}");
        sleep_ms(&mut meter, &plan, 80);
        let taken = meter.close().taken;
        // Of a stop, up to 20 ms may pass for time in a queue.
        assert!((54 * MS..=taken.elapsed_ns).contains(&taken.frozen_ns), "{taken:?}");
        // After: nor is that.
        sleep_ms(&mut meter, &plan, 40);
        assert_eq!(meter.close().taken.frozen_ns, taken.frozen_ns);
        assert_eq!(meter.close().taken.elapsed_ns, taken.elapsed_ns);
    }

    #[test]
    fn of_a_stop_the_part_within_the_measured_part_counts() {
        // It begins in the lead-in, and lasts beyond the measured part or up to within it.
        for (end_ms, least_ms, most_ms) in [(50, 19, 20), (10_000, 50, 10_000)] {
            let mut meter = HostMeter::new(&[]);
            meter.open(None);
            let plan = plan(30, end_ms);
            sleep_ms(&mut meter, &plan, 100);
            let taken = meter.close().taken;
            assert!((least_ms * MS..=most_ms * MS).contains(&taken.frozen_ns), "{taken:?}");
            assert!(taken.frozen_ns <= taken.elapsed_ns, "{taken:?}");
        }
    }

    #[test]
    fn a_part_without_a_planned_end_lasts_until_it_is_closed() {
        let mut meter = HostMeter::new(&[]);
        meter.open(None);
        let plan = Plan { measure_end_ns: u64::MAX, ..plan(0, 0) };
        sleep_ms(&mut meter, &plan, 1);
        sleep_ms(&mut meter, &plan, 60);
        let before = meter.close().taken;
        assert!(before.frozen_ns >= 34 * MS, "{before:?}");
        sleep_ms(&mut meter, &plan, 60);
        let after = meter.close().taken;
        assert!(after.frozen_ns >= before.frozen_ns + 34 * MS, "{after:?}");
        assert!(after.elapsed_ns >= before.elapsed_ns + 60 * MS, "{after:?}");
    }
}
