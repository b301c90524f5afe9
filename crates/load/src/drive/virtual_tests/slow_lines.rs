//! Slow lines: both directions take as long as their bytes do.

use crate::drive::virtual_rig::{MS, Reply, World, answer, counted, run_one};
use crate::input::{LoadSpec, Request, Slow, example};

/// What a message of so many bytes takes at a byte per 100 µs.
const BYTE_NS: u64 = MS / 10;

fn slow(ratio: f64, n_requests: u64) -> LoadSpec {
    let mut spec = LoadSpec {
        connections: 2,
        slow: Some(Slow { ratio, bytes_per_s: 10_000.0, receive_buffer_bytes: 0 }),
        windows: vec![counted(n_requests)],
        timeout_s: 60.0,
        drain_s: 60.0,
        ..example()
    };
    spec.arms[0].requests[0] = Request {
        headers: vec![
            ("Host".to_owned(), "h".to_owned()),
            ("X-Long".to_owned(), "x".repeat(3_000)),
        ],
        ..Request::get("h", "/")
    };
    spec
}

const BODY: usize = 20_000;

fn world() -> World {
    World::new(|_| Reply::Answer { after_ns: 50 * MS, status: 200, headers: "", body: BODY })
}

#[test]
fn a_message_takes_as_long_as_its_bytes_in_both_directions() {
    let world = world();
    let outcome = run_one(&world, &slow(1.0, 2));
    let log = world.log();
    let written_ns = log[0].text.len() as u64 * BYTE_NS;
    let read_ns = answer(200, "", BODY).len() as u64 * BYTE_NS;
    for seen in &log {
        assert_eq!(outcome.since_opening(seen.at_ns), written_ns, "when its last byte went");
    }
    assert_eq!(outcome.latencies_ns(), [written_ns + 50 * MS + read_ns; 2]);
    let in_pieces = (read_ns + written_ns) / (10 * MS);
    assert!((world.n_waits() as u64) < in_pieces, "pieces are large: {}", world.n_waits());
}

#[test]
fn slow_users_do_not_slow_the_others() {
    let world = world();
    let outcome = run_one(&world, &slow(0.5, 40));
    let mut latencies = outcome.latencies_ns();
    latencies.sort_unstable();
    let n_fast = latencies.iter().filter(|&&latency_ns| latency_ns == 50 * MS).count();
    assert_eq!(n_fast, 39, "{latencies:?}");
    let by_population = outcome.tally.by_population.as_ref().unwrap();
    assert_eq!([by_population[0].offered(), by_population[1].offered()], [39, 1]);
}

#[test]
fn a_line_does_not_save_up_while_the_server_thinks() {
    // A byte at once, the rest after a second: a line that saved up would carry it in no time.
    let whole = answer(200, "", BODY);
    let n_bytes = whole.len() as u64;
    let world = World::new(move |_| {
        let (first, rest) = whole.split_at(1);
        Reply::Pieces(vec![(0, first.to_vec()), (1_000 * MS, rest.to_vec())])
    });
    let outcome = run_one(&world, &slow(1.0, 1));
    let written_ns = world.log()[0].text.len() as u64 * BYTE_NS;
    let least_ns = written_ns + 1_000 * MS + (n_bytes - 1) * BYTE_NS;
    let latency_ns = outcome.latencies_ns()[0];
    assert!((least_ns..least_ns + 2 * BYTE_NS).contains(&latency_ns), "{latency_ns} {least_ns}");
}

#[test]
fn the_end_of_a_connection_is_seen_behind_a_slow_line_too() {
    let whole = b"HTTP/1.1 200 OK\r\n\r\nuntil the end".to_vec();
    let n_bytes = whole.len() as u64;
    let world = World::new(move |_| Reply::PiecesThenClose(vec![(5 * MS, whole.clone())]));
    let outcome = run_one(&world, &slow(1.0, 1));
    let written_ns = world.log()[0].text.len() as u64 * BYTE_NS;
    assert_eq!(outcome.tally.completed, 1);
    let least_ns = written_ns + 5 * MS + n_bytes * BYTE_NS;
    // Looked for when the line takes bytes again: on a grid of 64 steps for a piece of 512 bytes.
    let latency_ns = outcome.latencies_ns()[0];
    assert!((least_ns..least_ns + 8 * BYTE_NS).contains(&latency_ns), "{latency_ns} {least_ns}");
}
