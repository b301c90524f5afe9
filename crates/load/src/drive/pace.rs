//! When a thread sends, gives up and sleeps.

use std::cmp::Reverse;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::visits::DueArrival;
use super::worker::Worker;
use crate::count::{Ended, ErrorKind, PageEnd};
use crate::input::Slow;
use crate::schedule::{
    Model,
    random::{stream, unit},
};

/// So long may pass until a thread sees that another one sent the last request.
const LOOK_NS: u64 = 10_000_000;

impl Worker {
    /// Send what there is to send now, and see whether that was all.
    pub(crate) fn send(&mut self) {
        let plan = self.progress.plan;
        if self.now_ns < plan.opened_ns {
            return;
        }
        if plan.is_credited() && self.now_ns >= plan.measure_end_ns {
            return self.go_on_for_the_others();
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
            let is_all_sent = plan.model == Model::Open || self.is_at_rest();
            if self.progress.is_schedule_over() && plan.has_open_end() && is_all_sent {
                self.end_sending(self.now_ns);
            }
        } else if !self.progress.has_begun {
            self.progress.has_begun = true;
            self.set_all_to_work();
        }
    }

    /// Nothing is under way, and nobody pauses within a visit.
    fn is_at_rest(&self) -> bool {
        self.in_flight.is_empty() && self.timers.is_empty()
    }

    /// Have all users begin, one after the other if they are to start at a rate (closed loop).
    fn set_all_to_work(&mut self) {
        let start_per_s = self.spec.connections_per_s;
        for user in 0..self.setup.n_connections as u32 {
            self.tick();
            if start_per_s > 0.0 {
                let offset_ns = self.global_user(u64::from(user)) as f64 * 1e9 / start_per_s;
                self.start_later(user, offset_ns);
            } else if self.progress.plan.spread_ns > 0 {
                self.start_later(user, self.spread_offset_ns(u64::from(user)));
            } else if self.progress.is_sending {
                self.set_to_work(user);
            }
        }
    }

    /// Send the requests that are due, as far as connections are idle (open loop).
    pub(crate) fn send_due(&mut self) {
        let plan = self.progress.plan;
        let now_ns = self.now_ns;
        while self.progress.next_due_ns <= now_ns {
            let arrival = self.next_arrival();
            let Some(member) = self.idle_connection(plan.arm, arrival.is_slow) else {
                self.progress.blocked_since_ns.get_or_insert(now_ns);
                return;
            };
            let blocked_since_ns = self.progress.blocked_since_ns;
            self.progress.advance();
            self.tick();
            self.tally.punctuality(arrival.due_ns, self.now_ns, blocked_since_ns);
            if let Some(warmth) = &mut self.warmth {
                warmth.note_use(self.now_ns);
            }
            self.arrive(member, arrival);
        }
        self.progress.blocked_since_ns = None;
    }

    /// The schedule's next arrival.
    fn next_arrival(&self) -> DueArrival {
        let number = self.progress.arrival_number();
        let is_slow = |slow: &Slow| unit(self.draw(stream::IS_SLOW, number)) < slow.ratio;
        DueArrival {
            index: self.progress.arrival_index(),
            number,
            due_ns: self.progress.next_due_ns,
            is_measured: self.progress.is_next_measured(),
            is_slow: self.spec.slow.as_ref().is_some_and(is_slow),
        }
    }

    /// Nothing new is sent from now on.
    pub(crate) fn end_sending(&mut self, at_ns: u64) {
        let plan = self.progress.plan;
        self.progress.is_sending = false;
        self.progress.sent_until_ns = self.now_ns;
        self.progress.drained_by_ns = at_ns.saturating_add(plan.drain_ns);
        self.progress.next_due_ns = u64::MAX;
        self.cut_pauses_short();
        if at_ns >= plan.measure_end_ns {
            // From here on it is a timed window, also where a number of requests was to end it.
            self.progress.plan.n_requests = 0;
        }
    }

    /// Nobody has to wait for the end of a pause to see that all requests were sent, also where
    /// another thread sent the last one.
    pub(crate) fn end_if_all_are_claimed(&mut self) {
        if self.looks_for_claims() && self.has_claimed_all() {
            self.end_sending(self.now_ns);
        }
    }

    /// Others may claim the last request while everybody pauses here.
    fn looks_for_claims(&self) -> bool {
        self.progress.plan.n_requests > 0
            && self.setup.n_threads > 1
            && !self.progress.plan.is_open_loop()
            && !self.timers.is_empty()
    }

    pub(crate) fn has_claimed_all(&self) -> bool {
        self.shared.claimed.load(Ordering::Relaxed) >= self.progress.plan.n_requests
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
            let arrival = self.next_arrival();
            self.progress.advance();
            self.end_unsent(&arrival, ErrorKind::Timeout);
        }
    }

    /// End the arrivals that are due by `until_ns` and unsent.
    fn drop_due(&mut self, until_ns: u64) {
        while self.progress.next_due_ns <= until_ns && self.progress.next_due_ns != u64::MAX {
            let arrival = self.next_arrival();
            self.progress.advance();
            self.end_unsent(&arrival, ErrorKind::Unsent);
        }
    }

    /// A due arrival ends without having been sent.
    fn end_unsent(&mut self, arrival: &DueArrival, kind: ErrorKind) {
        // What it would have asked for first: a visit draws its steps when it begins.
        let step = match self.progress.plan.model {
            Model::Sessions => 0,
            _ => self.step_of(arrival),
        };
        let step = &self.pools[self.progress.plan.arm].target.steps[step as usize];
        let request = step.request as u32;
        self.tally.offer(arrival.is_measured, request, arrival.is_slow);
        if !step.objects.is_empty() {
            self.tally.page_offer(arrival.is_measured);
            let age_ns = self.now_ns.saturating_sub(arrival.due_ns);
            self.tally.page_end(arrival.is_measured, age_ns, PageEnd::GivenUp);
        }
        let ended = Ended {
            base_ns: arrival.due_ns,
            issued_ns: None,
            connected_ns: None,
            secured_ns: None,
            written_ns: None,
            first_byte_ns: None,
            end_ns: self.now_ns,
            is_measured: arrival.is_measured,
            is_object: false,
            request,
            is_slow: arrival.is_slow,
            due_index: arrival.number,
        };
        if kind.is_timeout() {
            self.tally.due += 1;
            if self.progress.blocked_since_ns.is_some() {
                self.tally.waited += 1;
            } else {
                self.tally.late += 1; // this thread slept for longer than the patience
            }
        }
        self.tally.end(&self.progress.plan, &ended, Err(kind));
    }

    /// End the window at once: the run was stopped. What was due until then is offered, on each
    /// thread, also where one looked up late; what it sent meanwhile it did send.
    pub(crate) fn abandon(&mut self, stopped_ns: u64) {
        if self.progress.is_sending {
            let stopped_ns = stopped_ns.max(self.progress.plan.opened_ns).min(self.now_ns);
            self.drop_due(stopped_ns);
            let plan_end_ns = self.progress.plan.measure_end_ns;
            self.end_sending(self.now_ns);
            self.progress.plan.measure_end_ns = stopped_ns.min(plan_end_ns);
            self.progress.plan.n_requests = 0;
        }
        self.give_up(ErrorKind::Unfinished);
    }

    /// End all that is under way.
    pub(crate) fn give_up(&mut self, kind: ErrorKind) {
        self.progress.is_over = true;
        while let Some(member) = self.in_flight.first() {
            self.fail(member, kind);
        }
    }

    /// The next request is due so soon that sleeping could miss it.
    pub(crate) fn is_polling(&self) -> bool {
        let progress = &self.progress;
        progress.is_sending
            && progress.blocked_since_ns.is_none()
            && progress.next_due_ns != u64::MAX
            && progress.next_due_ns.saturating_sub(self.now_ns) <= self.setup.spin_ns
    }

    /// How long nothing can be due; `None`: for ever.
    pub(crate) fn time_to_sleep(&self, is_before_measuring: bool) -> Option<Duration> {
        if self.turn.n_unread() > 0 {
            return Some(Duration::ZERO);
        }
        let plan = &self.progress.plan;
        let mut until_ns = u64::MAX;
        if self.progress.is_sending {
            until_ns = plan.measure_end_ns;
            if plan.is_credited() && self.now_ns >= plan.measure_end_ns {
                until_ns = plan.sending_end_ns();
                if self.setup.n_threads > 1 {
                    until_ns = until_ns.min(self.now_ns + LOOK_NS);
                }
            }
            if self.now_ns < plan.opened_ns {
                until_ns = plan.opened_ns;
            } else if is_before_measuring {
                until_ns = until_ns.min(plan.measure_start_ns);
            }
        } else {
            until_ns = until_ns.min(self.progress.drained_by_ns);
        }
        if let Some(Reverse(timer)) = self.timers.peek() {
            until_ns = until_ns.min(timer.at_ns);
        }
        if let Some(member) = self.in_flight.first() {
            let base_ns = self.connections[member as usize].base_ns();
            until_ns = until_ns.min(base_ns.saturating_add(self.setup.timeout_ns));
        }
        if self.progress.is_sending && self.looks_for_claims() {
            until_ns = until_ns.min(self.now_ns + LOOK_NS);
        }
        until_ns = until_ns.min(self.shared.live.due_ns(&self.tally));
        let due_ns = self.progress.next_due_ns;
        if due_ns != u64::MAX && self.progress.is_sending {
            if self.progress.blocked_since_ns.is_some() {
                until_ns = until_ns.min(due_ns.saturating_add(self.setup.timeout_ns));
            } else if self.is_polling() {
                return Some(Duration::ZERO);
            } else {
                until_ns = until_ns.min(due_ns - self.setup.spin_ns);
            }
        }
        (until_ns != u64::MAX).then(|| Duration::from_nanos(until_ns.saturating_sub(self.now_ns)))
    }
}
