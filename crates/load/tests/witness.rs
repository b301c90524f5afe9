//! The witness of the other tests: it says that a core was taken away when it was, and not when
//! threads merely share it.
#![allow(clippy::unwrap_used, reason = "a test may panic, its setup too")]

mod rig;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rig::{Witness, affinity, skipped};

/// They look at who has the CPU: they do not share the machine with each other.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// What the witness says of half a second.
fn sees_a_core_taken() -> bool {
    let witness = Witness::start();
    thread::sleep(Duration::from_millis(500));
    witness.saw_a_core_taken()
}

#[test]
fn a_core_on_which_somebody_goes_first_is_taken() {
    let _alone = alone();
    for &cpu in &affinity::allowed() {
        let is_over = AtomicBool::new(false);
        let seen = thread::scope(|scope| {
            // Rests in between, or else it would be a machine without this core.
            let thief = scope.spawn(|| {
                affinity::pin_to(cpu);
                if !real_time::go_first() {
                    return false;
                }
                while !is_over.load(Ordering::Relaxed) {
                    let until = Instant::now() + Duration::from_millis(40);
                    while Instant::now() < until {
                        std::hint::spin_loop();
                    }
                    thread::sleep(Duration::from_millis(40));
                }
                true
            });
            let seen = sees_a_core_taken();
            is_over.store(true, Ordering::Relaxed);
            thief.join().unwrap().then_some(seen)
        });
        let Some(seen) = seen else {
            skipped("nobody may go first without root");
            return;
        };
        assert!(seen, "core {cpu} was away for half of the time");
    }
}

#[test]
fn a_core_that_busy_threads_share_is_not_taken() {
    let _alone = alone();
    for _ in 0..3 {
        let is_over = AtomicBool::new(false);
        let is_taken = thread::scope(|scope| {
            for _ in 0..3 {
                for cpu in affinity::allowed() {
                    let is_over = &is_over;
                    scope.spawn(move || {
                        affinity::pin_to(cpu);
                        while !is_over.load(Ordering::Relaxed) {
                            std::hint::spin_loop();
                        }
                    });
                }
            }
            let is_taken = sees_a_core_taken();
            is_over.store(true, Ordering::Relaxed);
            is_taken
        });
        // Where it is without these threads too, it was not they.
        if !is_taken || sees_a_core_taken() {
            return;
        }
    }
    panic!("three times taken beside busy threads, and not without them");
}

mod real_time {
    #![allow(unsafe_code, reason = "std knows no scheduling")]

    /// Have the calling thread go before all that is not real-time; false where it may not.
    pub(crate) fn go_first() -> bool {
        let priority = libc::sched_param { sched_priority: 1 };
        // SAFETY: the kernel reads one sched_param; 0 is the calling thread.
        unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const priority) == 0 }
    }
}
