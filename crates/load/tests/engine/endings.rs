//! However a run ends, each request that was offered is in exactly one count.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::rig::{
    PATIENCE, arm, arrival, brief, counted, ensure, errors, finish, oracle, run_one, start, timed,
    unless_disturbed,
};
use httpdyno_load::{ErrorKind, LoadSpec, Run};
use httpdyno_oracle::{Behaviour, CloseAfter, Oracle, OracleConfig, Service};

fn wait_for(run: &Run, mut is_true: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_true() {
        assert!(Instant::now() < deadline, "waited in vain");
        assert!(!run.wait(Duration::from_millis(1)).unwrap(), "the run ended by itself");
    }
}

#[test]
fn a_run_that_is_stopped_accounts_for_what_was_in_flight() {
    for (rate_per_s, threads) in [(0.0, 1), (0.0, 2), (400.0, 1), (400.0, 2)] {
        let oracle = oracle();
        let spec = timed(arm(&oracle, &["/", "/fault/never", "/chunked/50/7"]), 1000.0);
        let run = start(&LoadSpec { arrival: arrival(rate_per_s), threads, ..spec }, None).unwrap();
        // All four connections end up on a request that is never answered.
        wait_for(&run, || oracle.stats().count(Behaviour::Never) == 4);
        let stopped = Instant::now();
        run.stop();
        run.stop();
        let results = finish(&run);
        let case = format!("rate {rate_per_s}, {threads} threads");
        assert!(stopped.elapsed() < Duration::from_secs(5), "{case}: {:?}", stopped.elapsed());
        let result = &results[0];
        assert_eq!(result.errors.of(ErrorKind::Unfinished), 4, "{case}: {}", brief(result));
        assert_eq!(result.completed, oracle.stats().finished, "{case}");
        let sent = result.offered - result.errors.of(ErrorKind::Unsent);
        assert_eq!(sent, oracle.stats().requests, "{case}");
        if rate_per_s > 0.0 {
            // What was due until the stop is offered, no more and no less.
            let due = (result.measure_end_ns - result.opened_ns) as f64 * 1e-9 * rate_per_s;
            assert!((result.offered as f64 - due).abs() <= 2.0, "{case}: {due} {}", brief(result));
        } else {
            assert_eq!(result.errors.of(ErrorKind::Unsent), 0, "{case}");
        }
    }
}

#[test]
fn a_run_that_is_stopped_in_a_later_window_keeps_the_earlier_ones() {
    let oracle = oracle();
    let mut spec = timed(arm(&oracle, &["/fixed/1ms"]), 0.05);
    spec.windows = vec![spec.windows[0]; 3];
    spec.windows[2].measure_s = 1000.0;
    let run = start(&spec, None).unwrap();
    wait_for(&run, || run.results().len() == 2);
    let requests = oracle.stats().requests;
    wait_for(&run, || oracle.stats().requests > requests + 20);
    run.stop();
    let results = finish(&run);
    assert_eq!(results.len(), 3);
    let offered: u64 = results.iter().map(|result| result.offered).sum();
    assert!(offered.abs_diff(oracle.stats().requests) <= 4);
}

#[test]
fn what_is_due_and_has_no_connection_at_the_end_is_unsent() {
    let oracle = oracle();
    let spec = timed(arm(&oracle, &["/fault/never"]), 0.25);
    let result = run_one(&LoadSpec { arrival: arrival(400.0), drain_s: 0.05, ..spec });
    assert_eq!(errors(&result), [("unfinished", 4), ("unsent", 96)]);
    assert_eq!((result.offered, result.completed), (100, 0));
    assert_eq!(oracle.stats().requests, 4);
}

#[test]
fn the_server_s_count_and_the_engine_s_differ_by_no_more_than_the_connections() {
    // Many faults at once, and an end in the middle of things. Connections that end without a
    // word are left out: what is written to one meanwhile is offered, and seen by no server.
    let paths = [
        "/fixed/1ms",
        "/fault/reset-in-body",
        "/chunked/5000/100",
        "/fault/short-body",
        "/status/503",
        "/bytes/30000",
        "/fault/garbage",
        "/fault/reset-before",
        "/until-close/100",
        "/exp/3ms",
    ];
    for (rate_per_s, keep_alive, threads) in
        [(0.0, true, 1), (0.0, false, 2), (800.0, true, 2), (800.0, false, 1)]
    {
        let oracle = oracle();
        let spec = timed(arm(&oracle, &paths), 0.4);
        let connections = 8;
        let spec = LoadSpec {
            arrival: arrival(rate_per_s),
            requests_per_connection: u64::from(!keep_alive),
            threads,
            connections,
            drain_s: 0.002,
            ..spec
        };
        let result = run_one(&spec);
        let case = format!("rate {rate_per_s}, keep-alive {keep_alive}, {threads} threads");
        let unsent = result.errors.of(ErrorKind::Unsent);
        let stats = oracle.stats();
        let difference = (result.offered - unsent).abs_diff(stats.requests);
        assert!(difference <= 8, "{case}: {} {stats:?}", brief(&result));
        assert!(result.completed > 20, "{case}: {}", brief(&result));
        for kind in [ErrorKind::ShortBody, ErrorKind::WrongStatus, ErrorKind::BadResponse] {
            assert!(result.errors.of(kind) > 0, "{case}: {kind:?}");
        }
        if rate_per_s > 0.0 {
            assert_eq!(result.offered, 320, "{case}");
        }
    }
}

#[test]
fn more_threads_than_one_share_the_work_without_losing_any() {
    for (connections, threads) in [(2, 2), (5, 2), (1, 2), (7, 3)] {
        for rate_per_s in [0.0, 500.0] {
            let oracle = oracle();
            let spec = counted(arm(&oracle, &["/fixed/1ms"]), 101);
            let result =
                run_one(&LoadSpec { connections, threads, arrival: arrival(rate_per_s), ..spec });
            let case = format!("{connections} connections, {threads} threads, {rate_per_s}/s");
            assert_eq!((errors(&result), result.completed), (vec![], 101), "{case}");
            assert_eq!(oracle.stats().requests, 101, "{case}");
            assert!(oracle.stats().connections <= connections as u64, "{case}");
        }
    }
}

#[test]
fn idle_connections_that_the_server_closed_between_windows_cost_no_request() {
    let idle_close = Some(Duration::from_millis(20));
    let oracle = Oracle::start(OracleConfig { idle_close, ..OracleConfig::default() }).unwrap();
    let mut spec = counted(arm(&oracle, &["/"]), 10);
    spec.windows = vec![spec.windows[0]; 3];
    let on_edge = |_: usize, is_opening: bool| {
        if !is_opening {
            std::thread::sleep(Duration::from_millis(80));
        }
        ControlFlow::Continue(())
    };
    let results = finish(&start(&spec, Some(Box::new(on_edge))).unwrap());
    for result in &results {
        assert_eq!((errors(result), result.completed), (vec![], 10));
    }
    assert!(oracle.stats().connections > 4);
}

#[test]
fn a_server_that_dies_under_load_turns_answers_into_named_errors() {
    let service = Service::parse("fixed:1ms").unwrap();
    let oracle = Oracle::start(OracleConfig { service, ..OracleConfig::default() }).unwrap();
    let run = start(&timed(arm(&oracle, &["/"]), 0.4), None).unwrap();
    wait_for(&run, || oracle.stats().requests > 30);
    drop(oracle);
    let result = finish(&run).remove(0);
    assert!(result.completed >= 20);
    let (reset, refused) =
        (result.errors.of(ErrorKind::Reset), result.errors.of(ErrorKind::Refused));
    assert!(refused > 0 && reset <= 4, "{}", brief(&result));
    assert_eq!(result.completed + reset + refused, result.offered);
}

#[test]
fn a_closed_loop_is_limited_by_the_capacity_of_a_queue_and_obeys_little() {
    let config = OracleConfig {
        workers: std::num::NonZeroUsize::new(2),
        service: Service::parse("fixed:4ms").unwrap(),
        close_after: Some(CloseAfter { requests: 1000, is_announced: true }),
        ..OracleConfig::default()
    };
    let oracle = Oracle::start(config).unwrap();
    unless_disturbed(|| {
        let result = run_one(&LoadSpec { connections: 10, ..timed(arm(&oracle, &["/"]), 0.6) });
        assert_eq!(errors(&result), []);
        let measured_s = (result.measure_end_ns - result.measure_start_ns) as f64 * 1e-9;
        let throughput_per_s = result.measured_completed as f64 / measured_s;
        // Two workers of 4 ms can never do more than 500/s; a busy machine may let them do less.
        assert!(throughput_per_s <= 520.0, "{throughput_per_s}/s");
        // N = X · R over the measured part, as long as that is longer than the machine's hiccups.
        let in_flight = result.evidence.busy_connections;
        let mean_s = result.latency.sum_ns as f64 * 1e-9 / result.latency.count as f64;
        let is_lawful = (9.0..=10.001).contains(&in_flight)
            && (throughput_per_s * mean_s / in_flight - 1.0).abs() < 0.1;
        ensure(is_lawful, || brief(&result))
    });
}
