//! A credited window tells the rate of a closed loop whatever the phase in which it catches it.

use crate::rig::{arm, brief, ensure, oracle, run_one, unless_disturbed};
use httpdyno_load::{Credit, LoadSpec, Think, Users, Window, WindowResult};

fn credited(spread_s: f64, lead_in_s: f64, measure_s: f64) -> Window {
    let credit = Some(Credit { spread_s, tail_s: 2.0 });
    Window { arm: 0, lead_in_s, measure_s, n_requests: 0, credit }
}

fn measured_s(result: &WindowResult) -> f64 {
    (result.measure_end_ns - result.measure_start_ns) as f64 / 1e9
}

/// The rate of a loop of this cycle, and what the window made of it.
fn told(result: &WindowResult) -> f64 {
    result.cycles.unwrap().credit / measured_s(result)
}

#[test]
fn a_constant_latency_does_not_alias_with_the_window() {
    let oracle = oracle();
    // 0.1 s and then 0.25 s: answers that end in it are 2 of each user at 110 ms and 3 at 90 ms.
    for (path, cycle_s, spread_s) in
        [("/fixed/110ms", 0.11, 0.0), ("/fixed/90ms", 0.09, 0.0), ("/fixed/110ms", 0.11, 0.11)]
    {
        for threads in [1, 2] {
            let spec = LoadSpec {
                threads,
                ..crate::rig::spec(vec![arm(&oracle, &[path])], vec![credited(spread_s, 0.1, 0.25)])
            };
            unless_disturbed(|| {
                let result = run_one(&spec);
                let (told, truth) = (told(&result), 4.0 / cycle_s);
                ensure((told / truth - 1.0).abs() < 0.02, || {
                    format!("{told}, {truth}: {}", brief(&result))
                })?;
                let cycles = result.cycles.unwrap();
                ensure((cycles.starved, cycles.open) == (0, 0), || format!("{cycles:?}"))?;
                let little = 4.0 * cycles.begun_right as f64 / cycles.begun_s;
                ensure((little / truth - 1.0).abs() < 0.02, || format!("{little}, {truth}"))?;
                Ok(())
            });
        }
    }
}

#[test]
fn pauses_and_pages_belong_to_the_cycle() {
    let oracle = oracle();
    let mut pages = arm(&oracle, &["/fixed/20ms", "/fixed/10ms"]);
    pages.steps.truncate(1);
    pages.steps[0].objects = vec![1, 1];
    let users = Users { think: Think::Fixed { s: 0.05 }, ..Users::PLAIN };
    let spec = LoadSpec { users, ..crate::rig::spec(vec![pages], vec![credited(0.1, 0.1, 0.23)]) };
    unless_disturbed(|| {
        let result = run_one(&spec);
        // A page is 20 ms and twice 10 ms on its one connection, then 50 ms of pause.
        let (told, truth) = (told(&result), 4.0 * 3.0 / 0.09);
        ensure((told / truth - 1.0).abs() < 0.03, || {
            format!("{told}, {truth}: {}", brief(&result))
        })?;
        Ok(())
    });
}

#[test]
fn load_goes_on_until_each_user_has_passed_the_end_and_no_longer_than_asked() {
    let oracle = oracle();
    let slow =
        crate::rig::spec(vec![arm(&oracle, &["/fixed/400ms"])], vec![credited(0.0, 0.05, 0.1)]);
    let result = run_one(&slow);
    let cycles = result.cycles.unwrap();
    assert_eq!((cycles.open, cycles.starved), (0, 0), "{cycles:?}");
    assert_eq!(result.offered, 4 + 3, "whoever passes goes on until the last one does");
    // A tail that is too short for them.
    let credit = Some(Credit { spread_s: 0.0, tail_s: 0.05 });
    let window = Window { credit, ..credited(0.0, 0.05, 0.1) };
    let cut = run_one(&LoadSpec { windows: vec![window], ..slow });
    let cycles = cut.cycles.unwrap();
    assert_eq!((cycles.starved, cycles.open), (4, 0), "{cycles:?}");
    // Each may have got 0.1 s of the 0.2 s or more that its cycle takes; the answers came later.
    assert_eq!(cut.completed, 4);
    assert!(cycles.open_credit > 1.0 && cycles.open_credit < 2.1, "{cycles:?}");
    assert!(cycles.credit.abs() < 1e-9, "{cycles:?}");
}

#[test]
fn users_begin_spread_over_time_in_a_way_that_seed_and_window_decide() {
    let oracle = oracle();
    let spec =
        crate::rig::spec(vec![arm(&oracle, &["/fixed/150ms"])], vec![credited(0.2, 0.0, 0.05); 2]);
    let begins = |seed: u64| -> Vec<Vec<u64>> {
        let results = crate::rig::run(&LoadSpec { seed, ..spec.clone() });
        let first = |result: &WindowResult| -> Vec<u64> {
            let log = oracle.log_since(result.opened_ns);
            let at = log.arrivals.iter().take(4).map(|each| each.at_ns - result.opened_ns);
            at.collect()
        };
        results.iter().map(first).collect()
    };
    unless_disturbed(|| {
        let (one, again, other) = (begins(1), begins(1), begins(2));
        for window in one.iter().chain(&other) {
            for (user, &at_ns) in window.iter().enumerate() {
                let share = (user as u64 * 50_000_000, (user as u64 + 1) * 50_000_000);
                let is_within = (share.0..share.1 + 15_000_000).contains(&at_ns);
                ensure(is_within, || format!("user {user} began at {at_ns} ns"))?;
            }
        }
        let near = |a: &[u64], b: &[u64]| a.iter().zip(b).all(|(a, b)| a.abs_diff(*b) < 5_000_000);
        ensure(near(&one[0], &again[0]), || format!("{one:?}, {again:?}"))?;
        ensure(!near(&one[0], &other[0]) && !near(&one[0], &one[1]), || {
            format!("{one:?}, {other:?}")
        })?;
        Ok(())
    });
}

#[test]
fn a_window_that_was_not_asked_to_credits_nothing() {
    let oracle = oracle();
    let result = run_one(&crate::rig::timed(arm(&oracle, &["/"]), 0.05));
    assert_eq!(result.cycles, None);
    assert!(result.measured_completed > 0, "{}", brief(&result));
}
