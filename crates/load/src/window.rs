//! A window's plan, and where a thread stands in it.

use crate::schedule::{Schedule, Share};

/// A window as its threads run it. Instants are `CLOCK_MONOTONIC` nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) index: usize,
    pub(crate) arm: usize,
    pub(crate) opened_ns: u64,
    pub(crate) measure_start_ns: u64,
    /// `u64::MAX`: only `n_requests` ends the measured part.
    pub(crate) measure_end_ns: u64,
    /// 0: only time ends the measured part.
    pub(crate) n_requests: u64,
    pub(crate) drain_ns: u64,
    /// 0: closed loop.
    pub(crate) rate_per_s: f64,
}

impl Plan {
    pub(crate) fn is_open_loop(&self) -> bool {
        self.rate_per_s > 0.0
    }

    /// Until when an answer counts for the measured part. One that is bounded by a number of
    /// requests lasts until their last answer.
    fn counted_until_ns(&self) -> u64 {
        if self.n_requests == 0 { self.measure_end_ns } else { u64::MAX }
    }

    pub(crate) fn counts_end_at(&self, end_ns: u64) -> bool {
        (self.measure_start_ns..=self.counted_until_ns()).contains(&end_ns)
    }

    /// The part of a stretch of time that lies in the measured part.
    pub(crate) fn measured_overlap_ns(&self, from_ns: u64, to_ns: u64) -> u64 {
        to_ns.min(self.counted_until_ns()).saturating_sub(from_ns.max(self.measure_start_ns))
    }
}

/// Where a thread stands in a window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    pub(crate) plan: Plan,
    /// New requests may be sent.
    pub(crate) is_sending: bool,
    /// The connections were set to work (closed loop).
    pub(crate) has_begun: bool,
    /// This thread's number of the next request.
    turn: u64,
    /// What the window adds to each index, so that the mix goes on where the arm's window before
    /// this one left it.
    mix_from: u64,
    /// The index after the window's last, by its plan. Open loop only.
    scheduled_until: u64,
    /// When it is due; `u64::MAX`: never. Open loop only.
    pub(crate) next_due_ns: u64,
    /// When a request was due and no connection was idle, if the queue is not empty since.
    pub(crate) blocked_since_ns: Option<u64>,
    /// Give up waiting at this time. Set when sending ends.
    pub(crate) drained_by_ns: u64,
    schedule: Option<Schedule>,
    /// The first turn that belongs to the measured part. Open loop only.
    measured_from_turn: u64,
    /// The turn after the last. Open loop only.
    end_turn: u64,
}

impl Progress {
    /// The beginning of a window for thread `thread` of `n_threads`, on an arm with so many
    /// requests, of which it sends the `mix_from`-th first: where [`Self::mix_until`] left the
    /// arm's window before, or [`Self::mix_start`].
    pub(crate) fn new(
        plan: Plan,
        thread: u64,
        n_threads: u64,
        n_requests: u64,
        mix_from: u64,
    ) -> Self {
        let mut progress = Self {
            plan,
            is_sending: true,
            has_begun: false,
            turn: 0,
            mix_from,
            scheduled_until: mix_from,
            next_due_ns: u64::MAX,
            blocked_since_ns: None,
            drained_by_ns: u64::MAX,
            schedule: None,
            measured_from_turn: 0,
            end_turn: 0,
        };
        if plan.is_open_loop() {
            let share = Share { thread, n_threads, period: n_requests };
            let schedule = Schedule::new(plan.opened_ns, plan.rate_per_s, share);
            let first_measured = schedule.first_index_from(plan.measure_start_ns);
            let counted_end = match plan.n_requests {
                0 => u64::MAX,
                n_requests => first_measured.saturating_add(n_requests),
            };
            let timed_end = match plan.measure_end_ns {
                u64::MAX => u64::MAX,
                instant_ns => schedule.first_index_from(instant_ns),
            };
            let end = counted_end.min(timed_end);
            progress.scheduled_until = mix_from.wrapping_add(end);
            progress.schedule = Some(schedule);
            progress.measured_from_turn = schedule.first_turn_from(first_measured);
            progress.end_turn = schedule.first_turn_from(end);
            progress.next_due_ns = progress.due_ns();
        }
        progress
    }

    /// Between windows.
    pub(crate) fn none() -> Self {
        let plan = Plan {
            index: 0,
            arm: 0,
            opened_ns: 0,
            measure_start_ns: 0,
            measure_end_ns: 0,
            n_requests: 0,
            drain_ns: 0,
            rate_per_s: 0.0,
        };
        Self { is_sending: false, ..Self::new(plan, 0, 1, 1, 0) }
    }

    fn due_ns(&self) -> u64 {
        match self.schedule {
            Some(schedule) if self.turn < self.end_turn => schedule.due_ns(self.turn),
            _ => u64::MAX,
        }
    }

    /// The index of the next request: which of an arm's requests it is, in turn. In an open loop
    /// that is in the order of due times over all threads. In a closed loop each thread goes
    /// through all requests: were each to keep to its share of them, a thread with cheap ones
    /// would send more and skew the mix.
    pub(crate) fn index(&self) -> u64 {
        let index = self.schedule.map_or(self.turn, |schedule| schedule.index(self.turn));
        self.mix_from.wrapping_add(index)
    }

    /// Where a thread begins with the requests of an arm in its first window with it. In a closed
    /// loop threads begin apart; a schedule does that by itself.
    pub(crate) fn mix_start(plan: &Plan, thread: u64) -> u64 {
        if plan.is_open_loop() { 0 } else { thread }
    }

    /// Where the window left the arm's requests. Were each window to begin with the first one,
    /// short windows would favour the first ones: those of a slow arm more than of a fast one, so
    /// that the two would not be asked the same.
    pub(crate) fn mix_until(&self) -> u64 {
        match self.schedule {
            // By the plan, not by what was sent: the threads' shares must go on fitting together.
            Some(_) => self.scheduled_until,
            None => self.mix_from.wrapping_add(self.turn),
        }
    }

    /// Whether the next due request belongs to the measured part.
    pub(crate) fn is_next_measured(&self) -> bool {
        self.turn >= self.measured_from_turn
    }

    /// Go on to the next request.
    pub(crate) fn advance(&mut self) {
        self.turn += 1;
        self.next_due_ns = self.due_ns();
    }

    /// Every request of the schedule was sent or given up.
    pub(crate) fn is_schedule_over(&self) -> bool {
        self.schedule.is_some() && self.turn >= self.end_turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(rate_per_s: f64, measure_end_ns: u64, n_requests: u64) -> Plan {
        Plan {
            index: 0,
            arm: 0,
            opened_ns: 1_000_000_000,
            measure_start_ns: 2_000_000_000,
            measure_end_ns,
            n_requests,
            drain_ns: 0,
            rate_per_s,
        }
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
        let mut progress = Progress::new(plan(100.0, 4_000_000_000, 0), 0, 1, 1, 0);
        assert_eq!(progress.next_due_ns, 1_000_000_000);
        assert_eq!(pass(&mut progress, u64::MAX - 1), (300, 200));
        assert!(progress.is_schedule_over());
    }

    #[test]
    fn a_counted_window_counts_from_the_measured_part_over_all_threads() {
        let counts: Vec<(u64, u64)> = (0..3)
            .map(|thread| {
                let counted = plan(100.0, u64::MAX, 50);
                pass(&mut Progress::new(counted, thread, 3, 2, 0), 1 << 60)
            })
            .collect();
        assert_eq!(counts.iter().map(|count| count.0).sum::<u64>(), 150);
        assert_eq!(counts.iter().map(|count| count.1).sum::<u64>(), 50);
    }

    #[test]
    fn only_what_is_due_is_passed() {
        let mut progress = Progress::new(plan(100.0, 4_000_000_000, 0), 0, 1, 1, 0);
        progress.advance();
        assert_eq!(pass(&mut progress, 1_050_000_000), (5, 0));
    }

    #[test]
    fn the_measured_part_of_a_counted_window_has_no_planned_end() {
        let (timed, counted) = (plan(0.0, 3_000_000_000, 0), plan(0.0, 3_000_000_000, 9));
        assert!(!timed.counts_end_at(3_000_000_001) && counted.counts_end_at(3_000_000_001));
        assert!(!timed.counts_end_at(1_999_999_999) && timed.counts_end_at(3_000_000_000));
        assert_eq!(timed.measured_overlap_ns(0, u64::MAX), 1_000_000_000);
        assert_eq!(timed.measured_overlap_ns(0, 5), 0);
    }

    /// The requests that windows on one arm send, each thread so many, as numbers in the mix.
    fn sent(plan: Plan, n_threads: u64, n_requests: u64, per_window: &[u64]) -> Vec<u64> {
        let mut sent = Vec::new();
        for thread in 0..n_threads {
            let mut mix_from = Progress::mix_start(&plan, thread);
            for &count in per_window {
                let mut progress = Progress::new(plan, thread, n_threads, n_requests, mix_from);
                for _ in 0..count {
                    sent.push(progress.index() % n_requests);
                    progress.advance();
                }
                mix_from = progress.mix_until();
            }
        }
        sent
    }

    #[test]
    fn a_closed_loop_goes_on_with_the_mix_where_the_window_before_left_it() {
        let closed = plan(0.0, 4_000_000_000, 0);
        assert_eq!(sent(closed, 1, 3, &[2, 1, 2, 4]), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
        assert_eq!(sent(closed, 2, 3, &[1, 2]), [0, 1, 2, 1, 2, 0]);
    }

    #[test]
    fn an_open_loop_goes_on_with_the_mix_in_the_order_of_due_times() {
        for timed_or_counted in [plan(5.0, 3_000_000_000, 0), plan(5.0, u64::MAX, 5)] {
            for n_threads in [1, 2, 3] {
                let (n_requests, mut mix_from, mut in_order) = (3, vec![0; 3], Vec::new());
                for _ in 0..4 {
                    let mut due = Vec::new();
                    for thread in 0..n_threads {
                        let from = &mut mix_from[thread as usize];
                        let plan = timed_or_counted;
                        let mut progress =
                            Progress::new(plan, thread, n_threads, n_requests, *from);
                        while progress.next_due_ns != u64::MAX {
                            due.push((progress.next_due_ns, progress.index() % n_requests));
                            progress.advance();
                        }
                        *from = progress.mix_until();
                    }
                    due.sort_unstable();
                    assert_eq!(due.len(), 10);
                    in_order.extend(due.iter().map(|each| each.1));
                }
                let expected: Vec<u64> = (0..40).map(|index| index % n_requests).collect();
                assert_eq!(in_order, expected, "{n_threads} threads");
            }
        }
    }

    #[test]
    fn the_mix_goes_on_by_the_plan_also_where_requests_were_passed_over() {
        let mut late = Progress::new(plan(100.0, 4_000_000_000, 0), 0, 2, 7, 5);
        pass(&mut late, 1_050_000_000);
        assert_eq!(late.mix_until(), 305);
    }
}
