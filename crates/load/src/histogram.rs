//! Distributions of durations: recorded per thread, merged at a window's end.

use std::fmt;

use hdrhistogram::Histogram;

/// Above this a duration is counted as this: an hour, far beyond any patience.
const HIGHEST_NS: u64 = 3_600_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;

/// What a thread records into. Fixed size; recording allocates nothing.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    counts: Histogram<u64>,
    sum_ns: u128,
    max_ns: u64,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        let counts = Histogram::new_with_bounds(1, HIGHEST_NS, SIGNIFICANT_DIGITS)
            .unwrap_or_else(|_| unreachable!("the bounds are constants that hdrhistogram takes"));
        Self { counts, sum_ns: 0, max_ns: 0 }
    }

    #[inline]
    pub(crate) fn record(&mut self, value_ns: u64) {
        self.counts.saturating_record(value_ns);
        self.sum_ns += u128::from(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
    }

    pub(crate) fn reset(&mut self) {
        if self.counts.is_empty() {
            return;
        }
        self.counts.reset();
        self.sum_ns = 0;
        self.max_ns = 0;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        if other.counts.is_empty() {
            return;
        }
        // The bounds are the same, so this cannot fail.
        let merged = self.counts.add(&other.counts);
        debug_assert!(merged.is_ok());
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    pub(crate) fn distribution(&self) -> Distribution {
        Distribution {
            buckets: self
                .counts
                .iter_recorded()
                .map(|step| (step.value_iterated_to(), step.count_at_value()))
                .collect(),
            count: self.counts.len(),
            sum_ns: self.sum_ns,
            max_ns: self.max_ns,
        }
    }
}

/// Counts over log-linear buckets of nanoseconds, to three significant digits.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Distribution {
    /// The upper bound of each bucket that is not empty, in nanoseconds, ascending, and its count.
    pub buckets: Vec<(u64, u64)>,
    /// How many durations there are.
    pub count: u64,
    /// Their exact sum.
    pub sum_ns: u128,
    /// The largest, exact; 0 when there is none.
    pub max_ns: u64,
}

impl fmt::Debug for Distribution {
    /// The figures that tell most: a failing test should not print a thousand buckets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Distribution")
            .field("count", &self.count)
            .field("p50_ns", &self.quantile_ns(0.5))
            .field("p99_ns", &self.quantile_ns(0.99))
            .field("max_ns", &self.max_ns)
            .finish_non_exhaustive()
    }
}

impl Distribution {
    /// Return the smallest recorded bound that at least `quantile` (0 to 1) of the durations do
    /// not exceed; 0 when there is none.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        let rank = ((quantile * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for &(bound_ns, count) in &self.buckets {
            seen += count;
            if seen >= rank {
                return bound_ns.min(self.max_ns);
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorder_of(values_ns: &[u64]) -> Recorder {
        let mut recorder = Recorder::new();
        for &value_ns in values_ns {
            recorder.record(value_ns);
        }
        recorder
    }

    #[test]
    fn merging_is_the_same_as_recording_into_one() {
        let mut merged = recorder_of(&[1, 500, 1_000_000]);
        merged.merge(&recorder_of(&[500, 77_000_000_000]));
        merged.merge(&Recorder::new());
        let one = recorder_of(&[1, 500, 1_000_000, 500, 77_000_000_000]);
        assert_eq!(merged.distribution(), one.distribution());
    }

    #[test]
    fn sum_and_maximum_are_exact_and_buckets_hold_three_digits() {
        let distribution = recorder_of(&[123_456_789, 1]).distribution();
        assert_eq!((distribution.sum_ns, distribution.max_ns), (123_456_790, 123_456_789));
        let (bound_ns, count) = distribution.buckets[1];
        assert_eq!(count, 1);
        assert!((123_456_789..123_456_789 + 123_457).contains(&bound_ns), "{bound_ns}");
    }

    #[test]
    fn what_is_beyond_the_highest_bucket_is_counted_in_it() {
        let distribution = recorder_of(&[u64::MAX]).distribution();
        assert_eq!((distribution.count, distribution.max_ns), (1, u64::MAX));
        assert_eq!(distribution.buckets.len(), 1);
    }

    #[test]
    fn quantiles_are_order_statistics() {
        let values: Vec<u64> = (1..=100).collect();
        let distribution = recorder_of(&values).distribution();
        assert_eq!(distribution.quantile_ns(0.5), 50);
        assert_eq!(distribution.quantile_ns(0.99), 99);
        assert_eq!(distribution.quantile_ns(1.0), 100);
        assert_eq!(Distribution::default().quantile_ns(0.5), 0);
    }

    #[test]
    fn a_reset_recorder_is_as_new() {
        let mut recorder = recorder_of(&[5, 6]);
        recorder.reset();
        assert_eq!(recorder.distribution(), Distribution::default());
    }
}
