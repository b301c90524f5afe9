//! What is in flight, integrated as it changes: the other side of Little's law; and who waits for
//! whom.
//!
//! The mean number of requests on connections is their rate times the mean time that each spends
//! there (J. D. C. Little, "A proof for the queuing formula L = λW", 1961). Here the left side is
//! kept as requests come and go, without looking at any request's record; the right side is summed
//! up from the records. Both are of the same requests from the first to the last of them, so no
//! edge of a window gets in between, and a difference is an error in the engine's own books.

use crate::sys;

/// How many of a thread's requests are on connections, and the time integral of the measured ones.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InFlight {
    level: u64,
    measured: u64,
    since_ns: u64,
    integral: u128,
}

impl InFlight {
    /// All that are on connections now, measured or not.
    pub(crate) const fn level(&self) -> u64 {
        self.level
    }

    /// Request-nanoseconds of the measured requests.
    pub(crate) const fn integral_ns(&self) -> u128 {
        self.integral
    }

    #[inline]
    pub(super) fn enter(&mut self, now_ns: u64, is_measured: bool) {
        self.level += 1;
        if is_measured {
            self.integrate(now_ns);
            self.measured += 1;
        }
    }

    #[inline]
    pub(super) fn leave(&mut self, now_ns: u64, is_measured: bool) {
        self.level = self.level.saturating_sub(1);
        if is_measured {
            self.integrate(now_ns);
            self.measured = self.measured.saturating_sub(1);
        }
    }

    #[inline]
    fn integrate(&mut self, now_ns: u64) {
        let elapsed_ns = now_ns.saturating_sub(self.since_ns);
        self.integral += u128::from(elapsed_ns) * u128::from(self.measured);
        self.since_ns = now_ns.max(self.since_ns);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.level += other.level;
        self.integral += other.integral;
    }
}

/// Whether the answers wait for the client, or the client for the answers.
///
/// A turn of the loop counts by its length: what a thread finds after it stood for ten milliseconds
/// in the queue for a CPU tells more than what it finds in the hundred quick turns that follow.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Readiness {
    begun_ns: u64,
    /// What the turn found: the part of the requests on connections that had news.
    found: f64,
    ready_ns: f64,
    total_ns: f64,
}

impl Readiness {
    /// A turn begun then, with so many requests on connections, found so many of them with news.
    #[inline]
    pub(super) fn turn(&mut self, begun_ns: u64, n_ready: usize, n_awaited: u64) {
        let n_awaited = n_awaited.min(sys::MAX_EVENTS as u64);
        let found = if n_awaited == 0 { 0.0 } else { (n_ready as f64 / n_awaited as f64).min(1.0) };
        if self.begun_ns > 0 {
            // The turn before this one is over. If the thread lost its CPU while it waited, what
            // that turn found tells; if while it worked, what this one does.
            let length_ns = begun_ns.saturating_sub(self.begun_ns) as f64;
            self.ready_ns += length_ns * self.found.max(found);
            self.total_ns += length_ns;
        }
        (self.begun_ns, self.found) = (begun_ns, found);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.ready_ns += other.ready_ns;
        self.total_ns += other.total_ns;
    }

    pub(crate) fn ratio(&self) -> f64 {
        if self.total_ns > 0.0 { self.ready_ns / self.total_ns } else { 0.0 }
    }
}

/// How far the two sides of Little's law are apart, relative to the first.
pub(crate) fn residual_ratio(integral_ns: u128, summed_ns: u128) -> f64 {
    integral_ns.abs_diff(summed_ns) as f64 / integral_ns.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_turn_counts_for_what_it_found() {
        let found = |turns: &[(u64, usize)]| {
            let mut readiness = Readiness::default();
            for &(begun_ns, n_ready) in turns {
                readiness.turn(begun_ns, n_ready, 16);
            }
            readiness.ratio()
        };
        let while_waiting = [(10, 1), (20, 16), (10_020, 1), (10_030, 1), (10_040, 1)];
        assert!(found(&while_waiting) > 0.99);
        let while_working = [(10, 1), (10_020, 16), (10_030, 1), (10_040, 1)];
        assert!(found(&while_working) > 0.99);
        let waiting_for_answers = [(10, 1), (10_010, 1), (20_010, 2), (30_010, 1)];
        assert!(found(&waiting_for_answers) < 0.15);
        assert!(found(&[]).abs() < f64::EPSILON);
    }

    #[test]
    fn the_integral_is_the_sum_of_the_times_spent() {
        let mut in_flight = InFlight::default();
        in_flight.enter(100, true);
        in_flight.enter(110, true);
        in_flight.enter(115, false);
        assert_eq!(in_flight.level(), 3);
        in_flight.leave(130, true);
        in_flight.leave(140, false);
        in_flight.leave(200, true);
        assert_eq!((in_flight.level(), in_flight.integral_ns()), (0, 30 + 90));
        assert!(residual_ratio(in_flight.integral_ns(), 120) < f64::EPSILON);
    }

    #[test]
    fn a_request_that_is_lost_or_counted_twice_shows() {
        let mut in_flight = InFlight::default();
        for n in 0..100 {
            in_flight.enter(n * 10, true);
            if n != 50 {
                in_flight.leave(n * 10 + 10, true);
            }
        }
        // The record of one never came: the level stays up from there on.
        assert!(residual_ratio(in_flight.integral_ns(), 99 * 10) > 0.02);
        assert!(residual_ratio(1000, 1100) > 0.09);
        assert!(residual_ratio(0, 0).abs() < f64::EPSILON);
        assert!(residual_ratio(0, 10) > 1.0);
    }
}
