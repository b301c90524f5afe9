//! When a thread sends, gives up and sleeps.

use std::cmp::Reverse;
use std::time::Duration;

use crate::outcome::ErrorKind;
use crate::worker::Worker;

impl Worker {
    /// Send what there is to send now, and see whether that was all.
    pub(crate) fn send(&mut self) {
        let plan = self.progress.plan;
        if self.now_ns < plan.opened_ns {
            return;
        }
        if self.now_ns >= plan.measure_end_ns {
            // What was due before the end is sent where a connection is idle, however late: that
            // this thread woke after the end is its own lateness, and no error of the server.
            self.send_due();
            self.drop_due(plan.measure_end_ns - 1);
            self.end_sending(plan.measure_end_ns);
            return;
        }
        if plan.is_open_loop() {
            self.send_due();
            if self.progress.is_schedule_over() && plan.n_requests > 0 {
                self.end_sending(self.now_ns);
            }
        } else if self.progress.has_begun {
            self.wake_backed_off();
        } else {
            self.progress.has_begun = true;
            self.set_to_work();
        }
    }

    /// Set all connections of the arm to work (closed loop).
    fn set_to_work(&mut self) {
        let arm = self.progress.plan.arm;
        // As many as there are: one that fails to connect at once comes back into a list.
        for _ in 0..self.setup.n_connections {
            let Some(member) = self.idle_connection(arm) else { return };
            self.tick();
            self.send_next(member);
        }
    }

    /// Send the requests that are due, as far as connections are idle (open loop).
    pub(crate) fn send_due(&mut self) {
        let plan = self.progress.plan;
        let now_ns = self.now_ns;
        while self.progress.next_due_ns <= now_ns {
            let Some(member) = self.idle_connection(plan.arm) else {
                self.progress.blocked_since_ns.get_or_insert(now_ns);
                return;
            };
            let (index, due_ns) = (self.progress.index(), self.progress.next_due_ns);
            let is_measured = self.progress.is_next_measured();
            let blocked_since_ns = self.progress.blocked_since_ns;
            self.progress.advance();
            self.tick();
            self.tally.punctuality(due_ns, self.now_ns, blocked_since_ns);
            self.issue(member, index, due_ns, is_measured);
        }
        self.progress.blocked_since_ns = None;
    }

    /// Nothing new is sent from now on.
    pub(crate) fn end_sending(&mut self, at_ns: u64) {
        let plan = self.progress.plan;
        self.progress.is_sending = false;
        self.progress.drained_by_ns = at_ns.saturating_add(plan.drain_ns);
        self.progress.next_due_ns = u64::MAX;
        while let Some(Reverse((_, member))) = self.backoff.pop() {
            self.park(member);
        }
        if at_ns >= plan.measure_end_ns {
            // From here on it is a timed window, also where a number of requests was to end it.
            self.progress.plan.n_requests = 0;
        }
    }

    /// End what is older than its patience, sent or waiting.
    pub(crate) fn expire(&mut self) {
        let timeout_ns = self.setup.timeout_ns;
        while let Some(member) = self.in_flight.first() {
            let base_ns = self.connections[member as usize].base_ns();
            if base_ns.saturating_add(timeout_ns) > self.now_ns {
                break;
            }
            self.fail(member, ErrorKind::Timeout);
        }
        if !self.progress.is_sending {
            return;
        }
        while self.progress.next_due_ns.saturating_add(timeout_ns) <= self.now_ns {
            self.end_unsent(ErrorKind::Timeout);
        }
    }

    /// End the requests that are due by `until_ns` and unsent.
    fn drop_due(&mut self, until_ns: u64) {
        while self.progress.next_due_ns <= until_ns && self.progress.next_due_ns != u64::MAX {
            self.end_unsent(ErrorKind::Unsent);
        }
    }

    /// End the window at once: the run was stopped.
    pub(crate) fn abandon(&mut self) {
        if self.progress.is_sending {
            self.drop_due(self.now_ns);
            self.end_sending(self.now_ns);
            self.progress.plan.measure_end_ns = self.now_ns;
            self.progress.plan.n_requests = 0;
        }
        self.give_up(ErrorKind::Unfinished);
    }

    pub(crate) fn give_up(&mut self, kind: ErrorKind) {
        while let Some(member) = self.in_flight.first() {
            self.fail(member, kind);
        }
    }

    /// How long nothing can be due; `None`: for ever.
    pub(crate) fn time_to_sleep(&self, is_before_measuring: bool) -> Option<Duration> {
        let plan = &self.progress.plan;
        let mut until_ns = u64::MAX;
        if self.progress.is_sending {
            until_ns = plan.measure_end_ns;
            if self.now_ns < plan.opened_ns {
                until_ns = plan.opened_ns;
            } else if is_before_measuring {
                until_ns = until_ns.min(plan.measure_start_ns);
            }
            if let Some(Reverse((at_ns, _))) = self.backoff.peek() {
                until_ns = until_ns.min(*at_ns);
            }
        } else {
            until_ns = until_ns.min(self.progress.drained_by_ns);
        }
        if let Some(member) = self.in_flight.first() {
            let base_ns = self.connections[member as usize].base_ns();
            until_ns = until_ns.min(base_ns.saturating_add(self.setup.timeout_ns));
        }
        until_ns = until_ns.min(self.shared.live.due_ns(&self.tally));
        let due_ns = self.progress.next_due_ns;
        if due_ns != u64::MAX && self.progress.is_sending {
            if self.progress.blocked_since_ns.is_some() {
                until_ns = until_ns.min(due_ns.saturating_add(self.setup.timeout_ns));
            } else if due_ns.saturating_sub(self.now_ns) <= self.setup.spin_ns {
                return Some(Duration::ZERO);
            } else {
                until_ns = until_ns.min(due_ns - self.setup.spin_ns);
            }
        }
        (until_ns != u64::MAX).then(|| Duration::from_nanos(until_ns.saturating_sub(self.now_ns)))
    }
}
