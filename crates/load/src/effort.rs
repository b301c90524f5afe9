//! What a thread gets of the CPU.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::sys;
use crate::tally::Effort;

/// Reads the calling thread's clocks without allocating.
#[derive(Debug, Default)]
pub(crate) struct EffortMeter {
    /// The scheduler's own account; `None` where the kernel keeps none.
    account: Option<File>,
}

/// The clocks at an instant.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "the unit")]
pub(crate) struct Reading {
    at_ns: u64,
    cpu_ns: u64,
    wait_ns: u64,
}

impl EffortMeter {
    pub(crate) fn of_this_thread() -> Self {
        Self { account: File::open("/proc/thread-self/schedstat").ok() }
    }

    pub(crate) fn read(&self) -> Reading {
        let wait_ns = self.account.as_ref().and_then(wait_ns).unwrap_or(0);
        Reading { at_ns: sys::monotonic_ns(), cpu_ns: sys::thread_cpu_ns(), wait_ns }
    }
}

/// The second field: time spent ready on a run queue (Documentation/scheduler/sched-stats).
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
        assert!(effort.load_ratio() > 0.0);
    }
}
