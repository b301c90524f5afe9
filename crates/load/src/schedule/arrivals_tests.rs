//! Schedules against exact arithmetic, against the rate they come from, and against chance.

use proptest::prelude::*;

use super::*;

fn stage(duration_s: f64, from_per_s: f64, to_per_s: f64) -> Stage {
    Stage { duration_s, from_per_s, to_per_s }
}

fn constant(per_s: f64) -> Vec<Stage> {
    vec![stage(f64::INFINITY, per_s, per_s)]
}

fn arrivals(stages: &[Stage], is_poisson: bool, seed: u64, window: usize) -> Arrivals {
    let arrival = Arrival::Open { stages: stages.to_vec(), is_poisson };
    Arrivals::new(&arrival, seed, window).unwrap()
}

fn even(stages: &[Stage]) -> Arrivals {
    arrivals(stages, false, 0, 0)
}

fn first(arrivals: &mut Arrivals, n: usize) -> Vec<u64> {
    std::iter::from_fn(|| arrivals.next_ns()).take(n).collect()
}

/// The even schedule's offsets in seconds; must be a finite one.
fn all_s(stages: &[Stage]) -> Vec<f64> {
    first(&mut even(stages), usize::MAX).into_iter().map(|ns| ns as f64 / NS_PER_S).collect()
}

#[test]
fn a_constant_rate_is_where_it_should_be_after_a_billion_arrivals() {
    let mut arrivals = even(&constant(1000.0));
    arrivals.count = 1_000_000_000;
    assert_eq!(first(&mut arrivals, 2), [1_000_000_000_000_000, 1_000_000_001_000_000]);
    let mut arrivals = even(&constant(3.0));
    arrivals.count = 3_000_000;
    assert_eq!(arrivals.next_ns(), Some(1_000_000_000_000_000));
}

#[test]
fn the_first_arrival_is_at_the_opening() {
    assert_eq!(first(&mut even(&constant(4.0)), 3), [0, 250_000_000, 500_000_000]);
}

#[test]
fn stages_have_as_many_arrivals_as_their_area() {
    // A step: 3 at 1/s, then 4 at 2/s; the next stage's first is on the border.
    let steps = [stage(3.0, 1.0, 1.0), stage(2.0, 2.0, 2.0)];
    assert_eq!(all_s(&steps), [0.0, 1.0, 2.0, 3.0, 3.5, 4.0, 4.5]);
    // From 0: Λ = t², so that the k-th is at √k. To 0: the same, backwards.
    let up_and_down = [stage(2.0, 0.0, 4.0), stage(2.0, 4.0, 0.0)];
    let roots = [0.0, 1.0, 2_f64.sqrt(), 3_f64.sqrt()];
    let expected = roots.into_iter().chain([4.0, 3.0, 2.0, 1.0].map(|left| 4.0 - f64::sqrt(left)));
    let seen = all_s(&up_and_down);
    assert_eq!(seen.len(), 8);
    for (seen, expected) in seen.into_iter().zip(expected) {
        assert!((seen - expected).abs() <= 1e-9, "{seen} {expected}");
    }
}

#[test]
fn a_stage_without_rate_has_no_arrival() {
    let silence = stage(5.0, 0.0, 0.0);
    let two = stage(2.0, 1.0, 1.0);
    assert_eq!(all_s(&[silence]), [0.0; 0]);
    assert_eq!(all_s(&[silence, two]), [5.0, 6.0]);
    assert_eq!(all_s(&[two, silence, two]), [0.0, 1.0, 7.0, 8.0]);
    // An arrival and a half before the silence; the other half behind it.
    let broken = all_s(&[stage(0.5, 3.0, 3.0), silence, two]);
    assert_eq!(broken, [0.0, 0.333_333_333, 6.0, 7.0]);
    assert_eq!(all_s(&[two, stage(f64::INFINITY, 0.0, 0.0)]), [0.0, 1.0]);
    assert_eq!(all_s(&[]), [0.0; 0]);
}

#[test]
fn rounding_adds_no_arrival_to_a_stage() {
    // 0.07 · 100 is 7.000000000000001, 0.1 · 3 is 0.30000000000000004.
    assert_eq!(all_s(&[stage(100.0, 0.07, 0.07)]).len(), 7);
    assert_eq!(all_s(&[stage(3.0, 0.1, 0.1), stage(7.0, 0.1, 0.1)]).len(), 1);
    let tenths = vec![stage(0.1, 7.0, 7.0); 1000];
    assert_eq!(all_s(&tenths).len(), 700);
}

#[test]
fn an_endless_stage_follows_a_ramp() {
    let mut arrivals = even(&[stage(10.0, 0.0, 100.0), stage(f64::INFINITY, 100.0, 100.0)]);
    arrivals.count = 500 + 1_000_000;
    assert_eq!(arrivals.next_ns(), Some(10_010_000_000_000));
}

#[test]
fn what_is_over_stays_over() {
    for is_poisson in [false, true] {
        let mut arrivals = arrivals(&[stage(1.0, 5.0, 5.0)], is_poisson, 1, 0);
        first(&mut arrivals, usize::MAX);
        assert_eq!([arrivals.next_ns(), arrivals.next_ns()], [None, None]);
    }
}

#[test]
fn a_level_keeps_its_fraction_however_large_it_is() {
    let mut level = Level { whole: 1e12, part: 0.0 };
    for _ in 0..3000 {
        level = level.after(0.001);
    }
    let above = level.above(Level { whole: 1e12, part: 0.0 });
    assert!((above - 3.0).abs() < 1e-12, "{above}");
}

#[test]
fn a_closed_loop_has_no_arrivals() {
    assert!(Arrivals::new(&Arrival::Closed, 0, 0).is_none());
}

#[test]
fn a_replay_is_given_back() {
    let arrival = Arrival::Replay {
        offsets_ns: [5, 5, 9].as_slice().into(),
        steps: [0, 2, 1].as_slice().into(),
    };
    let mut arrivals = Arrivals::new(&arrival, 1, 2).unwrap();
    let counts = [0, 5, 6, 9, 10].map(|until_ns| arrivals.expected_count(until_ns) as u64);
    assert_eq!(counts, [0, 0, 2, 2, 3]);
    assert_eq!(first(&mut arrivals, 9), [5, 5, 9]);
    assert_eq!(arrivals.next_ns(), None);
}

#[test]
fn a_seed_and_a_window_give_one_sequence() {
    let of = |seed, window| first(&mut arrivals(&constant(1000.0), true, seed, window), 100);
    assert_eq!(of(1, 2), of(1, 2));
    for other in [of(1, 3), of(2, 2), of(2, 1)] {
        assert!(of(1, 2).iter().zip(&other).all(|(one, other)| one != other));
    }
    // Users and requests arrive alike.
    let sessions = Arrival::Sessions { stages: constant(1000.0) };
    assert_eq!(first(&mut Arrivals::new(&sessions, 1, 2).unwrap(), 100), of(1, 2));
    // Of an even schedule nothing is drawn.
    let even_of = |seed, window| first(&mut arrivals(&constant(3.0), false, seed, window), 100);
    assert_eq!(even_of(1, 2), even_of(4, 5));
}

#[test]
fn the_schedule_of_a_saved_seed_never_changes() {
    let stages = vec![stage(1.0, 100.0, 900.0), stage(f64::INFINITY, 900.0, 900.0)];
    let open = |is_poisson| Arrival::Open { stages: stages.clone(), is_poisson };
    let hash = |arrival: &Arrival| schedule_hash(arrival, 1, 2, 10_000);
    assert_eq!(hash(&open(true)), 0x3c44_20f7_93b8_20fa);
    assert_eq!(hash(&open(false)), 0x91d0_808e_77ef_ea7b);
}

#[test]
fn the_hash_tells_schedules_apart() {
    let open = |per_s, is_poisson| Arrival::Open { stages: constant(per_s), is_poisson };
    let replay = |offset, step| Arrival::Replay {
        offsets_ns: [0, offset].as_slice().into(),
        steps: [0, step].as_slice().into(),
    };
    let mut hashes = vec![
        schedule_hash(&Arrival::Closed, 1, 2, 100),
        schedule_hash(&Arrival::Sessions { stages: constant(9.0) }, 1, 2, 100),
        schedule_hash(&open(9.0, false), 1, 2, 100),
        schedule_hash(&open(9.5, false), 1, 2, 100),
        schedule_hash(&open(9.0, false), 1, 2, 101),
        schedule_hash(&open(9.0, true), 1, 2, 100),
        schedule_hash(&open(9.0, true), 2, 2, 100),
        schedule_hash(&open(9.0, true), 1, 3, 100),
        schedule_hash(&replay(1, 1), 1, 2, 100),
        schedule_hash(&replay(2, 1), 1, 2, 100),
        schedule_hash(&replay(1, 2), 1, 2, 100),
    ];
    let n_hashes = hashes.len();
    assert_eq!(hashes[3], schedule_hash(&open(9.5, false), 1, 2, 100));
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), n_hashes);
}

#[test]
fn poisson_gaps_are_exponential_and_independent_whatever_the_rate_does() {
    let day = [
        stage(3.0, 0.0, 2000.0),
        stage(2.0, 2000.0, 2000.0),
        stage(1.0, 0.0, 0.0),
        stage(4.0, 500.0, 50.0),
        stage(f64::INFINITY, 700.0, 700.0),
    ];
    let n = 20_000;
    let mut n_rejected = 0;
    for window in 0..20 {
        let mut arrivals = arrivals(&day, true, 11, window);
        // By the clock of Λ all gaps are exponential with mean 1.
        let levels: Vec<f64> = first(&mut arrivals.clone(), n)
            .into_iter()
            .map(|at_ns| arrivals.expected_count(at_ns))
            .collect();
        let gaps: Vec<f64> = std::iter::once(levels[0])
            .chain(levels.windows(2).map(|pair| pair[1] - pair[0]))
            .collect();
        let mut sorted = gaps.clone();
        sorted.sort_by(f64::total_cmp);
        let distance = sorted.iter().enumerate().fold(0.0_f64, |most, (i, gap)| {
            let expected = 1.0 - (-gap).exp();
            most.max((expected - i as f64 / n as f64).abs())
                .max((expected - (i + 1) as f64 / n as f64).abs())
        });
        let product: f64 = gaps.windows(2).map(|pair| (pair[0] - 1.0) * (pair[1] - 1.0)).sum();
        let correlation = product / n as f64;
        // Each is exceeded with probability 0.01: Kolmogorov's, and a normal one's both sides.
        n_rejected += u32::from(distance * (n as f64).sqrt() > 1.628);
        n_rejected += u32::from(correlation.abs() * (n as f64).sqrt() > 2.576);
        assert!(arrivals.next_ns().is_some());
    }
    // Of 40 tests at 1 %, more than 4 fail with probability 0.00005.
    assert!(n_rejected <= 4, "{n_rejected}");
}

/// A rate with silences, steps and ramps, from 0 and to 0.
fn days() -> impl Strategy<Value = Vec<Stage>> {
    let per_s = || prop_oneof![1 => Just(0.0), 3 => 0.01..5000.0_f64];
    let piece = (0.01..20.0_f64, per_s(), per_s(), any::<bool>()).prop_map(
        |(duration_s, from_per_s, to_per_s, is_constant)| {
            stage(duration_s, from_per_s, if is_constant { from_per_s } else { to_per_s })
        },
    );
    (prop::collection::vec(piece, 1..6), prop::option::of(per_s())).prop_map(|(mut day, rest)| {
        day.extend(rest.map(|per_s| stage(f64::INFINITY, per_s, per_s)));
        day
    })
}

proptest! {
    #[test]
    fn a_constant_rate_is_right_to_the_nanosecond(
        per_s in 0.001..1e8_f64,
        k in 0..1_000_000_000_u64,
    ) {
        // Within 26 days.
        prop_assume!(k as f64 / per_s < 2_f64.powi(51) / NS_PER_S);
        let mut arrivals = even(&constant(per_s));
        arrivals.count = k;
        let offset_ns = arrivals.next_ns().unwrap();
        // k / rate in whole numbers: the rate is mantissa · 2^exponent.
        let exponent = (per_s.to_bits() >> 52) as i32 - 1075;
        let mantissa = u128::from(per_s.to_bits() & ((1 << 52) - 1) | 1 << 52);
        let (dividend, divisor) = match exponent {
            0.. => (u128::from(k) * 1_000_000_000, mantissa << exponent),
            _ => ((u128::from(k) * 1_000_000_000) << -exponent, mantissa),
        };
        prop_assert!((u128::from(offset_ns) * divisor).abs_diff(dividend) <= divisor);
    }

    #[test]
    fn arrivals_ascend_and_fall_where_the_rate_has_come_to_their_number(day in days()) {
        let mut arrivals = even(&day);
        let mut last_ns = 0;
        for k in 0..2000_u64 {
            let Some(at_ns) = arrivals.next_ns() else {
                let end_ns = day.iter().map(|stage| stage.duration_s * NS_PER_S).sum::<f64>();
                let area = arrivals.expected_count((end_ns as u64).saturating_add(1000));
                prop_assert!((k as f64 - area.ceil()).abs() < 0.5, "{k} of {area}");
                break;
            };
            prop_assert!(at_ns >= last_ns);
            last_ns = at_ns;
            // Rates are below 5000/s, so a nanosecond is less than 1e-5 of an arrival.
            let level = arrivals.expected_count(at_ns);
            prop_assert!((level - k as f64).abs() < 2e-5, "{k} at {at_ns} ns: {level}");
        }
    }

    #[test]
    fn poisson_arrivals_ascend_and_end_with_their_stages(day in days(), seed in any::<u64>()) {
        let mut arrivals = arrivals(&day, true, seed, 0);
        let offsets_ns = first(&mut arrivals, 2000);
        prop_assert!(offsets_ns.is_sorted());
        let end_s = day.iter().map(|stage| stage.duration_s).sum::<f64>();
        prop_assert!(offsets_ns.iter().all(|&at_ns| at_ns as f64 <= end_s * NS_PER_S + 100.0));
        if offsets_ns.len() < 2000 {
            // Six standard deviations.
            let area = arrivals.expected_count(u64::MAX - 1);
            let bound = 6.0 * area.sqrt() + 6.0;
            prop_assert!((offsets_ns.len() as f64 - area).abs() < bound);
        }
    }
}
