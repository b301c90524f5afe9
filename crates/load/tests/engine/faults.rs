//! Each misbehaviour of a server ends in the kind of error that is named after it, every time.

use std::net::{Ipv4Addr, SocketAddr};

use crate::rig::{
    all_timed_out, arm, arrival, brief, counted, ensure, errors, oracle, run_one, timed,
    unless_disturbed,
};
use httpdyno_load::{Arm, ErrorKind, LoadSpec, Request};
use httpdyno_oracle::{CloseAfter, Oracle, OracleConfig};
use socket2::{Domain, Socket, Type};

const N: u64 = 24;

/// What each path must end in.
const FAULTS: &[(&str, ErrorKind)] = &[
    ("/fault/reset-before", ErrorKind::Reset),
    ("/fault/reset-before?service=fixed:2ms", ErrorKind::Reset),
    ("/fault/reset-in-headers", ErrorKind::Reset),
    ("/fault/reset-in-body", ErrorKind::Reset),
    ("/fault/reset-in-body?length=100000", ErrorKind::Reset),
    ("/fault/fin-before", ErrorKind::Reset),
    ("/fault/fin-in-headers", ErrorKind::BadResponse),
    ("/fault/short-body", ErrorKind::ShortBody),
    ("/fault/short-body?length=100000", ErrorKind::ShortBody),
    ("/fault/long-length", ErrorKind::ShortBody),
    ("/fault/unended-chunks", ErrorKind::ShortBody),
    ("/fault/bad-chunk", ErrorKind::BadResponse),
    ("/fault/garbage", ErrorKind::BadResponse),
    ("/fault/endless-headers", ErrorKind::BadResponse),
    ("/status/404", ErrorKind::WrongStatus),
    ("/status/500?length=0", ErrorKind::WrongStatus),
    ("/fixed/nonsense", ErrorKind::WrongStatus),
];

/// The four ways to load: closed or open loop, connections kept or not.
fn ways(arm: &Arm) -> Vec<(String, LoadSpec)> {
    let mut ways = Vec::new();
    for rate_per_s in [0.0, 400.0] {
        for keep_alive in [true, false] {
            let spec = LoadSpec {
                arrival: arrival(rate_per_s),
                requests_per_connection: u64::from(!keep_alive),
                ..counted(arm.clone(), N)
            };
            ways.push((format!("rate {rate_per_s}/s, keep-alive {keep_alive}"), spec));
        }
    }
    ways
}

#[test]
fn each_fault_ends_in_its_own_kind_and_the_server_saw_as_many() {
    for &(path, kind) in FAULTS {
        let oracle = oracle();
        for (turn, (way, spec)) in ways(&arm(&oracle, &[path])).into_iter().enumerate() {
            let result = run_one(&spec);
            let case = format!("{path} at {way}");
            assert_eq!(errors(&result), [(kind.name(), N)], "{case}: {}", brief(&result));
            assert_eq!((result.offered, result.completed), (N, 0), "{case}");
            let is_explained = result.reasons.of(kind).is_some();
            assert_eq!(is_explained, kind == ErrorKind::BadResponse, "{case}");
            assert_eq!(oracle.stats().requests, N * (turn as u64 + 1), "{case}");
        }
    }
}

#[test]
fn answers_that_do_not_come_in_time_are_timeouts_at_their_age() {
    // The last one drips for half a second: alive all the time, and too late nevertheless.
    for path in ["/fault/never", "/fixed/10s", "/drip/50/1/10ms"] {
        unless_disturbed(|| {
            let oracle = oracle();
            for (way, spec) in ways(&arm(&oracle, &[path])) {
                let result = run_one(&LoadSpec { timeout_s: 0.2, connections: 24, ..spec });
                let case = format!("{path} at {way}");
                all_timed_out(&result, N, ErrorKind::Timeout, &case)?;
                assert_eq!(result.latency.count, N, "{case}: patience ends in the distribution");
                let least_ns = result.latency.buckets[0].0;
                assert!(least_ns >= 200_000_000, "{case}: {least_ns} ns is less than the patience");
            }
            // One that was sent may be given up before a busy machine lets the oracle read it.
            let seen = oracle.stats().requests;
            ensure(seen == N * 4, || format!("{path}: {seen} requests"))
        });
    }
}

#[test]
fn a_fault_on_one_path_leaves_the_answers_of_the_others_alone() {
    let oracle = oracle();
    let mixed = arm(&oracle, &["/", "/fault/short-body", "/bytes/70000", "/status/404"]);
    for (way, spec) in ways(&mixed) {
        let result = run_one(&spec);
        assert_eq!(errors(&result), [("short_body", N / 4), ("wrong_status", N / 4)], "{way}");
        assert_eq!(result.completed, N / 2, "{way}");
        assert_eq!(result.statuses.get(&200), Some(&(N / 2)), "{way}");
        assert_eq!(result.statuses.get(&404), Some(&(N / 4)), "{way}");
    }
}

#[test]
fn what_an_answer_should_be_is_checked_to_the_byte() {
    let oracle = oracle();
    let cases: [(&str, u16, Option<u64>, Option<ErrorKind>); 9] = [
        ("/bytes/100", 200, Some(100), None),
        ("/bytes/100", 0, Some(99), Some(ErrorKind::WrongLength)),
        ("/bytes/100", 201, Some(100), Some(ErrorKind::WrongStatus)),
        ("/status/404?length=5", 404, Some(5), None),
        ("/status/404", 200, None, Some(ErrorKind::WrongStatus)),
        ("/chunked/1000/7", 200, Some(1000), None),
        ("/chunked/1000/7", 200, Some(1001), Some(ErrorKind::WrongLength)),
        ("/until-close/1000", 200, Some(1000), None),
        ("/until-close/1000", 200, Some(1), Some(ErrorKind::WrongLength)),
    ];
    for (path, expect_status, expect_length, kind) in cases {
        let mut arm = arm(&oracle, &[path]);
        arm.requests = vec![Request { expect_status, expect_length, ..arm.requests.remove(0) }];
        let result = run_one(&counted(arm, N));
        let expected: Vec<_> = kind.map(|kind| (kind.name(), N)).into_iter().collect();
        assert_eq!(errors(&result), expected, "{path} expecting {expect_status} {expect_length:?}");
    }
}

#[test]
fn a_port_that_nobody_listens_on_is_refused_and_not_hammered() {
    // Bound, so that nobody else is given it meanwhile, but not listening.
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap().to_string();
    let arm = Arm::new(address, vec![Request::get("nobody.test", "/")]);
    for (way, spec) in ways(&arm) {
        let result = run_one(&spec);
        assert_eq!(errors(&result), [("refused", N)], "{way}");
        assert_eq!(result.sockets.bytes_sent, 0, "{way}");
    }
    // A closed loop may not turn a refusal into a busy loop of its own.
    let result = run_one(&timed(arm, 0.3));
    assert_eq!(errors(&result), [("refused", result.offered)]);
    assert!(
        result.offered > 0 && result.sockets.connects < 3000,
        "{} connects",
        result.sockets.connects
    );
}

#[test]
fn a_listener_that_never_accepts_times_out() {
    let config = OracleConfig { accepts: false, backlog: Some(1), ..OracleConfig::default() };
    unless_disturbed(|| {
        let oracle = Oracle::start(config.clone()).unwrap();
        for (way, spec) in ways(&arm(&oracle, &["/"])) {
            let result = run_one(&LoadSpec { timeout_s: 0.05, connections: 8, ..spec });
            // Two fit the backlog: these are connected, and never accepted. What waited for a
            // connection for all its patience, as on a busy machine, was not connecting either.
            let connected = result.errors.of(ErrorKind::Timeout);
            assert_eq!(connected + result.errors.of(ErrorKind::ConnectTimeout), N, "{way}");
            assert_eq!(oracle.stats().connections, 0);
            ensure(connected <= 8, || format!("{way}: {}", brief(&result)))?;
        }
        Ok(())
    });
}

#[test]
fn connections_that_a_server_ends_in_good_order_cost_no_request() {
    for requests in [1, 3] {
        let close_after = Some(CloseAfter { requests, is_announced: true });
        let oracle =
            Oracle::start(OracleConfig { close_after, ..OracleConfig::default() }).unwrap();
        for rate_per_s in [0.0, 400.0] {
            let spec = counted(arm(&oracle, &["/", "/chunked/50/7"]), N);
            let result = run_one(&LoadSpec { arrival: arrival(rate_per_s), ..spec });
            assert_eq!(
                (errors(&result), result.completed),
                (vec![], N),
                "{requests} at {rate_per_s}"
            );
            assert!(
                result.sockets.connects >= N / u64::from(requests),
                "{}",
                result.sockets.connects
            );
        }
    }
}

#[test]
fn a_connection_that_ended_while_it_was_idle_is_not_used_again() {
    // 25 ms between requests: the FIN, RST or stray bytes are there long before the next one is
    // due. Where a machine is so busy that they are not, the request is a reset and not lost;
    // and where it reads stray bytes together with the answer, that is a bad one.
    let paths = ["silent-close", "silent-linger", "reset-after", "extra-bytes"];
    for path in paths.map(|name| format!("/fault/{name}")) {
        unless_disturbed(|| {
            let oracle = oracle();
            let spec = counted(arm(&oracle, &[&path]), 12);
            let result = run_one(&LoadSpec { arrival: arrival(40.0), connections: 1, ..spec });
            let late = match path.as_str() {
                "/fault/extra-bytes" => ErrorKind::BadResponse,
                _ => ErrorKind::Reset,
            };
            let n_late = result.errors.of(late);
            assert_eq!(result.completed + n_late, 12, "{path}: {}", brief(&result));
            let connections = oracle.stats().connections;
            let told = || format!("{path}: {connections} connections, {}", brief(&result));
            ensure(n_late <= 1 && connections == 12, told)
        });
    }
}

#[test]
fn a_connection_that_ends_under_a_closed_loop_loses_at_most_the_request_on_it() {
    // Whether the next request is written before the end of the connection is seen is a race;
    // that each request is counted once, and whole answers as completed, is not.
    for path in ["/fault/silent-close", "/fault/silent-linger", "/fault/reset-after"] {
        let oracle = oracle();
        let result = run_one(&counted(arm(&oracle, &[path]), 200));
        let resets = result.errors.of(ErrorKind::Reset);
        assert_eq!(result.completed + resets, 200, "{path}: {}", brief(&result));
        assert!(result.completed >= 100, "{path}: {}", brief(&result));
        assert_eq!(oracle.stats().requests, result.completed, "{path}: {}", brief(&result));
    }
}
