//! Credited windows: users begin spread over time, their cycles are followed, and the load goes on
//! until each of those over the measured part's end is known.

use std::sync::atomic::Ordering;

use crate::drive::{
    connections::Connections,
    context::Context,
    ids::{Id, UserId, VisitId},
    platform::Platform,
};
use crate::schedule::{
    Plan,
    random::{hash, stream, unit},
};

use super::users::ThreadUsers;

impl ThreadUsers {
    /// When a user begins: at a random instant of its own part of the spread. So the users' phases
    /// are random, and the server never has them all at once.
    pub(super) fn spread_offset_ns(&self, plan: &Plan, user: UserId) -> f64 {
        let number = self.global_number(user);
        let of_window = hash(self.seed, stream::BEGIN, plan.index as u64);
        let part = number as f64 + unit(hash(of_window, stream::BEGIN, number));
        part / self.spec.connections as f64 * plan.spread_ns as f64
    }

    /// A user begins a step, now: its cycle is over, and the next one begins.
    pub(super) fn turn_cycle<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
        id: VisitId,
    ) {
        let plan = cx.clock.progress.plan();
        let now_ns = cx.clock.now_ns;
        let visit = &mut self.visits[id];
        if visit.cycle_ns > 0 {
            cx.tally.cycles.note(now_ns - visit.cycle_ns, visit.is_first_cycle);
            cx.tally.cycles.end(plan, visit.cycle_ns, now_ns, visit.n_right);
        }
        visit.is_first_cycle = visit.cycle_ns == 0;
        (visit.cycle_ns, visit.n_right) = (now_ns, 0);
        if now_ns >= plan.measure_end_ns && !visit.has_passed {
            visit.has_passed = true;
            self.pass(cx, connections, 1);
        }
    }

    /// So many users more have passed the end of the measured part.
    fn pass<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
        n_users: u64,
    ) {
        let passed = self.shared.passed.fetch_add(n_users, Ordering::Relaxed) + n_users;
        self.end_if_all_have_passed(cx, connections, passed);
    }

    fn end_if_all_have_passed<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
        passed: u64,
    ) {
        if cx.clock.progress.is_sending() && passed >= self.spec.connections as u64 {
            let now_ns = cx.clock.now_ns;
            self.end_sending(cx, connections, now_ns);
        }
    }

    /// The measured part is over: nobody begins any more, and who did goes on until all have
    /// passed its end.
    pub(super) fn go_on_for_the_others<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
    ) {
        let n_left_out = if cx.clock.progress.has_begun() {
            cx.clock.drop_starts()
        } else {
            self.role.n_connections
        };
        cx.clock.progress.begin();
        if n_left_out > 0 {
            self.pass(cx, connections, n_left_out as u64);
        }
        self.end_if_all_have_passed(cx, connections, self.shared.passed.load(Ordering::Relaxed));
        let (now_ns, progress) = (cx.clock.now_ns, &cx.clock.progress);
        if progress.is_sending() && now_ns >= progress.plan().sending_end_ns() {
            self.end_sending(cx, connections, now_ns);
        }
    }

    /// The window is over: count the cycles over its measured part that did not end.
    pub(super) fn close_cycles<P: Platform>(&mut self, cx: &mut Context<P>) {
        let progress = &cx.clock.progress;
        let (plan, until_ns) = (progress.plan(), progress.sent_until_ns());
        for id in self.arms[plan.arm].connections.clone().map(VisitId::new) {
            let visit = &mut self.visits[id];
            if visit.cycle_ns > 0 && !visit.has_passed {
                cx.tally.cycles.leave_open(plan, visit.cycle_ns, until_ns, visit.n_right);
            }
            (visit.cycle_ns, visit.has_passed) = (0, false);
        }
    }
}
