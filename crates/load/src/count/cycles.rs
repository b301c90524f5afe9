//! What a user of a closed loop gets done, cycle by cycle, and the part of it that a window saw.
//!
//! A cycle goes from the beginning of a step to the beginning of the user's next one: a request or
//! a page with its answers, and the pause after it. The measured part is credited with the part of
//! each cycle's right answers that the part of the cycle's time within it is. That has no bias in a
//! stationary loop: at a random instant the cycle under way is found in proportion to its length
//! C, so the mean of 1/C over instants is one over the mean of C (renewal reward with the
//! inspection paradox; Cox, Renewal Theory, 1962, chapters 5 and 8). Cycles that all last the same
//! are credited exactly, at any phase. Answers that merely end within the measured part are
//! whole numbers and depend on the phase: all users that begin together would count ⌊W / C⌋ or
//! one more each, in every window the same.

use serde::Serialize;

use crate::schedule::Plan;

/// What the cycles of a window gave; of several threads their sums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Cycles {
    /// Right answers of the measured part; those of a cycle over one of its edges by their share.
    pub credit: f64,
    /// Cycles that began in the measured part, each followed to its end.
    pub begun: u64,
    /// Their right answers.
    pub begun_right: u64,
    /// The sum of their lengths, and of the squares of those.
    pub begun_s: f64,
    /// See `begun_s`.
    pub begun_s2: f64,
    /// The longest of them.
    pub longest_s: f64,
    /// The longest of the users' first cycles, in the lead-in or after it, and of all later ones.
    /// Both are 0 where users go on with connections that they have.
    pub first_s: f64,
    /// See `first_s`.
    pub later_s: f64,
    /// Cycles that began in the measured part and did not end while the load went on. They are
    /// in the figures above as if they had ended with it, without an answer.
    #[serde(rename = "n_open")]
    pub open: u64,
    /// Users whose cycle lasted from before the measured part until the load ended.
    #[serde(rename = "n_starved")]
    pub starved: u64,
    /// What the cycles that did not end would have added to `credit`, at most.
    pub open_credit: f64,
    /// How many users there were.
    pub n_users: u64,
    /// The measured part began with the load: of a start from scratch, not of a steady loop.
    pub is_fresh: bool,
}

impl Cycles {
    /// Count a cycle, which brought so many right answers.
    #[inline]
    pub(crate) fn end(&mut self, plan: &Plan, began_ns: u64, end_ns: u64, right: u32) {
        let (from_ns, to_ns) = (plan.measure_start_ns, plan.measure_end_ns);
        if (from_ns..to_ns).contains(&began_ns) {
            self.begin(end_ns - began_ns, right);
        }
        if right == 0 {
            return;
        }
        if began_ns >= from_ns && end_ns <= to_ns {
            self.credit += f64::from(right);
        } else {
            self.credit += f64::from(right) * share(plan, began_ns, end_ns);
        }
    }

    /// Note how long a cycle took, whenever it was; the window's first one of a user or not.
    #[inline]
    pub(crate) fn note(&mut self, length_ns: u64, is_first: bool) {
        let longest_s = if is_first { &mut self.first_s } else { &mut self.later_s };
        *longest_s = longest_s.max(length_ns as f64 / 1e9);
    }

    /// Count a cycle that did not end while the load went on.
    pub(crate) fn leave_open(&mut self, plan: &Plan, began_ns: u64, until_ns: u64, right: u32) {
        if began_ns >= plan.measure_end_ns {
            return;
        }
        let until_ns = until_ns.max(began_ns);
        if began_ns >= plan.measure_start_ns {
            self.open += 1;
            self.begin(until_ns - began_ns, 0);
        } else {
            self.starved += 1;
        }
        // Nothing is in flight any more: what came is all, but for what was given up.
        self.open_credit += f64::from(right.max(1)) * share(plan, began_ns, until_ns);
    }

    fn begin(&mut self, length_ns: u64, right: u32) {
        let took_s = length_ns as f64 / 1e9;
        self.begun += 1;
        self.begun_right += u64::from(right);
        self.begun_s += took_s;
        self.begun_s2 += took_s * took_s;
        self.longest_s = self.longest_s.max(took_s);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.credit += other.credit;
        self.begun += other.begun;
        self.begun_right += other.begun_right;
        self.begun_s += other.begun_s;
        self.begun_s2 += other.begun_s2;
        self.longest_s = self.longest_s.max(other.longest_s);
        self.first_s = self.first_s.max(other.first_s);
        self.later_s = self.later_s.max(other.later_s);
        self.open += other.open;
        self.starved += other.starved;
        self.open_credit += other.open_credit;
    }
}

/// The part of a cycle that lies in the measured part.
fn share(plan: &Plan, began_ns: u64, end_ns: u64) -> f64 {
    let from_ns = began_ns.max(plan.measure_start_ns);
    let within_ns = end_ns.min(plan.measure_end_ns).saturating_sub(from_ns);
    if within_ns == 0 { 0.0 } else { within_ns as f64 / (end_ns - began_ns) as f64 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plan(measure_start_ns: u64, measure_end_ns: u64) -> Plan {
        Plan { measure_start_ns, measure_end_ns, ..Plan::NONE }
    }

    /// What a window sees of a user whose cycles have these lengths, from `began_ns` on.
    fn seen(plan: &Plan, began_ns: u64, lengths_ns: &[u64]) -> Cycles {
        let mut cycles = Cycles::default();
        let mut at_ns = began_ns;
        for &length_ns in lengths_ns {
            cycles.end(plan, at_ns, at_ns + length_ns, 1);
            at_ns += length_ns;
        }
        cycles
    }

    #[test]
    fn a_cycle_over_an_edge_counts_by_its_part() {
        let cycles = seen(&plan(100, 200), 80, &[40, 40, 80]);
        assert!((cycles.credit - (0.5 + 1.0 + 0.5)).abs() < 1e-12, "{cycles:?}");
        assert_eq!((cycles.begun, cycles.begun_right), (2, 2));
        assert!((cycles.begun_s - 120e-9).abs() < 1e-18);
    }

    #[test]
    fn a_cycle_without_a_right_answer_earns_nothing_and_takes_its_time() {
        let mut cycles = Cycles::default();
        cycles.end(&plan(100, 200), 110, 150, 0);
        cycles.end(&plan(100, 200), 150, 180, 2);
        assert!((cycles.credit - 2.0).abs() < 1e-12);
        assert_eq!((cycles.begun, cycles.begun_right), (2, 2));
    }

    #[test]
    fn what_never_ended_is_bounded() {
        let mut cycles = Cycles::default();
        cycles.leave_open(&plan(100, 200), 0, 400, 0);
        cycles.leave_open(&plan(100, 200), 150, 350, 0);
        cycles.leave_open(&plan(100, 200), 250, 350, 0);
        assert_eq!((cycles.starved, cycles.open, cycles.begun_right), (1, 1, 0));
        assert!((cycles.open_credit - 0.5).abs() < 1e-12 && cycles.credit.abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn cycles_of_one_length_are_credited_exactly_at_any_phase(
            length_ns in 1..500_u64,
            phase in 0.0..1.0_f64,
            measured_ns in 1..2_000_u64,
        ) {
            let plan = plan(1_000, 1_000 + measured_ns);
            let began_ns = 400 + (phase * length_ns as f64) as u64;
            let cycles = seen(&plan, began_ns, &vec![length_ns; 3_500 / length_ns as usize + 2]);
            let exact = measured_ns as f64 / length_ns as f64;
            prop_assert!((cycles.credit - exact).abs() < 1e-9 * exact.max(1.0), "{:?}", cycles);
        }

        #[test]
        fn adjacent_windows_add_up_to_the_whole(
            lengths_ns in proptest::collection::vec(1..400_u64, 40),
            cut_ns in 501..2_000_u64,
        ) {
            let [whole, left, right] = [(500, 2_000), (500, cut_ns), (cut_ns, 2_000)]
                .map(|(from_ns, to_ns)| seen(&plan(from_ns, to_ns), 0, &lengths_ns).credit);
            prop_assert!((left + right - whole).abs() < 1e-9, "{left} + {right}, {whole}");
        }
    }
}
