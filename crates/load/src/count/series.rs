//! The time series of a window: what a chart over time is drawn from.
//!
//! It has a fixed number of intervals, which double when a window outgrows them: memory does not
//! grow with the length of a run.

use super::message::{Each, seconds};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// The width of an interval at first.
const FIRST_INTERVAL_NS: u64 = 100_000_000;
/// When a window has more intervals than this they are joined in pairs. Two minutes at first, and
/// never fewer than 600 intervals from then on: more than a chart has columns of pixels to spare.
const MAX_INTERVALS: usize = 1200;

/// A time series of a window from its opening on; its columns have the same length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    /// The width of an interval.
    pub interval_ns: u64,
    /// Right answers in the interval.
    pub completed: Vec<u64>,
    /// Errors in the interval.
    pub errors: Vec<u64>,
    /// The largest latency among the interval's right answers and given up requests.
    pub latency_max_ns: Vec<u64>,
}

/// Part of its owner, not a thing of its own.
impl Serialize for Series {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("Series", 4)?;
        fields.serialize_field("series_interval_s", &seconds(self.interval_ns))?;
        fields.serialize_field("series_completed", &self.completed)?;
        fields.serialize_field("series_errors", &self.errors)?;
        let max_s = Each(|| self.latency_max_ns.iter().map(|&ns| seconds(ns)));
        fields.serialize_field("series_latency_max_s", &max_s)?;
        fields.end()
    }
}

impl Default for Series {
    /// An empty one, with all its room.
    fn default() -> Self {
        Self {
            interval_ns: FIRST_INTERVAL_NS,
            completed: Vec::with_capacity(MAX_INTERVALS),
            errors: Vec::with_capacity(MAX_INTERVALS),
            latency_max_ns: Vec::with_capacity(MAX_INTERVALS),
        }
    }
}

/// The interval that an instant was found in last: most that follow are in the same one, and need
/// no division.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Current {
    from_ns: u64,
    width_ns: u64,
    pub(super) index: usize,
}

impl Current {
    #[inline]
    pub(super) const fn has(&self, instant_ns: u64) -> bool {
        instant_ns.wrapping_sub(self.from_ns) < self.width_ns
    }

    pub(super) const fn of(index: usize, width_ns: u64) -> Self {
        Self { from_ns: index as u64 * width_ns, width_ns, index }
    }
}

/// Records the series of one thread.
#[derive(Debug, Default)]
pub(crate) struct SeriesRecorder {
    pub(crate) series: Series,
    current: Current,
}

impl SeriesRecorder {
    pub(super) fn reset(&mut self) {
        self.series.interval_ns = FIRST_INTERVAL_NS;
        self.series.completed.clear();
        self.series.errors.clear();
        self.series.latency_max_ns.clear();
        self.current = Current::default();
    }

    /// Count a request that ended so long after the opening; `latency_ns` is 0 if it has none.
    #[inline]
    pub(super) fn end(&mut self, since_opening_ns: u64, is_completed: bool, latency_ns: u64) {
        if !self.current.has(since_opening_ns) {
            let index = self.series.reach(since_opening_ns);
            self.current = Current::of(index, self.series.interval_ns);
        }
        let index = self.current.index;
        let column =
            if is_completed { &mut self.series.completed } else { &mut self.series.errors };
        column[index] += 1;
        let latest = &mut self.series.latency_max_ns[index];
        *latest = latency_ns.max(*latest);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.series.merge(&other.series);
    }
}

impl Series {
    /// Return the interval at so long after the opening, after it was made to exist.
    #[cold]
    fn reach(&mut self, since_opening_ns: u64) -> usize {
        while since_opening_ns / self.interval_ns >= MAX_INTERVALS as u64 {
            self.double();
        }
        let interval = (since_opening_ns / self.interval_ns) as usize;
        self.extend(interval + 1);
        interval
    }

    fn extend(&mut self, len: usize) {
        for column in [&mut self.completed, &mut self.errors, &mut self.latency_max_ns] {
            column.resize(len.max(column.len()), 0);
        }
    }

    fn double(&mut self) {
        self.interval_ns *= 2;
        join_pairs(&mut self.completed, |a, b| a + b);
        join_pairs(&mut self.errors, |a, b| a + b);
        join_pairs(&mut self.latency_max_ns, u64::max);
    }

    /// Add another thread's series of the same window.
    fn merge(&mut self, other: &Self) {
        while self.interval_ns < other.interval_ns {
            self.double();
        }
        let mut other = other.clone();
        while other.interval_ns < self.interval_ns {
            other.double();
        }
        self.extend(other.completed.len());
        for (mine, theirs) in self.completed.iter_mut().zip(&other.completed) {
            *mine += theirs;
        }
        for (mine, theirs) in self.errors.iter_mut().zip(&other.errors) {
            *mine += theirs;
        }
        for (mine, theirs) in self.latency_max_ns.iter_mut().zip(&other.latency_max_ns) {
            *mine = (*mine).max(*theirs);
        }
    }
}

/// Join the first with the second, the third with the fourth and so on, in place. A last one that
/// has no other to join is joined with 0.
pub(super) fn join_pairs(column: &mut Vec<u64>, join: impl Fn(u64, u64) -> u64) {
    let half = column.len().div_ceil(2);
    for index in 0..half {
        let second = column.get(2 * index + 1).copied().unwrap_or(0);
        column[index] = join(column[2 * index], second);
    }
    column.truncate(half);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A right answer at each of these instants, as long in coming.
    fn series(instants_ns: &[u64]) -> Series {
        let mut recorder = SeriesRecorder::default();
        for &instant_ns in instants_ns {
            recorder.end(instant_ns, true, instant_ns);
        }
        recorder.series
    }

    #[test]
    fn ends_are_counted_in_their_interval() {
        let mut recorder = SeriesRecorder::default();
        recorder.end(99_999_999, true, 5);
        recorder.end(100_000_000, false, 0);
        recorder.end(50_000_000, true, 3);
        recorder.end(300_000_000, false, 9);
        assert_eq!(recorder.series.completed, [2, 0, 0, 0]);
        assert_eq!(recorder.series.errors, [0, 1, 0, 1]);
        assert_eq!(recorder.series.latency_max_ns, [5, 0, 0, 9]);
        recorder.reset();
        recorder.end(0, true, 1);
        assert_eq!(recorder.series.completed, [1]);
    }

    #[test]
    fn a_window_of_days_has_no_more_intervals_than_one_of_minutes() {
        let second_ns = 1_000_000_000;
        let instants: Vec<u64> = (0..86_400).map(|second| second * second_ns).collect();
        let series = series(&instants);
        assert!((600..=MAX_INTERVALS).contains(&series.completed.len()));
        assert_eq!(series.completed.iter().sum::<u64>(), 86_400);
        assert!(series.completed.capacity() <= MAX_INTERVALS);
        let (width_ns, last) = (series.interval_ns, series.completed.len() as u64 - 1);
        assert!((last * width_ns..(last + 1) * width_ns).contains(&(86_399 * second_ns)));
        let n_in_whole = width_ns / second_ns;
        assert!(series.completed[..last as usize].iter().all(|&n| n.abs_diff(n_in_whole) <= 1));
        assert_eq!(series.latency_max_ns[last as usize], 86_399 * second_ns);
    }

    #[test]
    fn series_of_different_widths_merge_into_the_wider() {
        let long = [0, 50_000_000, 130_000_000_000];
        let short = [1, 250_000_000];
        let both = series(&[&long[..], &short[..]].concat());
        let (mut from_long, mut from_short) = (series(&long), series(&short));
        from_long.merge(&series(&short));
        from_short.merge(&series(&long));
        assert_eq!((&from_long, &from_short), (&both, &both));
        assert_eq!(both.interval_ns, 200_000_000);
    }
}
