//! Users who send again after the answer: what they get done, and what they do where nobody
//! answers.

use std::cell::RefCell;
use std::rc::Rc;

use crate::count::ErrorKind;
use crate::drive::virtual_rig::{
    Door, MS, Outcome, Reply, S, World, answer, counted, run_one, window,
};
use crate::input::{LoadSpec, Think, Users, example};

fn users(n_users: usize, measure_s: f64) -> LoadSpec {
    LoadSpec { connections: n_users, windows: vec![window(0.0, measure_s)], ..example() }
}

#[test]
fn throughput_is_users_over_cycle_time() {
    let world = World::new(|_| Reply::After(4 * MS));
    let outcome = run_one(&world, &users(3, 3.0));
    assert_eq!((outcome.tally.measured_offered, outcome.tally.measured_completed), (2250, 2250));
    assert_eq!(outcome.latencies_ns(), vec![4 * MS; 2250]);
    assert_eq!(outcome.tally.sockets.connects, 3);
    assert_eq!(outcome.tally.lateness.distribution().count, 0, "nothing is due");
}

#[test]
fn a_pause_comes_after_each_answer() {
    let world = World::new(|_| Reply::After(4 * MS));
    let think = Think::Fixed { s: 0.006 };
    let spec = LoadSpec { users: Users { think, ..Users::PLAIN }, ..users(2, 1.0) };
    let outcome = run_one(&world, &spec);
    let sent: Vec<u64> = world.log().iter().map(|seen| outcome.since_opening(seen.at_ns)).collect();
    assert_eq!(sent, (0..200).map(|n| n / 2 * 10 * MS).collect::<Vec<_>>());
    assert_eq!(outcome.latencies_ns(), [4 * MS; 200]);
    assert_eq!(outcome.since_opening(outcome.tally.closed_ns), S, "nobody waits for a pause");
}

#[test]
fn users_start_one_after_the_other_at_the_rate_asked_for() {
    let world = World::new(|_| Reply::Silence);
    let spec = LoadSpec { connections_per_s: 10.0, timeout_s: 9.0, ..users(5, 1.0) };
    let outcome = run_one(&world, &LoadSpec { drain_s: 0.0, ..spec });
    let began: Vec<u64> =
        world.log().iter().map(|seen| outcome.since_opening(seen.at_ns)).collect();
    assert_eq!(began, [0, 100 * MS, 200 * MS, 300 * MS, 400 * MS]);
    assert_eq!(outcome.tally.errors.of(ErrorKind::Unfinished), 5);
}

/// The outcome, and when each try to connect was made.
fn connecting(spec: &LoadSpec, doors: impl Fn(usize) -> Door + 'static) -> (Outcome, Vec<u64>) {
    let tries = Rc::new(RefCell::new(Vec::new()));
    let world = World::new(|_| Reply::After(MS));
    let noted = Rc::clone(&tries);
    let mut n_tries = 0;
    let world = world.with_doors(move |now_ns| {
        noted.borrow_mut().push(now_ns);
        n_tries += 1;
        doors(n_tries - 1)
    });
    let outcome = run_one(&world, spec);
    let tries = tries.borrow().iter().map(|&at_ns| outcome.since_opening(at_ns)).collect();
    (outcome, tries)
}

#[test]
fn a_server_that_is_not_there_is_asked_less_and_less_often() {
    let (outcome, tries) = connecting(&users(1, 0.5), |_| Door::Refuses(0));
    let waits: Vec<u64> = tries.windows(2).map(|two| (two[1] - two[0]) / MS).collect();
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 100, 100, 100]);
    assert_eq!(outcome.tally.errors.of(ErrorKind::Refused), 11);
}

#[test]
fn a_connection_that_never_comes_times_out_as_such() {
    let (outcome, tries) = connecting(&users(1, 2.5), |_| Door::Silent);
    // The patience of 1 s, and the pauses before it is tried again.
    assert_eq!(tries, [0, 1_001 * MS, 2_003 * MS]);
    assert_eq!(outcome.tally.errors.of(ErrorKind::ConnectTimeout), 3);
    assert_eq!(outcome.latencies_ns(), [S; 3]);
}

#[test]
fn where_a_unix_sockets_backlog_is_full_the_same_request_tries_again() {
    let full = |n_tries| if n_tries < 5 { Door::Fails(libc::EAGAIN) } else { Door::Opens(0) };
    let (outcome, tries) =
        connecting(&LoadSpec { windows: vec![counted(1)], ..users(1, 1.0) }, full);
    assert_eq!(tries, [0, MS, 2 * MS, 3 * MS, 4 * MS, 5 * MS]);
    assert_eq!((outcome.tally.completed, outcome.tally.sockets.connects), (1, 1));
    assert_eq!(outcome.latencies_ns(), [6 * MS]);
}

#[test]
fn a_socket_that_cannot_be_had_is_an_error_of_its_own_kind() {
    let spec = LoadSpec { windows: vec![counted(2)], ..users(1, 1.0) };
    let (outcome, tries) = connecting(&spec, |_| Door::Fails(libc::EADDRNOTAVAIL));
    assert_eq!(tries, [0, MS]);
    assert_eq!(outcome.tally.errors.of(ErrorKind::NoPorts), 2);
    assert_eq!(outcome.tally.errors.total(), 2);
}

#[test]
fn a_request_on_a_stale_connection_is_sent_again_once() {
    // Idle connections are closed under the third request, and under the one sent again for it.
    for (n_closed, n_completed) in [(1, 6), (2, 5)] {
        let world = World::new(move |seen| match seen.index {
            2.. if seen.index < 2 + n_closed => Reply::CloseUnread(MS),
            _ => Reply::After(MS),
        });
        let outcome = run_one(&world, &LoadSpec { windows: vec![counted(6)], ..users(1, 1.0) });
        assert_eq!(outcome.tally.completed, n_completed, "{n_closed} closed");
        assert_eq!(outcome.tally.errors.of(ErrorKind::Reset), 6 - n_completed);
        assert_eq!(outcome.tally.retries, 1);
        let third = outcome.latencies_ns()[2];
        assert_eq!(third, 2 * MS, "its latency counts from when it was sent first");
    }
}

#[test]
fn a_request_that_was_taken_is_not_sent_again() {
    let world = World::new(|seen| match seen.index {
        2 => Reply::Close(MS),
        3 => Reply::Reset(MS),
        _ => Reply::After(MS),
    });
    let outcome = run_one(&world, &LoadSpec { windows: vec![counted(6)], ..users(1, 1.0) });
    assert_eq!((outcome.tally.retries, outcome.tally.completed), (0, 4));
    assert_eq!(outcome.tally.errors.of(ErrorKind::Reset), 2);
    assert_eq!(world.n_sockets(), 3);
}

#[test]
fn a_connection_is_used_for_as_many_requests_as_said() {
    let world = World::new(|_| Reply::After(MS));
    let spec = LoadSpec { requests_per_connection: 4, ..users(1, 1.0) };
    let outcome = run_one(&world, &LoadSpec { windows: vec![counted(10)], ..spec });
    let places: Vec<_> = world.log().iter().map(|seen| (seen.connection, seen.nth_there)).collect();
    let expected: Vec<_> = (0..10).map(|n| (n / 4, n % 4)).collect();
    assert_eq!(places, expected);
    assert_eq!(outcome.tally.sockets.connects, 3);
}

#[test]
fn a_connection_that_ended_while_it_was_idle_is_not_used_again() {
    let world = World::new(|_| Reply::AnswerThenClose(MS, 2 * MS));
    let think = Think::Fixed { s: 0.009 };
    let spec = LoadSpec { users: Users { think, ..Users::PLAIN }, ..users(1, 0.1) };
    let outcome = run_one(&world, &spec);
    assert_eq!((outcome.tally.completed, outcome.tally.sockets.connects), (10, 10));
    assert_eq!((outcome.tally.errors.total(), outcome.tally.retries), (0, 0));
    assert_eq!(outcome.latencies_ns(), [MS; 10]);
}

#[test]
fn a_closed_loop_gets_what_a_queue_of_one_server_gives() {
    // One request at a time, 5 ms each, in the order in which they come.
    let mut free_ns = 0;
    let world = World::new(move |seen| {
        free_ns = free_ns.max(seen.at_ns) + 5 * MS;
        Reply::After(free_ns - seen.at_ns)
    });
    let outcome = run_one(&world, &users(4, 1.0));
    assert_eq!(outcome.tally.measured_completed, 200, "the capacity of the server");
    let mut expected = vec![20 * MS; 203];
    expected[..3].copy_from_slice(&[5 * MS, 10 * MS, 15 * MS]);
    assert_eq!(outcome.latencies_ns(), expected, "four wait for each other, from the start on");
}

#[test]
fn phases_are_what_the_server_did() {
    let whole = answer(200, "", 100);
    let world = World::new(move |_| {
        let (first, rest) = whole.split_at(50);
        Reply::Pieces(vec![(5 * MS, first.to_vec()), (7 * MS, rest.to_vec())])
    });
    let world = world.with_doors(|_| Door::Opens(3 * MS));
    let spec = LoadSpec { requests_per_connection: 1, windows: vec![counted(10)], ..users(1, 1.0) };
    let outcome = run_one(&world, &spec);
    let phases = outcome.tally.phases.phases();
    let means = phases.each().map(|(name, phase)| (name, phase.sum_ns / 10 / u128::from(MS)));
    let of = |name| means.iter().find(|(each, _)| *each == name).unwrap().1;
    assert_eq!([of("connect"), of("first_byte"), of("transfer")], [3, 5, 2], "{means:?}");
    assert_eq!(outcome.latencies_ns(), [10 * MS; 10]);
}

#[test]
fn an_answer_in_pieces_ends_with_its_last_one() {
    let pieces = || {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd";
        let cuts = [0, 3, 17, 39, 41, answer.len()];
        cuts.windows(2).zip(1..).map(|(cut, n)| (n * MS, answer[cut[0]..cut[1]].to_vec())).collect()
    };
    let world = World::new(move |_| Reply::Pieces(pieces()));
    let outcome = run_one(&world, &LoadSpec { windows: vec![counted(3)], ..users(1, 1.0) });
    assert_eq!(outcome.latencies_ns(), [5 * MS; 3]);
    assert_eq!(outcome.tally.completed, 3);
}
