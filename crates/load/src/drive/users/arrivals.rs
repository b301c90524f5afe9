//! Who comes by the schedule: each arrival takes a free connection when it is due, or waits in the
//! schedule for one.

use crate::count::{Ended, ErrorKind, PageEnd};
use crate::drive::{
    clock::Clock,
    connections::Connections,
    context::Context,
    ids::{ConnectionId, VisitId},
    platform::Platform,
};
use crate::input::{Arrival, Slow};
use crate::schedule::{
    Model,
    random::{stream, unit},
};

use super::steps::BegunStep;
use super::users::ThreadUsers;
use super::visit::Visit;

/// An arrival of the schedule.
#[derive(Debug, Clone, Copy)]
struct DueArrival {
    /// Its place in the window's sequence.
    index: u64,
    /// Its number in the run, in which steps are taken in turn.
    number: u64,
    due_ns: u64,
    is_measured: bool,
    is_slow: bool,
}

impl ThreadUsers {
    /// Send the requests that are due, as far as connections are idle (open loop).
    #[inline]
    pub(in crate::drive) fn send_due<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
    ) {
        let arm = cx.clock.progress.plan().arm;
        let now_ns = cx.clock.now_ns;
        while cx.clock.progress.next_due_ns() <= now_ns {
            let arrival = self.next_arrival(&cx.clock);
            let Some(connection) = connections.take_idle(arm, arrival.is_slow) else {
                cx.clock.progress.block(now_ns);
                return;
            };
            let blocked_since_ns = cx.clock.progress.blocked_since_ns();
            cx.clock.progress.advance();
            cx.clock.tick();
            cx.tally.punctuality.take_up(arrival.due_ns, cx.clock.now_ns, blocked_since_ns);
            cx.clock.last_sent_ns = cx.clock.now_ns;
            self.arrive(cx, connections, connection, &arrival);
            // One that failed as it was sent has freed its connection.
            self.settle(cx, connections);
        }
        cx.clock.progress.unblock();
    }

    /// The schedule's next arrival.
    fn next_arrival<P: Platform>(&self, clock: &Clock<P>) -> DueArrival {
        let progress = &clock.progress;
        let number = progress.arrival_number();
        let is_slow = |slow: &Slow| unit(self.draw(stream::IS_SLOW, number)) < slow.ratio;
        DueArrival {
            index: progress.arrival_index(),
            number,
            due_ns: progress.next_due_ns(),
            is_measured: progress.is_next_measured(),
            is_slow: self.spec.slow.as_ref().is_some_and(is_slow),
        }
    }

    /// A user arrives by the schedule, and has a connection.
    fn arrive<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
        first: ConnectionId,
        arrival: &DueArrival,
    ) {
        let user = self.choose_user(cx, connections, first, arrival.number);
        let id = VisitId::on(first);
        let is_slow = arrival.is_slow;
        if cx.clock.progress.plan().model == Model::Sessions {
            let bits = self.draw(stream::VISIT_LENGTH, arrival.number);
            let n_left = self.spec.users.visit.draw(bits) - 1;
            self.visits[id] = Visit { user, n_left, is_slow, ..Visit::default() };
            self.next_step(cx, connections, id, arrival.due_ns);
        } else {
            self.visits[id] = Visit { user, is_slow, ..Visit::default() };
            let DueArrival { number, due_ns: base_ns, is_measured, .. } = *arrival;
            let step = self.step_of(&cx.clock, arrival);
            let begun = BegunStep { step, number, base_ns, is_measured };
            self.begin_step(cx, connections, id, begun);
        }
    }

    fn step_of<P: Platform>(&self, clock: &Clock<P>, arrival: &DueArrival) -> u32 {
        if let Arrival::Replay { steps, .. } = &self.spec.arrival {
            return steps[arrival.index as usize];
        }
        self.arms[clock.progress.plan().arm].mix.pick(arrival.number, self.seed)
    }

    /// End the arrivals that wait for longer than patience.
    #[inline]
    pub(in crate::drive) fn expire_unsent<P: Platform>(
        &self,
        cx: &mut Context<P>,
        timeout_ns: u64,
    ) {
        if !cx.clock.progress.is_sending() {
            return;
        }
        while cx.clock.progress.next_due_ns().saturating_add(timeout_ns) <= cx.clock.now_ns {
            let arrival = self.next_arrival(&cx.clock);
            cx.clock.progress.advance();
            self.end_unsent(cx, &arrival, ErrorKind::Timeout);
        }
    }

    /// End the arrivals that are due by `until_ns` and unsent.
    pub(in crate::drive) fn drop_due<P: Platform>(&self, cx: &mut Context<P>, until_ns: u64) {
        let is_due = |due_ns: u64| due_ns <= until_ns && due_ns != u64::MAX;
        while is_due(cx.clock.progress.next_due_ns()) {
            let arrival = self.next_arrival(&cx.clock);
            cx.clock.progress.advance();
            self.end_unsent(cx, &arrival, ErrorKind::Unsent);
        }
    }

    /// A due arrival ends without having been sent.
    fn end_unsent<P: Platform>(&self, cx: &mut Context<P>, arrival: &DueArrival, kind: ErrorKind) {
        let plan = cx.clock.progress.plan();
        // What it would have asked for first: a visit draws its steps when it begins.
        let step = match plan.model {
            Model::Sessions => 0,
            _ => self.step_of(&cx.clock, arrival),
        };
        let step = &self.arms[plan.arm].steps[step as usize];
        let request = step.request as u32;
        let now_ns = cx.clock.now_ns;
        cx.tally.offer(arrival.is_measured, request, arrival.is_slow);
        if !step.objects.is_empty() {
            cx.tally.page_offer(arrival.is_measured);
            let age_ns = now_ns.saturating_sub(arrival.due_ns);
            cx.tally.page_end(arrival.is_measured, age_ns, PageEnd::GivenUp);
        }
        let ended = Ended {
            base_ns: arrival.due_ns,
            issued_ns: None,
            connected_ns: None,
            secured_ns: None,
            written_ns: None,
            first_byte_ns: None,
            end_ns: now_ns,
            is_measured: arrival.is_measured,
            is_object: false,
            request,
            is_slow: arrival.is_slow,
            due_index: arrival.number,
        };
        if kind.is_timeout() {
            let is_blocked = cx.clock.progress.blocked_since_ns().is_some();
            cx.tally.punctuality.expire(is_blocked);
        }
        cx.tally.end(plan, &ended, Err(kind));
    }
}
