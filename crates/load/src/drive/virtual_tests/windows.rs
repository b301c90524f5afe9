//! The edges of a window: what is measured, how it ends, and what is left over.

use crate::count::ErrorKind;
use crate::drive::virtual_rig::{
    MS, Outcome, Reply, World, counted, run_all, run_one, run_thread, window,
};
use crate::input::{Arm, Arrival, Credit, LoadSpec, Request, Step, Think, Users, Window, example};

#[test]
fn lead_in_and_drain_are_not_measured() {
    let world = World::new(|_| Reply::After(30 * MS));
    let spec = LoadSpec { connections: 1, windows: vec![window(0.1, 0.2)], ..example() };
    let outcome = run_one(&world, &spec);
    let tally = &outcome.tally;
    assert_eq!((tally.offered, tally.completed), (10, 10), "sent at 0, 30, …, 270 ms");
    assert_eq!(tally.measured_offered, 6, "sent at 120 to 270 ms");
    assert_eq!(tally.measured_completed, 7, "answered at 120 to 300 ms");
    assert_eq!(outcome.trace().due_ns.len(), 6);
    assert_eq!(outcome.since_opening(tally.measure_end_ns), 300 * MS);
    assert_eq!(outcome.since_opening(tally.closed_ns), 300 * MS);
    assert_eq!(
        tally.occupancy.busy_ns,
        u128::from(200 * MS),
        "the one connection was busy throughout"
    );
}

#[test]
fn an_open_loop_belongs_to_the_part_in_which_it_was_due() {
    let world = World::new(|_| Reply::After(30 * MS));
    let spec = LoadSpec {
        connections: 9,
        arrival: Arrival::constant(100.0),
        windows: vec![window(0.1, 0.2)],
        ..example()
    };
    let outcome = run_one(&world, &spec);
    let tally = &outcome.tally;
    assert_eq!((tally.offered, tally.measured_offered), (30, 20), "due at 100 to 290 ms");
    assert_eq!(tally.measured_completed, 21, "answered at 100 to 300 ms");
    assert_eq!(outcome.since_opening(tally.closed_ns), 320 * MS, "the drain waited for the last");
}

#[test]
fn what_the_drain_does_not_wait_for_is_unfinished_at_its_age() {
    let world = World::new(|_| Reply::Silence);
    let spec = LoadSpec {
        connections: 3,
        windows: vec![window(0.0, 0.2)],
        timeout_s: 10.0,
        drain_s: 0.05,
        ..example()
    };
    let outcome = run_one(&world, &spec);
    assert_eq!(outcome.tally.errors.of(ErrorKind::Unfinished), 3);
    assert_eq!(outcome.latencies_ns(), [250 * MS; 3]);
    assert_eq!(outcome.since_opening(outcome.tally.closed_ns), 250 * MS);
    assert_eq!(outcome.n_open, 0);
}

#[test]
fn what_has_no_connection_at_the_end_is_unsent() {
    let world = World::new(|_| Reply::After(85 * MS));
    let spec = LoadSpec {
        connections: 1,
        arrival: Arrival::constant(100.0),
        windows: vec![window(0.0, 0.1)],
        ..example()
    };
    let outcome = run_one(&world, &spec);
    let tally = &outcome.tally;
    // The second is sent when the first is answered, the others not by the end at 100 ms.
    assert_eq!((tally.offered, tally.completed), (10, 2));
    assert_eq!(tally.errors.of(ErrorKind::Unsent), 8);
    let latencies = outcome.latencies_ns();
    assert_eq!(latencies[..2], [85 * MS, 160 * MS]);
    let ages: Vec<u64> = (2..10).map(|n| (100 - n * 10) * MS).collect();
    assert_eq!(latencies[2..], ages);
}

#[test]
fn a_number_of_requests_is_offered_exactly_after_the_lead_in() {
    let world = World::new(|_| Reply::After(30 * MS));
    let spec = LoadSpec {
        connections: 4,
        windows: vec![Window { lead_in_s: 0.1, ..counted(10) }],
        ..example()
    };
    let outcome = run_one(&world, &spec);
    assert_eq!(outcome.tally.measured_offered, 10);
    // Four each at 0, 30, 60 and 90 ms; of the measured ones at 120 and 150 ms, two at 180 ms.
    assert_eq!(outcome.tally.offered, 26);
    assert_eq!(outcome.since_opening(outcome.tally.measure_end_ns), 210 * MS);
}

#[test]
fn nobody_waits_for_a_pause_once_all_requests_were_sent() {
    let world = World::new(|_| Reply::After(10 * MS));
    let spec = LoadSpec {
        connections: 2,
        users: Users { think: Think::Fixed { s: 100.0 }, ..Users::PLAIN },
        windows: vec![counted(2)],
        ..example()
    };
    let outcome = run_one(&world, &spec);
    assert_eq!(outcome.since_opening(outcome.tally.closed_ns), 10 * MS);
}

#[test]
fn windows_take_turns_over_connections_that_stay_and_go_on_with_the_mix() {
    let arm = |name: &str| {
        let paths = ["a", "b", "c"].map(|path| Request::get("h", &format!("/{name}/{path}")));
        Arm::new("127.0.0.1:80", paths.to_vec())
    };
    let on = |arm, n_requests| Window { arm, ..counted(n_requests) };
    let spec = LoadSpec {
        connections: 1,
        arms: vec![arm("0"), arm("1")],
        windows: vec![on(0, 2), on(1, 1), on(0, 2), on(1, 2)],
        ..example()
    };
    let world = World::new(|_| Reply::After(MS));
    let outcomes = run_all(&world, &spec);
    let connects: Vec<u64> =
        outcomes.iter().map(|outcome| outcome.tally.sockets.connects).collect();
    assert_eq!(connects, [1, 1, 0, 0]);
    let paths: Vec<String> = world.log().into_iter().map(|seen| seen.path).collect();
    assert_eq!(paths, ["/0/a", "/0/b", "/1/a", "/0/c", "/0/a", "/1/b", "/1/c"]);
}

/// One window, stopped 95 ms after it opened: a client of one connection, answered after 40 ms.
fn stopped(spec: LoadSpec) -> Outcome {
    let world = World::new(|_| Reply::After(40 * MS));
    let spec = LoadSpec { connections: 1, timeout_s: 60.0, ..spec };
    run_thread(&world, &spec, 0, Some(95 * MS)).remove(0)
}

#[test]
fn a_stop_ends_what_is_in_flight_at_its_age() {
    let outcome = stopped(LoadSpec { windows: vec![window(0.0, 60.0)], ..example() });
    assert_eq!((outcome.tally.offered, outcome.tally.completed), (3, 2));
    assert_eq!(outcome.tally.errors.of(ErrorKind::Unfinished), 1);
    assert_eq!(outcome.latencies_ns(), [40, 40, 15].map(|age_ms| age_ms * MS));
    assert_eq!(outcome.since_opening(outcome.tally.measure_end_ns), 95 * MS);
    assert_eq!(outcome.since_opening(outcome.tally.closed_ns), 95 * MS);
}

#[test]
fn a_stop_offers_what_was_due_until_then() {
    let arrival = Arrival::constant(100.0);
    let outcome = stopped(LoadSpec { arrival, windows: vec![window(0.0, 60.0)], ..example() });
    let tally = &outcome.tally;
    // Due at 0 to 90 ms: two are answered, the third is on its way since 80 ms.
    assert_eq!((tally.offered, tally.completed), (10, 2));
    let errors = &tally.errors;
    assert_eq!((errors.of(ErrorKind::Unfinished), errors.of(ErrorKind::Unsent)), (1, 7));
    let ages: Vec<u64> = (2..10).map(|n| (95 - n * 10) * MS).collect();
    assert_eq!(outcome.latencies_ns()[..2], [40 * MS, 70 * MS]);
    assert_eq!(outcome.latencies_ns()[2..], ages);
}

#[test]
fn an_answer_without_an_end_keeps_nobody_from_time() {
    let us = MS / 1_000;
    let world = World::new(move |seen| match seen.index {
        0 => Reply::Endless,
        _ => Reply::After(5 * us),
    });
    let spec = LoadSpec { timeout_s: 50e-6, windows: vec![window(0.0, 100e-6)], ..example() };
    let outcome = run_one(&world, &spec);
    assert_eq!(outcome.tally.errors.of(ErrorKind::Timeout), 1);
    let mut expected = [5 * us; 31];
    expected[0] = 50 * us;
    assert_eq!(outcome.latencies_ns(), expected, "one user's at 5 µs each, the other's from 50 on");
}

/// A window of 100 ms over a loop whose users begin spread over 60 ms.
fn credited(connections: usize, lead_in_s: f64) -> LoadSpec {
    let credit = Some(Credit { spread_s: 0.06, tail_s: 0.5 });
    let window = Window { credit, ..window(lead_in_s, 0.1) };
    LoadSpec { connections, windows: vec![window], ..example() }
}

#[test]
fn a_constant_latency_is_credited_exactly() {
    for latency_ms in [3, 30, 70, 90] {
        let world = World::new(move |_| Reply::After(latency_ms * MS));
        let outcome = run_one(&world, &credited(4, 0.2));
        let expected = 4.0 * 100.0 / latency_ms as f64;
        let cycles = &outcome.tally.cycles;
        assert!((cycles.credit - expected).abs() < 1e-9, "{latency_ms} ms: {cycles:?}");
        assert_eq!((cycles.open, cycles.starved), (0, 0));
        // Until each user has begun a step after the end, and was answered.
        let closed_ns = outcome.since_opening(outcome.tally.closed_ns);
        let (earliest_ns, latest_ns) = ((360 + latency_ms) * MS, (360 + 2 * latency_ms) * MS);
        assert!((earliest_ns..=latest_ns).contains(&closed_ns), "{latency_ms} ms: {closed_ns}");
    }
}

#[test]
fn the_longest_first_cycle_is_known_wherever_it_was() {
    for lead_in_s in [0.0, 0.3] {
        let world = World::new(|seen| {
            let is_late = seen.connection == 2 && seen.nth_there == 0;
            Reply::After(if is_late { 110 * MS } else { 20 * MS })
        });
        let cycles = run_one(&world, &credited(4, lead_in_s)).tally.cycles;
        assert!((cycles.first_s - 0.11).abs() < 1e-9, "{cycles:?}");
        assert!((cycles.later_s - 0.02).abs() < 1e-9, "{cycles:?}");
    }
}

#[test]
fn a_pause_belongs_to_the_cycle() {
    let world = World::new(|_| Reply::After(10 * MS));
    let think = Think::Fixed { s: 0.027 };
    let spec = LoadSpec { users: Users { think, ..Users::PLAIN }, ..credited(5, 0.2) };
    let cycles = run_one(&world, &spec).tally.cycles;
    assert!((cycles.credit - 5.0 * 100.0 / 37.0).abs() < 1e-9, "{cycles:?}");
}

#[test]
fn users_begin_at_an_instant_of_their_own_share_of_the_spread() {
    let began = || {
        let world = World::new(|_| Reply::After(500 * MS));
        let outcome = run_one(&world, &credited(6, 0.0));
        let log = world.log();
        log.iter().take(6).map(|seen| outcome.since_opening(seen.at_ns)).collect::<Vec<_>>()
    };
    let first = began();
    for (user, &at_ns) in first.iter().enumerate() {
        let share_ns = 10 * MS * user as u64..10 * MS * (user as u64 + 1);
        assert!(share_ns.contains(&at_ns), "user {user} begins at {at_ns}");
    }
    assert_eq!(began(), first, "the seed decides");
}

#[test]
fn cycles_that_do_not_end_keep_the_load_no_longer_than_the_tail() {
    let world = World::new(|_| Reply::Silence);
    let spec = LoadSpec { timeout_s: 60.0, drain_s: 0.0, ..credited(3, 0.0) };
    let outcome = run_one(&world, &spec);
    assert_eq!(outcome.since_opening(outcome.tally.closed_ns), 660 * MS);
    let cycles = &outcome.tally.cycles;
    assert_eq!((cycles.open, cycles.starved, cycles.begun_right), (0, 3, 0));
}

#[test]
fn arms_of_one_number_draw_alike_and_those_of_another_by_themselves() {
    let world = World::new(|_| Reply::After(MS));
    let arm = |stream| {
        let requests = vec![Request::get("h", "/a"), Request::get("h", "/b")];
        let weights = [1.0, 1.5].into_iter().enumerate();
        let steps = weights.map(|(n, weight)| Step { weight, ..Step::request(n) }).collect();
        Arm { steps, stream, ..Arm::new("127.0.0.1:80", requests) }
    };
    let windows = (0..4).map(|arm| Window { arm, ..counted(64) }).collect();
    let arms = vec![arm(0), arm(0), arm(7), arm(7)];
    run_all(&world, &LoadSpec { arms, connections: 1, windows, ..example() });
    let log = world.log();
    let paths: Vec<_> = log.iter().map(|seen| seen.path.as_str()).collect();
    let of: Vec<_> = paths.chunks(64).collect();
    assert_eq!(of.len(), 4);
    assert_eq!((of[0], of[2]), (of[1], of[3]));
    assert_ne!(of[0], of[2]);
}
