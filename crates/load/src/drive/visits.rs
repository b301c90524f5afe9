//! How users go through their visits: step by step, page by page, pause by pause.

use std::cmp::Reverse;
use std::sync::atomic::Ordering;

use super::connection::{Farewell, Phase, Taken};
use super::timers::{Timer, TimerKind};
use super::visit::{Visit, VisitEnd};
use super::worker::Worker;
use crate::count::{ErrorKind, PageEnd};
use crate::input::{Arrival, Think};
use crate::schedule::{
    Model,
    random::{hash, stream, unit},
};

impl Worker {
    /// A user of a closed loop begins.
    pub(crate) fn set_to_work(&mut self, user: u32) {
        let number = self.global_user(u64::from(user));
        let is_slow = self.spec.slow.is_some_and(|slow| {
            // Spread evenly, so that the part is as exact as the number of users allows.
            let before = |n: u64| (n as f64 * slow.ratio + 1e-9).floor();
            before(number + 1) > before(number)
        });
        let Some(member) = self.idle_connection(self.progress.plan.arm, is_slow) else { return };
        self.own(member, member);
        self.visits[member as usize] = Visit { user, is_slow, ..Visit::default() };
        self.begin_visit(member);
    }

    /// A user of a closed loop begins a visit.
    fn begin_visit(&mut self, member: u32) {
        let (thread, n_threads) = (self.setup.thread as u64, self.setup.n_threads as u64);
        let visit = &mut self.visits[member as usize];
        visit.is_between = false;
        let pool = &mut self.pools[self.progress.plan.arm];
        let user = &mut pool.users[visit.user as usize];
        let is_plain = self.is_plain;
        if !is_plain {
            // From the user's place, so that it does not matter who is answered first.
            let place = u64::from(visit.user) * n_threads + thread;
            let bits = |stream: u64| {
                let of_user = hash(self.spec.seed, stream, place);
                hash(of_user, stream, user.n_visits)
            };
            let is_new = !user.is_known || unit(bits(stream::IS_NEW)) < self.spec.users.new_ratio;
            visit.n_left = self.spec.users.visit.draw(bits(stream::VISIT_LENGTH)) - 1;
            if is_new && user.is_known {
                user.number = self.next_user;
                self.next_user += self.setup.n_threads as u64;
                user.jar.clear();
            }
            user.is_known = true;
            user.n_visits += 1;
            self.count_visit(is_new);
        }
        self.next_step(member, self.now_ns);
    }

    /// A user arrives by the schedule, and has a connection.
    pub(crate) fn arrive(&mut self, member: u32, arrival: DueArrival) {
        let plan = self.progress.plan;
        self.own(member, member);
        let user = self.choose_user(member, arrival.number);
        let n_left = match plan.model {
            Model::Sessions => {
                self.spec.users.visit.draw(self.draw(stream::VISIT_LENGTH, arrival.number)) - 1
            }
            _ => 0,
        };
        let is_slow = arrival.is_slow;
        self.visits[member as usize] = Visit { user, n_left, is_slow, ..Visit::default() };
        if plan.model == Model::Sessions {
            self.next_step(member, arrival.due_ns);
        } else {
            let step = self.step_of(&arrival);
            self.begin_step(member, step, arrival.number, arrival.due_ns, arrival.is_measured);
        }
    }

    pub(crate) fn step_of(&self, arrival: &DueArrival) -> u32 {
        match &self.spec.arrival {
            Arrival::Replay { steps, .. } => steps[arrival.index as usize],
            _ => self.pools[self.progress.plan.arm].target.mix.pick(arrival.number, self.spec.seed),
        }
    }

    /// Who arrives: a new user, who takes the place of an old one, or one who was here before.
    fn choose_user(&mut self, member: u32, number: u64) -> u32 {
        if self.is_plain && self.progress.plan.model == Model::Open {
            return 0;
        }
        let bits = self.draw(stream::RETURNING, number);
        let is_new = unit(self.draw(stream::IS_NEW, number)) < self.spec.users.new_ratio;
        let pool = &mut self.pools[self.progress.plan.arm];
        let place_of_connection = (member - pool.first_connection) as usize;
        // Nobody makes two visits at a time: instead of who is here already comes somebody else, who
        // has a place of its own for each connection.
        let (drawn, other) =
            ((bits % pool.n_returning as u64) as usize, pool.n_returning + place_of_connection);
        let place = if pool.users[drawn].is_here { other } else { drawn };
        let user = &mut pool.users[place];
        user.is_here = true;
        let is_new = is_new || !user.is_known;
        if is_new {
            user.jar.clear();
            user.is_known = true;
            user.number = self.next_user;
            self.next_user += self.setup.n_threads as u64;
        }
        self.count_visit(is_new);
        place as u32
    }

    /// Make a visit's next step, which is due.
    fn next_step(&mut self, owner: u32, due_ns: u64) {
        let plan = self.progress.plan;
        let is_closed = plan.model == Model::Closed;
        let at_ns = if is_closed { self.now_ns } else { due_ns };
        if plan.is_credited() {
            self.turn_cycle(owner);
        }
        if !self.progress.is_sending || at_ns >= plan.sending_end_ns() {
            return self.end_visit(owner, VisitEnd::Cut, 0);
        }
        let is_measured = plan.measures(at_ns);
        if is_closed && is_measured && plan.n_requests > 0 {
            let claimed = self.shared.claimed.fetch_add(1, Ordering::Relaxed);
            if claimed >= plan.n_requests {
                self.end_sending(self.now_ns);
                return self.end_visit(owner, VisitEnd::Cut, 0);
            }
        }
        let turn = self.progress.take_turn();
        let step = self.pools[plan.arm].target.mix.pick(turn, self.spec.seed);
        let number = turn * self.setup.n_threads as u64 + self.setup.thread as u64;
        self.begin_step(owner, step, number, at_ns, is_measured);
    }

    fn begin_step(&mut self, owner: u32, step: u32, number: u64, base_ns: u64, is_measured: bool) {
        let visit = &mut self.visits[owner as usize];
        visit.step = step;
        visit.number = number;
        visit.base_ns = base_ns;
        visit.is_measured = is_measured;
        visit.n_asked = 0;
        visit.page_end = PageEnd::Completed;
        visit.has_left = false;
        visit.is_in_page = false;
        let step = &self.pools[self.progress.plan.arm].target.steps[step as usize];
        let request = step.request as u32;
        if !step.objects.is_empty() {
            visit.is_in_page = true;
            self.tally.page_offer(is_measured);
        }
        self.issue(owner, Taken { request, number, base_ns, is_measured, is_object: false });
    }

    /// A request of a visit ended on a connection.
    pub(crate) fn go_on(&mut self, member: u32, outcome: Result<(), ErrorKind>) {
        let owner = self.connections[member as usize].owner;
        let visit = &mut self.visits[owner as usize];
        visit.n_under_way -= 1;
        let step = &self.pools[self.progress.plan.arm].target.steps[visit.step as usize];
        if step.objects.is_empty() {
            return self.end_step(owner, outcome);
        }
        let is_document = visit.n_asked == 0;
        visit.page_end = visit.page_end.max(PageEnd::of_part(outcome));
        visit.has_left |= outcome.is_err_and(ErrorKind::is_timeout);
        // Without its document a page has no objects, and who left asks for no more.
        let is_hopeless = outcome.is_err_and(|kind| {
            is_document || kind.is_timeout() || kind.is_of_connecting() || self.progress.is_over
        });
        if is_hopeless {
            visit.n_asked = step.objects.len() as u32;
        }
        let number = visit.number;
        self.next_object(member, owner);
        if is_document && !is_hopeless {
            self.borrow_connections(owner, number);
        }
        let visit = &mut self.visits[owner as usize];
        if visit.is_page_of(number) && visit.n_under_way == 0 {
            visit.is_in_page = false;
            let Visit { base_ns, is_measured, page_end, .. } = *visit;
            let time_ns = self.now_ns.saturating_sub(base_ns);
            self.tally.page_end(is_measured, time_ns, page_end);
            self.end_step(owner, outcome);
        }
    }

    /// Have a connection ask for the page's next object, or end its part in the page.
    fn next_object(&mut self, member: u32, owner: u32) {
        let visit = &mut self.visits[owner as usize];
        let step = &self.pools[self.progress.plan.arm].target.steps[visit.step as usize];
        let Some(&object) = step.objects.get(visit.n_asked as usize) else {
            if member != owner {
                // The visit keeps it for its next page.
                self.connections[member as usize].next_spare = visit.spare.replace(member);
            }
            return;
        };
        visit.n_asked += 1;
        let Visit { number, is_measured, .. } = *visit;
        let taken = Taken {
            request: object as u32,
            number,
            base_ns: self.now_ns,
            is_measured,
            is_object: true,
        };
        self.issue(member, taken);
    }

    /// Ask for the page's objects on further connections, as far as there are any.
    fn borrow_connections(&mut self, owner: u32, number: u64) {
        let arm = self.progress.plan.arm;
        for _ in 1..self.pools[arm].target.connections_per_page {
            let visit = &self.visits[owner as usize];
            let n_objects = self.pools[arm].target.steps[visit.step as usize].objects.len();
            // A request that fails as it is written may have ended the page already.
            if !visit.is_page_of(number) || visit.n_asked as usize >= n_objects {
                return;
            }
            let is_slow = visit.is_slow;
            let Some(member) = self.spare_connection(owner).or_else(|| {
                let member = self.idle_connection(arm, is_slow)?;
                self.own(member, owner);
                Some(member)
            }) else {
                return;
            };
            self.next_object(member, owner);
        }
    }

    /// A step is over: pause, and go on to the next one, or end the visit.
    fn end_step(&mut self, owner: u32, outcome: Result<(), ErrorKind>) {
        let connection = &mut self.connections[owner as usize];
        let wait_ns = match outcome {
            // There was no connection: knocking at once again would be a busy loop.
            Err(kind) if kind.is_of_connecting() || connection.is_unconnected() => {
                connection.next_backoff_ns()
            }
            _ => 0,
        };
        if outcome.is_err_and(ErrorKind::is_timeout) || self.visits[owner as usize].has_left {
            return self.end_visit(owner, VisitEnd::Left, wait_ns);
        }
        let visit = &mut self.visits[owner as usize];
        if visit.n_left == 0 {
            return self.end_visit(owner, VisitEnd::Finished, wait_ns);
        }
        if !self.progress.is_sending {
            return self.end_visit(owner, VisitEnd::Cut, 0);
        }
        visit.n_left -= 1;
        let number = visit.number;
        let think_ns = self.think_ns(number);
        self.pause(owner, think_ns.max(wait_ns));
    }

    fn think_ns(&self, number: u64) -> u64 {
        match self.spec.users.think {
            Think::None => 0,
            think => think.draw(self.draw(stream::THINK, number)),
        }
    }

    /// A visit is over: its connection is free, or its user begins another one.
    fn end_visit(&mut self, owner: u32, end: VisitEnd, wait_ns: u64) {
        if !self.is_plain {
            let visits = &mut self.tally.visits;
            match end {
                VisitEnd::Finished => visits.finished += 1,
                VisitEnd::Left => visits.left += 1,
                VisitEnd::Cut => visits.cut += 1,
            }
        }
        let plan = self.progress.plan;
        if plan.is_open_loop() {
            let user = self.visits[owner as usize].user;
            self.pools[plan.arm].users[user as usize].is_here = false;
        }
        let connection = &mut self.connections[owner as usize];
        match plan.model {
            Model::Closed if self.progress.is_sending && end != VisitEnd::Cut => {
                let visit = &mut self.visits[owner as usize];
                visit.is_between = true;
                let number = visit.number;
                let think_ns = self.think_ns(number);
                return self.pause(owner, think_ns.max(wait_ns));
            }
            // A visitor who leaves takes the connection along.
            Model::Sessions if connection.phase == Phase::Idle => {
                connection.close(Farewell::Abrupt);
            }
            Model::Closed | Model::Open | Model::Sessions => {}
        }
        // In an open loop the caller sends what waits: not here, or a row of failures would nest.
        self.release(owner);
    }

    /// A connection that the visit borrowed for a page before.
    fn spare_connection(&mut self, owner: u32) -> Option<u32> {
        let visit = &mut self.visits[owner as usize];
        let member = visit.spare?;
        visit.spare = self.connections[member as usize].next_spare.take();
        Some(member)
    }

    /// Give the connections of a visit back.
    fn release(&mut self, owner: u32) {
        while let Some(member) = self.spare_connection(owner) {
            let connection = &mut self.connections[member as usize];
            if self.progress.plan.model == Model::Sessions && connection.phase == Phase::Idle {
                connection.close(Farewell::Abrupt);
            }
            self.park(member);
        }
        self.park(owner);
    }

    /// Go on after a while; at once, if it is none.
    fn pause(&mut self, owner: u32, wait_ns: u64) {
        if wait_ns == 0 {
            return self.resume(owner, self.now_ns);
        }
        let plan = self.progress.plan;
        let is_closed = plan.model == Model::Closed;
        if is_closed && plan.n_requests > 0 && self.has_claimed_all() {
            self.end_sending(self.now_ns);
            return self.cut_short(owner);
        }
        let at_ns = self.now_ns.saturating_add(wait_ns);
        self.timers.push(Reverse(Timer { at_ns, kind: TimerKind::Resume, member: owner, life: 0 }));
    }

    /// The pause before a visit or its next step is over.
    pub(crate) fn resume(&mut self, owner: u32, due_ns: u64) {
        if self.visits[owner as usize].is_between {
            self.begin_visit(owner);
        } else {
            if self.progress.plan.is_open_loop() {
                self.tally.punctuality(due_ns, self.now_ns, None);
            }
            self.next_step(owner, due_ns);
        }
    }

    /// The window is over before a user's pause is.
    pub(crate) fn cut_short(&mut self, owner: u32) {
        if self.visits[owner as usize].is_between {
            self.release(owner);
        } else {
            self.end_visit(owner, VisitEnd::Cut, 0);
        }
    }

    fn count_visit(&mut self, is_new: bool) {
        let visits = &mut self.tally.visits;
        visits.started += 1;
        visits.new_users += u64::from(is_new);
        visits.returning_users += u64::from(!is_new);
    }

    fn own(&mut self, member: u32, owner: u32) {
        self.connections[member as usize].owner = owner;
    }
}

/// An arrival of the schedule.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DueArrival {
    /// Its place in the window's sequence.
    pub(crate) index: u64,
    /// Its number in the run, in which steps are taken in turn.
    pub(crate) number: u64,
    pub(crate) due_ns: u64,
    pub(crate) is_measured: bool,
    pub(crate) is_slow: bool,
}
