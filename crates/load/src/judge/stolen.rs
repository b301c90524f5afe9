//! For how long the host of a virtual machine ran others on the CPUs that the client may use, and
//! for how long this machine's CPUs ran at all: both are in `/proc/stat`.
//!
//! A thread that loses its CPU in this way is not on a run queue, and the kernel takes the time out
//! of the thread's own account, too. So one that had work all the time looks as if it had slept.

use std::fs;

use crate::sys;

/// Reads what was stolen from some CPUs.
#[derive(Debug)]
pub(super) struct StolenMeter {
    cpus: Vec<usize>,
}

/// The kernel's unit there (`USER_HZ`), the same on every Linux that this runs on.
const TICK_NS: u64 = 10_000_000;
/// Of a CPU's line in `/proc/stat`, its name not counted (proc(5)): user, nice, system, idle,
/// iowait, irq, softirq, steal.
const STEAL_FIELD: usize = 7;
/// Those of them in which a CPU of this machine ran something.
const BUSY_FIELDS: [usize; 5] = [0, 1, 2, 5, 6];
/// Those of them in which it ran programs: packets for any of them are taken in the other ones.
const PROGRAM_FIELDS: [usize; 3] = [0, 1, 2];
/// And in which it had nothing to run.
const IDLE_FIELDS: [usize; 2] = [3, 4];

impl StolenMeter {
    /// For some CPUs, or all that the calling thread may use, if there are none.
    pub(super) fn new(cpus: &[usize]) -> Self {
        let cpus = if cpus.is_empty() { sys::usable_cpus() } else { cpus.to_vec() };
        Self { cpus }
    }

    /// The time that was stolen from each of them so far, and those for which all of the machine's
    /// CPUs together ran something, ran programs and had nothing to run, in nanoseconds; 0 where
    /// nobody knows.
    pub(super) fn read(&self) -> (Vec<u64>, [u64; 3]) {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let stolen = stolen_ns(&stat);
        let of_client = self.cpus.iter().map(|&cpu| stolen.get(cpu).copied().unwrap_or(0));
        let sums = [&BUSY_FIELDS[..], &PROGRAM_FIELDS, &IDLE_FIELDS];
        (of_client.collect(), sums.map(|fields| sum_ns(&stat, fields)))
    }
}

/// What the CPUs together spent so, in a `/proc/stat`: its first line.
fn sum_ns(stat: &str, fields_wanted: &[usize]) -> u64 {
    let fields = stat.lines().next().unwrap_or_default().split_ascii_whitespace().skip(1);
    let ticks = fields.map(|field| field.parse::<u64>().unwrap_or(0));
    let wanted = ticks.enumerate().filter(|(index, _)| fields_wanted.contains(index));
    wanted.map(|(_, ticks)| ticks * TICK_NS).sum()
}

/// The steal time of each CPU in a `/proc/stat`. One that is switched off has no line; it has 0.
fn stolen_ns(stat: &str) -> Vec<u64> {
    let mut stolen = Vec::new();
    for line in stat.lines() {
        // The sum of all CPUs has no number.
        let cpu = line.split_ascii_whitespace().next().and_then(|name| name.strip_prefix("cpu"));
        let Some(cpu) = cpu.and_then(|number| number.parse::<usize>().ok()) else { continue };
        if cpu >= sys::MAX_CPUS {
            continue;
        }
        let ticks = line.split_ascii_whitespace().nth(1 + STEAL_FIELD);
        let ticks = ticks.and_then(|ticks| ticks.parse::<u64>().ok()).unwrap_or(0);
        stolen.resize(stolen.len().max(cpu + 1), 0);
        stolen[cpu] = ticks * TICK_NS;
    }
    stolen
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  9 9 9 9 9 9 9 99 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n\
        cpu2 1 2 3 4 5 6 7 11 9 10\nintr 12 0\ncpu3 1 2\n";

    #[test]
    fn each_cpu_has_its_own_account() {
        assert_eq!(stolen_ns(STAT), [80_000_000, 0, 110_000_000, 0]);
        assert!(stolen_ns("").is_empty());
        assert_eq!((sum_ns(STAT, &BUSY_FIELDS), sum_ns("", &BUSY_FIELDS)), (5 * 90_000_000, 0));
        assert_eq!(sum_ns(STAT, &IDLE_FIELDS), 2 * 90_000_000);
        let stat = "cpu 1 2 4 8 16 32 64 128";
        assert_eq!(sum_ns(stat, &PROGRAM_FIELDS), 70_000_000);
        assert_eq!(sum_ns(stat, &BUSY_FIELDS), 1_030_000_000);
    }

    #[test]
    fn only_cpus_that_the_client_may_use_are_read() {
        assert_eq!(StolenMeter::new(&[]).read().0.len(), sys::usable_cpus().len());
        assert!(!sys::usable_cpus().is_empty());
        // No machine has the last.
        assert_eq!(StolenMeter::new(&[sys::MAX_CPUS - 1]).read().0, [0]);
    }
}
