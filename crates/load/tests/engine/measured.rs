//! What a window's result tells of the way there: phases, parts, batches, traces, looks at it.

use std::time::{Duration, Instant};

use crate::rig::{
    PATIENCE, arm, arrival, brief, counted, ensure, finish, run, run_one, start, timed,
    unless_disturbed,
};
use httpdyno_load::{ErrorKind, Live, LoadSpec, Request, Slow, Window};
use httpdyno_oracle::{Oracle, OracleConfig};

const MS: u64 = 1_000_000;

/// At 200/s on 16 connections.
fn open(spec: LoadSpec) -> LoadSpec {
    LoadSpec { arrival: arrival(200.0), connections: 16, ..spec }
}

#[test]
fn the_time_to_connect_is_told_apart_where_a_backlog_overflows() {
    // One connection waits in the queue; the others send a second SYN a second later.
    let config = OracleConfig { backlog: Some(0), ..OracleConfig::default() };
    let oracle = Oracle::start(config).unwrap();
    oracle.stall_accept(Duration::from_millis(300));
    let spec = LoadSpec { connections: 4, ..counted(arm(&oracle, &["/"]), 4) };
    let result = run_one(&spec);
    assert_eq!(result.completed, 4, "{}", brief(&result));
    let connect = &result.phases.connect;
    assert_eq!(connect.count, result.sockets.connects, "each opened a connection");
    let slow = connect.buckets.iter().filter(|bucket| bucket.0 >= 900 * MS);
    let n_slow: u64 = slow.map(|bucket| bucket.1).sum();
    assert!((1..=3).contains(&n_slow), "{}", brief(&result));
    assert_eq!(result.phases.tls.count, 0);
}

#[test]
fn the_wait_for_a_connection_is_the_clients_queue() {
    let oracle = crate::rig::oracle();
    let spec = open(counted(arm(&oracle, &["/fixed/20ms"]), 40));
    let result = run_one(&LoadSpec { connections: 1, ..spec });
    // 200/s at 50/s: the last of 40 waits for 39 times 15 ms.
    let queue = &result.phases.client_queue;
    assert!(queue.max_ns >= 500 * MS, "{}", brief(&result));
    assert_eq!((queue.count, queue.sum_ns), (40, result.lateness.sum_ns));
    assert!(result.phases.first_byte.buckets[0].0 >= 20 * MS, "{}", brief(&result));
}

#[test]
fn parts_by_request_tell_the_dear_from_the_cheap_and_the_failing() {
    let oracle = crate::rig::oracle();
    let paths = ["/", "/fixed/30ms", "/status/500"];
    for spec in [counted(arm(&oracle, &paths), 60), open(counted(arm(&oracle, &paths), 60))] {
        let result = run_one(&spec);
        let [cheap, dear, failing] = &result.by_request[..] else { panic!("{}", brief(&result)) };
        assert_eq!([cheap.offered, dear.offered, failing.offered], [20; 3]);
        assert_eq!([cheap.completed, dear.completed, failing.completed], [20, 20, 0]);
        assert_eq!(failing.errors.of(ErrorKind::WrongStatus), 20);
        let fastest = |part: &httpdyno_load::Part| part.latency.as_ref().unwrap().buckets[0].0;
        assert!(fastest(dear) >= 30 * MS && fastest(cheap) < 30 * MS, "{}", brief(&result));
        assert_eq!(failing.latency.as_ref().unwrap().count, 0);
    }
}

#[test]
fn a_table_of_hundreds_is_counted_whole_and_has_latencies_for_its_first() {
    let oracle = crate::rig::oracle();
    let requests: Vec<Request> =
        (0..300).map(|n| Request::get("oracle.test", &format!("/?n={n}"))).collect();
    let arm = httpdyno_load::Arm::new(oracle.addr().to_string(), requests);
    let result = run_one(&counted(arm, 900));
    assert_eq!(result.by_request.len(), 300);
    assert!(result.by_request.iter().all(|part| (part.offered, part.completed) == (3, 3)));
    for (index, part) in result.by_request.iter().enumerate() {
        assert_eq!(part.latency.as_ref().map(|latency| latency.count), (index < 64).then_some(3));
    }
}

#[test]
fn arms_with_tables_of_different_lengths_have_their_own_parts() {
    let oracle = crate::rig::oracle();
    let arms = vec![arm(&oracle, &["/", "/fixed/1ms", "/bytes/9"]), arm(&oracle, &["/"])];
    let windows = [0, 1, 0].map(|arm| Window {
        arm,
        lead_in_s: 0.0,
        measure_s: f64::INFINITY,
        n_requests: 30,
        credit: None,
    });
    let results = run(&crate::rig::spec(arms, windows.to_vec()));
    let lengths: Vec<usize> = results.iter().map(|result| result.by_request.len()).collect();
    assert_eq!(lengths, [3, 1, 3]);
}

#[test]
fn the_slow_are_told_apart_from_the_usual() {
    let oracle = crate::rig::oracle();
    let slow = Slow { ratio: 0.5, bytes_per_s: 20_000.0, receive_buffer_bytes: 4096 };
    let spec = counted(arm(&oracle, &["/bytes/4000"]), 20);
    let result = run_one(&LoadSpec { slow: Some(slow), ..spec });
    let [usual, slow] = result.by_population.as_ref().unwrap();
    assert!(slow.completed > 0 && usual.completed > 0, "{}", brief(&result));
    assert_eq!(usual.bytes_received + slow.bytes_received, result.sockets.bytes_received);
    assert!(slow.bytes_received >= 4000 * slow.completed);
    // 4,000 bytes at 20,000 a second.
    assert!(slow.latency.as_ref().unwrap().buckets[0].0 >= 100 * MS, "{}", brief(&result));
}

#[test]
fn requests_that_were_given_up_are_lower_bounds_in_the_latency() {
    let oracle = crate::rig::oracle();
    let never = timed(arm(&oracle, &["/fault/never"]), 0.4);
    // Two are on connections, the others wait: for their patience, or for the window's end.
    let waiting = LoadSpec { connections: 2, timeout_s: 0.15, ..open(never.clone()) };
    let cut_off = LoadSpec { drain_s: 0.02, ..never };
    let cases = [
        (waiting, vec![ErrorKind::Timeout, ErrorKind::Unsent]),
        (cut_off, vec![ErrorKind::Unfinished]),
    ];
    for (spec, kinds) in cases {
        let result = run_one(&spec);
        let seen: Vec<ErrorKind> = result.errors.iter().map(|(kind, _)| kind).collect();
        assert_eq!(seen, kinds, "{}", brief(&result));
        assert_eq!(result.latency.count, result.offered, "{}", brief(&result));
        assert_eq!(result.censored.count, result.offered, "{}", brief(&result));
        assert_eq!(result.censored.sum_ns, result.latency.sum_ns);
        let least = if kinds.len() == 2 { 150 * MS } else { 400 * MS };
        assert!(result.censored.max_ns >= least, "{}", brief(&result));
    }
}

#[test]
fn batches_show_when_the_server_stood_still() {
    let oracle = crate::rig::oracle();
    let spec = open(timed(arm(&oracle, &["/"]), 1.0));
    let run = start(&spec, None).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while oracle.stats().requests < 60 {
        assert!(Instant::now() < deadline && !run.wait(Duration::from_millis(1)).unwrap());
    }
    oracle.stall(Duration::from_millis(300));
    let result = finish(&run).remove(0);
    let batches = &result.batches;
    assert_eq!(batches.interval_ns, 10 * MS);
    assert!((100..=101).contains(&batches.len()), "{} intervals", batches.len());
    let still = |n: &&[u64]| n.iter().sum::<u64>() == 0;
    assert!(batches.completed.windows(25).filter(still).count() > 0, "{:?}", batches.completed);
    assert_eq!(batches.offered.iter().filter(|&&n| n == 2).count(), 100, "2 in each 10 ms");
    // What ended just after the stall had waited for up to all of it.
    let worst = (0..batches.len()).map(|index| batches.latency(index).max_ns).max();
    assert!(worst.unwrap() >= 250 * MS, "{worst:?}");
}

#[test]
fn the_first_requests_are_traced_instant_by_instant_over_all_threads() {
    let oracle = crate::rig::oracle();
    let lead_in_s = 0.1;
    let window = Window { arm: 0, lead_in_s, measure_s: 0.5, n_requests: 0, credit: None };
    let spec =
        crate::rig::spec(vec![arm(&oracle, &["/fixed/1ms", "/status/500"])], vec![window; 2]);
    let spec = LoadSpec { threads: 2, n_traced: 60, ..open(spec) };
    for result in run(&spec) {
        let trace = result.trace.as_ref().unwrap();
        let due: Vec<u64> = (0..60).map(|n| result.measure_start_ns + n * 5 * MS).collect();
        assert_eq!(trace.due_ns, due, "of the measured part, by due time");
        let outcomes = [0, ErrorKind::WrongStatus as u8 + 1];
        for n in 0..60 {
            let request = trace.request[n];
            assert_eq!(trace.outcome[n], outcomes[request as usize]);
            let instants =
                [trace.due_ns[n], trace.issued_ns[n], trace.written_ns[n], trace.end_ns[n]];
            assert!(instants.is_sorted(), "{instants:?}");
        }
        let answered = trace.request.iter().filter(|&&request| request == 0).count();
        assert_eq!(answered, 30);
    }
    let untraced = run(&LoadSpec { n_traced: 0, ..spec });
    assert!(untraced.iter().all(|result| result.trace.is_none()));
}

#[test]
fn in_a_closed_loop_the_first_to_be_taken_up_are_traced() {
    let oracle = crate::rig::oracle();
    let spec = counted(arm(&oracle, &["/", "/fixed/20ms"]), 50);
    let result = run_one(&LoadSpec { n_traced: 1000, ..spec });
    let trace = result.trace.unwrap();
    assert_eq!(trace.due_ns.len(), 50, "there are no more");
    assert!(trace.due_ns.is_sorted());
    assert_eq!(trace.due_ns, trace.issued_ns);
    let total_ns: u64 = trace.end_ns.iter().zip(&trace.due_ns).map(|(end, due)| end - due).sum();
    assert_eq!(u128::from(total_ns), result.latency.sum_ns);
}

#[test]
fn a_window_can_be_looked_at_while_it_is_under_way() {
    let oracle = crate::rig::oracle();
    let spec = LoadSpec { threads: 2, ..open(timed(arm(&oracle, &["/"]), 1.5)) };
    unless_disturbed(|| {
        let run = start(&spec, None).unwrap();
        let mut looks: Vec<Live> = Vec::new();
        while !run.wait(Duration::from_millis(20)).unwrap() {
            looks.extend(run.live());
        }
        assert!(run.live().is_none(), "no window is under way");
        let result = finish(&run).remove(0);
        for look in &looks {
            assert_eq!(look.offered, look.completed + look.errors + look.in_flight, "{look:?}");
            assert_eq!(look.latency.count, look.completed);
        }
        let grows = |pair: &[Live]| {
            pair[0].completed <= pair[1].completed && pair[0].elapsed_s <= pair[1].elapsed_s
        };
        assert!(looks.windows(2).all(grows));
        // What is shown is never much older than the tenth of a second that it may be.
        let (last, total) = (looks.last().map_or(0, |look| look.completed), result.completed);
        let is_followed = looks.len() > 20 && last * 2 > total;
        ensure(is_followed, || format!("{} looks, at last {last} of {total}", looks.len()))
    });
}

#[test]
fn a_look_at_a_silent_server_shows_what_is_in_flight() {
    let oracle = crate::rig::oracle();
    let spec = LoadSpec { timeout_s: 1.0, ..timed(arm(&oracle, &["/fault/never"]), 0.8) };
    let run = start(&spec, None).unwrap();
    let mut most = 0;
    while !run.wait(Duration::from_millis(10)).unwrap() {
        most = most.max(run.live().map_or(0, |look| look.in_flight));
    }
    finish(&run);
    assert_eq!(most, 4);
}
