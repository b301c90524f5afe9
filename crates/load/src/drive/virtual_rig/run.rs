//! A thread of the engine, run in a virtual world.

use std::sync::Arc;

use super::script::MS;
use super::world::{Virtual, World};
use crate::count::{Capacity, ErrorKind, LiveBoard, Tally, Trace, Tracer};
use crate::drive::event_loop::Driver;
use crate::drive::platform::Time;
use crate::drive::role::Role;
use crate::drive::shared::Shared;
use crate::input::{LoadSpec, Window, check, nanoseconds};
use crate::request::Target;
use crate::schedule::{Model, Plan};
use crate::sys::Waker;

/// What a window came to.
pub(in crate::drive) struct Outcome {
    pub(in crate::drive) plan: Plan,
    pub(in crate::drive) tally: Box<Tally>,
    /// Sockets that are open at its end.
    pub(in crate::drive) n_open: usize,
}

impl Outcome {
    /// The instants of the measured requests, as far as they were to be traced.
    pub(in crate::drive) fn trace(&self) -> Trace {
        Tracer::merged([&self.tally.tracer].into_iter()).unwrap()
    }

    /// How long after the window's opening something was.
    pub(in crate::drive) fn since_opening(&self, at_ns: u64) -> u64 {
        at_ns - self.plan.opened_ns
    }

    /// The latencies of the traced requests, in the order in which they were due.
    pub(in crate::drive) fn latencies_ns(&self) -> Vec<u64> {
        let trace = self.trace();
        trace.end_ns.iter().zip(&trace.due_ns).map(|(end_ns, due_ns)| end_ns - due_ns).collect()
    }

    /// The distribution is that of the instants of the requests, one by one.
    #[track_caller]
    fn tells_the_latencies(&self) {
        let (trace, told) = (self.trace(), self.tally.latency.distribution());
        assert_eq!(trace.due_ns.len() as u64, self.tally.measured_offered, "all are traced");
        let has_latency = |&outcome: &u8| match outcome {
            0 => true,
            code => ErrorKind::ALL[usize::from(code) - 1].is_censored(),
        };
        let each = self.latencies_ns().into_iter().zip(&trace.outcome);
        let with_latency: Vec<u64> =
            each.filter(|(_, outcome)| has_latency(outcome)).map(|(age_ns, _)| age_ns).collect();
        let sum_ns = with_latency.iter().map(|&age_ns| u128::from(age_ns)).sum::<u128>();
        assert_eq!((told.count, told.sum_ns), (with_latency.len() as u64, sum_ns));
    }

    /// What holds for every window.
    #[track_caller]
    fn obeys_the_laws(&self) {
        let tally = &self.tally;
        assert_eq!(tally.offered, tally.completed + tally.errors.total());
        assert_eq!(tally.occupancy.in_flight.level(), 0, "nothing is left on a connection");
        self.tells_the_latencies();
        assert_eq!(
            tally.occupancy.in_flight.integral_ns(),
            tally.on_connections_ns(),
            "Little's law"
        );
    }
}

/// Run a spec's windows one after the other on one thread of such a world.
#[track_caller]
pub(in crate::drive) fn run_all(world: &World, spec: &LoadSpec) -> Vec<Outcome> {
    run_thread(world, &LoadSpec { threads: 1, ..spec.clone() }, 0, None)
}

/// Run one of a spec's threads; stop it so long after its first window has opened.
#[track_caller]
pub(in crate::drive) fn run_thread(
    world: &World,
    spec: &LoadSpec,
    thread: usize,
    stop_after_ns: Option<u64>,
) -> Vec<Outcome> {
    check(spec).unwrap();
    let spec = Arc::new(LoadSpec { n_traced: 10_000, ..spec.clone() });
    assert_eq!(spec.connections % spec.threads, 0, "each thread has as many");
    let role = Role::of(&spec, thread, spec.threads);
    let targets = Target::all(&spec).unwrap();
    let shared = Arc::new(Shared::new(LiveBoard::new(spec.threads), spec.arms.len(), spec.threads));
    let waker = Arc::new(Waker::new().unwrap());
    let (platform, hub) = ((world.clone(), world.clone()), (Arc::clone(&shared), waker));
    let mut driver = Driver::<Virtual>::new(role, Arc::clone(&spec), &targets, platform, hub);
    let capacity = Capacity {
        n_requests: targets.iter().map(|target| target.requests.len()).max().unwrap(),
        has_slow: spec.slow.is_some(),
        n_traced: spec.n_traced,
        n_connections: role.n_connections,
    };
    // An arm's first steps come before its first window, as for the conductor.
    let is_first = |index: usize| {
        let arm = spec.windows[index].arm;
        !spec.arms[arm].first.is_empty() && spec.windows[..index].iter().all(|w| w.arm != arm)
    };
    let parts = (0..spec.windows.len()).flat_map(|index| {
        is_first(index).then_some((index, true)).into_iter().chain([(index, false)])
    });
    let run = |(index, is_entrance): (usize, bool)| {
        let opened_ns = world.now_ns() + MS;
        let (window, drain_ns) = (&spec.windows[index], nanoseconds(spec.drain_s));
        let plan = if is_entrance {
            Plan::entrance(window.arm, opened_ns, drain_ns)
        } else {
            Plan::of(window, index, opened_ns, Model::of(&spec.arrival), drain_ns)
        };
        if let Some(after_ns) = stop_after_ns {
            world.stop_at(opened_ns + after_ns, &shared);
        }
        shared.open_window();
        let mut tally = Tally::new(&capacity);
        driver.run(plan, &mut tally).unwrap();
        let outcome = Outcome { plan, tally, n_open: world.n_open() };
        outcome.obeys_the_laws();
        outcome
    };
    parts.map(run).collect()
}

/// Run a spec of one window.
#[track_caller]
pub(in crate::drive) fn run_one(world: &World, spec: &LoadSpec) -> Outcome {
    assert_eq!(spec.windows.len(), 1);
    run_all(world, spec).remove(0)
}

pub(in crate::drive) fn window(lead_in_s: f64, measure_s: f64) -> Window {
    Window { arm: 0, lead_in_s, measure_s, n_requests: 0, credit: None }
}

pub(in crate::drive) fn counted(n_requests: u64) -> Window {
    Window { n_requests, ..window(0.0, f64::INFINITY) }
}
