//! From when to when users send: the edges of a window, and the end of a number of requests.

use std::sync::atomic::Ordering;

use crate::drive::{
    clock::{Clock, Wake},
    connections::Connections,
    context::Context,
    ids::{Id, UserId},
    platform::Platform,
};
use crate::schedule::{Model, Plan};

use super::users::ThreadUsers;

/// So long may pass until a thread sees what others did: that one of them sent the last request,
/// or that their users have passed the end of the measured part.
const LOOK_NS: u64 = 10_000_000;

impl ThreadUsers {
    /// Send what there is to send now, and see whether that was all.
    #[inline]
    pub(in crate::drive) fn send<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
    ) {
        let plan = *cx.clock.progress.plan();
        let now_ns = cx.clock.now_ns;
        if now_ns < plan.opened_ns {
            return;
        }
        if plan.is_credited() && now_ns >= plan.measure_end_ns {
            return self.go_on_for_the_others(cx, connections);
        }
        if now_ns >= plan.measure_end_ns {
            // What was due before the end is sent where a connection is idle, however late: that
            // this thread woke after the end is its own lateness, and no error of the server.
            self.send_due(cx, connections);
            self.drop_due(cx, plan.measure_end_ns - 1);
            self.end_sending(cx, connections, plan.measure_end_ns);
            return;
        }
        if plan.is_open_loop() {
            self.send_due(cx, connections);
            let is_at_rest = || connections.is_at_rest() && cx.clock.is_at_rest();
            let is_all_sent = plan.model == Model::Open || is_at_rest();
            let is_over = cx.clock.progress.is_schedule_over() && plan.has_open_end();
            if is_over && is_all_sent && now_ns >= cx.clock.progress.closes_ns() {
                let now_ns = cx.clock.now_ns;
                self.end_sending(cx, connections, now_ns);
            }
        } else if !cx.clock.progress.has_begun() {
            cx.clock.progress.begin();
            if plan.is_entrance {
                self.admit(cx, connections);
            } else {
                self.set_all_to_work(cx, connections);
            }
        }
    }

    /// Have all users begin, one after the other if they are to start at a rate (closed loop).
    fn set_all_to_work<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
    ) {
        let start_per_s = self.spec.connections_per_s;
        for user in (0..self.role.n_connections).map(UserId::new) {
            cx.clock.tick();
            let progress = &cx.clock.progress;
            if start_per_s > 0.0 {
                let offset_ns = self.global_number(user) as f64 * 1e9 / start_per_s;
                start_later(&mut cx.clock, user, offset_ns);
            } else if progress.plan().spread_ns > 0 {
                let offset_ns = self.spread_offset_ns(progress.plan(), user);
                start_later(&mut cx.clock, user, offset_ns);
            } else if progress.is_sending() {
                self.set_to_work(cx, connections, user);
                self.settle(cx, connections);
            }
        }
    }

    /// Nothing new is sent from now on.
    pub(in crate::drive) fn end_sending<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
        at_ns: u64,
    ) {
        let now_ns = cx.clock.now_ns;
        cx.clock.progress.end_sending(now_ns, at_ns);
        self.cut_pauses_short(cx, connections);
    }

    /// Nothing new is sent: the pauses of users end, and nobody starts any more.
    fn cut_pauses_short<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
    ) {
        let mut timers = cx.clock.take_timers();
        for (at_ns, wake) in timers.drain() {
            match wake {
                Wake::Resume(visit) => self.cut_short(cx, connections, visit),
                Wake::Start(_) => {}
                Wake::Refusal(_) | Wake::Connect(_) | Wake::Line(_) => cx.clock.set(at_ns, wake),
            }
        }
        cx.clock.keep_room(timers);
    }

    /// Nobody has to wait for the end of a pause to see that all requests were sent, also where
    /// another thread sent the last one.
    #[inline]
    pub(in crate::drive) fn end_if_all_are_claimed<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
    ) {
        if self.looks_for_claims(&cx.clock) && self.has_claimed_all(cx.clock.progress.plan()) {
            let now_ns = cx.clock.now_ns;
            self.end_sending(cx, connections, now_ns);
        }
    }

    /// Others may claim the last request while everybody pauses here.
    fn looks_for_claims<P: Platform>(&self, clock: &Clock<P>) -> bool {
        clock.progress.plan().n_requests > 0
            && self.role.n_threads > 1
            && !clock.progress.plan().is_open_loop()
            && !clock.is_at_rest()
    }

    pub(super) fn has_claimed_all(&self, plan: &Plan) -> bool {
        self.shared.claimed.load(Ordering::Relaxed) >= plan.n_requests
    }

    /// When to look what other threads did; `u64::MAX`: it does not matter.
    #[inline]
    pub(in crate::drive) fn look_ns<P: Platform>(&self, clock: &Clock<P>) -> u64 {
        let progress = &clock.progress;
        let waits_for_others = progress.plan().is_credited()
            && clock.now_ns >= progress.plan().measure_end_ns
            && self.role.n_threads > 1;
        let looks = progress.is_sending() && (waits_for_others || self.looks_for_claims(clock));
        if looks { clock.now_ns + LOOK_NS } else { u64::MAX }
    }
}

/// Have a user begin so long after the window opened.
fn start_later<P: Platform>(clock: &mut Clock<P>, user: UserId, offset_ns: f64) {
    let at_ns = clock.progress.plan().opened_ns.saturating_add(offset_ns as u64);
    clock.set(at_ns, Wake::Start(user));
}
