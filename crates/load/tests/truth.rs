//! Latencies of the open loop are those that the server's own log and the schedule give, also
//! when the server stalls; and the rate is the rate.
#![allow(clippy::unwrap_used, reason = "a test may panic, its setup too")]

mod rig;

use std::sync::Mutex;
use std::time::{Duration, Instant};

use httpdyno_load::{Arm, LoadSpec, Request, WindowResult, start};
use httpdyno_oracle::{Oracle, OracleConfig, PeriodicStall, Service};
use rig::{PATIENCE, arm, counted, errors, finish, run_one, timed};

/// These tests look at time: they do not share the machine with each other.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// An arm whose every request has a name of its own, so that the log tells them apart.
fn named(oracle: &Oracle, n: usize) -> Arm {
    let requests = (0..n).map(|i| Request::get("oracle.test", &format!("/?id={i}"))).collect();
    Arm { address: oracle.addr().to_string(), requests }
}

/// What the latencies were: answered by the server's log, minus due by the schedule; sorted.
fn true_latencies_ns(oracle: &Oracle, rate_per_s: f64, result: &WindowResult) -> Vec<u64> {
    let log = oracle.log();
    assert_eq!(log.dropped, 0);
    let mut latencies: Vec<u64> = log
        .arrivals
        .iter()
        .map(|arrival| {
            let index: f64 = arrival.path.strip_prefix("/?id=").unwrap().parse().unwrap();
            let due_ns = result.opened_ns + (index / rate_per_s * 1e9) as u64;
            arrival.answered_ns.unwrap().checked_sub(due_ns).expect("answered before it was due")
        })
        .collect();
    latencies.sort_unstable();
    latencies
}

/// The engine's percentiles are the true ones, within 5 ms or 5 %: what the way back through the
/// kernel and a busy machine may add, and a hundredth of what omission would take away.
#[track_caller]
fn tells_the_truth(oracle: &Oracle, rate_per_s: f64, result: &WindowResult, case: &str) {
    let truth = true_latencies_ns(oracle, rate_per_s, result);
    assert_eq!(result.latency.count, truth.len() as u64, "{case}");
    for quantile in [0.5, 0.9, 0.95, 0.99] {
        let rank = ((quantile * truth.len() as f64).ceil() as usize).max(1);
        let true_ms = truth[rank - 1] as f64 / 1e6;
        let told_ms = result.latency.quantile_ns(quantile) as f64 / 1e6;
        let slack_ms = (true_ms * 0.05).max(5.0);
        assert!(
            (told_ms - true_ms).abs() <= slack_ms,
            "{case}: p{} is {true_ms:.2} ms by the log, {told_ms:.2} ms by the engine",
            quantile * 100.0
        );
    }
}

/// Load at 500/s for 750 requests, and disturb the server after the first 200.
fn disturbed(oracle: &Oracle, connections: usize, disturb: impl Fn(&Oracle)) -> WindowResult {
    let spec = LoadSpec { rate_per_s: 500.0, connections, ..counted(named(oracle, 750), 750) };
    let run = start(spec, None).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while oracle.stats().requests < 200 {
        assert!(Instant::now() < deadline, "200 requests never came");
        assert!(!run.wait(Duration::from_millis(1)).unwrap(), "the run ended early");
    }
    disturb(oracle);
    finish(&run).remove(0)
}

#[test]
fn a_stall_is_in_the_latencies_and_the_rate_is_not_lowered() {
    let _alone = alone();
    let pause = Duration::from_millis(300);
    for connections in [4, 300] {
        let stalled: [(&str, &dyn Fn(&Oracle)); 2] =
            [("stall", &|oracle| oracle.stall(pause)), ("hold", &|oracle| oracle.hold(pause))];
        for (name, disturb) in stalled {
            let config = OracleConfig { backlog: Some(1024), ..OracleConfig::default() };
            let oracle = Oracle::start(config).unwrap();
            let result = disturbed(&oracle, connections, disturb);
            let case = format!("{name} with {connections} connections");
            assert_eq!((result.offered, result.completed), (750, 750), "{case}: {result:?}");
            tells_the_truth(&oracle, 500.0, &result, &case);
            // 150 of 750 were due in the 300 ms: that is what p99 has to say.
            let p99_ms = result.latency.quantile_ns(0.99) / 1_000_000;
            assert!((250..800).contains(&p99_ms), "{case}: {p99_ms} ms");
        }
    }
}

#[test]
fn the_wait_for_a_connection_is_in_the_latency_and_told_apart() {
    let _alone = alone();
    let oracle = rig::oracle();
    let pause = Duration::from_millis(300);
    let result = disturbed(&oracle, 2, |oracle| oracle.hold(pause));
    // Two requests were on the connections in the stall, the others waited for these.
    let slow = |distribution: &httpdyno_load::Distribution| {
        let slow = distribution.buckets.iter().filter(|(bound_ns, _)| *bound_ns > 100_000_000);
        slow.map(|(_, count)| count).sum::<u64>()
    };
    assert!(slow(&result.service_time) <= 2, "{result:?}");
    assert!(slow(&result.lateness) >= 90, "{result:?}");
    assert!(slow(&result.latency) >= 95, "{result:?}");
    assert_eq!(result.lateness.count, 750);
}

#[test]
fn a_closed_loop_sees_a_stall_once_per_connection_and_claims_no_lateness() {
    let _alone = alone();
    let oracle = rig::oracle();
    let spec = counted(arm(&oracle, &["/fixed/2ms"]), 400);
    let run = start(spec, None).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while oracle.stats().requests < 100 {
        assert!(Instant::now() < deadline);
        assert!(!run.wait(Duration::from_millis(1)).unwrap(), "the run ended early");
    }
    oracle.hold(Duration::from_millis(300));
    let result = finish(&run).remove(0);
    assert_eq!(result.completed, 400);
    let slow = result.latency.buckets.iter().filter(|(bound_ns, _)| *bound_ns > 250_000_000);
    assert!((1..=4).contains(&slow.map(|(_, count)| count).sum::<u64>()), "{result:?}");
    assert_eq!(result.lateness.count, 0);
    assert_eq!(result.latency.count, result.service_time.count);
}

#[test]
fn percentiles_are_true_for_every_kind_of_bad_server() {
    let _alone = alone();
    let pauses =
        PeriodicStall { period: Duration::from_millis(250), duration: Duration::from_millis(60) };
    let two = std::num::NonZeroUsize::new(2);
    let with = |service: &str| OracleConfig {
        service: Service::parse(service).unwrap(),
        ..OracleConfig::default()
    };
    let servers = [
        ("periodic pauses", OracleConfig { stall_every: Some(pauses), ..with("fixed:1ms") }),
        ("bimodal service", with("bimodal:1ms:80ms:0.05")),
        ("exponential service", with("exp:10ms")),
        // Two workers of 5 ms take 400/s: at 500/s the queue grows all the time.
        ("overload", OracleConfig { workers: two, ..with("fixed:5ms") }),
    ];
    for (name, config) in servers {
        for connections in [8, 128] {
            let oracle = Oracle::start(config.clone()).unwrap();
            let spec =
                LoadSpec { rate_per_s: 500.0, connections, ..counted(named(&oracle, 350), 350) };
            let result = run_one(spec);
            let case = format!("{name} with {connections} connections");
            assert_eq!(result.completed, 350, "{case}");
            tells_the_truth(&oracle, 500.0, &result, &case);
        }
    }
}

#[test]
fn a_frozen_accept_queue_is_in_the_latencies_of_new_connections() {
    let _alone = alone();
    let oracle = rig::oracle();
    oracle.stall_accept(Duration::from_millis(200));
    let spec = LoadSpec {
        rate_per_s: 500.0,
        connections: 128,
        keep_alive: false,
        ..counted(named(&oracle, 250), 250)
    };
    let result = run_one(spec);
    assert_eq!(result.completed, 250);
    tells_the_truth(&oracle, 500.0, &result, "accept stall");
    assert!(result.latency.max_ns >= 150_000_000, "{result:?}");
}

#[test]
fn the_rate_at_the_server_is_the_rate_asked_for() {
    let _alone = alone();
    for threads in [1, 2] {
        let oracle = rig::oracle();
        let spec = LoadSpec {
            rate_per_s: 1000.0,
            connections: 16,
            threads,
            ..timed(arm(&oracle, &["/"]), 2.0)
        };
        let result = run_one(spec);
        assert_eq!((result.offered, errors(&result)), (2000, vec![]), "{threads} threads");
        // By first and last arrival: the count alone would be right however late they are.
        let at_ns: Vec<u64> = oracle.log().arrivals.iter().map(|arrival| arrival.at_ns).collect();
        let span_s = (at_ns[1999] - at_ns[0]) as f64 * 1e-9;
        let rate_per_s = 1999.0 / span_s;
        assert!((rate_per_s / 1000.0 - 1.0).abs() <= 0.005, "{rate_per_s}/s, {threads} threads");
        // No arrival before it is due, in any order of them: no burst that runs ahead.
        for (index, at_ns) in at_ns.iter().enumerate() {
            assert!(*at_ns >= result.opened_ns + index as u64 * 1_000_000, "arrival {index}");
        }
    }
}

#[test]
fn a_request_that_never_got_a_connection_times_out_at_its_age_too() {
    let _alone = alone();
    let oracle = rig::oracle();
    let spec = counted(arm(&oracle, &["/fault/never"]), 60);
    let spec = LoadSpec { rate_per_s: 200.0, connections: 1, timeout_s: 0.1, ..spec };
    let result = run_one(spec);
    assert_eq!((errors(&result), result.latency.count), (vec![("timeout", 60)], 60));
    assert!(result.latency.buckets[0].0 >= 100_000_000, "{result:?}");
    assert!(oracle.stats().requests < 30, "most of them were never sent");
}

#[test]
fn patience_does_not_wait_for_the_server_to_say_something() {
    let _alone = alone();
    let oracle = rig::oracle();
    let run =
        start(LoadSpec { timeout_s: 0.1, ..counted(arm(&oracle, &["/fault/never"]), 4) }, None);
    let begun = Instant::now();
    let result = finish(&run.unwrap()).remove(0);
    assert_eq!(errors(&result), [("timeout", 4)]);
    assert!(begun.elapsed() < Duration::from_secs(5));
}
