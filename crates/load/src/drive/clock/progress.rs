//! Where a thread stands in a window.

use crate::input::Arrival;
use crate::schedule::{Arrivals, Plan};

/// Which arrivals are a thread's: one of every `n_threads`.
///
/// Which one changes after every `period` of them, the number of an arm's steps. If it stayed, two
/// threads would share two steps in turn so that each sends only one of them.
#[derive(Debug, Clone, Copy)]
pub(in crate::drive) struct Share {
    pub(in crate::drive) thread: u64,
    pub(in crate::drive) n_threads: u64,
    pub(in crate::drive) period: u64,
}

impl Share {
    fn has(self, index: u64) -> bool {
        if self.n_threads == 1 {
            return true;
        }
        let (block, place) = (index / self.n_threads, index % self.n_threads);
        (self.thread + block / self.period) % self.n_threads == place
    }
}

/// Where a thread stands in a window.
#[derive(Debug)]
pub(in crate::drive) struct Progress {
    plan: Plan,
    /// New requests may be sent.
    is_sending: bool,
    /// What is under way is given up: nothing may follow it.
    is_over: bool,
    /// The users were set to work (closed loop).
    has_begun: bool,
    /// When a request was due and no connection was idle, if the queue is not empty since.
    blocked_since_ns: Option<u64>,
    /// When sending ended.
    sent_until_ns: u64,
    /// Give up waiting at this time. Set when sending ends.
    drained_by_ns: u64,
    /// When this thread's next arrival is due; `u64::MAX`: never.
    next_due_ns: u64,
    /// Its index over all threads.
    next_index: u64,
    arrivals: Option<Arrivals>,
    share: Share,
    /// Arrivals over all threads that the sequence has given, and those of the measured part.
    n_given: u64,
    n_measured: u64,
    /// When the first arrival would have been due that is one too many; 0: none was.
    closes_ns: u64,
    /// What the window adds to each index, so that the steps go on where the arm's window before
    /// this one left them.
    mix_from: u64,
}

impl Progress {
    /// The beginning of a window for a thread. Its first arrival has the number `from`: where
    /// [`Self::mix_until`] left the arm's window before, or 0.
    pub(in crate::drive) fn new(
        plan: Plan,
        arrival: &Arrival,
        seed: u64,
        share: Share,
        from: u64,
    ) -> Self {
        let mut progress = Self {
            plan,
            is_sending: true,
            is_over: false,
            has_begun: false,
            blocked_since_ns: None,
            sent_until_ns: 0,
            drained_by_ns: u64::MAX,
            next_due_ns: u64::MAX,
            next_index: 0,
            arrivals: Arrivals::new(arrival, seed, plan.index),
            share,
            n_given: 0,
            n_measured: 0,
            closes_ns: 0,
            mix_from: from,
        };
        progress.advance();
        progress
    }

    /// Between windows.
    pub(super) fn none() -> Self {
        let share = Share { thread: 0, n_threads: 1, period: 1 };
        Self { is_sending: false, ..Self::new(Plan::NONE, &Arrival::Closed, 0, share, 0) }
    }

    #[inline]
    pub(in crate::drive) const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Whether new requests may be sent.
    #[inline]
    pub(in crate::drive) const fn is_sending(&self) -> bool {
        self.is_sending
    }

    /// Whether what is under way is given up: nothing may follow it.
    #[inline]
    pub(in crate::drive) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether the users were set to work (closed loop).
    pub(in crate::drive) const fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Since when the queue of due requests is not empty, for want of idle connections.
    #[inline]
    pub(in crate::drive) const fn blocked_since_ns(&self) -> Option<u64> {
        self.blocked_since_ns
    }

    /// When sending ended.
    pub(in crate::drive) const fn sent_until_ns(&self) -> u64 {
        self.sent_until_ns
    }

    /// When to give up waiting; `u64::MAX` while requests are sent.
    #[inline]
    pub(in crate::drive) const fn drained_by_ns(&self) -> u64 {
        self.drained_by_ns
    }

    /// When this thread's next arrival is due; `u64::MAX`: never.
    #[inline]
    pub(in crate::drive) const fn next_due_ns(&self) -> u64 {
        self.next_due_ns
    }

    /// The users are set to work.
    pub(in crate::drive) fn begin(&mut self) {
        self.has_begun = true;
    }

    /// A request is due, now, and no connection is idle.
    #[inline]
    pub(in crate::drive) fn block(&mut self, now_ns: u64) {
        self.blocked_since_ns.get_or_insert(now_ns);
    }

    /// No request that is due waits for a connection.
    #[inline]
    pub(in crate::drive) fn unblock(&mut self) {
        self.blocked_since_ns = None;
    }

    /// Nothing new is sent from now on; what is under way is waited for as if it had ended at
    /// `at_ns`.
    pub(in crate::drive) fn end_sending(&mut self, now_ns: u64, at_ns: u64) {
        self.is_sending = false;
        self.sent_until_ns = now_ns;
        self.drained_by_ns = at_ns.saturating_add(self.plan.drain_ns);
        self.next_due_ns = u64::MAX;
        if at_ns >= self.plan.measure_end_ns {
            // From here on it is a timed window, also where a number of requests was to end it.
            self.plan.n_requests = 0;
        }
    }

    /// The run was stopped then: a timed window that ended there, if not before.
    pub(in crate::drive) fn cut(&mut self, stopped_ns: u64) {
        self.plan.measure_end_ns = stopped_ns.min(self.plan.measure_end_ns);
        self.plan.n_requests = 0;
    }

    /// What is under way is given up from now on.
    pub(in crate::drive) fn give_up(&mut self) {
        self.is_over = true;
    }

    /// The number of the next arrival: in the order of due times over all threads.
    pub(in crate::drive) fn arrival_number(&self) -> u64 {
        self.mix_from.wrapping_add(self.next_index)
    }

    /// The place of the next arrival in the window's own sequence.
    pub(in crate::drive) fn arrival_index(&self) -> u64 {
        self.next_index
    }

    /// Where the window left the arm's arrivals. Were each window to begin with the first one, short
    /// windows would favour the first ones: those of a slow arm more than of a fast one, so that
    /// the two would not be asked the same.
    pub(in crate::drive) fn mix_until(&mut self) -> u64 {
        // By the plan, not by what was sent: the threads' shares must go on fitting together.
        while self.give().is_some() {}
        self.mix_from.wrapping_add(self.n_given)
    }

    /// Whether the next due arrival belongs to the measured part.
    pub(in crate::drive) fn is_next_measured(&self) -> bool {
        self.next_due_ns >= self.plan.measure_start_ns
    }

    /// Go on to this thread's next arrival.
    pub(in crate::drive) fn advance(&mut self) {
        self.next_due_ns = u64::MAX;
        while let Some((index, due_ns)) = self.give() {
            if self.share.has(index) {
                (self.next_index, self.next_due_ns) = (index, due_ns);
                return;
            }
        }
    }

    /// The next arrival of the plan, over all threads: its index, and when it is due.
    fn give(&mut self) -> Option<(u64, u64)> {
        let due_ns = self.plan.opened_ns.saturating_add(self.arrivals.as_mut()?.next_ns()?);
        let is_measured = due_ns >= self.plan.measure_start_ns;
        let is_one_too_many =
            self.plan.n_requests > 0 && is_measured && self.n_measured >= self.plan.n_requests;
        if due_ns >= self.plan.measure_end_ns || is_one_too_many {
            self.closes_ns = if is_one_too_many { due_ns } else { 0 };
            self.arrivals = None;
            return None;
        }
        self.n_measured += u64::from(is_measured);
        self.n_given += 1;
        Some((self.n_given - 1, due_ns))
    }

    /// Until when a number of requests lasts, by the schedule: as many gaps as arrivals, or their
    /// rate would come out higher than it is. 0: no number ends it.
    #[inline]
    pub(in crate::drive) const fn closes_ns(&self) -> u64 {
        self.closes_ns
    }

    /// Every arrival of the schedule was sent or given up.
    pub(in crate::drive) fn is_schedule_over(&self) -> bool {
        self.plan.is_open_loop() && self.next_due_ns == u64::MAX
    }
}

#[cfg(test)]
#[path = "progress_tests.rs"]
mod tests;
