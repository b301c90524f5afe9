//! How users go through their visits: step by step, pause by pause.

use std::sync::atomic::Ordering;

use crate::count::{ErrorKind, PageEnd};
use crate::drive::{
    clock::Wake,
    connections::Connections,
    context::Context,
    ids::{UserId, VisitId},
    platform::Platform,
};
use crate::input::{Length, Think};
use crate::schedule::{
    Model,
    random::{hash, stream, unit},
};

use super::users::{ThreadUsers, count_visit};
use super::visit::{Visit, VisitEnd};

/// A step as it is begun.
#[derive(Debug, Clone, Copy)]
pub(super) struct BegunStep {
    /// Its place in the arm's mix, and its number in the run.
    pub(super) step: u32,
    pub(super) number: u64,
    pub(super) base_ns: u64,
    pub(super) is_measured: bool,
}

impl ThreadUsers {
    /// A user of a closed loop begins.
    pub(in crate::drive) fn set_to_work<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
        user: UserId,
    ) {
        let number = self.global_number(user);
        let is_slow = self.spec.slow.is_some_and(|slow| {
            // Spread evenly, so that the part is as exact as the number of users allows.
            let before = |n: u64| (n as f64 * slow.ratio + 1e-9).floor();
            before(number + 1) > before(number)
        });
        let arm = cx.clock.progress.plan().arm;
        let Some(first) = connections.take_idle(arm, is_slow) else { return };
        let id = VisitId::on(first);
        self.visits[id] = Visit { user, is_slow, ..Visit::default() };
        if cx.clock.progress.plan().is_entrance {
            return self.take_first_step(cx, connections, id);
        }
        self.begin_visit(cx, connections, id);
    }

    /// A user of a closed loop begins a visit.
    #[inline]
    fn begin_visit<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
        id: VisitId,
    ) {
        let visit = &mut self.visits[id];
        visit.is_between = false;
        let place = visit.user;
        if !self.is_plain {
            let arm = cx.clock.progress.plan().arm;
            // From the user's place, so that it does not matter who is answered first.
            let number = self.global_number(place);
            let user = &mut self.arms[arm].users[place];
            let bits = |stream: u64| {
                let of_user = hash(self.seed, stream, number);
                hash(of_user, stream, user.n_visits)
            };
            let is_new = !user.is_known || unit(bits(stream::IS_NEW)) < self.spec.users.new_ratio;
            let n_steps = self.spec.users.visit.draw(bits(stream::VISIT_LENGTH));
            let replaces = is_new && user.is_known;
            user.is_known = true;
            user.n_visits += 1;
            let reached = if replaces { 0 } else { user.place };
            if replaces {
                self.renew(connections, arm, place);
            }
            let visit = &mut self.visits[id];
            visit.place = reached;
            // One that was cut short goes on where it was; without memory, for as long again.
            let is_exact = matches!(self.spec.users.visit, Length::Fixed(_));
            visit.n_left = n_steps - 1 - if is_exact { reached.min(n_steps - 1) } else { 0 };
            count_visit(&mut cx.tally, is_new);
        }
        let now_ns = cx.clock.now_ns;
        self.next_step(cx, connections, id, now_ns);
    }

    /// Make a visit's next step, which is due.
    #[inline]
    pub(super) fn next_step<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
        id: VisitId,
        due_ns: u64,
    ) {
        let plan = *cx.clock.progress.plan();
        let is_closed = plan.model == Model::Closed;
        let at_ns = if is_closed { cx.clock.now_ns } else { due_ns };
        if plan.is_credited() {
            self.turn_cycle(cx, connections, id);
        }
        if !cx.clock.progress.is_sending() || at_ns >= plan.sending_end_ns() {
            return self.end_visit(cx, connections, id, VisitEnd::Cut, 0);
        }
        let is_measured = plan.measures(at_ns);
        if is_closed && is_measured && plan.n_requests > 0 {
            let claimed = self.shared.claimed.fetch_add(1, Ordering::Relaxed);
            if claimed >= plan.n_requests {
                let now_ns = cx.clock.now_ns;
                self.end_sending(cx, connections, now_ns);
                return self.end_visit(cx, connections, id, VisitEnd::Cut, 0);
            }
        }
        let number = self.shared.take_turn(plan.arm);
        let arm = &self.arms[plan.arm];
        let step = if arm.is_in_order {
            let place = &mut self.visits[id].place;
            *place += 1;
            (*place - 1) % arm.n_mixed as u32
        } else {
            arm.mix.pick(number, self.seed)
        };
        let begun = BegunStep { step, number, base_ns: at_ns, is_measured };
        self.begin_step(cx, connections, id, begun);
    }

    #[inline]
    pub(super) fn begin_step<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
        id: VisitId,
        begun: BegunStep,
    ) {
        let BegunStep { step, number, base_ns, is_measured } = begun;
        let visit = &mut self.visits[id];
        visit.step = step;
        visit.number = number;
        visit.base_ns = base_ns;
        visit.is_measured = is_measured;
        visit.n_asked = 0;
        visit.page_end = PageEnd::Completed;
        visit.has_left = false;
        visit.is_in_page = false;
        let step = &self.arms[cx.clock.progress.plan().arm].steps[step as usize];
        if !step.objects.is_empty() {
            visit.is_in_page = true;
            cx.tally.page_offer(is_measured);
        }
        let order = visit.order(id, step.request);
        self.issue(cx, connections, id.first_connection(), order);
    }

    /// A step is over: pause, and go on to the next one, or end the visit.
    #[inline]
    pub(super) fn end_step<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
        id: VisitId,
        outcome: Result<(), ErrorKind>,
    ) {
        if cx.clock.progress.plan().is_entrance {
            return self.end_first_step(cx, connections, id, outcome);
        }
        let first = id.first_connection();
        let wait_ns = match outcome {
            // There was no connection: trying again at once would be a busy loop.
            Err(kind) if kind.is_of_connecting() || connections.is_unconnected(first) => {
                connections.next_backoff_ns(first)
            }
            _ => 0,
        };
        if outcome.is_err_and(ErrorKind::is_timeout) || self.visits[id].has_left {
            return self.end_visit(cx, connections, id, VisitEnd::Left, wait_ns);
        }
        let visit = &mut self.visits[id];
        if visit.n_left == 0 {
            return self.end_visit(cx, connections, id, VisitEnd::Finished, wait_ns);
        }
        if !cx.clock.progress.is_sending() {
            return self.end_visit(cx, connections, id, VisitEnd::Cut, 0);
        }
        visit.n_left -= 1;
        let number = visit.number;
        let think_ns = self.think_ns(number);
        self.pause(cx, connections, id, think_ns.max(wait_ns));
    }

    #[inline]
    fn think_ns(&self, number: u64) -> u64 {
        match self.spec.users.think {
            Think::None => 0,
            think => think.draw(self.draw(stream::THINK, number)),
        }
    }

    /// A visit is over: its connection is free, or its user begins another one.
    #[inline]
    fn end_visit<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
        id: VisitId,
        end: VisitEnd,
        wait_ns: u64,
    ) {
        if !self.is_plain {
            let visits = &mut cx.tally.visits;
            match end {
                VisitEnd::Finished => visits.finished += 1,
                VisitEnd::Left => visits.left += 1,
                VisitEnd::Cut => visits.cut += 1,
            }
        }
        let plan = cx.clock.progress.plan();
        if plan.is_open_loop() {
            let user = self.visits[id].user;
            self.arms[plan.arm].users[user].is_here = false;
        }
        if plan.model == Model::Closed && self.arms[plan.arm].is_in_order {
            let Visit { user, place, .. } = self.visits[id];
            let is_cut = end == VisitEnd::Cut;
            self.arms[plan.arm].users[user].place = if is_cut { place } else { 0 };
        }
        match plan.model {
            Model::Closed if cx.clock.progress.is_sending() && end != VisitEnd::Cut => {
                let visit = &mut self.visits[id];
                visit.is_between = true;
                let number = visit.number;
                let think_ns = self.think_ns(number);
                return self.pause(cx, connections, id, think_ns.max(wait_ns));
            }
            // A visitor who leaves takes the connection along.
            Model::Sessions => connections.close_if_idle(id.first_connection()),
            Model::Closed | Model::Open => {}
        }
        // In an open loop the caller sends what waits.
        self.release(plan.model, connections, id);
    }

    /// Go on after a while; at once, if it is none.
    #[inline]
    fn pause<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
        id: VisitId,
        wait_ns: u64,
    ) {
        let now_ns = cx.clock.now_ns;
        if wait_ns == 0 {
            return self.resume(cx, connections, id, now_ns);
        }
        let plan = cx.clock.progress.plan();
        let is_closed = plan.model == Model::Closed;
        if is_closed && plan.n_requests > 0 && self.has_claimed_all(plan) {
            self.end_sending(cx, connections, now_ns);
            return self.cut_short(cx, connections, id);
        }
        cx.clock.set(now_ns.saturating_add(wait_ns), Wake::Resume(id));
    }

    /// The pause before a visit or its next step is over.
    #[inline]
    pub(in crate::drive) fn resume<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
        id: VisitId,
        due_ns: u64,
    ) {
        if self.visits[id].is_between {
            self.begin_visit(cx, connections, id);
        } else {
            if cx.clock.progress.plan().is_open_loop() {
                cx.tally.punctuality.take_up(due_ns, cx.clock.now_ns, None);
            }
            self.next_step(cx, connections, id, due_ns);
        }
    }

    /// The window is over before a user's pause is.
    pub(super) fn cut_short<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
        id: VisitId,
    ) {
        if self.visits[id].is_between {
            self.release(cx.clock.progress.plan().model, connections, id);
        } else {
            self.end_visit(cx, connections, id, VisitEnd::Cut, 0);
        }
    }
}
