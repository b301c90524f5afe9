//! Windows take turns over arms: on one server at a time, on connections that stay, with
//! nothing in flight in between.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::rig::{
    arm, arrival, brief, ensure, errors, finish, oracle, run, start, unless_disturbed,
};
use httpdyno_load::{ErrorKind, LoadSpec, Window, WindowResult};
use httpdyno_oracle::{Arrival, Oracle, OracleConfig, Service, monotonic_ns};

/// Six windows over two arms, none in a regular order.
const ORDER: [usize; 6] = [0, 1, 1, 0, 1, 0];

fn windows(lead_in_s: f64, measure_s: f64) -> Vec<Window> {
    ORDER
        .iter()
        .map(|&arm| Window { arm, lead_in_s, measure_s, n_requests: 0, credit: None })
        .collect()
}

/// An edge as it was told: window, opening or closing, when.
type Edge = (usize, bool, u64);

fn run_with_edges(spec: &LoadSpec) -> (Vec<WindowResult>, Vec<Edge>) {
    let edges: Arc<Mutex<Vec<Edge>>> = Arc::default();
    let told = Arc::clone(&edges);
    let on_edge = move |window: usize, is_opening: bool| {
        told.lock().unwrap().push((window, is_opening, monotonic_ns()));
        // Time for anything that should not come now to come.
        std::thread::sleep(Duration::from_millis(3));
        ControlFlow::Continue(())
    };
    let results = finish(&start(spec, Some(Box::new(on_edge))).unwrap());
    let edges = edges.lock().unwrap().clone();
    (results, edges)
}

#[track_caller]
fn lies_within_its_windows(arrivals: &[Arrival], results: &[WindowResult], arm: usize) {
    for arrival in arrivals {
        let answered_ns = arrival.answered_ns.unwrap();
        let of_arm = results.iter().filter(|result| result.arm == arm);
        let n_around = of_arm
            .filter(|window| window.opened_ns <= arrival.at_ns && answered_ns <= window.closed_ns)
            .count();
        assert_eq!(n_around, 1, "{arrival:?}");
    }
}

fn unsent(result: &WindowResult) -> u64 {
    result.errors.of(ErrorKind::Unsent)
}

#[test]
fn requests_land_on_the_arm_of_their_window_over_connections_that_stay() {
    for (rate_per_s, threads) in [(0.0, 1), (0.0, 2), (400.0, 1), (400.0, 2)] {
        let case = format!("rate {rate_per_s}, {threads} threads");
        unless_disturbed(|| {
            let service = Service::parse("exp:2ms").unwrap();
            let servers: Vec<Oracle> = (0..2)
                .map(|_| {
                    Oracle::start(OracleConfig { service, ..OracleConfig::default() }).unwrap()
                })
                .collect();
            let arms = servers.iter().map(|server| arm(server, &["/"])).collect();
            let spec = LoadSpec {
                arrival: arrival(rate_per_s),
                threads,
                ..crate::rig::spec(arms, windows(0.02, 0.08))
            };
            let (results, edges) = run_with_edges(&spec);

            assert_eq!(
                results.iter().map(|r| r.index).collect::<Vec<_>>(),
                [0, 1, 2, 3, 4, 5],
                "{case}"
            );
            assert_eq!(results.iter().map(|r| r.arm).collect::<Vec<_>>(), ORDER, "{case}");
            for result in &results {
                // What was due just before a busy machine looked up late, after the end.
                let unsent = unsent(result);
                assert_eq!(result.errors.total(), unsent, "{case}: {:?}", errors(result));
                assert!(unsent == 0 || rate_per_s > 0.0, "{case}");
                assert!(result.completed > 0, "{case}");
            }
            for (index, server) in servers.iter().enumerate() {
                let of_arm = || results.iter().filter(|result| result.arm == index);
                let sent: u64 = of_arm().map(|result| result.offered - unsent(result)).sum();
                let connects: u64 = of_arm().map(|result| result.sockets.connects).sum();
                let stats = server.stats();
                assert_eq!((stats.requests, stats.finished), (sent, sent), "{case}");
                assert_eq!(stats.connections, connects, "{case}");
                assert!(stats.connections <= 4, "{case}: {} connections", stats.connections);
                lies_within_its_windows(&server.log().arrivals, &results, index);
            }
            edges_are_quiet(&edges, &results, &servers, &case);
            let n_unsent: u64 = results.iter().map(unsent).sum();
            ensure(n_unsent == 0, || format!("{case}: {n_unsent} unsent"))
        });
    }
}

/// The edges alternate, bracket the windows, and no server sees anything from one window's
/// closing edge to the next one's opening edge.
#[track_caller]
fn edges_are_quiet(edges: &[Edge], results: &[WindowResult], servers: &[Oracle], case: &str) {
    let expected: Vec<(usize, bool)> = (0..6).flat_map(|i| [(i, true), (i, false)]).collect();
    let told: Vec<(usize, bool)> = edges.iter().map(|edge| (edge.0, edge.1)).collect();
    assert_eq!(told, expected, "{case}");
    assert!(edges.is_sorted_by_key(|edge| edge.2), "{case}");
    let mut served: Vec<(u64, u64)> = Vec::new();
    for server in servers {
        let arrivals = server.log().arrivals;
        served.extend(arrivals.iter().map(|a| (a.at_ns, a.answered_ns.unwrap())));
    }
    for pair in edges.chunks(2) {
        let (window, opening_ns, closing_ns) = (pair[0].0, pair[0].2, pair[1].2);
        let result = &results[window];
        assert!(opening_ns <= result.opened_ns && result.closed_ns <= closing_ns, "{case}");
        served.retain(|&(at_ns, answered_ns)| at_ns < opening_ns || answered_ns > closing_ns);
    }
    assert_eq!(served, [], "{case}: served between windows");
}

#[test]
fn a_window_of_so_many_requests_offers_exactly_these_after_its_lead_in() {
    for (rate_per_s, threads) in [(0.0, 1), (0.0, 2), (500.0, 1), (500.0, 2)] {
        unless_disturbed(|| {
            let oracle = oracle();
            let windows = [0.0, 0.03]
                .map(|lead_in_s| Window {
                    arm: 0,
                    lead_in_s,
                    measure_s: 20.0,
                    n_requests: 37,
                    credit: None,
                })
                .to_vec();
            let spec = crate::rig::spec(vec![arm(&oracle, &["/fixed/1ms"])], windows);
            let results = run(&LoadSpec { arrival: arrival(rate_per_s), threads, ..spec });
            let case = format!("rate {rate_per_s}, {threads} threads");
            assert_eq!((results[0].offered, results[0].measured_offered), (37, 37), "{case}");
            assert_eq!(results[0].measured_completed, 37, "{case}");
            assert_eq!(results[1].measured_offered, 37, "{case}");
            assert!(results[1].offered >= 37, "{case}: {}", brief(&results[1]));
            let offered: u64 = results.iter().map(|result| result.offered).sum();
            assert_eq!(oracle.stats().requests, offered, "{case}");
            // A busy machine may sleep through the lead-in of a closed loop.
            ensure(results[1].offered > 37, || format!("{case}: {}", brief(&results[1])))
        });
    }
}

#[test]
fn each_window_goes_on_with_the_arms_requests_where_the_last_one_left_them() {
    for rate_per_s in [0.0, 2000.0] {
        let oracle = oracle();
        let arms = vec![arm(&oracle, &["/a", "/b", "/c"]); 2];
        // Each is over before its arm's requests are: the last of them would never be sent.
        let window =
            |arm| Window { arm, lead_in_s: 0.0, measure_s: 20.0, n_requests: 2, credit: None };
        let windows = [0, 0, 1, 0].map(window).to_vec();
        let spec = LoadSpec {
            connections: 1,
            threads: 1,
            arrival: arrival(rate_per_s),
            ..crate::rig::spec(arms, windows)
        };
        let results = run(&spec);
        assert!(results.iter().all(|result| errors(result).is_empty()), "rate {rate_per_s}");
        let arrivals = oracle.log().arrivals;
        let paths: Vec<&str> = arrivals.iter().map(|arrival| arrival.path.as_str()).collect();
        assert_eq!(paths, ["/a", "/b", "/c", "/a", "/a", "/b", "/b", "/c"], "rate {rate_per_s}");
    }
}

#[test]
fn lead_in_and_drain_are_not_measured() {
    let oracle = oracle();
    let window = Window { arm: 0, lead_in_s: 0.15, measure_s: 0.15, n_requests: 0, credit: None };
    let spec = crate::rig::spec(vec![arm(&oracle, &["/fixed/10ms"])], vec![window]);
    for rate_per_s in [0.0, 200.0] {
        unless_disturbed(|| {
            let result = run(&LoadSpec { arrival: arrival(rate_per_s), ..spec.clone() }).remove(0);
            assert_eq!(result.errors.total(), unsent(&result), "{:?}", errors(&result));
            assert_eq!(result.measure_start_ns - result.opened_ns, 150_000_000);
            assert_eq!(result.measure_end_ns - result.measure_start_ns, 150_000_000);
            assert_eq!(result.latency.count, result.measured_offered, "each was waited for");
            let log = oracle.log_since(result.opened_ns);
            let measured = result.measure_start_ns..result.measure_end_ns;
            let n_in_log = |at_ns: fn(&Arrival) -> u64| {
                log.arrivals.iter().filter(|each| measured.contains(&at_ns(each))).count() as u64
            };
            let n_answered = n_in_log(|each| each.answered_ns.unwrap());
            // Those on their way when the measured part began or ended may fall on either side.
            assert!(result.measured_completed.abs_diff(n_answered) <= 4, "{}", brief(&result));
            if rate_per_s == 0.0 {
                let n_asked = n_in_log(|each| each.at_ns);
                assert!(result.measured_offered.abs_diff(n_asked) <= 4, "{}", brief(&result));
            }
            if rate_per_s > 0.0 {
                assert_eq!((result.offered, result.measured_offered), (60, 30));
            }
            // A busy machine may look up too late for the last ones that were due.
            ensure(unsent(&result) == 0, || brief(&result))
        });
    }
}

#[test]
fn what_a_drain_does_not_wait_for_is_unfinished_and_does_not_reach_the_next_window() {
    unless_disturbed(|| {
        let (slow, fast) = (oracle(), oracle());
        let arms = vec![arm(&slow, &["/fault/never"]), arm(&fast, &["/"])];
        let windows = [0, 1, 0, 1].map(|arm| Window {
            arm,
            lead_in_s: 0.0,
            measure_s: 0.05,
            n_requests: 0,
            credit: None,
        });
        let spec = crate::rig::spec(arms, windows.to_vec());
        let results = run(&LoadSpec { drain_s: 0.05, ..spec });
        // Where a busy machine sleeps through a window, nobody asks; through a drain, none answer.
        let is_punctual = |result: &WindowResult| match result.arm {
            0 => result.offered == 4,
            _ => result.completed == result.offered,
        };
        for result in results.iter().filter(|result| is_punctual(result)) {
            match result.arm {
                0 => assert_eq!((errors(result), result.completed), (vec![("unfinished", 4)], 0)),
                _ => assert_eq!(errors(result), []),
            }
        }
        let offered: u64 =
            results.iter().filter(|result| result.arm == 0).map(|result| result.offered).sum();
        // An unanswered connection is not used again; one that was given up before a busy machine
        // let the server read from it, it never saw.
        let stats = slow.stats();
        assert!(stats.requests <= offered && stats.connections <= offered, "{stats:?}");
        let is_seen = (stats.requests, stats.connections) == (offered, offered);
        ensure(is_seen && results.iter().all(is_punctual), || results.iter().map(brief).collect())
    });
}

#[test]
fn an_edge_that_breaks_ends_the_run_before_the_window() {
    let oracle = oracle();
    let spec = crate::rig::spec(vec![arm(&oracle, &["/"])], vec![windows(0.0, 0.02)[0]; 5]);
    let on_edge = |window: usize, is_opening: bool| {
        if window == 2 && is_opening { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let run = start(&spec, Some(Box::new(on_edge))).unwrap();
    let results = finish(&run);
    assert_eq!(results.len(), 2);
    let offered: u64 = results.iter().map(|result| result.offered).sum();
    assert_eq!(oracle.stats().requests, offered);
}
