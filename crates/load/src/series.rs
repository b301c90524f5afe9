//! The time series of a window: what a chart over time is drawn from.
//!
//! It has a fixed number of intervals, which double when a window outgrows them: memory does not
//! grow with the length of a run.

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

impl Series {
    pub(crate) fn reset(&mut self) {
        self.interval_ns = FIRST_INTERVAL_NS;
        for column in [&mut self.completed, &mut self.errors, &mut self.latency_max_ns] {
            column.clear();
        }
    }

    /// Return the interval at so long after the opening, after it was made to exist.
    #[inline]
    pub(crate) fn reach(&mut self, since_opening_ns: u64) -> usize {
        let interval = since_opening_ns / self.interval_ns;
        if interval < self.completed.len() as u64 {
            interval as usize
        } else {
            self.grow(since_opening_ns)
        }
    }

    #[cold]
    fn grow(&mut self, since_opening_ns: u64) -> usize {
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
    pub(crate) fn merge(&mut self, other: &Self) {
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
pub(crate) fn join_pairs(column: &mut Vec<u64>, join: impl Fn(u64, u64) -> u64) {
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

    /// A right answer at each of these instants.
    fn series(instants_ns: &[u64]) -> Series {
        let mut series = Series::default();
        for &instant_ns in instants_ns {
            let interval = series.reach(instant_ns);
            series.completed[interval] += 1;
            series.latency_max_ns[interval] = series.latency_max_ns[interval].max(instant_ns);
        }
        series
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
