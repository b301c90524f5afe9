//! Users, visits and pages do at the server what the spec says, and the counts agree with the
//! server's own.

use std::time::Duration;

use crate::rig::{arm, brief, counted, ensure, errors, oracle, run_one, timed, unless_disturbed};
use httpdyno_load::{Arm, Arrival, Length, LoadSpec, Request, Stage, Step, Think, Users};
use httpdyno_oracle::{Oracle, OracleConfig, Service};

/// Users who pause.
const fn thinking(think: Think) -> Users {
    Users { think, ..Users::PLAIN }
}

fn constant(duration_s: f64, rate_per_s: f64) -> Vec<Stage> {
    vec![Stage { duration_s, from_per_s: rate_per_s, to_per_s: rate_per_s }]
}

#[test]
fn users_of_a_closed_loop_pause_between_their_requests() {
    let users = thinking(Think::Fixed { s: 0.05 });
    unless_disturbed(|| {
        let oracle = oracle();
        let spec = LoadSpec { users, ..timed(arm(&oracle, &["/"]), 0.52) };
        let result = run_one(&spec);
        // At 0, 50, 100 … 500 ms, each of the four of them; a busy machine makes it fewer.
        assert!(result.offered <= 4 * 11, "{}", brief(&result));
        assert!(errors(&result).is_empty());
        assert_eq!(result.completed, oracle.stats().requests);
        ensure(result.offered >= 4 * 6, || brief(&result))
    });
}

#[test]
fn users_start_one_after_the_other_at_the_rate_asked_for() {
    unless_disturbed(|| {
        let oracle = oracle();
        let spec = LoadSpec {
            connections: 40,
            connections_per_s: 100.0,
            users: thinking(Think::Fixed { s: 10.0 }),
            ..timed(arm(&oracle, &["/"]), 0.3)
        };
        let result = run_one(&spec);
        // At 0, 10, 20 … 290 ms; whom a busy machine wakes after the end does not begin.
        assert!(result.offered <= 30, "{}", brief(&result));
        assert_eq!(result.completed, result.offered, "{}", brief(&result));
        let mut arrivals: Vec<_> = oracle.log().arrivals.iter().map(|each| each.at_ns).collect();
        arrivals.sort_unstable();
        for (user, at_ns) in arrivals.into_iter().enumerate() {
            let after = Duration::from_nanos(at_ns - result.opened_ns);
            assert!(
                after >= Duration::from_millis(10) * user as u32,
                "user {user} after {after:?}"
            );
        }
        ensure(result.offered == 30, || brief(&result))
    });
}

#[test]
fn nobody_waits_for_the_end_of_a_pause_once_all_requests_were_sent() {
    unless_disturbed(|| {
        let oracle = oracle();
        // Users begin at 0 and 1 s, each on a thread of its own; the third request is sent at
        // 1.5 s.
        let spec = LoadSpec {
            connections: 2,
            threads: 2,
            connections_per_s: 1.0,
            users: thinking(Think::Fixed { s: 1.5 }),
            ..counted(arm(&oracle, &["/"]), 3)
        };
        let result = run_one(&spec);
        assert_eq!((result.offered, result.completed), (3, 3));
        let lasted = Duration::from_nanos(result.closed_ns - result.opened_ns);
        ensure(lasted < Duration::from_millis(2_200), || format!("{lasted:?}"))
    });
}

#[test]
fn users_who_never_pause_keep_all_connections_busy_on_any_number_of_threads() {
    let config =
        OracleConfig { service: Service::parse("fixed:20ms").unwrap(), ..OracleConfig::default() };
    unless_disturbed(|| {
        let oracle = Oracle::start(config.clone()).unwrap();
        let spec = LoadSpec { connections: 3, threads: 2, ..timed(arm(&oracle, &["/"]), 0.5) };
        let result = run_one(&spec);
        ensure(result.evidence.busy_ratio > 0.9, || brief(&result))
    });
}

#[test]
fn sessions_make_their_steps_and_take_their_connections_along() {
    let oracle = oracle();
    let spec = LoadSpec {
        arrival: Arrival::Sessions { stages: constant(0.5, 100.0) },
        connections: 64,
        users: Users { visit: Length::Fixed(3), think: Think::Fixed { s: 0.02 }, ..Users::PLAIN },
        ..timed(arm(&oracle, &["/a", "/b", "/c"]), f64::INFINITY)
    };
    let result = run_one(&spec);
    let visits = result.visits;
    assert!(visits.started > 20, "{visits:?}");
    assert_eq!((visits.finished, visits.left, visits.cut), (visits.started, 0, 0));
    assert_eq!(result.completed, 3 * visits.started, "{}", brief(&result));
    assert_eq!(result.sockets.connects, visits.started);
    assert_eq!(oracle.stats().requests, result.completed);
}

#[test]
fn each_step_of_a_session_is_due_once_whether_a_pause_comes_before_it_or_not() {
    for think in [Think::None, Think::Fixed { s: 0.01 }] {
        let oracle = oracle();
        let spec = LoadSpec {
            arrival: Arrival::Sessions { stages: constant(0.2, 100.0) },
            connections: 64,
            users: Users { visit: Length::Fixed(3), think, ..Users::PLAIN },
            ..timed(arm(&oracle, &["/"]), f64::INFINITY)
        };
        let result = run_one(&spec);
        assert!(result.visits.started > 0);
        assert_eq!(result.offered, 3 * result.visits.started, "{}", brief(&result));
        assert_eq!(result.evidence.due_requests as u64, result.offered, "{think:?}");
    }
}

#[test]
fn the_mean_number_of_sessions_at_a_time_is_what_littles_law_says() {
    // 200 sessions a second, each of a geometric number of steps with mean 4, pauses of mean 20 ms
    // between them and answers after 5 ms: 3 × 20 + 4 × 5 ms. That makes 16 at a time.
    let littles_law = || {
        let oracle = oracle();
        let spec = LoadSpec {
            arrival: Arrival::Sessions { stages: constant(f64::INFINITY, 200.0) },
            connections: 512,
            users: Users {
                visit: Length::Geometric { mean: 4.0 },
                think: Think::Exponential { mean_s: 0.02 },
                ..Users::PLAIN
            },
            ..timed(arm(&oracle, &["/fixed/5ms"]), 4.0)
        };
        let result = run_one(&spec);
        assert!(errors(&result).is_empty(), "{}", brief(&result));
        let per_visit = result.offered as f64 / result.visits.started as f64;
        // Those under way at the window's end are cut off: 16, and a slow machine has more.
        ensure(result.visits.cut < 50, || format!("{} visits were cut off", result.visits.cut))?;
        // 800 visits, whose lengths have a standard deviation of 3.5: five standard errors.
        assert!((per_visit - 4.0).abs() < 0.6, "{per_visit} steps of a visit");
        // At the server: the time that connections were open, over the time of the run.
        let connections = oracle.connections().connections;
        let open_ns: u64 = connections.iter().map(|c| c.closed_ns.unwrap() - c.accepted_ns).sum();
        let mean = open_ns as f64 / 4e9;
        let expected = 200.0 * (per_visit * 0.005 + (per_visit - 1.0) * 0.02);
        // A visit is cut off at the window's end, and a busy machine adds to each answer.
        let is_as_expected = (0.85..1.25).contains(&(mean / expected));
        ensure(is_as_expected, || format!("{mean} at a time, {expected} expected"))
    };
    unless_disturbed(littles_law);
}

#[test]
fn a_page_asks_for_its_objects_over_several_connections_once_its_document_is_there() {
    let oracle = oracle();
    let paths = ["/fixed/20ms?page", "/fixed/30ms?1", "/fixed/30ms?2", "/fixed/30ms?3", "/4"];
    let requests = paths.iter().map(|path| Request::get("oracle.test", path)).collect();
    let page = Arm {
        steps: vec![Step { weight: 1.0, request: 0, objects: vec![1, 2, 3, 4] }],
        connections_per_page: 4,
        ..Arm::new(oracle.addr().to_string(), requests)
    };
    for arrival in [Arrival::Closed, Arrival::constant(100.0)] {
        let spec = LoadSpec { arrival, connections: 8, ..counted(page.clone(), 24) };
        unless_disturbed(|| {
            let before = oracle.stats().requests;
            let result = run_one(&spec);
            let case = brief(&result);
            assert!(errors(&result).is_empty(), "{case}");
            assert_eq!((result.pages.offered, result.pages.completed), (24, 24), "{case}");
            assert_eq!(result.completed, 24 * 5, "{case}");
            assert_eq!(oracle.stats().requests - before, 24 * 5, "{case}");
            // Document, then three objects side by side: 50 ms, and not 20 + 3 × 30.
            let fastest_ms = result.pages.time.quantile_ns(0.05) / 1_000_000;
            assert!(fastest_ms >= 49, "{fastest_ms} ms");
            ensure(fastest_ms < 110, || format!("{fastest_ms} ms"))
        });
    }
}

#[test]
fn a_page_with_a_failing_document_asks_for_nothing_more_and_fails() {
    let oracle = oracle();
    for document in ["/status/500", "/fault/reset-before", "/fault/never"] {
        let requests = [document, "/a", "/b"].map(|path| Request::get("h", path)).to_vec();
        let page = Arm {
            steps: vec![Step { weight: 1.0, request: 0, objects: vec![1, 2] }],
            connections_per_page: 2,
            ..Arm::new(oracle.addr().to_string(), requests)
        };
        for arrival in [Arrival::Closed, Arrival::constant(200.0)] {
            let spec = LoadSpec { arrival, timeout_s: 0.1, ..counted(page.clone(), 8) };
            let result = run_one(&spec);
            assert_eq!((result.pages.offered, result.pages.failed), (8, 8), "{document}");
            assert_eq!(result.offered, 8, "{document}: {}", brief(&result));
        }
    }
}

#[test]
fn a_page_that_nobody_had_a_connection_for_failed_and_took_at_least_as_long() {
    let oracle = oracle();
    let requests = ["/fault/never", "/a"].map(|path| Request::get("h", path)).to_vec();
    let page = Arm {
        steps: vec![Step { weight: 1.0, request: 0, objects: vec![1] }],
        ..Arm::new(oracle.addr().to_string(), requests)
    };
    let arrival = Arrival::constant(200.0);
    let spec = LoadSpec { arrival, connections: 1, drain_s: 0.05, ..timed(page, 0.1) };
    unless_disturbed(|| {
        let result = run_one(&spec);
        let pages = &result.pages;
        assert_eq!((pages.offered, pages.completed, pages.failed), (20, 0, 20));
        assert_eq!((pages.time.count, pages.censored.count), (20, 20));
        // A busy machine may sleep through the window, and send not even the first.
        let is_first_sent = errors(&result) == [("unfinished", 1), ("unsent", 19)];
        ensure(is_first_sent, || brief(&result))?;
        // It was due at once, and given up after the drain.
        assert!(pages.time.max_ns >= 140_000_000, "{:?}", pages.time);
        Ok(())
    });
}

#[test]
fn a_page_with_a_failing_object_fails_and_its_other_objects_come() {
    let oracle = oracle();
    let requests = ["/", "/fault/short-body", "/b"].map(|path| Request::get("h", path)).to_vec();
    let page = Arm {
        steps: vec![Step { weight: 1.0, request: 0, objects: vec![1, 2] }],
        connections_per_page: 1,
        ..Arm::new(oracle.addr().to_string(), requests)
    };
    let result = run_one(&LoadSpec { ..counted(page, 8) });
    assert_eq!((result.pages.offered, result.pages.failed), (8, 8));
    assert_eq!((result.offered, result.completed), (24, 16), "{}", brief(&result));
}

#[test]
fn users_who_lose_patience_leave_the_rest_of_their_visit() {
    let oracle = oracle();
    // Each asks for something that never comes sooner or later: for the other path in all of its
    // 40 steps it can only ask while another visitor is stuck between two of them.
    let spec = LoadSpec {
        arrival: Arrival::Sessions { stages: constant(0.3, 60.0) },
        users: Users { visit: Length::Fixed(40), ..Users::PLAIN },
        connections: 32,
        timeout_s: 0.1,
        ..timed(arm(&oracle, &["/", "/fault/never"]), f64::INFINITY)
    };
    let result = run_one(&spec);
    let visits = result.visits;
    assert_eq!(visits.left, visits.started, "{visits:?}");
    assert_eq!(errors(&result), [("timeout", visits.started)], "{}", brief(&result));
}

#[test]
fn nobody_waits_for_the_end_of_a_pause_when_all_was_sent() {
    let oracle = oracle();
    let users = thinking(Think::Fixed { s: 20.0 });
    let result = run_one(&LoadSpec { users, ..counted(arm(&oracle, &["/"]), 4) });
    assert_eq!(result.completed, 4);
    assert!(result.closed_ns - result.opened_ns < 10_000_000_000);
}

#[test]
fn a_window_without_an_arrival_ends_where_it_began() {
    let oracle = oracle();
    let spec = LoadSpec {
        arrival: Arrival::Sessions { stages: constant(0.001, 0.001) },
        ..timed(arm(&oracle, &["/"]), f64::INFINITY)
    };
    let result = run_one(&spec);
    assert_eq!(result.offered, 0);
    assert!(result.measure_end_ns >= result.opened_ns);
}

#[test]
fn a_visitor_keeps_its_connections_from_page_to_page() {
    let oracle = oracle();
    let requests = ["/", "/1", "/2", "/3"].map(|path| Request::get("h", path)).to_vec();
    let page = Arm {
        steps: vec![Step { weight: 1.0, request: 0, objects: vec![1, 2, 3] }],
        connections_per_page: 3,
        ..Arm::new(oracle.addr().to_string(), requests)
    };
    let spec = LoadSpec {
        arrival: Arrival::Sessions { stages: constant(0.3, 100.0) },
        connections: 64,
        users: Users { visit: Length::Fixed(4), ..Users::PLAIN },
        ..timed(page, f64::INFINITY)
    };
    let result = run_one(&spec);
    assert!(errors(&result).is_empty(), "{}", brief(&result));
    assert_eq!(result.sockets.connects, 3 * result.visits.started, "{}", brief(&result));
    assert_eq!(result.pages.completed, 4 * result.visits.started);
}

#[test]
fn a_connection_is_not_used_for_more_requests_than_said() {
    let oracle = Oracle::start(OracleConfig::default()).unwrap();
    for limit in [1, 2, 5] {
        let spec = LoadSpec {
            requests_per_connection: limit,
            connections: 2,
            ..counted(arm(&oracle, &["/"]), 40)
        };
        let result = run_one(&spec);
        assert!((40 / limit..=40 / limit + 2).contains(&result.sockets.connects), "{limit}");
        assert_eq!(result.completed, 40);
    }
}

#[test]
fn a_replay_sends_what_the_log_says_when_it_says() {
    let oracle = oracle();
    let offsets_ms = [0_u64, 0, 30, 31, 200, 400];
    let due_ns = offsets_ms.map(|each| each * 1_000_000);
    let steps = [2, 0, 1, 1, 0, 2];
    let spec = LoadSpec {
        arrival: Arrival::Replay { offsets_ns: due_ns.into(), steps: steps.into() },
        ..timed(arm(&oracle, &["/a", "/b", "/c"]), f64::INFINITY)
    };
    let result = run_one(&spec);
    assert_eq!((result.offered, result.completed), (6, 6), "{}", brief(&result));
    let mut arrivals = oracle.log().arrivals;
    arrivals.sort_by_key(|arrival| arrival.at_ns);
    let mut paths: Vec<_> = arrivals.iter().map(|arrival| arrival.path.clone()).collect();
    // The first two are due at the same time.
    paths[..2].sort();
    assert_eq!(paths, ["/a", "/c", "/b", "/b", "/a", "/c"]);
    for (arrival, offset_ns) in arrivals.iter().zip(due_ns) {
        assert!(arrival.at_ns >= result.opened_ns + offset_ns, "not before it is due");
    }
}
