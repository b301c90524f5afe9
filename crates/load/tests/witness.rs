//! The witness of the other tests, which tells what others do to this machine from what the program
//! itself does to it, and the rule by which a try counts.
#![allow(clippy::unwrap_used, reason = "a test may panic, its setup too")]

mod rig;

use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rig::{Failure, Hold, Seen, Witness, affinity, skipped, tried, unless_disturbed};

/// They look at who has the CPU: they do not share the machine with each other.
static ALONE: Mutex<()> = Mutex::new(());

const WATCHED: Duration = Duration::from_millis(500);

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// What the witness sees while somebody does `work` on each core until he is told to stop.
fn seen_beside(n_each: usize, work: impl Fn(usize, &AtomicBool) + Sync) -> Seen {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..n_each {
            for cpu in affinity::allowed() {
                let (work, is_over) = (&work, &is_over);
                scope.spawn(move || work(cpu, is_over));
            }
        }
        let witness = Witness::start();
        thread::sleep(WATCHED);
        let seen = witness.seen();
        is_over.store(true, Ordering::Relaxed);
        seen
    })
}

fn is_busy_on(cpu: usize, is_over: &AtomicBool) {
    affinity::pin_to(cpu);
    while !is_over.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}

#[test]
fn a_core_on_which_somebody_goes_first_is_away() {
    let _alone = alone();
    if thread::spawn(real_time::go_first).join().unwrap() {
        // Rests in between, or else it would be a machine without this core.
        let seen = seen_beside(1, |cpu, is_over| {
            affinity::pin_to(cpu);
            assert!(real_time::go_first());
            while !is_over.load(Ordering::Relaxed) {
                let until = Instant::now() + Duration::from_millis(40);
                while Instant::now() < until {
                    std::hint::spin_loop();
                }
                thread::sleep(Duration::from_millis(40));
            }
        });
        assert!(seen.away > 0.2, "away for half of the time, {} were seen", seen.away);
        assert!(seen.disturbance().is_some());
    } else {
        skipped("nobody may go first without root");
    }
}

/// Busy threads of our own: the cores are not away, and nobody else used them.
#[test]
fn cores_that_our_own_threads_share_are_not_away() {
    let _alone = alone();
    let without = seen_beside(0, is_busy_on);
    let with = seen_beside(3, is_busy_on);
    // What was so without these threads was not they.
    if let Some(disturbance) = without.disturbance() {
        skipped(&disturbance);
        return;
    }
    // They share at all times, and a machine that stands still does so once.
    assert!(with.away < 0.1 && with.others < 0.25, "away {}, others {}", with.away, with.others);
}

/// A verdict that rests on a hundredth of the requests turns with a hundredth of the time.
#[test]
fn a_core_that_was_away_once_for_two_hundredths_of_a_second_disturbs() {
    let _alone = alone();
    if thread::spawn(real_time::go_first).join().unwrap() {
        let has_been_away = AtomicBool::new(false);
        let seen = seen_beside(1, |cpu, _| {
            affinity::pin_to(cpu);
            assert!(real_time::go_first());
            thread::sleep(WATCHED / 4);
            if !has_been_away.swap(true, Ordering::Relaxed) {
                let until = Instant::now() + Duration::from_millis(20);
                while Instant::now() < until {
                    std::hint::spin_loop();
                }
            }
        });
        assert!(seen.disturbance().is_some(), "away for {} of the time", seen.away);
    } else {
        skipped("nobody may go first without root");
    }
}

#[test]
fn what_another_program_uses_disturbs() {
    let _alone = alone();
    let mut other = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let seen = seen_beside(0, is_busy_on);
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(seen.others > 0.3, "{} cores", seen.others);
    assert!(seen.disturbance().is_some());
}

/// What comes of tries that end so, in turn, and how many of them there are.
fn judged(ends: &[Result<(), Option<&str>>]) -> (Result<(), String>, usize, usize) {
    let (mut n_tries, mut n_told) = (0, 0);
    let attempt = || {
        n_tries += 1;
        ends[n_tries - 1].map_err(|by| Failure {
            reason: "wrong".to_owned(),
            disturbance: by.map(str::to_owned),
        })
    };
    let result = tried(attempt, |_| n_told += 1);
    (result, n_tries, n_told)
}

#[test]
fn a_try_counts_unless_it_was_disturbed_and_three_count_anyway() {
    let (disturbed, undisturbed) = (Err(Some("the host")), Err(None));
    assert_eq!(judged(&[Ok(())]), (Ok(()), 1, 0));
    assert_eq!(judged(&[disturbed, disturbed, Ok(())]), (Ok(()), 3, 2));
    let (result, n_tries, n_told) = judged(&[undisturbed, Ok(())]);
    assert!(result.unwrap_err().starts_with("undisturbed: wrong"));
    assert_eq!((n_tries, n_told), (1, 0));
    let (result, n_tries, n_told) = judged(&[disturbed, undisturbed, Ok(())]);
    assert!(result.unwrap_err().starts_with("undisturbed: wrong"));
    assert_eq!((n_tries, n_told), (2, 1));
    let (result, n_tries, n_told) = judged(&[disturbed, disturbed, disturbed, Ok(())]);
    assert!(result.unwrap_err().starts_with("disturbed in each of 3 tries"));
    assert_eq!((n_tries, n_told), (3, 2));
}

#[test]
fn nobody_has_the_machine_for_himself_before_a_thread_has_let_go_of_it_for_good() {
    let _alone = alone();
    let (first, second) = (Hold::shared(), Hold::shared());
    let has_begun = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            unless_disturbed(|| {
                has_begun.store(true, Ordering::Relaxed);
                Ok(())
            });
        });
        drop(first);
        thread::sleep(Duration::from_millis(100));
        assert!(!has_begun.load(Ordering::Relaxed), "the second hold was not waited for");
        drop(second);
    });
    assert!(has_begun.load(Ordering::Relaxed));
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
