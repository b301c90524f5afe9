//! Right answers of every form are completed, and counted to the byte.

use std::collections::BTreeSet;

use crate::rig::{arm, counted, errors, oracle, run, run_one, spec, timed};
use httpdyno_load::{Arm, LoadSpec, Request, Users, Window};

const N: u64 = 40;

#[test]
fn every_form_of_a_right_answer_is_completed_with_its_length() {
    let oracle = oracle();
    // Method, path, the status in the end, and the bytes of the body.
    let forms: &[(&str, &str, u16, u64)] = &[
        ("GET", "/", 200, 12),
        ("GET", "/bytes/0", 200, 0),
        ("GET", "/bytes/1000000", 200, 1_000_000),
        ("GET", "/chunked/1000/1", 200, 1000),
        ("GET", "/chunked/1000/999", 200, 1000),
        ("GET", "/chunked/200000/4096", 200, 200_000),
        ("GET", "/chunked/0/10", 200, 0),
        ("GET", "/until-close/100000", 200, 100_000),
        ("GET", "/until-close/0", 200, 0),
        ("GET", "/status/204", 204, 0),
        ("GET", "/status/304", 304, 0),
        ("GET", "/status/301", 301, 12),
        ("GET", "/continue", 200, 12),
        ("GET", "/early-hints", 200, 12),
        ("GET", "/http10", 200, 12),
        ("GET", "/close", 200, 12),
        ("GET", "/drip/12/1/100us", 200, 12),
        ("HEAD", "/bytes/5000", 200, 0),
        ("HEAD", "/chunked/100/10", 200, 0),
        ("HEAD", "/status/304", 304, 0),
        ("POST", "/", 200, 12),
    ];
    for &(method, path, status, length) in forms {
        for keep_alive in [true, false] {
            let mut arm = arm(&oracle, &[path]);
            let request = &mut arm.requests[0];
            request.method = method.to_owned();
            request.expect_status = status;
            request.expect_length = Some(length);
            let result = run_one(&LoadSpec {
                requests_per_connection: u64::from(!keep_alive),
                ..counted(arm, N)
            });
            let case = format!("{method} {path}, keep-alive {keep_alive}");
            assert_eq!((errors(&result), result.completed), (vec![], N), "{case}");
            assert_eq!(result.statuses.into_iter().collect::<Vec<_>>(), [(status, N)], "{case}");
            assert!(result.sockets.bytes_received >= N * length, "{case}");
            assert_eq!((result.latency.count, result.service_time.count), (N, N), "{case}");
        }
    }
}

#[test]
fn bytes_are_counted_exactly() {
    let oracle = oracle();
    let mut arm = arm(&oracle, &["/"]);
    arm.requests[0].method = "POST".to_owned();
    arm.requests[0].body = vec![b'x'; 1000];
    let result = run_one(&counted(arm, N));
    let sent = "POST / HTTP/1.1\r\nHost: oracle.test\r\nContent-Length: 1000\r\n\r\n".len() + 1000;
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n\r\n".len();
    assert_eq!(result.sockets.bytes_sent, N * sent as u64);
    assert_eq!(result.sockets.bytes_received, N * (head as u64 + 12));
}

#[test]
fn bodies_larger_than_any_buffer_are_sent_whole() {
    let oracle = oracle();
    let mut arm = arm(&oracle, &["/", "/chunked/100/10"]);
    for request in &mut arm.requests {
        request.method = "PUT".to_owned();
        request.body = vec![b'x'; 6_000_000];
    }
    let result = run_one(&counted(arm, 12));
    assert_eq!((errors(&result), result.completed), (vec![], 12));
    assert!(result.sockets.bytes_sent > 12 * 6_000_000);
}

#[test]
fn kept_connections_are_kept_and_others_serve_one_request_each() {
    let oracle = oracle();
    let arm = arm(&oracle, &["/"]);
    let kept = run_one(&counted(arm.clone(), 200));
    assert_eq!((kept.sockets.connects, oracle.stats().connections), (4, 4));
    let closed = run_one(&LoadSpec { requests_per_connection: 1, ..counted(arm, 200) });
    assert_eq!((closed.sockets.connects, oracle.stats().connections), (200, 204));
    let since = kept.closed_ns;
    assert!(oracle.log_since(since).arrivals.iter().all(|arrival| arrival.request == 0));
}

#[test]
fn requests_are_sent_in_turn_over_all_threads() {
    let paths: Vec<String> = (0..16).map(|n| format!("/{n}/{{n}}")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    for (threads, connections) in [(1, 1), (2, 4), (3, 4)] {
        let oracle = oracle();
        let part =
            |n_requests| Window { n_requests, ..counted(arm(&oracle, &paths), 1).windows[0] };
        // The second window goes on where the first one ended.
        let windows = vec![part(10), part(38)];
        let spec = LoadSpec { threads, connections, ..spec(vec![arm(&oracle, &paths)], windows) };
        let case = format!("{threads} threads");
        assert_eq!(run(&spec).iter().map(|result| result.completed).sum::<u64>(), 48, "{case}");
        let asked: BTreeSet<String> =
            oracle.log().arrivals.into_iter().map(|arrival| arrival.path).collect();
        let expected: BTreeSet<String> = (0..48).map(|n| format!("/{}/{n}", n % 16)).collect();
        assert_eq!(asked, expected, "{case}");
    }
}

#[test]
fn users_are_numbered_without_a_gap_over_all_threads() {
    for (threads, arrival) in [(1, 0.0), (2, 0.0), (3, 0.0), (1, 2000.0), (2, 2000.0)] {
        let oracle = oracle();
        let all_new = Users { new_ratio: 1.0, ..Users::PLAIN };
        let spec = counted(arm(&oracle, &["/{user}"]), 60);
        let arrival = crate::rig::arrival(arrival);
        let result = run_one(&LoadSpec { threads, users: all_new, arrival, ..spec });
        let asked: Vec<u64> = {
            let arrivals = oracle.log().arrivals.into_iter();
            arrivals.map(|arrival| arrival.path[1..].parse().unwrap()).collect()
        };
        let distinct: BTreeSet<u64> = asked.iter().copied().collect();
        assert_eq!((result.completed, distinct.len()), (60, 60), "{threads} threads: {asked:?}");
        let (first, last) = (distinct.first().unwrap(), distinct.last().unwrap());
        // Users who were never here are among the first numbers.
        assert!(last - first < 70 && *first < 10, "{threads} threads: {distinct:?}");
    }
}

#[test]
fn each_thread_of_a_closed_loop_sends_the_whole_mix() {
    // Two paths of unlike cost: were each thread to keep to one, the cheap one would prevail.
    for threads in [1, 2] {
        let oracle = oracle();
        let arm = arm(&oracle, &["/cheap", "/fixed/3ms"]);
        let result = run_one(&LoadSpec { threads, ..timed(arm, 0.2) });
        let arrivals = oracle.log().arrivals;
        let cheap = arrivals.iter().filter(|arrival| arrival.path == "/cheap").count();
        assert_eq!(arrivals.len() as u64, result.completed);
        assert!(cheap.abs_diff(arrivals.len() - cheap) <= 4, "{threads} threads: {cheap}");
    }
}

#[test]
fn latency_is_the_service_time_that_the_server_kept() {
    let oracle = oracle();
    let result = run_one(&counted(arm(&oracle, &["/bimodal/2ms/40ms/0.25"]), 160));
    let mut truth: Vec<u64> =
        oracle.log().arrivals.iter().map(|a| a.answered_ns.unwrap() - a.at_ns).collect();
    truth.sort_unstable();
    assert_eq!(result.latency.count, 160);
    let truth_mean_s = truth.iter().sum::<u64>() as f64 / 160.0 * 1e-9;
    let mean_s = result.latency.sum_ns as f64 / 160.0 * 1e-9;
    // The way there and back is in the client's figure alone.
    assert!(mean_s >= truth_mean_s, "{mean_s} {truth_mean_s}");
    assert!(mean_s <= truth_mean_s + 0.015, "{mean_s} {truth_mean_s}");
    assert!(result.latency.max_ns >= 40_000_000);
}

#[test]
fn an_arm_may_ask_for_many_things() {
    let oracle = oracle();
    let paths: Vec<String> = (0..100).map(|i| format!("/bytes/{}?id={i}", i * 37)).collect();
    let requests = paths
        .iter()
        .enumerate()
        .map(|(i, path)| Request {
            expect_length: Some(i as u64 * 37),
            ..Request::get("oracle.test", path)
        })
        .collect();
    let arm = Arm::new(oracle.addr().to_string(), requests);
    let result = run_one(&counted(arm, 500));
    assert_eq!((errors(&result), result.completed), (vec![], 500));
}
