//! Distributions of durations: recorded per thread, merged at a window's end.
//!
//! The buckets are those of `HdrHistogram`: below `2 << BITS` one for each nanosecond, from there
//! on `1 << BITS` for each power of two. A recorder is one array of fixed size, so that memory does
//! not grow with the number of requests, and recording is an index and four additions.

use super::message::{Each, seconds};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use std::fmt;

/// Above this a duration is counted as this: over an hour, far beyond any patience.
const HIGHEST_NS: u64 = (1 << HIGHEST_BITS) - 1;
const HIGHEST_BITS: u32 = 42;

/// Three significant digits: what percentiles are read from.
pub(super) type Fine = Recorder<10>;
/// Two significant digits at an eighth of the memory: for what there are many of.
pub(super) type Coarse = Recorder<7>;

/// What a thread records into. Recording allocates nothing.
///
/// It is written by hand because recording into it takes 0.76 to 0.77 of the time of hdrhistogram's
/// `saturating_record`: medians of three runs of the tests' `recording_beside_hdrhistogram`.
#[derive(Debug, Clone)]
pub(crate) struct Recorder<const BITS: u32> {
    counts: Box<[u64]>,
    sum_ns: u128,
    max_ns: u64,
    /// The buckets that were used are in `lowest..=highest`; none were: `lowest > highest`.
    lowest: usize,
    highest: usize,
}

impl<const BITS: u32> Recorder<BITS> {
    pub(super) const DIGIT_BITS: u32 = BITS;
    pub(super) const LEN: usize = ((HIGHEST_BITS + 1 - BITS) as usize) << BITS;

    pub(super) fn new() -> Self {
        let counts = vec![0; Self::LEN].into_boxed_slice();
        Self { counts, sum_ns: 0, max_ns: 0, lowest: usize::MAX, highest: 0 }
    }

    /// The bucket that a duration falls into.
    #[inline]
    const fn bucket(value_ns: u64) -> usize {
        let value_ns = if value_ns > HIGHEST_NS { HIGHEST_NS } else { value_ns };
        let n_bits = u64::BITS - (value_ns | ((2 << BITS) - 1)).leading_zeros();
        let excess = n_bits - (BITS + 1);
        ((excess as usize) << BITS) + (value_ns >> excess) as usize
    }

    /// The largest duration that falls into a bucket.
    pub(super) const fn bound_ns(bucket: usize) -> u64 {
        if bucket < 2 << BITS {
            return bucket as u64;
        }
        let excess = (bucket >> BITS) - 1;
        let scaled = bucket - (excess << BITS);
        ((scaled as u64 + 1) << excess) - 1
    }

    #[inline]
    pub(super) fn record(&mut self, value_ns: u64) {
        let bucket = Self::bucket(value_ns);
        self.counts[bucket] += 1;
        self.sum_ns += u128::from(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
        self.lowest = self.lowest.min(bucket);
        self.highest = self.highest.max(bucket);
    }

    const fn is_empty(&self) -> bool {
        self.lowest > self.highest
    }

    pub(crate) const fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    pub(super) const fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The buckets that are not empty, ascending, with their counts.
    pub(super) fn cells(&self) -> impl Iterator<Item = (usize, u64)> {
        let used = if self.is_empty() { &[] } else { &self.counts[self.lowest..=self.highest] };
        let numbered = used.iter().enumerate();
        numbered.filter(|&(_, &n)| n > 0).map(|(offset, &n)| (self.lowest + offset, n))
    }

    pub(super) fn reset(&mut self) {
        if self.is_empty() {
            return;
        }
        self.counts[self.lowest..=self.highest].fill(0);
        (self.sum_ns, self.max_ns) = (0, 0);
        (self.lowest, self.highest) = (usize::MAX, 0);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.add(other.cells(), other.sum_ns, other.max_ns);
    }

    /// Add durations that were counted elsewhere: by bucket, with their sum and maximum.
    pub(super) fn add(
        &mut self,
        cells: impl Iterator<Item = (usize, u64)>,
        sum_ns: u128,
        max_ns: u64,
    ) {
        for (bucket, count) in cells {
            self.counts[bucket] += count;
            self.lowest = self.lowest.min(bucket);
            self.highest = self.highest.max(bucket);
        }
        self.sum_ns += sum_ns;
        self.max_ns = self.max_ns.max(max_ns);
    }

    /// Add these durations to what is recorded in `into`, with its fewer digits.
    pub(super) fn add_to(&self, into: &mut Coarse) {
        let cells = self.cells().map(|(bucket, n)| (Coarse::bucket(Self::bound_ns(bucket)), n));
        into.add(cells, self.sum_ns, self.max_ns);
    }

    /// Become what `other` is.
    pub(super) fn copy_from(&mut self, other: &Self) {
        self.reset();
        self.merge(other);
    }

    pub(crate) fn distribution(&self) -> Distribution {
        Distribution::of::<BITS>(self.cells(), self.sum_ns, self.max_ns)
    }
}

/// Counts over log-linear buckets of nanoseconds.
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

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("Distribution", 4)?;
        fields.serialize_field("bounds_ns", &Each(|| self.buckets.iter().map(|each| each.0)))?;
        fields.serialize_field("counts", &Each(|| self.buckets.iter().map(|each| each.1)))?;
        fields.serialize_field("sum_s", &(self.sum_ns as f64 / 1e9))?;
        fields.serialize_field("max_s", &seconds(self.max_ns))?;
        fields.end()
    }
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
    /// Of durations counted by the buckets of a recorder.
    pub(super) fn of<const BITS: u32>(
        cells: impl Iterator<Item = (usize, u64)>,
        sum_ns: u128,
        max_ns: u64,
    ) -> Self {
        let bound = |(bucket, count)| (Recorder::<BITS>::bound_ns(bucket), count);
        let buckets: Vec<_> = cells.map(bound).collect();
        let count = buckets.iter().map(|bucket| bucket.1).sum();
        Self { buckets, count, sum_ns, max_ns }
    }

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
    use std::hint::black_box;
    use std::time::Instant;

    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    use super::*;

    fn recorder_of(values_ns: &[u64]) -> Fine {
        let mut recorder = Fine::new();
        for &value_ns in values_ns {
            recorder.record(value_ns);
        }
        recorder
    }

    #[test]
    fn merging_is_the_same_as_recording_into_one() {
        let mut merged = recorder_of(&[1, 500, 1_000_000]);
        merged.merge(&recorder_of(&[500, 77_000_000_000]));
        merged.merge(&Fine::new());
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
        assert_eq!(Fine::bucket(u64::MAX), Fine::LEN - 1);
        assert_eq!(Coarse::bucket(u64::MAX), Coarse::LEN - 1);
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
        recorder.record(7);
        assert_eq!(recorder.distribution(), recorder_of(&[7]).distribution());
    }

    #[test]
    fn three_digits_become_two_as_if_they_had_been_recorded_so() {
        let values = [0, 255, 256, 257, 2047, 2048, 123_456_789, u64::MAX];
        let (mut direct, mut converted) = (Coarse::new(), Coarse::new());
        for value_ns in values {
            direct.record(value_ns);
        }
        recorder_of(&values).add_to(&mut converted);
        assert_eq!(converted.distribution(), direct.distribution());
    }

    /// A figure, not a check: `cargo test --release -p httpdyno-load beside_hdrhistogram --
    /// --ignored --nocapture`. Ours stays as long as it is no slower: the crate keeps neither exact
    /// sums nor the buckets' numbers, which [`super::cells`] packs.
    #[test]
    #[ignore = "prints how long recording takes"]
    #[expect(clippy::print_stdout, reason = "that is what it is for")]
    fn recording_beside_hdrhistogram() {
        const N: u64 = 1 << 16;
        let spread = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44;
        let values_ns: Vec<u64> = (0..N).map(|i| 50_000 + spread(i)).collect();
        let mut ours = Fine::new();
        let mut theirs = Histogram::<u64>::new_with_bounds(1, HIGHEST_NS, 3).unwrap();
        let mut ratios: Vec<f64> = (0..41)
            .map(|_| {
                let begun = Instant::now();
                for &value_ns in &values_ns {
                    ours.record(black_box(value_ns));
                }
                let ours = begun.elapsed();
                let begun = Instant::now();
                for &value_ns in &values_ns {
                    theirs.saturating_record(black_box(value_ns));
                }
                ours.as_secs_f64() / begun.elapsed().as_secs_f64()
            })
            .collect();
        ratios.sort_by(f64::total_cmp);
        println!("recording takes {:.2} of what hdrhistogram takes (median of 41)", ratios[20]);
    }

    proptest! {
        #[test]
        fn buckets_are_those_of_hdrhistogram(exponent in 0..42_u32, bits in any::<u64>()) {
            let value_ns = (bits & ((1 << exponent) - 1)) | (1 << exponent) >> 1;
            let reference = |digits| Histogram::<u64>::new_with_bounds(1, HIGHEST_NS, digits).unwrap();
            prop_assert_eq!(
                Fine::bound_ns(Fine::bucket(value_ns)),
                reference(3).highest_equivalent(value_ns)
            );
            prop_assert_eq!(
                Coarse::bound_ns(Coarse::bucket(value_ns)),
                reference(2).highest_equivalent(value_ns)
            );
        }

        #[test]
        fn a_bucket_ends_just_before_the_next(bucket in 0..Coarse::LEN) {
            let bound_ns = Coarse::bound_ns(bucket);
            prop_assert_eq!(Coarse::bucket(bound_ns), bucket);
            prop_assert_eq!(Coarse::bucket(bound_ns + 1), (bucket + 1).min(Coarse::LEN - 1));
        }
    }
}
