//! What users send: cookies, texts that vary, mixes, over whichever line and door.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv6Addr, SocketAddr};
use std::time::Duration;

use crate::rig::{arm, brief, counted, ensure, errors, oracle, run_one, timed, unless_disturbed};
use httpdyno_load::{
    Arm, Arrival, Length, LoadSpec, Request, Slow, Stage, Step, Users, Window, WindowResult,
};
use httpdyno_oracle::{Door, Oracle, OracleConfig, Place};

const JARS: Users = Users { has_cookies: true, ..Users::PLAIN };

fn sessions(rate_per_s: f64, duration_s: f64) -> Arrival {
    let stage = Stage { duration_s, from_per_s: rate_per_s, to_per_s: rate_per_s };
    Arrival::Sessions { stages: vec![stage] }
}

#[test]
fn without_cookies_every_request_makes_a_session_and_with_them_every_user_does() {
    for (users, expected) in [(Users::PLAIN, 60), (JARS, 4)] {
        let oracle = oracle();
        let result = run_one(&LoadSpec { users, ..counted(arm(&oracle, &["/session"]), 60) });
        assert!(errors(&result).is_empty());
        assert_eq!(oracle.stats().sessions_created, expected);
    }
}

/// Users come to each of two servers twice, and both servers call their cookie the same.
#[test]
fn a_cookie_goes_back_to_the_server_that_set_it_and_to_no_other() {
    let servers: Vec<_> = (0..2)
        .map(|_| {
            Oracle::start(OracleConfig { keep_requests: 100, ..OracleConfig::default() }).unwrap()
        })
        .collect();
    let arms = servers.iter().map(|server| arm(server, &["/session"])).collect();
    let window = |index| Window { arm: index, ..counted(arm(&servers[0], &["/"]), 20).windows[0] };
    let windows = [0, 1, 0, 1].map(window).to_vec();
    let spec = LoadSpec { users: JARS, ..crate::rig::spec(arms, windows) };
    for result in crate::rig::run(&spec) {
        assert!(errors(&result).is_empty(), "{}", brief(&result));
    }
    for server in &servers {
        assert_eq!(server.stats().sessions_created, 4, "one for each user");
        let kept = server.kept_requests();
        let without = kept.iter().filter(|each| each.field("Cookie").is_none()).count();
        assert_eq!((kept.len(), without), (40, 4), "but for the first, all have their cookie");
    }
}

#[test]
fn as_many_visits_are_new_users_as_was_asked_for() {
    let oracle = oracle();
    let users = Users { new_ratio: 0.3, n_returning: 50, visit: Length::Fixed(2), ..JARS };
    let spec = LoadSpec {
        arrival: sessions(400.0, 2.0),
        users,
        connections: 64,
        ..timed(arm(&oracle, &["/session"]), f64::INFINITY)
    };
    let result = run_one(&spec);
    let visits = result.visits;
    assert!(errors(&result).is_empty(), "{}", brief(&result));
    assert_eq!(visits.new_users + visits.returning_users, visits.started);
    // A new user's visit makes a session, whoever returns has one.
    assert_eq!(oracle.stats().sessions_created, visits.new_users);
    // 800 visits: 30 % and the first ones of the 50, ± four standard errors of 1.6 %.
    let ratio = visits.new_users as f64 / visits.started as f64;
    assert!((0.24..0.43).contains(&ratio), "{ratio}");
}

#[test]
fn in_a_closed_loop_users_are_new_as_often_as_was_asked_for() {
    let oracle = oracle();
    let users = Users { new_ratio: 0.5, ..JARS };
    let result = run_one(&LoadSpec { users, ..counted(arm(&oracle, &["/session"]), 1000) });
    let created = oracle.stats().sessions_created;
    assert_eq!(created, result.visits.new_users, "{}", brief(&result));
    assert!((430..570).contains(&created), "{created}");
}

#[test]
fn numbers_users_and_random_digits_are_put_in_and_the_length_is_right() {
    let config = OracleConfig { keep_requests: 100, ..OracleConfig::default() };
    let oracle = Oracle::start(config).unwrap();
    let mut request = Request::get("oracle.test", "/echo?item={n}");
    request.method = "POST".to_owned();
    request.headers.push(("X-User".to_owned(), "{user}".to_owned()));
    request.body = br#"{"id": "{random}", "literal": "{{n}}"}"#.to_vec();
    let arm = Arm::new(oracle.addr().to_string(), vec![request]);
    for threads in [1, 2] {
        let result = run_one(&LoadSpec { threads, ..counted(arm.clone(), 40) });
        assert!(errors(&result).is_empty(), "{}", brief(&result));
    }
    let kept = oracle.kept_requests();
    assert_eq!(kept.len(), 80);
    let heads: BTreeSet<_> = kept[..40].iter().map(|each| first_line(&each.head)).collect();
    assert_eq!(heads.len(), 40, "each has a number of its own");
    let bodies: BTreeSet<_> = kept.iter().map(|each| each.body.clone()).collect();
    assert!(bodies.len() >= 40);
    for body in bodies {
        let text = String::from_utf8(body).unwrap();
        let digits = text.strip_prefix(r#"{"id": ""#).unwrap();
        assert!(digits[..16].bytes().all(|byte| byte.is_ascii_hexdigit()), "{text}");
        assert_eq!(&digits[16..], r#"", "literal": "{n}"}"#);
    }
    let users: BTreeSet<_> = kept.iter().map(|each| each.field("X-User").unwrap()).collect();
    assert_eq!(users.len(), 4, "{users:?}");
}

fn first_line(head: &[u8]) -> String {
    String::from_utf8_lossy(head).lines().next().unwrap_or_default().to_owned()
}

/// A table of paths, each as often as its weight says.
fn mix(oracle: &Oracle, weights: &[f64]) -> Arm {
    let requests = (0..weights.len()).map(|i| Request::get("oracle.test", &format!("/{i}")));
    let step = |(request, &weight)| Step { weight, request, objects: Vec::new() };
    Arm {
        steps: weights.iter().enumerate().map(step).collect(),
        ..Arm::new(oracle.addr().to_string(), requests.collect())
    }
}

/// The paths of the log in the order of arrival.
fn paths(oracle: &Oracle) -> Vec<String> {
    let mut arrivals = oracle.log().arrivals;
    arrivals.sort_by_key(|arrival| arrival.at_ns);
    arrivals.into_iter().map(|arrival| arrival.path).collect()
}

#[test]
fn a_mix_is_sent_by_weight_and_counted_by_request() {
    let oracle = oracle();
    let weights = [6.0, 3.0, 0.0, 1.0];
    let result = run_one(&counted(mix(&oracle, &weights), 2000));
    let mut seen = BTreeMap::new();
    for path in paths(&oracle) {
        *seen.entry(path).or_insert(0_u64) += 1;
    }
    for (index, weight) in weights.into_iter().enumerate() {
        let count = seen.get(&format!("/{index}")).copied().unwrap_or(0);
        let expected = weight / 10.0 * 2000.0;
        assert!((count as f64 - expected).abs() <= 4.0 * expected.sqrt(), "{index}: {count}");
        assert_eq!(result.by_request[index].offered, count, "{index}");
        assert_eq!(result.by_request[index].completed, count, "{index}");
    }
}

#[test]
fn the_seed_alone_decides_which_request_comes_when() {
    let sent = |seed: u64, threads: usize| {
        let oracle = oracle();
        let spec = LoadSpec {
            arrival: Arrival::constant(500.0),
            seed,
            threads,
            // One connection of each thread: on several, requests may overtake each other.
            connections: threads,
            ..counted(mix(&oracle, &[2.0, 1.0, 1.0]), 100)
        };
        assert!(errors(&run_one(&spec)).is_empty());
        paths(&oracle)
    };
    let first = sent(7, 1);
    assert_eq!(first, sent(7, 1));
    assert_ne!(first, sent(8, 1));
    let count = |paths: &[String]| paths.iter().filter(|path| *path == "/0").count();
    assert_eq!(count(&first), count(&sent(7, 2)), "whatever the number of threads");
}

fn doors(doors: Vec<Door>) -> Oracle {
    Oracle::start(OracleConfig { doors, ..OracleConfig::default() }).unwrap()
}

#[test]
fn unix_sockets_and_ipv6_carry_the_same() {
    let path = std::env::temp_dir().join(format!("httpdyno-load-{}.sock", std::process::id()));
    let ipv6 = SocketAddr::from((Ipv6Addr::LOCALHOST, 0));
    let oracle = doors(vec![Door::plain(Place::Unix(path)), Door::plain(Place::Tcp(ipv6))]);
    for door in oracle.doors() {
        for requests_per_connection in [0, 1] {
            let arm = Arm::new(door.place.to_string(), vec![Request::get("oracle.test", "/")]);
            let spec = LoadSpec { requests_per_connection, ..counted(arm, 200) };
            let result = run_one(&spec);
            assert_eq!(result.completed, 200, "{}: {}", door.place, brief(&result));
        }
    }
}

#[test]
fn a_unix_socket_that_is_not_there_refuses() {
    let arm = Arm::new("unix:/nonexistent/socket", vec![Request::get("h", "/")]);
    let result = run_one(&counted(arm, 8));
    assert_eq!(errors(&result), [("connect", 8)], "{}", brief(&result));
}

/// Of all kinds of latency the smallest, in seconds.
fn fastest_s(distribution: &httpdyno_load::Distribution) -> f64 {
    distribution.buckets.first().map_or(0.0, |bucket| bucket.0 as f64 / 1e9)
}

#[test]
fn slow_users_take_as_long_as_their_line_needs_and_do_not_slow_the_others() {
    let oracle = oracle();
    let slow = Slow { ratio: 0.25, bytes_per_s: 20_000.0, receive_buffer_bytes: 4096 };
    let spec = LoadSpec {
        connections: 8,
        slow: Some(slow),
        ..timed(arm(&oracle, &["/bytes/10000"]), 1.6)
    };
    let result = run_one(&spec);
    assert!(errors(&result).is_empty(), "{}", brief(&result));
    let [usual, slow] = result.by_population.as_ref().unwrap();
    // 10,000 bytes and their header at 20,000 bytes per second, the request before that.
    let expected_s = (10_000.0 + 60.0 + 40.0) / 20_000.0;
    let fastest = fastest_s(slow.latency.as_ref().unwrap());
    assert!((0.97 * expected_s..1.3 * expected_s).contains(&fastest), "{fastest} s");
    assert!((6..=8).contains(&slow.completed), "two slow users: {}", slow.completed);
    let usual_p50_ns = usual.latency.as_ref().unwrap().quantile_ns(0.5);
    assert!(Duration::from_nanos(usual_p50_ns) < Duration::from_millis(50));
    assert_eq!(usual.completed + slow.completed, result.completed);
}

/// Two slow users of a closed loop, one request each.
fn slowly(oracle: &Oracle, path: &str, bytes_per_s: f64) -> WindowResult {
    let slow = Slow { ratio: 1.0, bytes_per_s, receive_buffer_bytes: 0 };
    run_one(&LoadSpec { slow: Some(slow), connections: 2, ..counted(arm(oracle, &[path]), 2) })
}

#[test]
fn the_end_of_a_connection_is_seen_behind_a_slow_line_too() {
    let oracle = oracle();
    let whole = slowly(&oracle, "/until-close/4000", 20_000.0);
    assert_eq!(whole.completed, 2, "{}", brief(&whole));
    let short = slowly(&oracle, "/fault/short-body?length=4000", 20_000.0);
    assert_eq!(errors(&short), [("short_body", 2)], "{}", brief(&short));
}

#[test]
fn a_slow_line_does_not_save_up_while_the_server_thinks() {
    let oracle = oracle();
    let result = slowly(&oracle, "/bytes/2000?service=fixed:400ms", 4_000.0);
    // The service time, and then 2,000 bytes and their header.
    assert!(fastest_s(&result.latency) >= 0.4 + 0.5, "{:?}", result.latency);
}

#[test]
fn users_have_numbers_also_where_they_keep_no_cookies() {
    let config = OracleConfig { keep_requests: 300, ..OracleConfig::default() };
    let oracle = Oracle::start(config).unwrap();
    let requests = vec![Request::get("oracle.test", "/?user={user}")];
    let spec = LoadSpec {
        arrival: Arrival::constant(1000.0),
        users: Users { n_returning: 100, ..Users::PLAIN },
        ..counted(Arm::new(oracle.addr().to_string(), requests), 300)
    };
    assert!(errors(&run_one(&spec)).is_empty());
    let heads: BTreeSet<_> =
        oracle.kept_requests().iter().map(|each| first_line(&each.head)).collect();
    assert!(heads.len() > 80, "{} of 100 users", heads.len());
}

#[test]
fn the_seed_alone_decides_who_is_new() {
    let counts = |seed: u64| {
        let oracle = oracle();
        let users = Users { new_ratio: 0.4, visit: Length::Geometric { mean: 2.0 }, ..JARS };
        let spec = LoadSpec { users, seed, connections: 1, ..counted(arm(&oracle, &["/"]), 200) };
        run_one(&spec).visits
    };
    assert_eq!(counts(3), counts(3));
    assert_ne!(counts(3), counts(4));
}

#[test]
fn a_slow_request_is_written_as_slowly_as_its_line_is() {
    let mut request = Request::get("oracle.test", "/");
    request.method = "POST".to_owned();
    request.body = vec![b'x'; 3000];
    let slow = Slow { ratio: 1.0, bytes_per_s: 10_000.0, receive_buffer_bytes: 0 };
    unless_disturbed(|| {
        let oracle = oracle();
        let arm = Arm::new(oracle.addr().to_string(), vec![request.clone()]);
        let result = run_one(&LoadSpec { slow: Some(slow), ..counted(arm, 8) });
        assert!(errors(&result).is_empty(), "{}", brief(&result));
        // The oracle's time, which begins late where a busy machine lets it read late.
        let transfers = oracle.log().arrivals.into_iter().map(|arrival| arrival.transfer_ns());
        let fastest = Duration::from_nanos(transfers.min().unwrap());
        ensure(fastest >= Duration::from_millis(200), || format!("{fastest:?}"))
    });
}

/// Exactly: every nanosecond of a completed request belongs to one phase.
fn phases_add_up(result: &WindowResult) {
    let phases = &result.phases;
    let parts =
        [&phases.client_queue, &phases.connect, &phases.tls, &phases.first_byte, &phases.transfer];
    let sum: u128 = parts.iter().map(|part| part.sum_ns).sum();
    assert_eq!(sum, result.latency.sum_ns, "{}", brief(result));
}

#[test]
fn phases_add_up_and_each_is_what_the_server_did() {
    let oracle = oracle();
    let spec = LoadSpec {
        requests_per_connection: 1,
        ..counted(arm(&oracle, &["/drip/60/10/10ms?service=fixed:30ms"]), 24)
    };
    unless_disturbed(|| {
        let result = run_one(&spec);
        assert!(errors(&result).is_empty(), "{}", brief(&result));
        phases_add_up(&result);
        let phases = &result.phases;
        assert_eq!(phases.connect.count, 24);
        let (first_byte_s, transfer_s) =
            (fastest_s(&phases.first_byte), fastest_s(&phases.transfer));
        assert!(first_byte_s >= 0.029, "{:?}", phases.first_byte);
        ensure(first_byte_s < 0.06, || format!("{:?}", phases.first_byte))?;
        ensure((0.045..0.09).contains(&transfer_s), || format!("{:?}", phases.transfer))
    });
    // In an open loop the wait for a connection is the client's own queue.
    let spec = LoadSpec {
        arrival: Arrival::constant(100.0),
        connections: 1,
        ..counted(arm(&oracle, &["/fixed/20ms"]), 20)
    };
    let result = run_one(&spec);
    phases_add_up(&result);
    assert!(result.phases.client_queue.max_ns > 150_000_000, "{:?}", result.phases.client_queue);
}
