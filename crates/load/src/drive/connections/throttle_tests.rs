//! The throttle against a line that is simulated: no clock, no socket.

use proptest::prelude::*;

use super::*;

const START_NS: u64 = 5_000_000_000_123;

/// One transfer: what moved when, and when the last byte arrived.
struct Transfer {
    moves: Vec<(u64, usize)>,
    end_ns: u64,
}

impl Transfer {
    fn took_s(&self) -> f64 {
        (self.end_ns - START_NS) as f64 / NS_PER_S
    }
}

/// Who waits for a throttle wakes up late, by what `late_ns` says each time.
fn written(bytes_per_s: f64, bytes: usize, mut late_ns: impl FnMut() -> u64) -> Transfer {
    let mut throttle = Throttle::writing(bytes_per_s);
    let (mut now_ns, mut left, mut moves) = (START_NS, bytes, Vec::new());
    throttle.begin(now_ns);
    while left > 0 {
        let n = throttle.allowance(now_ns, left);
        if n > 0 {
            throttle.spend(n);
            left -= n;
            moves.push((now_ns, n));
        }
        if left > 0 {
            let ready_ns = throttle.ready_ns(left);
            assert!(ready_ns > now_ns, "no progress at {now_ns}");
            now_ns = ready_ns + late_ns();
        }
    }
    Transfer { moves, end_ns: now_ns }
}

/// All of an answer is there from the beginning.
fn read(bytes_per_s: f64, bytes: usize, mut late_ns: impl FnMut() -> u64) -> Transfer {
    let mut throttle = Throttle::reading(bytes_per_s);
    let (mut now_ns, mut left, mut moves) = (START_NS, bytes, Vec::new());
    throttle.begin(now_ns);
    while left > 0 {
        let n = throttle.allowance(now_ns, 1 << 40).min(left);
        assert!(n > 0, "nothing at {now_ns}");
        throttle.spend(n);
        left -= n;
        moves.push((now_ns, n));
        now_ns = throttle.ready_ns(1 << 40).max(now_ns) + late_ns();
    }
    Transfer { moves, end_ns: throttle.paid_ns() }
}

fn piece_bytes(bytes_per_s: f64) -> u64 {
    Throttle::reading(bytes_per_s).piece_bytes
}

#[test]
fn pieces_are_few_at_low_rates_and_short_at_high_ones() {
    for (bytes_per_s, piece, per_s) in [
        (0.5, 1, 0.5),
        (1.0, 1, 1.0),
        (10.0, 3, 3.4),
        (100.0, 25, 4.0),
        (3_600.0, 512, 7.1),
        (7_000.0, 512, 13.7),
        (1e6, 15_000, 66.7),
        (125e6, 1_875_000, 66.7),
    ] {
        assert_eq!(piece_bytes(bytes_per_s), piece, "{bytes_per_s}");
        assert!(bytes_per_s / piece as f64 <= per_s, "{bytes_per_s}");
    }
}

#[test]
fn a_thousand_drips_wake_up_less_than_four_thousand_times_a_second_and_together() {
    let bytes = 100;
    let mut instants = std::collections::BTreeSet::new();
    let mut n_moves = 0;
    for client in 0..1000_u64 {
        // They begin at any time of a second.
        let mut throttle = Throttle::writing(10.0);
        let (mut now_ns, mut left) = (START_NS + client * 1_000_003, bytes);
        throttle.begin(now_ns);
        while left > 0 {
            now_ns = throttle.ready_ns(left);
            let n = throttle.allowance(now_ns, left);
            throttle.spend(n);
            left -= n;
            n_moves += 1;
            if left > 0 {
                instants.insert(now_ns);
            }
        }
    }
    // 10 s of 1000 clients: 34 pieces each, nearly all on a grid of 4.2 ms.
    assert_eq!(n_moves, 34_000);
    assert!(instants.len() <= 11_000_000_000 / (1 << 22), "{}", instants.len());
}

#[test]
fn a_drip_keeps_to_its_seconds() {
    let transfer = written(10.0, 57, || 0);
    assert_eq!(transfer.end_ns, START_NS + 5_700_000_000);
    assert_eq!(transfer.moves.len(), 19);
    let transfer = read(10.0, 57, || 0);
    assert_eq!(transfer.end_ns, START_NS + 5_700_000_000);
}

#[test]
fn the_end_of_a_message_does_not_wait_for_the_grid() {
    // After three pieces one and a byte are left: less than a tick.
    for bytes_per_s in [1_973.497_558_851_560_4, 1_000.0, 77_777.0] {
        let bytes = 4 * piece_bytes(bytes_per_s) as usize + 1;
        let transfer = written(bytes_per_s, bytes, || 0);
        let expected_ns = START_NS + (bytes as f64 / bytes_per_s * NS_PER_S).ceil() as u64;
        assert!(transfer.end_ns.abs_diff(expected_ns) <= 1, "{bytes_per_s}");
    }
}

#[test]
fn nothing_moves_before_its_time() {
    let mut throttle = Throttle::writing(1000.0);
    throttle.begin(START_NS);
    let ready_ns = throttle.ready_ns(10_000);
    assert_eq!(throttle.allowance(START_NS, 10_000), 0);
    assert_eq!(throttle.allowance(START_NS + 249_000_000, 10_000), 0);
    // The piece, and what the wait for the grid brings: at most 1/64 of it.
    assert!((250..=254).contains(&throttle.allowance(ready_ns, 10_000)));
    // Of a last piece only that much is waited for.
    throttle.begin(START_NS);
    assert_eq!(throttle.ready_ns(7), START_NS + 7_000_000);
    assert_eq!(throttle.allowance(START_NS + 6_999_999, 7), 0);
    assert_eq!(throttle.allowance(START_NS + 7_000_000, 7), 7);

    let mut throttle = Throttle::reading(1000.0);
    throttle.begin(START_NS);
    assert_eq!(throttle.allowance(START_NS, 100_000), 250);
    throttle.spend(250);
    assert_eq!(throttle.allowance(START_NS + 249_999_999, 100_000), 0);
    assert_eq!(throttle.allowance(START_NS + 250_000_000, 100_000), 250);
}

#[test]
fn a_line_that_the_server_left_idle_saves_nothing_up() {
    let mut throttle = Throttle::reading(1000.0);
    throttle.begin(START_NS);
    // 100 of 250 bytes are there, the others a minute later.
    assert_eq!(throttle.allowance(START_NS, 100_000), 250);
    throttle.spend(100);
    assert_eq!(throttle.paid_ns(), START_NS + 100_000_000);
    // What comes meanwhile waits for the line, and asking too soon changes nothing.
    assert_eq!(throttle.allowance(START_NS + 50_000_000, 100_000), 0);
    let later_ns = START_NS + 60_000_000_000;
    assert_eq!(throttle.allowance(later_ns, 100_000), 250);
    // Nothing was there after all: no call of `spend`.
    let later_ns = later_ns + 60_000_000_000;
    assert_eq!(throttle.allowance(later_ns, 100_000), 250);
    throttle.spend(250);
    assert_eq!(throttle.paid_ns(), later_ns + 250_000_000);
    // Between two answers it saves nothing up either.
    throttle.begin(later_ns + 60_000_000_000);
    assert_eq!(throttle.allowance(later_ns + 60_000_000_000, 100_000), 250);
}

#[test]
fn an_answer_that_begins_while_the_line_is_busy_waits_for_it() {
    let mut throttle = Throttle::reading(1000.0);
    throttle.begin(START_NS);
    throttle.allowance(START_NS, 100_000);
    throttle.spend(250);
    throttle.begin(START_NS + 1);
    assert_eq!(throttle.allowance(START_NS + 1, 100_000), 0);
    assert_eq!(throttle.allowance(START_NS + 250_000_000, 100_000), 250);
}

#[test]
fn a_socket_that_takes_nothing_gets_its_piece_once_it_does() {
    let mut throttle = Throttle::writing(1000.0);
    throttle.begin(START_NS);
    let now_ns = throttle.ready_ns(1000);
    let allowed = throttle.allowance(now_ns, 1000);
    assert!(allowed >= 250);
    throttle.spend(50);
    let now_ns = now_ns + 60_000_000_000;
    assert_eq!(throttle.allowance(now_ns, 950), allowed - 50);
    throttle.spend(allowed - 50);
    assert_eq!(throttle.allowance(now_ns, 750), 0);
    let next_ns = throttle.ready_ns(750);
    assert!((next_ns - now_ns).abs_diff(250_000_000) <= throttle.tick_ns);
    assert!((250..=254).contains(&throttle.allowance(next_ns, 750)));
}

#[test]
fn a_rate_of_almost_nothing_waits_almost_forever() {
    let mut throttle = Throttle::writing(1e-12);
    throttle.begin(START_NS);
    assert_eq!(throttle.allowance(START_NS, 5), 0);
    assert_eq!(throttle.ready_ns(5), u64::MAX);
}

fn rates() -> impl Strategy<Value = f64> {
    (0.0..9.0_f64).prop_map(|decade| 10_f64.powf(decade))
}

proptest! {
    #[test]
    fn a_transfer_takes_its_bytes_at_its_rate(
        bytes_per_s in rates(),
        n_pieces in 0.1..40.0_f64,
    ) {
        let bytes = ((piece_bytes(bytes_per_s) as f64 * n_pieces) as usize).max(1);
        let expected_s = bytes as f64 / bytes_per_s;
        for transfer in [written(bytes_per_s, bytes, || 0), read(bytes_per_s, bytes, || 0)] {
            prop_assert!((transfer.took_s() - expected_s).abs() <= 1e-9 + 1e-12 * expected_s);
            let sum: usize = transfer.moves.iter().map(|&(_, n)| n).sum();
            prop_assert_eq!(sum, bytes);
            // A piece each, and one more for the grid's sake or the rest.
            prop_assert!(transfer.moves.len() as f64 <= n_pieces + 2.0);
        }
    }

    #[test]
    fn late_wake_ups_are_made_up_for(
        bytes_per_s in rates(),
        n_pieces in 4.0..40.0_f64,
        seed in any::<u64>(),
    ) {
        let bytes = (piece_bytes(bytes_per_s) as f64 * n_pieces) as usize;
        let piece_ns = piece_bytes(bytes_per_s) as f64 / bytes_per_s * NS_PER_S;
        let expected_s = bytes as f64 / bytes_per_s;
        // By up to two pieces' time, and seldom by ten.
        let mut draws = 0..;
        let mut late_ns = || {
            let bits = crate::schedule::random::hash(seed, 0, draws.next().unwrap());
            let most = if bits.is_multiple_of(8) { 10.0 } else { 2.0 };
            (crate::schedule::random::unit(bits) * most * piece_ns) as u64
        };
        let transfer = written(bytes_per_s, bytes, &mut late_ns);
        // Only the last wake-up's lateness is seen.
        let over_s = transfer.took_s() - expected_s;
        prop_assert!(over_s >= -1e-9 && over_s * NS_PER_S <= 10.0 * piece_ns + 2.0, "{over_s}");
        // Reading, the time is right to the nanosecond as long as a wake-up isn't later than the
        // last byte's.
        let transfer = read(bytes_per_s, bytes, &mut late_ns);
        prop_assert!((transfer.took_s() - expected_s).abs() <= 1e-9 + 1e-12 * expected_s);
    }

    #[test]
    fn a_line_never_carries_more_than_its_rate(
        bytes_per_s in rates(),
        gaps in prop::collection::vec((0.0..4.0_f64, 0.0..3.0_f64), 1..40),
        is_reading in any::<bool>(),
    ) {
        // The other side gives, or takes, some part of what is allowed at arbitrary times.
        let mut throttle =
            if is_reading { Throttle::reading(bytes_per_s) } else { Throttle::writing(bytes_per_s) };
        let piece = throttle.piece_bytes as f64;
        let piece_ns = piece / bytes_per_s * NS_PER_S;
        throttle.begin(START_NS);
        let (mut now_ns, mut sum, mut held_up) = (START_NS, 0, 0);
        for (pause, part) in gaps {
            now_ns += (pause * piece_ns) as u64;
            let allowed = throttle.allowance(now_ns, 1 << 40);
            // However late one asks, no more than it has carried since the beginning.
            let carried = (now_ns - START_NS) as f64 / NS_PER_S * bytes_per_s;
            prop_assert!((sum + allowed) as f64 <= (carried + piece) * (1.0 + 1e-9) + 1.0);
            // And what was held up was not made up for.
            if held_up > 0 && allowed > 0 {
                let most = if is_reading { piece as usize } else { held_up };
                prop_assert!(allowed <= most, "{allowed} of {most}");
            }
            let moved = ((allowed as f64 * part) as usize).min(allowed);
            throttle.spend(moved);
            sum += moved;
            if allowed > 0 {
                held_up = allowed - moved;
            }
        }
    }
}
