//! What a thread gets of the CPU.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::sys;

/// What a thread got of the CPU over a stretch of time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Effort {
    elapsed_ns: u64,
    pub(crate) cpu_ns: u64,
    /// Ready to run, and not running.
    wait_ns: u64,
    /// How often it was taken off its CPU although it could have gone on.
    pub(crate) preemptions: u64,
}

impl Effort {
    /// The part of the time that the thread ran.
    pub(crate) fn load_ratio(&self) -> f64 {
        ratio(self.cpu_ns, self.elapsed_ns)
    }

    /// The part of the time that the thread was ready and did not run.
    pub(crate) fn wait_ratio(&self) -> f64 {
        ratio(self.wait_ns, self.elapsed_ns)
    }

    /// The part of the time that the thread had something to do.
    pub(super) fn demand_ratio(&self) -> f64 {
        self.load_ratio() + self.wait_ratio()
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Reads the calling thread's clocks without allocating.
#[derive(Debug, Default)]
pub(crate) struct EffortMeter {
    /// The scheduler's own account; `None` where the kernel keeps none.
    account: Option<File>,
}

/// The clocks at an instant.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reading {
    at_ns: u64,
    cpu_ns: u64,
    wait_ns: u64,
    preemptions: u64,
}

impl EffortMeter {
    pub(crate) fn of_this_thread() -> Self {
        Self { account: File::open("/proc/thread-self/schedstat").ok() }
    }

    pub(crate) fn read(&self) -> Reading {
        Reading {
            at_ns: sys::monotonic_ns(),
            cpu_ns: sys::thread_cpu_ns(),
            wait_ns: self.wait_ns(),
            preemptions: sys::thread_preemptions(),
        }
    }

    /// For how long the thread was ready to run and did not, so far.
    pub(crate) fn wait_ns(&self) -> u64 {
        self.account.as_ref().and_then(wait_ns).unwrap_or(0)
    }
}

/// The second figure: time spent ready on a run queue (Documentation/scheduler/sched-stats).
fn wait_ns(account: &File) -> Option<u64> {
    let mut text = [0; 128];
    let length = account.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(&text[..length]).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

impl Reading {
    pub(crate) fn since(&self, earlier: &Self) -> Effort {
        Effort {
            elapsed_ns: self.at_ns.saturating_sub(earlier.at_ns),
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            wait_ns: self.wait_ns.saturating_sub(earlier.wait_ns),
            preemptions: self.preemptions.saturating_sub(earlier.preemptions),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_shows_as_cpu_time() {
        let meter = EffortMeter::of_this_thread();
        let before = meter.read();
        while meter.read().since(&before).cpu_ns < 2_000_000 {}
        let effort = meter.read().since(&before);
        assert!(effort.elapsed_ns >= effort.cpu_ns);
        assert!(effort.load_ratio() > 0.0 && effort.demand_ratio() >= effort.load_ratio());
    }
}
