//! Threads that stay on one CPU.
#![allow(unsafe_code, reason = "std knows no affinity")]

/// Keep the calling thread on one CPU.
pub(crate) fn pin_to(cpu: usize) {
    // SAFETY: a cpu_set_t is plain bits, for which zero is valid; CPU_SET checks its bound.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        set
    };
    // SAFETY: `set` is valid for the size given; 0 is the calling thread.
    let result =
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
    assert_eq!(result, 0);
}

/// The CPUs that the calling thread may run on.
pub(crate) fn allowed() -> Vec<usize> {
    // SAFETY: a cpu_set_t is plain bits, for which zero is valid.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is valid for the size given; 0 is the calling thread.
    let result = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    assert_eq!(result, 0);
    let n_bits = 8 * size_of::<libc::cpu_set_t>();
    // SAFETY: CPU_ISSET checks its bound.
    (0..n_bits).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect()
}
