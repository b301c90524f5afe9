//! A look at a window while it is under way.
//!
//! Nobody pays for it who does not look: until the first look a thread reads one flag in a turn of
//! its loop. From then on it copies its counts into its own slot, ten times a second at most; it
//! never waits for the lock, and the reader holds it only for as long as it takes to add up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use super::histogram::{Coarse, Distribution};
use super::tally::Tally;
use crate::schedule::Plan;
use crate::sys;

/// How old a look may be.
const PERIOD_NS: u64 = 100_000_000;

/// A window so far, lead-in included, over all threads.
#[derive(Debug, Clone, Serialize)]
pub struct Live {
    /// The window's index.
    #[serde(skip)]
    pub index: usize,
    /// Since it opened.
    pub elapsed_s: f64,
    /// Requests that were taken up, or given up before.
    pub offered: u64,
    /// Right answers.
    pub completed: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Requests on connections.
    pub in_flight: u64,
    /// Latencies of completed requests, and of given up ones at their age; two significant digits.
    pub latency: Distribution,
}

/// Where the threads publish, and which window is under way.
#[derive(Debug, Default)]
pub(crate) struct LiveBoard {
    is_wanted: AtomicBool,
    /// Its index and opening.
    window: Mutex<Option<(usize, u64)>>,
    slots: Vec<Mutex<Slot>>,
}

/// What one thread published last.
#[derive(Debug)]
struct Slot {
    /// Of which window.
    opened_ns: u64,
    offered: u64,
    completed: u64,
    errors: u64,
    latency: Coarse,
}

impl LiveBoard {
    pub(crate) fn new(n_threads: usize) -> Self {
        let slot =
            || Slot { opened_ns: 0, offered: 0, completed: 0, errors: 0, latency: Coarse::new() };
        Self {
            is_wanted: AtomicBool::new(false),
            window: Mutex::new(None),
            slots: (0..n_threads).map(|_| Mutex::new(slot())).collect(),
        }
    }

    /// A window opens, or the last one has closed.
    pub(crate) fn show(&self, plan: Option<&Plan>) {
        let window = plan.map(|plan| (plan.index, plan.opened_ns));
        *self.window.lock().unwrap_or_else(PoisonError::into_inner) = window;
    }

    /// Whether the threads publish already; they do from now on.
    pub(crate) fn ask(&self) -> bool {
        self.is_wanted.swap(true, Ordering::Relaxed)
    }

    /// The window that is under way, as it was published last.
    pub(crate) fn look(&self) -> Option<Live> {
        let window = *self.window.lock().unwrap_or_else(PoisonError::into_inner);
        let (index, opened_ns) = window?;
        let (mut offered, mut completed, mut errors) = (0, 0, 0);
        let mut latency = Coarse::new();
        for slot in &self.slots {
            let slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            if slot.opened_ns == opened_ns {
                offered += slot.offered;
                completed += slot.completed;
                errors += slot.errors;
                latency.merge(&slot.latency);
            }
        }
        Some(Live {
            index,
            elapsed_s: sys::monotonic_ns().saturating_sub(opened_ns) as f64 / 1e9,
            offered,
            completed,
            errors,
            in_flight: offered - completed - errors,
            latency: latency.distribution(),
        })
    }

    /// When a thread should publish next: never, if nobody looks or nothing is new.
    #[inline]
    pub(crate) fn due_ns(&self, tally: &Tally) -> u64 {
        if self.is_wanted.load(Ordering::Relaxed) && tally.has_news() {
            tally.published_ns.saturating_add(PERIOD_NS)
        } else {
            u64::MAX
        }
    }

    /// Publish a thread's counts, if it is time to.
    #[inline]
    pub(crate) fn publish(&self, thread: usize, plan: &Plan, tally: &mut Tally, now_ns: u64) {
        if self.due_ns(tally) <= now_ns {
            self.write(thread, plan, tally, now_ns);
        }
    }

    #[cold]
    fn write(&self, thread: usize, plan: &Plan, tally: &mut Tally, now_ns: u64) {
        // When the reader is there just now, the next turn will do.
        let Some(Ok(mut slot)) = self.slots.get(thread).map(Mutex::try_lock) else { return };
        slot.opened_ns = plan.opened_ns;
        slot.offered = tally.offered;
        slot.completed = tally.completed;
        slot.errors = tally.errors.total();
        tally.copy_latencies(&mut slot.latency);
        tally.published(now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::{Capacity, Ended};

    fn opened_at(opened_ns: u64) -> Plan {
        Plan { opened_ns, ..Plan::NONE }
    }

    fn answer(tally: &mut Tally, plan: &Plan, age_ns: u64) {
        let ended =
            Ended { base_ns: 50, issued_ns: Some(50), end_ns: 50 + age_ns, ..Ended::default() };
        tally.offer(false, 0, false);
        tally.take_up(50, false);
        tally.end(plan, &ended, Ok(()));
    }

    #[test]
    fn threads_publish_from_the_first_look_on_and_not_too_often() {
        let (board, plan) = (LiveBoard::new(2), opened_at(10));
        let mut tally = Tally::new(&Capacity::default());
        assert!(board.look().is_none(), "no window is under way");
        board.show(Some(&plan));
        answer(&mut tally, &plan, 7);
        board.publish(1, &plan, &mut tally, 1000);
        assert_eq!(board.look().unwrap().offered, 0, "nobody had asked");
        assert!(!board.ask() && board.ask());
        board.publish(1, &plan, &mut tally, PERIOD_NS);
        let first = board.look().unwrap();
        assert_eq!((first.offered, first.completed, first.latency.sum_ns), (1, 1, 7));
        answer(&mut tally, &plan, 7);
        tally.offer(false, 0, false);
        board.publish(1, &plan, &mut tally, 2 * PERIOD_NS - 1);
        assert_eq!(board.look().unwrap().offered, 1);
        assert_eq!(board.due_ns(&tally), 2 * PERIOD_NS);
        board.publish(1, &plan, &mut tally, 2 * PERIOD_NS);
        let second = board.look().unwrap();
        assert_eq!((second.offered, second.completed, second.in_flight), (3, 2, 1));
        assert_eq!(board.due_ns(&tally), u64::MAX, "nothing is new");
    }

    #[test]
    fn what_was_published_of_another_window_is_not_shown() {
        let (board, first) = (LiveBoard::new(1), opened_at(10));
        let mut tally = Tally::new(&Capacity::default());
        board.show(Some(&first));
        board.ask();
        answer(&mut tally, &first, 7);
        board.publish(0, &first, &mut tally, PERIOD_NS);
        board.show(Some(&opened_at(20)));
        let next = board.look().unwrap();
        assert_eq!((next.offered, next.latency.count), (0, 0));
        board.show(None);
        assert!(board.look().is_none());
    }

    #[test]
    fn a_reader_never_makes_a_thread_wait() {
        let (board, plan) = (LiveBoard::new(1), opened_at(10));
        let mut tally = Tally::new(&Capacity::default());
        board.show(Some(&plan));
        board.ask();
        answer(&mut tally, &plan, 7);
        let held = board.slots[0].lock().unwrap();
        board.publish(0, &plan, &mut tally, PERIOD_NS);
        drop(held);
        assert_eq!(board.look().unwrap().offered, 0);
        board.publish(0, &plan, &mut tally, PERIOD_NS + 1);
        assert_eq!(board.look().unwrap().offered, 1);
    }
}
