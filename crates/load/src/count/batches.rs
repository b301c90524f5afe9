//! The measured part in equal intervals, each with its counts and latencies: what batch means, the
//! search for the end of a warm-up and a log of histograms over time are made from.
//!
//! Intervals are narrow at first. When there are too many, or their latencies too various for the
//! room there is, they are joined in pairs: so memory is bounded whatever the length of the run,
//! and nothing is allocated while load is on. All threads count from the same instant and double
//! from the same width, so that intervals of different threads always fit into each other.

use super::cells::{Cells, Scratch};
use super::histogram::{Coarse, Distribution};
use super::message::{Each, seconds};
use super::outcome::ErrorKind;
use super::series::{Current, join_pairs};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// The width of an interval at first.
const FIRST_INTERVAL_NS: u64 = 10_000_000;
/// More are joined in pairs.
const MAX_INTERVALS: usize = 256;
/// Room for the counts of closed intervals: 512 different latencies in each of 256 intervals. A
/// megabyte per thread, of which what was never used takes no memory.
const MAX_CELLS: usize = MAX_INTERVALS * 512;

/// The measured part in equal intervals; the columns have the same length, at most 256.
///
/// The last interval may reach beyond the end of the measured part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batches {
    /// The width of an interval: 10 ms, doubled as often as the run was long.
    pub interval_ns: u64,
    /// Measured requests that were due in the interval (closed loop: taken up).
    pub offered: Vec<u64>,
    /// Right answers that came in the interval, whenever their requests were sent.
    pub completed: Vec<u64>,
    /// Requests that failed in the interval, measured or not; and measured ones that were due in it
    /// and that the window's end cut off.
    pub errors: Vec<u64>,
    latencies: Cells,
}

impl Serialize for Batches {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("Batches", 5)?;
        fields.serialize_field("interval_s", &seconds(self.interval_ns))?;
        fields.serialize_field("offered", &self.offered)?;
        fields.serialize_field("completed", &self.completed)?;
        fields.serialize_field("errors", &self.errors)?;
        let latency = Each(|| (0..self.len()).map(|interval| self.latency(interval)));
        fields.serialize_field("latency", &latency)?;
        fields.end()
    }
}

/// Records one thread's batches.
#[derive(Debug)]
pub(crate) struct BatchRecorder {
    interval_ns: u64,
    offered: Vec<u64>,
    completed: Vec<u64>,
    errors: Vec<u64>,
    /// Latencies of the intervals that are over.
    closed: Cells,
    /// Latencies of the interval after those.
    open: Coarse,
    current: Current,
    scratch: Scratch,
    max_cells: usize,
}

impl BatchRecorder {
    pub(super) fn new() -> Self {
        Self::with_room(MAX_CELLS)
    }

    fn with_room(max_cells: usize) -> Self {
        let column = || Vec::with_capacity(MAX_INTERVALS);
        Self {
            interval_ns: FIRST_INTERVAL_NS,
            offered: column(),
            completed: column(),
            errors: column(),
            closed: Cells::with_room(MAX_INTERVALS, max_cells),
            open: Coarse::new(),
            current: Current::default(),
            scratch: Scratch::new(),
            max_cells,
        }
    }

    pub(super) fn reset(&mut self) {
        self.interval_ns = FIRST_INTERVAL_NS;
        for column in [&mut self.offered, &mut self.completed, &mut self.errors] {
            column.clear();
        }
        self.closed.clear();
        self.open.reset();
        self.current = Current::default();
    }

    /// Count a measured request by the time at which it was due, since the measured part began.
    #[inline]
    pub(super) fn offer(&mut self, since_start_ns: u64) {
        let is_current = self.current.has(since_start_ns);
        let interval = if is_current { self.current.index } else { self.reach(since_start_ns) };
        self.offered[interval] += 1;
    }

    /// Count the end of a request within the measured part. Ends come in the order of time.
    #[inline]
    pub(super) fn end(&mut self, since_start_ns: u64, age_ns: u64, outcome: Result<(), ErrorKind>) {
        if !self.current.has(since_start_ns) {
            self.go_on(since_start_ns);
        }
        let interval = self.current.index;
        match outcome {
            Ok(()) => self.completed[interval] += 1,
            Err(_) => self.errors[interval] += 1,
        }
        if outcome.is_ok() || outcome.is_err_and(ErrorKind::is_censored) {
            self.open.record(age_ns);
        }
    }

    /// Count a measured request that the window's end cut off, by the time at which it was due.
    pub(super) fn cut_off(&mut self, since_start_ns: u64) {
        let interval = self.reach(since_start_ns);
        self.errors[interval] += 1;
    }

    /// Return the interval of an instant, after it was made to exist.
    fn reach(&mut self, since_start_ns: u64) -> usize {
        while since_start_ns / self.interval_ns >= MAX_INTERVALS as u64 {
            self.double();
        }
        let interval = (since_start_ns / self.interval_ns) as usize;
        if interval >= self.offered.len() {
            for column in [&mut self.offered, &mut self.completed, &mut self.errors] {
                column.resize(interval + 1, 0);
            }
        }
        interval
    }

    /// Go on to the interval of an instant, and close those before it.
    #[cold]
    fn go_on(&mut self, since_start_ns: u64) {
        let mut interval = self.reach(since_start_ns);
        while self.closed.len() < interval {
            self.close();
            interval = self.reach(since_start_ns);
        }
        self.current = Current::of(interval, self.interval_ns);
    }

    /// Close the open interval, or make room for that.
    fn close(&mut self) {
        if self.closed.n_cells() + self.open.cells().count() > self.max_cells {
            self.double();
            return;
        }
        self.closed.push(&self.open);
        self.open.reset();
    }

    /// Join intervals in pairs.
    fn double(&mut self) {
        self.interval_ns *= 2;
        for column in [&mut self.offered, &mut self.completed, &mut self.errors] {
            join_pairs(column, |a, b| a + b);
        }
        // The other half of an odd one's pair is the open interval.
        self.closed.join_pairs(&mut self.open, &mut self.scratch);
        self.current = Current::default();
    }

    pub(crate) fn batches(&self) -> Batches {
        let mut latencies = Cells::with_room(self.closed.len() + 1, 0);
        latencies.clone_from(&self.closed);
        latencies.push(&self.open);
        Batches {
            interval_ns: self.interval_ns,
            offered: self.offered.clone(),
            completed: self.completed.clone(),
            errors: self.errors.clone(),
            latencies,
        }
    }
}

impl Batches {
    /// How many intervals there are.
    pub fn len(&self) -> usize {
        self.offered.len()
    }

    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.offered.is_empty()
    }

    /// Latencies of the requests that ended in an interval: of completed ones, and of given up
    /// ones at their age. Two significant digits.
    pub fn latency(&self, interval: usize) -> Distribution {
        self.latencies.distribution(interval)
    }

    /// Add another thread's batches of the same window.
    pub(crate) fn merge(&mut self, mut other: Self) {
        while self.interval_ns < other.interval_ns {
            self.double();
        }
        while other.interval_ns < self.interval_ns {
            other.double();
        }
        let len = self.len().max(other.len());
        let pairs = [
            (&mut self.offered, &other.offered),
            (&mut self.completed, &other.completed),
            (&mut self.errors, &other.errors),
        ];
        for (mine, theirs) in pairs {
            mine.resize(len, 0);
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine += theirs;
            }
        }
        let n_rows = self.latencies.len().max(other.latencies.len());
        let room = self.latencies.n_cells() + other.latencies.n_cells();
        let (mut both, mut merged) = (Coarse::new(), Cells::with_room(n_rows, room));
        for interval in 0..n_rows {
            self.latencies.add_to(interval, &mut both);
            other.latencies.add_to(interval, &mut both);
            merged.push(&both);
            both.reset();
        }
        self.latencies = merged;
    }

    fn double(&mut self) {
        self.interval_ns *= 2;
        for column in [&mut self.offered, &mut self.completed, &mut self.errors] {
            join_pairs(column, |a, b| a + b);
        }
        let is_odd = self.latencies.len() % 2 == 1;
        let mut odd = Coarse::new();
        self.latencies.join_pairs(&mut odd, &mut Scratch::new());
        if is_odd {
            self.latencies.push(&odd);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: u64 = 1_000_000;

    fn recorded(ends: &[(u64, u64)], max_cells: usize) -> BatchRecorder {
        let mut recorder = BatchRecorder::with_room(max_cells);
        for &(at_ns, age_ns) in ends {
            recorder.offer(at_ns.saturating_sub(age_ns));
            recorder.end(at_ns, age_ns, Ok(()));
        }
        recorder
    }

    /// The same by sorting, at a given width.
    fn expected(ends: &[(u64, u64)], interval_ns: u64) -> Vec<(u64, Distribution)> {
        let n_intervals = ends.iter().map(|end| end.0 / interval_ns + 1).max().unwrap_or(0);
        let of_interval = |interval| {
            let mut latency = Coarse::new();
            for end in ends.iter().filter(|end| end.0 / interval_ns == interval) {
                latency.record(end.1);
            }
            let distribution = latency.distribution();
            (distribution.count, distribution)
        };
        (0..n_intervals).map(of_interval).collect()
    }

    fn seen(batches: &Batches) -> Vec<(u64, Distribution)> {
        (0..batches.len()).map(|index| (batches.completed[index], batches.latency(index))).collect()
    }

    #[test]
    fn ends_are_counted_in_the_interval_that_they_came_in() {
        let mut recorder = BatchRecorder::new();
        recorder.offer(0);
        recorder.offer(MS);
        recorder.offer(21 * MS);
        recorder.end(9 * MS, 9 * MS, Ok(()));
        recorder.end(10 * MS, 3, Err(ErrorKind::Reset));
        recorder.end(35 * MS, 14 * MS, Err(ErrorKind::Timeout));
        let batches = recorder.batches();
        assert_eq!(batches.interval_ns, 10 * MS);
        assert_eq!(batches.offered, [2, 0, 1, 0]);
        assert_eq!(batches.completed, [1, 0, 0, 0]);
        assert_eq!(batches.errors, [0, 1, 0, 1]);
        let counts: Vec<u64> = (0..4).map(|index| batches.latency(index).count).collect();
        assert_eq!(counts, [1, 0, 0, 1], "a reset has no latency, a timeout at least its age");
    }

    #[test]
    fn a_day_takes_no_more_room_than_a_minute() {
        let mut recorder = BatchRecorder::new();
        let room = recorder.closed.room();
        for second in 0..86_400_u64 {
            recorder.offer(second * 1000 * MS);
            recorder.end(second * 1000 * MS, second * 37_123 % (800 * MS), Ok(()));
        }
        let batches = recorder.batches();
        assert!((128..=MAX_INTERVALS).contains(&batches.offered.len()));
        assert_eq!(batches.completed.iter().sum::<u64>(), 86_400);
        let n_latencies: u64 = (0..batches.len()).map(|index| batches.latency(index).count).sum();
        assert_eq!(n_latencies, 86_400);
        assert_eq!(recorder.closed.room(), room, "nothing was allocated meanwhile");
    }

    #[test]
    fn nothing_is_lost_where_latencies_are_too_various_for_the_room() {
        // Each request has a bucket of its own: 1,000 cells do not fit 256 intervals of them.
        let ends: Vec<(u64, u64)> =
            (0..4000).map(|n| (n * MS, Coarse::bound_ns((n * 7 % 4000) as usize))).collect();
        let batches = recorded(&ends, 5000).batches();
        assert!(batches.offered.len() < MAX_INTERVALS);
        assert_eq!(seen(&batches), expected(&ends, batches.interval_ns));
        let tight = recorded(&ends, Coarse::LEN).batches();
        assert_eq!(seen(&tight), expected(&ends, tight.interval_ns));
    }

    #[test]
    fn a_reset_recorder_is_as_new() {
        let ends: Vec<(u64, u64)> = (0..1000).map(|n| (n * 10 * MS, n)).collect();
        let mut recorder = recorded(&ends, MAX_CELLS);
        recorder.reset();
        recorder.offer(0);
        recorder.end(5, 5, Ok(()));
        assert_eq!(recorder.batches(), recorded(&[(5, 5)], MAX_CELLS).batches());
    }

    proptest! {
        #[test]
        fn threads_of_different_doublings_fit_together(
            short in prop::collection::vec((0..2000 * MS, 0..50 * MS), 0..60),
            long in prop::collection::vec((0..20_000 * MS, 0..50 * MS), 0..60),
        ) {
            let sorted = |mut ends: Vec<(u64, u64)>| {
                ends.sort_unstable();
                ends
            };
            let (short, long) = (sorted(short), sorted(long));
            let both = sorted([&short[..], &long[..]].concat());
            let mut merged = recorded(&short, MAX_CELLS).batches();
            merged.merge(recorded(&long, MAX_CELLS).batches());
            prop_assert_eq!(seen(&merged), expected(&both, merged.interval_ns));
            prop_assert_eq!(merged.offered.iter().sum::<u64>(), both.len() as u64);
            let mut other = recorded(&long, MAX_CELLS).batches();
            other.merge(recorded(&short, MAX_CELLS).batches());
            prop_assert_eq!(other, merged);
        }
    }
}
