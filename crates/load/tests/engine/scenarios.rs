//! Thirty and more ways in which a server can misbehave, each in its own bucket, and nothing lost:
//! what was offered is what was completed and what failed, and the server saw as many.

use std::net::{Ipv4Addr, SocketAddr};

use crate::rig::{
    all_timed_out, arrival, brief, counted, ensure, errors, run_one, unless_disturbed,
};
use httpdyno_load::{Arm, ErrorKind, LoadSpec, Request, Tls, TlsVersions, WindowResult};
use httpdyno_oracle::{Door, Oracle, OracleConfig, Place, Reception};

const N: u64 = 12;

/// Closed and open loop, connections kept and not.
fn ways(arm: &Arm) -> Vec<(String, LoadSpec)> {
    let mut ways = Vec::new();
    for rate_per_s in [0.0, 400.0] {
        for requests_per_connection in [0, 1] {
            let spec = LoadSpec {
                arrival: arrival(rate_per_s),
                requests_per_connection,
                connections: N as usize,
                ..counted(arm.clone(), N)
            };
            ways.push((format!("{rate_per_s}/s, {requests_per_connection} per connection"), spec));
        }
    }
    ways
}

/// Everything ended as expected: `None` is completed. When patience ended needs a try.
#[track_caller]
fn ends_as(result: &WindowResult, expected: Option<ErrorKind>, case: &str) -> Result<(), String> {
    assert_eq!(result.offered, N, "{case}");
    if let Some(kind @ (ErrorKind::Timeout | ErrorKind::ConnectTimeout)) = expected {
        return all_timed_out(result, N, kind, case);
    }
    let expected: Vec<_> = expected.map(|kind| (kind.name(), N)).into_iter().collect();
    assert_eq!(errors(result), expected, "{case}: {}", brief(result));
    Ok(())
}

const BAD: Option<ErrorKind> = Some(ErrorKind::BadResponse);
const LATE: Option<ErrorKind> = Some(ErrorKind::Timeout);

/// What is not in `faults.rs`, and what it must end in.
const FAULTS: [(&str, Option<ErrorKind>); 22] = [
    ("reset-after", None),
    ("silent-close?length=100", None),
    ("extra-bytes", None),
    ("half-closed", LATE),
    ("length-and-chunked", None),
    ("doubled-length", None),
    ("hang-in-headers", LATE),
    ("hang-in-body", LATE),
    ("drip-headers?interval=20ms", LATE),
    ("endless-body", LATE),
    ("interim-flood", BAD),
    ("header-flood", BAD),
    ("http2", BAD),
    ("no-status", BAD),
    ("no-colon", BAD),
    ("negative-length", BAD),
    ("length-overflow", BAD),
    ("conflicting-length", BAD),
    ("chunk-overflow", BAD),
    ("chunk-without-crlf", BAD),
    ("bad-chunk", BAD),
    ("endless-headers", BAD),
];

#[test]
fn each_fault_of_an_answer_ends_in_its_own_bucket() {
    for (fault, expected) in FAULTS {
        let oracle = crate::rig::oracle();
        let arm = crate::rig::arm(&oracle, &[&format!("/fault/{fault}")]);
        for (way, spec) in ways(&arm) {
            let case = format!("{fault} at {way}");
            // A connection that the server closed behind an answer is told apart elsewhere: here
            // each has a connection of its own.
            let timeout_s = if expected == LATE { 0.15 } else { 10.0 };
            let spec = LoadSpec { requests_per_connection: 1, timeout_s, ..spec };
            // One that was not let run may be out of patience before it has sent anything.
            unless_disturbed(|| {
                let before = oracle.stats().requests;
                ends_as(&run_one(&spec), expected, &case)?;
                let seen = oracle.stats().requests - before;
                assert!(seen == N || expected == LATE && seen < N, "{case}: {seen} were seen");
                ensure(seen == N, || format!("{case}: {seen} of {N} were seen"))
            });
        }
    }
}

#[test]
fn an_answer_that_comes_before_the_request_is_whole_counts_as_what_it_is() {
    for (fault, expected) in [
        ("early-413", &[ErrorKind::WrongStatus][..]),
        // The reset may overtake the answer: both are true.
        ("early-413-reset", &[ErrorKind::WrongStatus, ErrorKind::Reset]),
        ("reset-in-request", &[ErrorKind::Reset]),
    ] {
        let oracle = crate::rig::oracle();
        let mut arm = crate::rig::arm(&oracle, &[&format!("/fault/{fault}")]);
        arm.requests[0].method = "POST".to_owned();
        arm.requests[0].body = vec![b'x'; 1 << 20];
        for (way, spec) in ways(&arm) {
            let result = run_one(&spec);
            let counted: u64 = expected.iter().map(|&kind| result.errors.of(kind)).sum();
            assert_eq!(counted, N, "{fault} at {way}: {}", brief(&result));
        }
    }
}

fn door(reception: Reception, is_tls: bool) -> Oracle {
    let place = Place::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    let door = Door { reception, ..if is_tls { Door::tls(place) } else { Door::plain(place) } };
    Oracle::start(OracleConfig { doors: vec![door], ..OracleConfig::default() }).unwrap()
}

/// An arm for the door that was added.
fn arm(oracle: &Oracle, tls: Option<Tls>) -> Arm {
    let address = oracle.doors().last().unwrap().place.to_string();
    Arm { tls, ..Arm::new(address, vec![Request::get("localhost", "/")]) }
}

fn trusting(oracle: &Oracle) -> Tls {
    Tls {
        server_name: "localhost".to_owned(),
        roots_pem: Some(oracle.authority().unwrap().ca_pem().into_bytes()),
        identity_pem: None,
        is_verified: true,
        versions: TlsVersions::Any,
        resumes: true,
    }
}

#[test]
fn a_connection_that_ends_before_a_request_is_told_by_how_it_ends() {
    for (reception, expected) in [
        (Reception::ResetAtAccept, Some(ErrorKind::Reset)),
        (Reception::FinAtAccept, Some(ErrorKind::Reset)),
        (Reception::HangAtAccept, LATE),
    ] {
        let oracle = door(reception, false);
        for (way, spec) in ways(&arm(&oracle, None)) {
            let is_late = expected.is_some_and(|kind| kind.name().ends_with("timeout"));
            let timeout_s = if is_late { 0.15 } else { 10.0 };
            let spec = LoadSpec { timeout_s, ..spec };
            let case = format!("{reception:?} at {way}");
            unless_disturbed(|| ends_as(&run_one(&spec), expected, &case));
        }
        assert_eq!(oracle.stats().requests, 0);
    }
}

#[test]
fn a_handshake_that_fails_is_told_by_how_it_fails() {
    for (reception, expected) in [
        (Reception::Usual, None),
        (Reception::UnknownAuthority, Some(ErrorKind::Tls)),
        (Reception::WrongName, Some(ErrorKind::Tls)),
        (Reception::Expired, Some(ErrorKind::Tls)),
        (Reception::TlsAlert, Some(ErrorKind::Tls)),
        (Reception::TlsGarbage, Some(ErrorKind::Tls)),
        (Reception::ResetInHandshake, Some(ErrorKind::Reset)),
        (Reception::FinInHandshake, Some(ErrorKind::Reset)),
        (Reception::HangInHandshake, Some(ErrorKind::ConnectTimeout)),
    ] {
        let oracle = door(reception, true);
        for (way, spec) in ways(&arm(&oracle, Some(trusting(&oracle)))) {
            let is_late = expected == Some(ErrorKind::ConnectTimeout);
            let spec = LoadSpec { timeout_s: if is_late { 0.15 } else { 10.0 }, ..spec };
            let case = format!("{reception:?} at {way}");
            unless_disturbed(|| ends_as(&run_one(&spec), expected, &case));
        }
    }
}

#[test]
fn a_body_over_tls_that_is_cut_off_is_short_even_where_the_end_of_the_connection_ends_it() {
    let oracle = door(Reception::Usual, true);
    for fault in ["cut-in-body", "cut-until-close", "short-body"] {
        let mut arm = arm(&oracle, Some(trusting(&oracle)));
        arm.requests = vec![Request::get("localhost", &format!("/fault/{fault}?length=1000"))];
        for (way, spec) in ways(&arm) {
            let result = run_one(&spec);
            ends_as(&result, Some(ErrorKind::ShortBody), &format!("{fault} at {way}")).unwrap();
        }
    }
}

#[test]
fn handshakes_are_counted_full_and_resumed() {
    let oracle = door(Reception::Usual, true);
    for (versions, resumes) in
        [(TlsVersions::Only12, true), (TlsVersions::Only13, true), (TlsVersions::Any, false)]
    {
        let tls = Tls { versions, resumes, ..trusting(&oracle) };
        let spec = LoadSpec {
            requests_per_connection: 1,
            connections: 1,
            ..counted(arm(&oracle, Some(tls)), 20)
        };
        let result = run_one(&spec);
        assert_eq!(result.completed, 20, "{}", brief(&result));
        let full = if resumes { 1 } else { 20 };
        assert_eq!(
            (result.sockets.handshakes_full, result.sockets.handshakes_resumed),
            (full, 20 - full)
        );
        assert_eq!(result.phases.tls.count, 20);
    }
}

#[test]
fn a_kept_connection_over_tls_carries_many_requests_and_big_bodies() {
    let oracle = door(Reception::Usual, true);
    let mut arm = arm(&oracle, Some(trusting(&oracle)));
    arm.requests = ["/", "/bytes/300000", "/chunked/50000/1000", "/status/204"]
        .map(|path| Request::get("localhost", path))
        .to_vec();
    arm.steps = (0..4).map(httpdyno_load::Step::request).collect();
    let result = run_one(&counted(arm, 200));
    assert_eq!((result.completed, result.sockets.connects), (200, 4), "{}", brief(&result));
}
