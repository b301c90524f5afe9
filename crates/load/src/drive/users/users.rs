//! All users of a thread. They decide what comes after an exchange has ended, and call on the
//! connections and the clock for it; neither ever calls on them.

use std::ops::Range;
use std::sync::Arc;

use crate::count::Tally;
use crate::drive::{
    clock::{Progress, Share},
    connections::{Connections, Order},
    context::Context,
    ids::{ConnectionId, Id, Table, UserId, VisitId},
    platform::Platform,
    role::Role,
    shared::Shared,
};
use crate::input::{Arm, Arrival, Length, LoadSpec, Step, Think};
use crate::request::{Rendered, Target};
use crate::schedule::{
    Mix, Model, Plan,
    random::{arm_seed, hash, stream, unit},
};

use super::visit::{User, Visit};

/// The users of an arm.
#[derive(Debug)]
pub(in crate::drive) struct ArmUsers {
    pub(super) steps: Arc<[Step]>,
    /// So many of them are the mix; the others are the first ones.
    pub(super) n_mixed: usize,
    /// Visits take them in their order.
    pub(super) is_in_order: bool,
    pub(super) mix: Arc<Mix>,
    pub(super) connections_per_page: usize,
    /// Of an open loop: the first `n_returning` are those who may return, then comes one for each
    /// connection.
    pub(super) users: Table<UserId, User>,
    n_returning: usize,
    /// The connections to the arm.
    pub(super) connections: Range<usize>,
    /// Where the last window left the arrivals of a schedule.
    mix_from: u64,
    /// By which its users draw.
    seed: u64,
}

/// The users of a thread, on all arms.
pub(in crate::drive) struct ThreadUsers {
    pub(super) spec: Arc<LoadSpec>,
    pub(super) role: Role,
    pub(super) shared: Arc<Shared>,
    /// Users have no memory and visits one step: nothing is drawn for them, and none is counted.
    pub(super) is_plain: bool,
    pub(super) arms: Vec<ArmUsers>,
    /// The present window's arm's.
    pub(super) seed: u64,
    pub(super) visits: Table<VisitId, Visit>,
    /// Of a connection that a visit keeps for a page to come, the next such one.
    pub(super) next_spare: Table<ConnectionId, Option<ConnectionId>>,
    /// Users that all threads begin with; new ones are numbered after them.
    n_first_users: u64,
    /// Users who do their first steps, and those who have begun with them.
    pub(super) n_entering: usize,
    pub(super) n_entered: usize,
}

impl ThreadUsers {
    /// Of each target so many places are for its connections.
    pub(in crate::drive) fn new(
        spec: Arc<LoadSpec>,
        role: Role,
        shared: Arc<Shared>,
        targets: &[(Target, usize)],
    ) -> Self {
        let (n_users, n_returning) = (n_users(&spec, role), n_returning(&spec, role));
        let last_thread = Role::of(&spec, role.n_threads - 1, role.n_threads);
        let n_first_users = Self::first_numbers(&spec, last_thread).end;
        let mut first = 0;
        let arm_users = |((target, n_places), arm): (&(Target, usize), &Arm)| {
            first += n_places;
            ArmUsers {
                steps: Arc::clone(&target.steps),
                n_mixed: arm.steps.len(),
                is_in_order: target.is_in_order,
                mix: Arc::clone(&target.mix),
                connections_per_page: target.connections_per_page,
                users: Table::of((0..n_users).map(|_| User::default())),
                n_returning,
                connections: first - n_places..first,
                mix_from: 0,
                seed: arm_seed(spec.seed, arm.stream),
            }
        };
        let arms: Vec<_> = targets.iter().zip(&spec.arms).map(arm_users).collect();
        Self {
            is_plain: is_plain(&spec, targets),
            seed: spec.seed,
            spec,
            role,
            shared,
            arms,
            visits: Table::of((0..first).map(|_| Visit::default())),
            next_spare: Table::of((0..first).map(|_| None)),
            n_first_users,
            n_entering: 0,
            n_entered: 0,
        }
    }

    /// The numbers that the users of each arm begin with.
    pub(in crate::drive) fn first_numbers(spec: &LoadSpec, role: Role) -> Range<u64> {
        let before = |thread: usize| -> u64 {
            let others = (0..thread).map(|other| Role::of(spec, other, role.n_threads));
            others.map(|other| n_users(spec, other) as u64).sum()
        };
        before(role.thread)..before(role.thread + 1)
    }

    /// The thread whose users these are.
    #[inline]
    pub(in crate::drive) const fn thread(&self) -> usize {
        self.role.thread
    }

    /// A window opens: where it is, at its beginning.
    pub(in crate::drive) fn open_window(&mut self, plan: Plan) -> Progress {
        let arm_users = &self.arms[plan.arm];
        self.seed = arm_users.seed;
        (self.n_entering, self.n_entered) = (0, 0);
        let (thread, n_threads) = (self.role.thread as u64, self.role.n_threads as u64);
        let share = Share { thread, n_threads, period: arm_users.n_mixed as u64 };
        Progress::new(plan, &self.spec.arrival, self.seed, share, arm_users.mix_from)
    }

    /// By which the present window's requests draw.
    pub(in crate::drive) const fn seed(&self) -> u64 {
        self.seed
    }

    /// The window is over.
    pub(in crate::drive) fn close_window<P: Platform>(&mut self, cx: &mut Context<P>) {
        let plan = *cx.clock.progress.plan();
        if plan.is_credited() {
            self.close_cycles(cx);
        }
        self.arms[plan.arm].mix_from = cx.clock.progress.mix_until();
    }

    /// Go on after all exchanges that have ended.
    #[inline]
    pub(in crate::drive) fn settle<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
    ) {
        while let Some(finished) = connections.next_finished() {
            self.go_on(cx, connections, finished);
        }
    }

    /// The same; after a batch of them each begins at an instant of its own.
    #[inline]
    pub(in crate::drive) fn settle_batch<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
    ) {
        while let Some(finished) = connections.next_finished() {
            cx.clock.tick();
            self.go_on(cx, connections, finished);
        }
    }

    /// Have a connection ask for something for a visit.
    #[inline]
    pub(super) fn issue<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
        connection: ConnectionId,
        order: Order,
    ) {
        self.visits[order.visit].n_under_way += 1;
        connections.issue(cx, connection, order);
    }

    /// Who arrives: a new user, who takes the place of an old one, or one who was here before.
    pub(super) fn choose_user<P: Platform>(
        &mut self,
        cx: &mut Context<P>,
        connections: &mut Connections<P>,
        first: ConnectionId,
        number: u64,
    ) -> UserId {
        let plan = cx.clock.progress.plan();
        if self.is_plain && plan.model == Model::Open {
            return UserId::default();
        }
        let bits = self.draw(stream::RETURNING, number);
        let is_new = unit(self.draw(stream::IS_NEW, number)) < self.spec.users.new_ratio;
        let arm_users = &mut self.arms[plan.arm];
        let place_of_connection = first.index() - arm_users.connections.start;
        // Nobody makes two visits at a time: instead of who is here already comes somebody else,
        // who has a place of its own for each connection.
        let drawn = UserId::new((bits % arm_users.n_returning as u64) as usize);
        let other = UserId::new(arm_users.n_returning + place_of_connection);
        let place = if arm_users.users[drawn].is_here { other } else { drawn };
        let user = &mut arm_users.users[place];
        user.is_here = true;
        let is_new = is_new || !user.is_known;
        user.is_known = true;
        if is_new {
            self.renew(connections, plan.arm, place);
        }
        count_visit(&mut cx.tally, is_new);
        place
    }

    /// Somebody new takes a user's place.
    pub(super) fn renew<P: Platform>(
        &mut self,
        connections: &mut Connections<P>,
        arm: usize,
        place: UserId,
    ) {
        connections.renew_user(arm, place, self.n_first_users + self.shared.number_user());
    }

    /// Random bits of a stream for the thing of this number.
    #[inline]
    pub(super) fn draw(&self, stream: u64, number: u64) -> u64 {
        hash(self.seed, stream, number)
    }

    /// The number over all threads of a thread's user.
    pub(super) fn global_number(&self, user: UserId) -> u64 {
        self.role.number(user.index() as u64)
    }
}

pub(super) fn count_visit(tally: &mut Tally, is_new: bool) {
    let visits = &mut tally.visits;
    visits.started += 1;
    visits.new_users += u64::from(is_new);
    visits.returning_users += u64::from(!is_new);
}

/// Its part of those who may return; every thread has one.
fn n_returning(spec: &LoadSpec, role: Role) -> usize {
    role.part_of(spec.users.n_returning).max(1)
}

fn n_users(spec: &LoadSpec, role: Role) -> usize {
    match spec.arrival {
        Arrival::Closed => role.n_connections,
        _ => n_returning(spec, role) + role.n_connections,
    }
}

/// Nothing has to be drawn or counted for users.
fn is_plain(spec: &LoadSpec, targets: &[(Target, usize)]) -> bool {
    let users = &spec.users;
    !users.has_cookies
        && users.new_ratio == 0.0
        && users.visit == Length::Fixed(1)
        && users.think == Think::None
        && !matches!(spec.arrival, Arrival::Sessions { .. })
        && targets.iter().all(|(target, _)| !target.is_in_order)
        && targets.iter().flat_map(|(target, _)| &*target.requests).all(Rendered::is_fixed)
}
