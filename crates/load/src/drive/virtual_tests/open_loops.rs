//! A schedule: requests go when they are due, and latency counts from then.

use std::collections::BinaryHeap;

use proptest::prelude::*;

use crate::count::ErrorKind;
use crate::drive::virtual_rig::{MS, Reply, S, World, counted, run_one, run_thread, window};
use crate::input::{Arrival, LoadSpec, Stage, Window, example};
use crate::schedule::Arrivals;

/// An even schedule for a second over so many connections.
fn even(rate_per_s: f64, connections: usize) -> LoadSpec {
    LoadSpec {
        arrival: Arrival::constant(rate_per_s),
        windows: vec![window(0.0, 1.0)],
        connections,
        ..example()
    }
}

/// The ends that a first-come queue of so many places gives: of what is due then and takes so long.
fn queue(due_ns: &[u64], n_places: usize, mut takes_ns: impl FnMut(usize, u64) -> u64) -> Vec<u64> {
    let mut free: BinaryHeap<_> = (0..n_places).map(|_| std::cmp::Reverse(0)).collect();
    let mut end = |(index, &due_ns): (usize, &u64)| {
        let std::cmp::Reverse(free_ns) = free.pop().unwrap();
        let start_ns = due_ns.max(free_ns);
        let end_ns = start_ns + takes_ns(index, start_ns);
        free.push(std::cmp::Reverse(end_ns));
        end_ns
    };
    due_ns.iter().enumerate().map(&mut end).collect()
}

#[test]
fn requests_go_at_the_instants_that_they_are_due() {
    let world = World::new(|_| Reply::After(3 * MS));
    let outcome = run_one(&world, &even(100.0, 4));
    let sent: Vec<u64> = world.log().iter().map(|seen| outcome.since_opening(seen.at_ns)).collect();
    assert_eq!(sent, (0..100).map(|n| n * 10 * MS).collect::<Vec<_>>());
    assert_eq!(outcome.latencies_ns(), [3 * MS; 100]);
    let lateness = outcome.tally.lateness.distribution();
    assert_eq!((lateness.count, lateness.sum_ns), (100, 0));
    assert_eq!(
        (
            outcome.tally.punctuality.due,
            outcome.tally.punctuality.late,
            outcome.tally.punctuality.waited
        ),
        (100, 0, 0)
    );
    assert!(world.n_waits() < 320, "it does not poll: {}", world.n_waits());
}

#[test]
fn a_number_of_requests_takes_as_many_gaps_or_until_its_last_answer() {
    for (rate_per_s, n_requests, threads, answer_ms, lasts_ms) in [
        (10.0, 10, 1, 3, 1000),
        (10.0, 10, 2, 3, 1000),
        (2.0, 1, 1, 3, 500),
        (100.0, 100, 1, 400, 990 + 400),
    ] {
        for thread in 0..threads {
            let world = World::new(move |_| Reply::After(answer_ms * MS));
            let windows = vec![Window { lead_in_s: 0.5, ..counted(n_requests) }];
            let spec = LoadSpec { windows, threads, ..even(rate_per_s, 80) };
            let outcome = run_thread(&world, &spec, thread, None).remove(0);
            let lasted_ns = outcome.tally.measure_end_ns - outcome.plan.measure_start_ns;
            assert_eq!(lasted_ns / MS, lasts_ms, "{n_requests} at {rate_per_s}/s, {thread}");
            assert_eq!(outcome.tally.closed_ns, outcome.tally.measure_end_ns);
        }
    }
}

#[test]
fn a_poisson_schedule_is_the_one_of_its_seed() {
    let stages = vec![Stage { duration_s: 1.0, from_per_s: 300.0, to_per_s: 50.0 }];
    let arrival = Arrival::Open { stages, is_poisson: true };
    let world = World::new(|_| Reply::After(0));
    let outcome =
        run_one(&world, &LoadSpec { arrival: arrival.clone(), seed: 7, ..even(1.0, 200) });
    let mut arrivals = Arrivals::new(&arrival, 7, 0).unwrap();
    let due: Vec<u64> =
        std::iter::from_fn(|| arrivals.next_ns()).take_while(|&at_ns| at_ns < S).collect();
    let sent: Vec<u64> = world.log().iter().map(|seen| outcome.since_opening(seen.at_ns)).collect();
    assert!(due.len() > 100);
    assert_eq!(sent, due);
}

#[test]
fn threads_share_a_schedule_without_a_gap_or_a_double() {
    let stages = vec![Stage { duration_s: 1.0, from_per_s: 300.0, to_per_s: 300.0 }];
    let arrival = Arrival::Open { stages, is_poisson: true };
    let sent = |threads: usize| {
        let spec = LoadSpec { arrival: arrival.clone(), threads, ..even(1.0, 240) };
        let of_thread = |thread| {
            let world = World::new(|_| Reply::After(0));
            let outcome = run_thread(&world, &spec, thread, None).remove(0);
            let log = world.log();
            log.iter().map(|seen| outcome.since_opening(seen.at_ns)).collect::<Vec<_>>()
        };
        let mut sent: Vec<u64> = (0..threads).flat_map(of_thread).collect();
        sent.sort_unstable();
        sent
    };
    assert_eq!(sent(2), sent(1));
    assert_eq!(sent(3), sent(1));
}

#[test]
fn a_stall_is_in_the_latencies_of_all_that_were_due_in_it() {
    // Nothing is answered between 200 and 500 ms.
    let stalled_ns = |start_ns: u64| {
        let end_ns = start_ns + 3 * MS;
        if (200 * MS..500 * MS).contains(&end_ns) { 500 * MS - start_ns } else { 3 * MS }
    };
    let opened_ns = S + MS;
    let world = World::new(move |seen| Reply::After(stalled_ns(seen.at_ns - opened_ns)));
    let outcome = run_one(&world, &even(100.0, 4));
    let due: Vec<u64> = (0..100).map(|n| n * 10 * MS).collect();
    let ends = queue(&due, 4, |_, start_ns| stalled_ns(start_ns));
    let expected: Vec<u64> =
        ends.iter().zip(&due).map(|(end_ns, due_ns)| end_ns - due_ns).collect();
    assert_eq!(outcome.latencies_ns(), expected);
    assert!(expected.iter().filter(|&&latency_ns| latency_ns > 100 * MS).count() >= 20);
    assert_eq!(outcome.tally.offered, 100, "the rate is not lowered");
    assert_eq!(outcome.tally.punctuality.late, 0, "who waits for a connection is not late");
    // Those that were due when none was idle, from 240 ms until all have caught up.
    assert_eq!(outcome.tally.punctuality.waited, 29);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn latencies_are_those_of_a_queue_whatever_the_server_does(
        takes_us in proptest::collection::vec(0..60_000_u64, 100),
        n_connections in 1..6_usize,
    ) {
        let takes_ns: Vec<u64> = takes_us.iter().map(|us| us * 1_000).collect();
        let by_index = takes_ns.clone();
        let world = World::new(move |seen| Reply::After(by_index[seen.index]));
        let spec = LoadSpec { drain_s: 60.0, timeout_s: 60.0, ..even(100.0, n_connections) };
        let spec = LoadSpec { windows: vec![counted(100)], ..spec };
        let outcome = run_one(&world, &spec);
        let due: Vec<u64> = (0..100).map(|n| n * 10 * MS).collect();
        let ends = queue(&due, n_connections, |index, _| takes_ns[index]);
        let expected: Vec<u64> = ends.iter().zip(&due).map(|(end, due)| end - due).collect();
        prop_assert_eq!(outcome.latencies_ns(), expected);
    }
}

#[test]
fn a_client_that_wakes_late_says_so_and_its_latencies_count_from_due() {
    let world = World::new(|_| Reply::After(3 * MS)).that_oversleeps(2 * MS);
    let outcome = run_one(&world, &even(100.0, 4));
    let lateness = outcome.tally.lateness.distribution();
    assert_eq!((lateness.count, lateness.sum_ns), (100, u128::from(200 * MS)));
    assert_eq!((outcome.tally.punctuality.late, outcome.tally.punctuality.waited), (100, 0));
    // Late to send, and late to see the answer.
    assert_eq!(outcome.latencies_ns(), [7 * MS; 100]);
}

#[test]
fn what_was_due_before_the_end_is_sent_however_late_the_client_wakes() {
    let world = World::new(|_| Reply::After(0)).that_oversleeps(300 * MS);
    let outcome = run_one(&world, &even(100.0, 200));
    assert_eq!((outcome.tally.offered, outcome.tally.completed), (100, 100));
}

#[test]
fn a_thread_that_polls_sends_at_the_instant_too() {
    let world = World::new(|_| Reply::After(0));
    let outcome = run_one(&world, &LoadSpec { spin_s: 50e-6, ..even(100.0, 4) });
    let sent: Vec<u64> = world.log().iter().map(|seen| outcome.since_opening(seen.at_ns)).collect();
    assert_eq!(sent, (0..100).map(|n| n * 10 * MS).collect::<Vec<_>>());
}

#[test]
fn a_request_without_an_answer_times_out_at_its_age_and_stays_in_the_distribution() {
    let world = World::new(|seen| match seen.index {
        10..13 => Reply::Silence,
        _ => Reply::After(3 * MS),
    });
    let spec = LoadSpec { timeout_s: 0.05, ..even(100.0, 8) };
    let outcome = run_one(&world, &spec);
    assert_eq!(outcome.tally.errors.of(ErrorKind::Timeout), 3);
    let mut expected = [3 * MS; 100];
    expected[10..13].fill(50 * MS);
    assert_eq!(outcome.latencies_ns(), expected);
    let latency = outcome.tally.latency.distribution();
    assert_eq!((latency.count, latency.sum_ns), (100, u128::from((97 * 3 + 3 * 50) * MS)));
    let censored = outcome.tally.censored.distribution();
    assert_eq!((censored.count, censored.sum_ns), (3, u128::from(150 * MS)));
    assert_eq!((world.n_sockets(), outcome.n_open), (4, 1), "their connections are closed");
}

#[test]
fn patience_counts_from_due_also_for_who_waits_for_a_connection() {
    // The one connection is taken for good by the first.
    let world = World::new(|_| Reply::Silence);
    let spec = LoadSpec { timeout_s: 0.1, ..even(100.0, 1) };
    let outcome = run_one(&world, &spec);
    // The first gives up at 100 ms. Then the second, due at 10 ms, has 10 ms left, and so on: each
    // that is taken up ends by its own patience, the moment at which the next one can go.
    let timeouts = [100 * MS; 92];
    // At the end at 1 s the last eight have found no connection.
    let unsent = [80, 70, 60, 50, 40, 30, 20, 10].map(|age_ms| age_ms * MS);
    assert_eq!(outcome.latencies_ns(), [&timeouts[..], &unsent[..]].concat());
    let errors = &outcome.tally.errors;
    assert_eq!((errors.of(ErrorKind::Timeout), errors.of(ErrorKind::Unsent)), (92, 8));
}

#[test]
fn an_end_by_number_waits_for_the_last_answer() {
    let world = World::new(|_| Reply::After(25 * MS));
    let spec = LoadSpec { windows: vec![counted(10)], ..even(100.0, 4) };
    let outcome = run_one(&world, &spec);
    assert_eq!((outcome.tally.offered, outcome.tally.measured_completed), (10, 10));
    assert_eq!(outcome.since_opening(outcome.tally.measure_end_ns), 115 * MS);
    assert_eq!(outcome.since_opening(outcome.tally.closed_ns), 115 * MS);
}
