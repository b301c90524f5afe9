//! Latencies of the open loop are those that the server's own log and the schedule give, also
//! when the server stalls; and the rate is the rate.

use std::time::{Duration, Instant};

use crate::rig::{
    PATIENCE, arm, arrival, brief, counted, ensure, errors, finish, run_one, start, timed,
    unless_disturbed,
};
use httpdyno_load::{Arm, LoadSpec, Request, WindowResult};
use httpdyno_oracle::{Oracle, OracleConfig, PeriodicStall, Service};

/// An arm whose every request has a name of its own, so that the log tells them apart.
fn named(oracle: &Oracle, n: usize) -> Arm {
    let requests = (0..n).map(|i| Request::get("oracle.test", &format!("/?id={i}"))).collect();
    Arm::new(oracle.addr().to_string(), requests)
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
fn tells_the_truth(
    oracle: &Oracle,
    rate_per_s: f64,
    result: &WindowResult,
    case: &str,
) -> Result<(), String> {
    let truth = true_latencies_ns(oracle, rate_per_s, result);
    assert_eq!(result.latency.count, truth.len() as u64, "{case}");
    for quantile in [0.5, 0.9, 0.95, 0.99] {
        let rank = ((quantile * truth.len() as f64).ceil() as usize).max(1);
        let true_ms = truth[rank - 1] as f64 / 1e6;
        let told_ms = result.latency.quantile_ns(quantile) as f64 / 1e6;
        let slack_ms = (true_ms * 0.05).max(5.0);
        if (told_ms - true_ms).abs() > slack_ms {
            let percent = quantile * 100.0;
            return Err(format!(
                "{case}: p{percent} is {true_ms:.2} ms by the log, {told_ms:.2} ms by the engine"
            ));
        }
    }
    Ok(())
}

type Disturb = fn(&Oracle, Duration);

/// Load at 500/s for 750 requests, and disturb the server after the first 200.
fn disturbed(oracle: &Oracle, connections: usize, disturb: impl Fn(&Oracle)) -> WindowResult {
    let spec =
        LoadSpec { arrival: arrival(500.0), connections, ..counted(named(oracle, 750), 750) };
    let run = start(&spec, None).unwrap();
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
    let pause = Duration::from_millis(300);
    // Few connections: requests wait for one. Many: each has its own, and the server is asked
    // all the time.
    let cases: [(&str, Disturb, usize); 2] =
        [("stall", Oracle::stall, 300), ("hold", Oracle::hold, 4)];
    for (name, disturb, connections) in cases {
        unless_disturbed(|| {
            let config = OracleConfig { backlog: Some(1024), ..OracleConfig::default() };
            let oracle = Oracle::start(config).unwrap();
            let result = disturbed(&oracle, connections, |oracle| disturb(oracle, pause));
            let case = format!("{name} with {connections} connections");
            assert_eq!((result.offered, result.completed), (750, 750), "{case}");
            // 150 of 750 were due in the 300 ms: that is what p99 has to say.
            let p99_ms = result.latency.quantile_ns(0.99) / 1_000_000;
            assert!(p99_ms >= 270, "{case}: {p99_ms} ms");
            tells_the_truth(&oracle, 500.0, &result, &case)
        });
    }
}

#[test]
fn the_wait_for_a_connection_is_in_the_latency_and_told_apart() {
    let pause = Duration::from_millis(300);
    // Two requests were on the connections in the stall, the others waited for these.
    let slow = |distribution: &httpdyno_load::Distribution| {
        let slow = distribution.buckets.iter().filter(|(bound_ns, _)| *bound_ns > 100_000_000);
        slow.map(|(_, count)| count).sum::<u64>()
    };
    unless_disturbed(|| {
        let oracle = crate::rig::oracle();
        let result = disturbed(&oracle, 2, |oracle| oracle.hold(pause));
        assert!(slow(&result.lateness) >= 90, "{}", brief(&result));
        assert!(slow(&result.latency) >= 95, "{}", brief(&result));
        assert_eq!(result.lateness.count, 750);
        ensure(slow(&result.service_time) <= 2, || brief(&result))
    });
}

#[test]
fn a_closed_loop_sees_a_stall_once_per_connection_and_claims_no_lateness() {
    let oracle = crate::rig::oracle();
    let spec = counted(arm(&oracle, &["/fixed/2ms"]), 400);
    let run = start(&spec, None).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while oracle.stats().requests < 100 {
        assert!(Instant::now() < deadline);
        assert!(!run.wait(Duration::from_millis(1)).unwrap(), "the run ended early");
    }
    oracle.hold(Duration::from_millis(300));
    let result = finish(&run).remove(0);
    assert_eq!(result.completed, 400);
    let slow = result.latency.buckets.iter().filter(|(bound_ns, _)| *bound_ns > 250_000_000);
    assert!((1..=4).contains(&slow.map(|(_, count)| count).sum::<u64>()), "{}", brief(&result));
    assert_eq!(result.lateness.count, 0);
    assert_eq!(result.latency.count, result.service_time.count);
}

#[test]
fn percentiles_are_true_for_every_kind_of_bad_server() {
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
            unless_disturbed(|| {
                let oracle = Oracle::start(config.clone()).unwrap();
                let spec = counted(named(&oracle, 300), 300);
                let result = run_one(&LoadSpec { arrival: arrival(500.0), connections, ..spec });
                let case = format!("{name} with {connections} connections");
                assert_eq!(result.completed, 300, "{case}");
                tells_the_truth(&oracle, 500.0, &result, &case)
            });
        }
    }
}

#[test]
fn a_frozen_accept_queue_is_in_the_latencies_of_new_connections() {
    unless_disturbed(|| {
        let oracle = crate::rig::oracle();
        oracle.stall_accept(Duration::from_millis(200));
        let spec = counted(named(&oracle, 250), 250);
        let spec = LoadSpec {
            arrival: arrival(500.0),
            connections: 128,
            requests_per_connection: 1,
            ..spec
        };
        let result = run_one(&spec);
        assert_eq!(result.completed, 250);
        assert!(result.latency.max_ns >= 150_000_000, "{}", brief(&result));
        tells_the_truth(&oracle, 500.0, &result, "accept stall")
    });
}

#[test]
fn the_rate_at_the_server_is_the_rate_asked_for() {
    for (threads, measure_s) in [(1, 2.0), (2, 1.0)] {
        unless_disturbed(|| {
            let oracle = crate::rig::oracle();
            let spec = timed(arm(&oracle, &["/"]), measure_s);
            let result =
                run_one(&LoadSpec { arrival: arrival(1000.0), connections: 16, threads, ..spec });
            let n = (measure_s * 1000.0) as usize;
            assert_eq!(result.offered, n as u64, "{threads} threads");
            let arrivals = oracle.log().arrivals;
            if arrivals.len() < n {
                return Err(format!("{threads} threads: {}", brief(&result)));
            }
            // No arrival before it is due, in any order of them: no burst that runs ahead.
            for (index, arrival) in arrivals.iter().enumerate() {
                let due_ns = result.opened_ns + index as u64 * 1_000_000;
                assert!(arrival.at_ns >= due_ns, "arrival {index}");
            }
            // By first and last arrival: the count alone would be right however late they are.
            let span_s = (arrivals[n - 1].at_ns - arrivals[0].at_ns) as f64 * 1e-9;
            let rate_per_s = (n - 1) as f64 / span_s;
            let is_near = (rate_per_s / 1000.0 - 1.0).abs() <= 0.005;
            ensure(is_near, || format!("{rate_per_s}/s on {threads} threads"))
        });
    }
}

#[test]
fn what_was_due_before_the_end_is_sent_however_late_the_client_wakes() {
    // So fast a schedule that each window ends between two due times: the client cannot but
    // wake after the end now and then. Its lateness is its own, and no error of the server.
    let oracle = crate::rig::oracle();
    let mut spec = timed(arm(&oracle, &["/"]), 0.01);
    spec.windows = vec![spec.windows[0]; 60];
    let results = crate::rig::run(&LoadSpec { arrival: arrival(4000.0), connections: 64, ..spec });
    for result in results {
        assert_eq!((result.offered, errors(&result)), (40, vec![]), "window {}", result.index);
    }
}

#[test]
fn a_request_that_waited_for_a_connection_times_out_at_its_age() {
    let oracle = crate::rig::oracle();
    let spec = counted(arm(&oracle, &["/fault/never"]), 60);
    let spec = LoadSpec { arrival: arrival(200.0), connections: 1, timeout_s: 0.1, ..spec };
    let result = run_one(&spec);
    assert_eq!((errors(&result), result.latency.count), (vec![("timeout", 60)], 60));
    assert!(result.latency.buckets[0].0 >= 100_000_000, "{}", brief(&result));
    // Each got the connection when the one before had timed out, with little patience left.
    let late = result.lateness.buckets.iter().filter(|(bound_ns, _)| *bound_ns > 50_000_000);
    assert!(late.map(|(_, count)| count).sum::<u64>() >= 50, "{}", brief(&result));
}

#[test]
fn patience_does_not_wait_for_the_server_to_say_something() {
    let oracle = crate::rig::oracle();
    let run =
        start(&LoadSpec { timeout_s: 0.1, ..counted(arm(&oracle, &["/fault/never"]), 4) }, None);
    let begun = Instant::now();
    let result = finish(&run.unwrap()).remove(0);
    assert_eq!(errors(&result), [("timeout", 4)]);
    assert!(begun.elapsed() < Duration::from_secs(5));
}
