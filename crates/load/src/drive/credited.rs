//! How a thread runs a credited window: users begin spread over time, their cycles are followed,
//! and the load goes on until each of those over the measured part's end is known.

use std::cmp::Reverse;
use std::sync::atomic::Ordering;

use super::timers::{Timer, TimerKind};
use super::worker::Worker;
use crate::schedule::random::{hash, stream, unit};

impl Worker {
    /// Have a user begin so long after the window opened.
    pub(crate) fn start_later(&mut self, user: u32, offset_ns: f64) {
        let at_ns = self.progress.plan.opened_ns.saturating_add(offset_ns as u64);
        let kind = TimerKind::Start;
        self.timers.push(Reverse(Timer { at_ns, kind, member: user, life: 0 }));
    }

    /// When a user begins: at a random instant of its own part of the spread. So the users' phases
    /// are random, and the server never has them all at once.
    pub(crate) fn spread_offset_ns(&self, user: u64) -> f64 {
        let plan = &self.progress.plan;
        let number = self.global_user(user);
        let of_window = hash(self.spec.seed, stream::BEGIN, plan.index as u64);
        let part = number as f64 + unit(hash(of_window, stream::BEGIN, number));
        part / self.spec.connections as f64 * plan.spread_ns as f64
    }

    /// A user begins a step, now: its cycle is over, and the next one begins.
    pub(crate) fn turn_cycle(&mut self, owner: u32) {
        let plan = &self.progress.plan;
        let visit = &mut self.visits[owner as usize];
        if visit.cycle_ns > 0 {
            self.tally.cycles.end(plan, visit.cycle_ns, self.now_ns, visit.n_right);
        }
        (visit.cycle_ns, visit.n_right) = (self.now_ns, 0);
        if self.now_ns >= plan.measure_end_ns && !visit.has_passed {
            visit.has_passed = true;
            self.pass(1);
        }
    }

    /// So many users more have passed the end of the measured part.
    fn pass(&mut self, n_users: u64) {
        let passed = self.shared.passed.fetch_add(n_users, Ordering::Relaxed) + n_users;
        self.end_if_all_have_passed(passed);
    }

    fn end_if_all_have_passed(&mut self, passed: u64) {
        if self.progress.is_sending && passed >= self.spec.connections as u64 {
            self.end_sending(self.now_ns);
        }
    }

    /// The measured part is over: nobody begins any more, and who did goes on until all have
    /// passed its end.
    pub(crate) fn go_on_for_the_others(&mut self) {
        let n_left_out = if self.progress.has_begun {
            let n_timers = self.timers.len();
            self.timers.retain(|Reverse(timer)| timer.kind != TimerKind::Start);
            n_timers - self.timers.len()
        } else {
            self.setup.n_connections
        };
        self.progress.has_begun = true;
        if n_left_out > 0 {
            self.pass(n_left_out as u64);
        }
        self.end_if_all_have_passed(self.shared.passed.load(Ordering::Relaxed));
        if self.progress.is_sending && self.now_ns >= self.progress.plan.sending_end_ns() {
            self.end_sending(self.now_ns);
        }
    }

    /// The window is over: count the cycles over its measured part that did not end.
    pub(crate) fn close_cycles(&mut self) {
        let plan = self.progress.plan;
        let until_ns = self.progress.sent_until_ns;
        let first = self.pools[plan.arm].first_connection as usize;
        for (connection, visit) in self.connections.iter().zip(&mut self.visits).skip(first) {
            if connection.arm != plan.arm {
                break;
            }
            if visit.cycle_ns > 0 && !visit.has_passed {
                self.tally.cycles.leave_open(&plan, visit.cycle_ns, until_ns, visit.n_right);
            }
            (visit.cycle_ns, visit.has_passed) = (0, false);
        }
    }
}
