//! What the tests of the engine against the oracle share: specs, runs, and the laws that hold
//! for every run whatever happens in it.
#![allow(dead_code, reason = "each test program uses its own part of this")]

pub(crate) mod affinity;
pub(crate) mod placed;
mod tries;
mod used;
mod witness;

use std::time::Duration;

use httpdyno_load::{
    Arm, Arrival, ErrorKind, LoadSpec, Part, Request, Run, Users, Window, WindowResult,
};
use httpdyno_oracle::{Oracle, OracleConfig};
#[allow(unused_imports, reason = "each test program uses its own part of this")]
pub(crate) use tries::{Failure, Hold, ensure, skipped, start, tried, unless_disturbed};
#[allow(unused_imports, reason = "each test program uses its own part of this")]
pub(crate) use witness::{Seen, Witness};

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
    let window =
        Window { arm: 0, lead_in_s: 0.0, measure_s: f64::INFINITY, n_requests, credit: None };
    spec(vec![arm], vec![window])
}

/// The same for so many seconds.
pub(crate) fn timed(arm: Arm, measure_s: f64) -> LoadSpec {
    let window = Window { arm: 0, lead_in_s: 0.0, measure_s, n_requests: 0, credit: None };
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
    finish(&start(spec, None).unwrap())
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
    measures_agree(result);
}

/// What is measured in several ways comes to the same, exactly.
#[track_caller]
fn measures_agree(result: &WindowResult) {
    let brief = || brief(result);
    let phases = result.phases.each();
    let n_completed = result.latency.count - result.censored.count;
    assert!(phases.iter().all(|(_, phase)| phase.count <= n_completed), "{}", brief());
    let in_phases: u128 = phases.iter().map(|(_, phase)| phase.sum_ns).sum();
    assert_eq!(in_phases + result.censored.sum_ns, result.latency.sum_ns, "{}", brief());
    assert!(result.censored.max_ns <= result.latency.max_ns, "{}", brief());
    assert!(result.evidence.little_residual_ratio <= 0.02, "{}", brief());

    let n_failed = result.measured_offered - n_completed;
    for parts in [Some(&result.by_request[..]), result.by_population.as_ref().map(|p| &p[..])] {
        let Some(parts) = parts else { continue };
        let sum = |of: fn(&Part) -> u64| parts.iter().map(of).sum::<u64>();
        assert_eq!(sum(|part| part.offered), result.measured_offered, "{}", brief());
        assert_eq!(sum(|part| part.completed), n_completed, "{}", brief());
        assert_eq!(sum(|part| part.errors.total()), n_failed, "{}", brief());
        assert_eq!(sum(|part| part.errors.total()), result.measured_errors, "{}", brief());
        let n_latencies = |part: &Part| part.latency.as_ref().map(|latency| latency.count);
        if let Some(counts) = parts.iter().map(n_latencies).collect::<Option<Vec<_>>>() {
            assert_eq!(counts.iter().sum::<u64>(), result.latency.count, "{}", brief());
        }
    }

    let batches = &result.batches;
    assert!(batches.len() <= 256, "{} intervals", batches.len());
    assert_eq!(batches.offered.iter().sum::<u64>(), result.measured_offered, "{}", brief());
    assert_eq!(batches.completed.iter().sum::<u64>(), result.measured_completed, "{}", brief());
    assert!(batches.errors.iter().sum::<u64>() <= result.errors.total(), "{}", brief());
    for interval in 0..batches.len() {
        let n_ended = batches.completed[interval] + batches.errors[interval];
        assert!(batches.latency(interval).count <= n_ended, "{}", brief());
    }
    let pages = &result.pages;
    assert_eq!(pages.offered, pages.completed + pages.failed, "{}", brief());
    let n_given_up = pages.censored.count;
    assert_eq!(pages.completed + n_given_up, pages.time.count, "{}", brief());
    assert!(n_given_up <= pages.failed, "{}", brief());
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
        result.sockets.connects,
        result.statuses,
        result.evidence,
    )
}

/// The errors, but for none of a kind, by name.
pub(crate) fn errors(result: &WindowResult) -> Vec<(&'static str, u64)> {
    result.errors.iter().map(|(kind, count)| (kind.name(), count)).collect()
}

/// All `n` ended for want of an answer, none in another way: that holds on any machine. That it
/// was at this point needs one that is there: a client that is not let run for so long as it is
/// patient gives up at an earlier one.
#[track_caller]
pub(crate) fn all_timed_out(
    result: &WindowResult,
    n: u64,
    kind: ErrorKind,
    case: &str,
) -> Result<(), String> {
    let of = |kind| result.errors.of(kind);
    let timeouts = of(ErrorKind::Timeout) + of(ErrorKind::ConnectTimeout);
    assert_eq!((timeouts, result.completed), (n, 0), "{case}: {}", brief(result));
    assert_eq!(result.errors.iter().map(|(_, count)| count).sum::<u64>(), n, "{case}");
    ensure(of(kind) == n, || format!("{case}: {}", brief(result)))
}
