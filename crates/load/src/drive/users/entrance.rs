//! Before an arm's first window: each user does the arm's first steps once, such as a login.
//!
//! A few at a time, for it is not the load: what users are told in them (cookies) they keep for all
//! windows, and that is what it is for.

use crate::count::ErrorKind;
use crate::drive::{
    connections::Connections,
    context::Context,
    ids::{Id, UserId, VisitId},
    platform::Platform,
};

use super::steps::BegunStep;
use super::users::ThreadUsers;

/// Users of a thread who do their first steps at the same time.
const AT_ONCE: usize = 4;

impl ThreadUsers {
    /// Have users come as long as there is room; the window is over when the last one is through.
    pub(super) fn admit<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
    ) {
        while cx.clock.progress.is_sending() {
            if self.n_entering == AT_ONCE || self.n_entered == self.role.n_connections {
                break;
            }
            let user = UserId::new(self.n_entered);
            self.n_entered += 1;
            self.n_entering += 1;
            cx.clock.tick();
            self.set_to_work(cx, connections, user);
        }
        if self.n_entering == 0 && cx.clock.progress.is_sending() {
            let now_ns = cx.clock.now_ns;
            self.end_sending(cx, connections, now_ns);
        }
    }

    /// A user does its next first step.
    pub(super) fn take_first_step<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
        id: VisitId,
    ) {
        let visit = self.visits[id];
        let arm = &self.arms[cx.clock.progress.plan().arm];
        let n_first = arm.steps.len() - arm.n_mixed;
        let begun = BegunStep {
            step: arm.n_mixed as u32 + visit.place,
            number: self.global_number(visit.user) * n_first as u64 + u64::from(visit.place),
            base_ns: cx.clock.now_ns,
            is_measured: true,
        };
        self.visits[id].place += 1;
        self.begin_step(cx, connections, id, begun);
    }

    /// A first step is over: the next one; or the user has come in, or stays out.
    pub(super) fn end_first_step<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
        id: VisitId,
        outcome: Result<(), ErrorKind>,
    ) {
        let plan = *cx.clock.progress.plan();
        let arm = &self.arms[plan.arm];
        let is_last = arm.n_mixed + self.visits[id].place as usize == arm.steps.len();
        if outcome.is_ok() && !is_last && cx.clock.progress.is_sending() {
            return self.take_first_step(cx, connections, id);
        }
        self.release(plan.model, connections, id);
        self.n_entering -= 1;
        self.admit(cx, connections);
    }
}
