//! What the tests of the engine against the oracle share: specs, runs, and the laws that hold
//! for every run whatever happens in it.
#![allow(dead_code, reason = "each test program uses its own part of this")]

use std::time::Duration;

use httpdyno_load::{Arm, Arrival, ErrorKind, LoadSpec, Request, Run, Users, Window, WindowResult};
use httpdyno_oracle::{Oracle, OracleConfig};

/// No run here takes nearly as long; it only keeps a hung engine from hanging the suite.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn oracle() -> Oracle {
    Oracle::start(OracleConfig::default()).unwrap()
}

/// An arm that asks `oracle` for these paths in turn.
pub(crate) fn arm(oracle: &Oracle, paths: &[&str]) -> Arm {
    let requests = paths.iter().map(|path| Request::get("oracle.test", path)).collect();
    Arm::new(oracle.addr().to_string(), requests)
}

/// A closed loop of four kept connections on one thread, one window of so many requests.
pub(crate) fn counted(arm: Arm, n_requests: u64) -> LoadSpec {
    let window = Window { arm: 0, lead_in_s: 0.0, measure_s: f64::INFINITY, n_requests };
    spec(vec![arm], vec![window])
}

/// The same for so many seconds.
pub(crate) fn timed(arm: Arm, measure_s: f64) -> LoadSpec {
    let window = Window { arm: 0, lead_in_s: 0.0, measure_s, n_requests: 0 };
    spec(vec![arm], vec![window])
}

pub(crate) fn spec(arms: Vec<Arm>, windows: Vec<Window>) -> LoadSpec {
    LoadSpec {
        arms,
        windows,
        connections: 4,
        requests_per_connection: 0,
        arrival: Arrival::Closed,
        users: Users::PLAIN,
        connections_per_s: 0.0,
        slow: None,
        timeout_s: 10.0,
        drain_s: 10.0,
        threads: 1,
        cpus: Vec::new(),
        seed: 1,
        spin_s: 0.0,
        n_traced: 0,
    }
}

/// A closed loop for 0, else requests at an even rate.
pub(crate) fn arrival(rate_per_s: f64) -> Arrival {
    if rate_per_s > 0.0 { Arrival::constant(rate_per_s) } else { Arrival::Closed }
}

/// Run to the end; every window obeys the laws.
#[track_caller]
pub(crate) fn run(spec: &LoadSpec) -> Vec<WindowResult> {
    finish(&Run::start(spec, None).unwrap())
}

/// Run a spec of one window.
#[track_caller]
pub(crate) fn run_one(spec: &LoadSpec) -> WindowResult {
    let mut results = run(spec);
    assert_eq!(results.len(), 1);
    results.remove(0)
}

#[track_caller]
pub(crate) fn finish(run: &Run) -> Vec<WindowResult> {
    assert!(run.wait(PATIENCE).unwrap(), "the run did not end");
    let results: Vec<WindowResult> = run.results().iter().map(|r| (**r).clone()).collect();
    for result in &results {
        obeys_the_laws(result);
    }
    results
}

/// What holds for every window.
#[track_caller]
pub(crate) fn obeys_the_laws(result: &WindowResult) {
    let of = |kind| result.errors.of(kind);
    assert_eq!(result.offered, result.completed + result.errors.total(), "{}", brief(result));
    let whole = result.completed + of(ErrorKind::WrongStatus) + of(ErrorKind::WrongLength);
    // A whole answer that came too late has a status too.
    let seen = result.statuses.values().sum::<u64>();
    assert!((whole..=whole + of(ErrorKind::Timeout)).contains(&seen), "{}", brief(result));
    assert_eq!(result.series.completed.iter().sum::<u64>(), result.completed, "{}", brief(result));
    assert_eq!(
        result.series.errors.iter().sum::<u64>(),
        result.errors.total(),
        "{}",
        brief(result)
    );
    assert!(result.measured_offered <= result.offered);
    assert!(result.measured_completed <= result.completed);
    assert!(result.measured_errors <= result.errors.total());
    let censored =
        [ErrorKind::Timeout, ErrorKind::ConnectTimeout, ErrorKind::Unfinished, ErrorKind::Unsent];
    let n_censored = censored.map(of).iter().sum::<u64>();
    assert!(result.latency.count <= result.completed + n_censored, "{}", brief(result));
    let instants =
        [result.opened_ns, result.measure_start_ns, result.measure_end_ns, result.closed_ns];
    assert!(instants.is_sorted(), "{instants:?}");
}

/// A result without its distributions and series, for messages.
pub(crate) fn brief(result: &WindowResult) -> String {
    format!(
        "window {} of arm {}: {} offered, {} completed, {:?}, {} connects, {:?}, {:?}",
        result.index,
        result.arm,
        result.offered,
        result.completed,
        errors(result),
        result.connects,
        result.statuses,
        result.evidence,
    )
}

/// Try what needs the machine's attention up to three times: one that is busy elsewhere may
/// spoil a try, an engine that is wrong spoils all.
#[track_caller]
pub(crate) fn within_three_tries(mut attempt: impl FnMut() -> Result<(), String>) {
    let mut reasons = Vec::new();
    for _ in 0..3 {
        match attempt() {
            Ok(()) => return,
            Err(reason) => reasons.push(reason),
        }
    }
    panic!("three times: {reasons:#?}");
}

/// The errors, but for none of a kind, by name.
pub(crate) fn errors(result: &WindowResult) -> Vec<(&'static str, u64)> {
    result.errors.iter().map(|(kind, count)| (kind.name(), count)).collect()
}
