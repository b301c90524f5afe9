//! A thread's time: what it is, what is due, and how long nothing will be.

use std::time::Duration;

use crate::drive::platform::{Platform, Time};

use super::progress::Progress;
use super::timer_queue::{Timers, Wake};

/// A thread's time, and what it has to do when.
#[derive(Debug)]
pub(in crate::drive) struct Clock<P: Platform> {
    time: P::Time,
    timers: Timers,
    /// So long before a due time the thread polls rather than sleeps.
    spin_ns: u64,
    /// The time of the last look.
    pub(in crate::drive) now_ns: u64,
    /// Where the window is.
    pub(in crate::drive) progress: Progress,
    /// When a request was sent that the schedule made due.
    pub(in crate::drive) last_sent_ns: u64,
    /// When the window was opened, here and by the calendar.
    opened_ns: u64,
    opened_unix_ms: u64,
}

impl<P: Platform> Clock<P> {
    pub(in crate::drive) fn new(time: P::Time, spin_ns: u64, n_connections: usize) -> Self {
        Self {
            time,
            timers: Timers::new(n_connections),
            spin_ns,
            now_ns: 0,
            progress: Progress::none(),
            last_sent_ns: 0,
            opened_ns: 0,
            opened_unix_ms: 0,
        }
    }

    /// Look at the time.
    #[inline]
    pub(in crate::drive) fn tick(&mut self) {
        self.now_ns = self.time.now_ns();
    }

    /// The calendar's time at the last look, as it goes on from the window's opening: a calendar
    /// that is set meanwhile ends no cookie.
    #[inline]
    pub(in crate::drive) const fn unix_ms(&self) -> u64 {
        self.opened_unix_ms + (self.now_ns - self.opened_ns) / 1_000_000
    }

    /// Whether the thread ever polls before due times.
    pub(in crate::drive) const fn polls(&self) -> bool {
        self.spin_ns > 0
    }

    /// Do something later.
    pub(in crate::drive) fn set(&mut self, at_ns: u64, wake: Wake) {
        self.timers.push(at_ns, wake);
    }

    /// What is due now, and when it was; the earliest first.
    #[inline]
    pub(in crate::drive) fn due(&mut self) -> Option<(u64, Wake)> {
        self.timers.pop_due(self.now_ns)
    }

    /// Nothing is to be done later.
    #[inline]
    pub(in crate::drive) fn is_at_rest(&self) -> bool {
        self.timers.is_empty()
    }

    /// Take out all that was to be done later. Give the room back with
    /// [`keep_room`](Self::keep_room).
    pub(in crate::drive) fn take_timers(&mut self) -> Timers {
        std::mem::take(&mut self.timers)
    }

    /// The timers were taken out: nothing is allocated for the next ones.
    pub(in crate::drive) fn keep_room(&mut self, timers: Timers) {
        if self.timers.is_empty() {
            self.timers = timers;
        }
    }

    /// Take out the users who have not begun; how many there were.
    pub(in crate::drive) fn drop_starts(&mut self) -> usize {
        self.timers.drop_starts()
    }

    /// A window opens, and is at its beginning.
    pub(in crate::drive) fn open_window(&mut self, beginning: Progress) {
        self.progress = beginning;
        self.tick();
        (self.opened_ns, self.opened_unix_ms) = (self.now_ns, self.time.unix_ms());
    }

    /// The window is over.
    pub(in crate::drive) fn close_window(&mut self) {
        self.progress = Progress::none();
        self.timers.clear();
    }

    /// The next request is due so soon that sleeping could miss it.
    #[inline]
    pub(in crate::drive) fn is_polling(&self) -> bool {
        let progress = &self.progress;
        progress.is_sending()
            && progress.blocked_since_ns().is_none()
            && progress.next_due_ns() != u64::MAX
            && progress.next_due_ns().saturating_sub(self.now_ns) <= self.spin_ns
    }

    /// How long nothing can be due, if nothing else is before `until_ns`; `None`: for ever.
    /// `timeout_ns` is the patience of requests that wait for a connection.
    #[inline]
    pub(in crate::drive) fn time_to_sleep(
        &self,
        is_before_measuring: bool,
        timeout_ns: u64,
        until_ns: u64,
    ) -> Option<Duration> {
        let until_ns = until_ns
            .min(self.next_edge_ns(is_before_measuring))
            .min(self.timers.next_ns().unwrap_or(u64::MAX));
        let until_ns = match self.next_arrival_ns(timeout_ns) {
            Some(arrival_ns) => until_ns.min(arrival_ns),
            None => return Some(Duration::ZERO),
        };
        (until_ns != u64::MAX).then(|| Duration::from_nanos(until_ns.saturating_sub(self.now_ns)))
    }

    /// When the window's next part begins.
    #[inline]
    fn next_edge_ns(&self, is_before_measuring: bool) -> u64 {
        let plan = self.progress.plan();
        if !self.progress.is_sending() {
            return self.progress.drained_by_ns();
        }
        if self.now_ns < plan.opened_ns {
            return plan.opened_ns;
        }
        let end_ns = if plan.is_credited() && self.now_ns >= plan.measure_end_ns {
            plan.sending_end_ns()
        } else {
            plan.measure_end_ns
        };
        let closes_ns = self.progress.closes_ns();
        let end_ns = if closes_ns > self.now_ns { end_ns.min(closes_ns) } else { end_ns };
        if is_before_measuring { end_ns.min(plan.measure_start_ns) } else { end_ns }
    }

    /// When to look at the schedule; `None`: at once.
    #[inline]
    fn next_arrival_ns(&self, timeout_ns: u64) -> Option<u64> {
        let due_ns = self.progress.next_due_ns();
        if due_ns == u64::MAX || !self.progress.is_sending() {
            Some(u64::MAX)
        } else if self.progress.blocked_since_ns().is_some() {
            Some(due_ns.saturating_add(timeout_ns))
        } else if self.is_polling() {
            None
        } else {
            Some(due_ns - self.spin_ns)
        }
    }
}
