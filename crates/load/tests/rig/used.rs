//! Who used the CPUs, by the kernel's accounts.
#![allow(unsafe_code, reason = "std has no access to what a process used")]

use std::time::Duration;

/// Columns of the first line of `/proc/stat`, after its name.
const USER: usize = 0;
const SYSTEM: usize = 2;
const STOLEN: usize = 7;

/// `/proc/stat` counts in these on every Linux that Rust runs on.
const TICKS_PER_S: f64 = 100.0;

/// How long the host has taken CPUs from this machine since it started, all together.
pub(crate) fn stolen_s() -> f64 {
    columns().get(STOLEN).copied().unwrap_or(0.0)
}

/// CPU time that this machine's programs have used since it started, but for this process and its
/// children that have ended. Interrupts are nobody's.
pub(crate) fn others_s() -> f64 {
    let everybody: f64 = columns()[USER..=SYSTEM].iter().sum();
    everybody - used_by(libc::RUSAGE_SELF) - used_by(libc::RUSAGE_CHILDREN)
}

/// Seconds of each column.
fn columns() -> Vec<f64> {
    let text = std::fs::read_to_string("/proc/stat").unwrap();
    let line = text.lines().next().unwrap_or_default();
    let ticks = line.split_whitespace().skip(1).map(|column| column.parse::<f64>().unwrap());
    ticks.map(|count| count / TICKS_PER_S).collect()
}

fn used_by(who: libc::c_int) -> f64 {
    // SAFETY: an rusage is plain integers, for which zero is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is an rusage that the kernel writes.
    assert_eq!(unsafe { libc::getrusage(who, &raw mut usage) }, 0);
    let of = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    (of(usage.ru_utime) + of(usage.ru_stime)).as_secs_f64()
}
