use super::*;
use crate::schedule::Model;

fn plan(model: Model, measure_end_ns: u64, n_requests: u64) -> Plan {
    Plan {
        index: 0,
        arm: 0,
        opened_ns: 1_000_000_000,
        measure_start_ns: 2_000_000_000,
        measure_end_ns,
        n_requests,
        drain_ns: 0,
        model,
        spread_ns: 0,
        tail_ns: 0,
        is_entrance: false,
    }
}

fn share(thread: u64, n_threads: u64, period: u64) -> Share {
    Share { thread, n_threads, period }
}

fn open(plan: Plan, rate_per_s: f64, share: Share, mix_from: u64) -> Progress {
    Progress::new(plan, &Arrival::constant(rate_per_s), 1, share, mix_from)
}

/// Pass over what is due by then: how many there are, and how many are measured.
fn pass(progress: &mut Progress, until_ns: u64) -> (u64, u64) {
    let mut passed = (0, 0);
    while progress.next_due_ns <= until_ns {
        passed.0 += 1;
        passed.1 += u64::from(progress.is_next_measured());
        progress.advance();
    }
    passed
}

#[test]
fn a_timed_window_is_due_for_its_whole_time() {
    let timed = plan(Model::Open, 4_000_000_000, 0);
    let mut progress = open(timed, 100.0, share(0, 1, 1), 0);
    assert_eq!(progress.next_due_ns, 1_000_000_000);
    assert_eq!(pass(&mut progress, u64::MAX - 1), (300, 200));
    assert!(progress.is_schedule_over());
}

#[test]
fn a_counted_window_counts_from_the_measured_part_over_all_threads() {
    let counts: Vec<(u64, u64)> = (0..3)
        .map(|thread| {
            let counted = plan(Model::Open, u64::MAX, 50);
            pass(&mut open(counted, 100.0, share(thread, 3, 2), 0), 1 << 60)
        })
        .collect();
    assert_eq!(counts.iter().map(|count| count.0).sum::<u64>(), 150);
    assert_eq!(counts.iter().map(|count| count.1).sum::<u64>(), 50);
}

#[test]
fn only_what_is_due_is_passed() {
    let mut progress = open(plan(Model::Open, 4_000_000_000, 0), 100.0, share(0, 1, 1), 0);
    progress.advance();
    assert_eq!(pass(&mut progress, 1_050_000_000), (5, 0));
}

#[test]
fn the_measured_part_of_a_counted_window_has_no_planned_end() {
    let timed = plan(Model::Closed, 3_000_000_000, 0);
    let counted = plan(Model::Closed, 3_000_000_000, 9);
    assert!(!timed.counts_end_at(3_000_000_001) && counted.counts_end_at(3_000_000_001));
    assert!(!timed.counts_end_at(1_999_999_999) && timed.counts_end_at(3_000_000_000));
    assert_eq!(timed.measured_overlap_ns(0, u64::MAX), 1_000_000_000);
    assert_eq!(timed.measured_overlap_ns(0, 5), 0);
}

#[test]
fn threads_share_the_arrivals_without_gap_or_overlap_and_each_sends_all_steps() {
    for (n_threads, n_steps) in [(2, 2), (2, 4), (3, 2), (4, 6), (1, 3)] {
        let shares: Vec<Share> =
            (0..n_threads).map(|thread| share(thread, n_threads, n_steps)).collect();
        for index in 0..200 {
            let owners = shares.iter().filter(|share| share.has(index)).count();
            assert_eq!(owners, 1, "{index} of {n_threads} threads");
        }
        for share in shares {
            let of_thread = (0..4 * n_threads * n_steps).filter(|&index| share.has(index));
            let sent: std::collections::BTreeSet<u64> =
                of_thread.map(|index| index % n_steps).collect();
            assert_eq!(sent.len() as u64, n_steps, "{n_threads} threads, {n_steps} steps");
        }
    }
}

#[test]
fn an_open_loop_goes_on_with_the_steps_in_the_order_of_due_times() {
    for plan in [plan(Model::Open, 3_000_000_000, 0), plan(Model::Open, u64::MAX, 5)] {
        for n_threads in [1, 2, 3] {
            let (n_steps, mut mix_from, mut in_order) = (3, vec![0; 3], Vec::new());
            for _ in 0..4 {
                let mut due = Vec::new();
                for thread in 0..n_threads {
                    let from = &mut mix_from[thread as usize];
                    let mut progress = open(plan, 5.0, share(thread, n_threads, n_steps), *from);
                    while progress.next_due_ns != u64::MAX {
                        due.push((progress.next_due_ns, progress.arrival_number() % n_steps));
                        progress.advance();
                    }
                    *from = progress.mix_until();
                }
                due.sort_unstable();
                assert_eq!(due.len(), 10);
                in_order.extend(due.iter().map(|each| each.1));
            }
            let expected: Vec<u64> = (0..40).map(|index| index % n_steps).collect();
            assert_eq!(in_order, expected, "{n_threads} threads");
        }
    }
}

#[test]
fn the_steps_go_on_by_the_plan_also_where_arrivals_were_passed_over() {
    let mut late = open(plan(Model::Open, 4_000_000_000, 0), 100.0, share(0, 2, 7), 5);
    pass(&mut late, 1_050_000_000);
    assert_eq!(late.mix_until(), 305);
}
