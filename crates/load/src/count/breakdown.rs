//! Parts of the measured requests, apart: by their index in the table, by population.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::histogram::{Distribution, Fine};
use super::outcome::{ErrorCounts, ErrorKind};

/// Requests up to here have a latency distribution of their own, with the buckets of the whole one:
/// so they add up to it. Each takes 270 kB of addresses per thread, of which the pages that are
/// written to count, 8 kB for each doubling of the latency; a table of hundreds must not take what
/// the base of the process takes.
pub(super) const MAX_DISTRIBUTIONS: usize = 64;

/// What became of some of the measured requests. `offered == completed + errors.total()`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Part {
    /// Requests that belong to the measured part.
    pub offered: u64,
    /// Right answers to them, whenever they came.
    pub completed: u64,
    /// What became of the others.
    pub errors: ErrorCounts,
    /// Bytes of answers over the whole window; not counted by request.
    pub bytes_received: u64,
    /// As in [`WindowResult::latency`](crate::WindowResult::latency), which all of them add up to.
    /// `None` for the requests of index 64 and above, which are only counted.
    #[serde(skip_serializing_if = "has_no_values")]
    pub latency: Option<Distribution>,
}

/// The two populations by name.
#[expect(clippy::ref_option, reason = "as serde calls it")]
pub(crate) fn by_population<S: Serializer>(
    parts: &Option<[Part; 2]>,
    to: S,
) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(None)?;
    if let Some([usual, slow]) = parts {
        map.serialize_entry("usual", usual)?;
        map.serialize_entry("slow", slow)?;
    }
    map.end()
}

/// Kept, and nothing in it: not to be confused with what is not kept.
#[expect(clippy::ref_option, reason = "as serde calls it")]
fn has_no_values(latency: &Option<Distribution>) -> bool {
    latency.as_ref().is_some_and(|latency| latency.count == 0)
}

/// Counts one part.
#[derive(Debug)]
pub(crate) struct PartRecorder {
    offered: u64,
    completed: u64,
    errors: ErrorCounts,
    pub(super) bytes_received: u64,
    latency: Option<Fine>,
}

impl PartRecorder {
    pub(crate) const fn offered(&self) -> u64 {
        self.offered
    }

    pub(crate) const fn errors(&self) -> &ErrorCounts {
        &self.errors
    }

    pub(super) fn new(has_distribution: bool) -> Self {
        Self {
            offered: 0,
            completed: 0,
            errors: ErrorCounts::default(),
            bytes_received: 0,
            latency: has_distribution.then(Fine::new),
        }
    }

    #[inline]
    pub(super) fn offer(&mut self) {
        self.offered += 1;
    }

    #[inline]
    pub(super) fn end(&mut self, age_ns: u64, outcome: Result<(), ErrorKind>) {
        let has_latency = match outcome {
            Ok(()) => {
                self.completed += 1;
                true
            }
            Err(kind) => {
                self.errors.add(kind, 1);
                kind.is_censored()
            }
        };
        if has_latency && let Some(latency) = &mut self.latency {
            latency.record(age_ns);
        }
    }

    pub(super) fn reset(&mut self) {
        (self.offered, self.completed, self.bytes_received) = (0, 0, 0);
        self.errors = ErrorCounts::default();
        if let Some(latency) = &mut self.latency {
            latency.reset();
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.offered += other.offered;
        self.completed += other.completed;
        self.errors.merge(&other.errors);
        self.bytes_received += other.bytes_received;
        if let (Some(mine), Some(theirs)) = (&mut self.latency, &other.latency) {
            mine.merge(theirs);
        }
    }

    pub(crate) fn part(&self) -> Part {
        Part {
            offered: self.offered,
            completed: self.completed,
            errors: self.errors,
            bytes_received: self.bytes_received,
            latency: self.latency.as_ref().map(Fine::distribution),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_up_is_in_the_latency_and_what_failed_is_not() {
        let mut part = PartRecorder::new(true);
        for outcome in [Ok(()), Err(ErrorKind::Timeout), Err(ErrorKind::WrongStatus)] {
            part.offer();
            part.end(1000, outcome);
        }
        let mut twice = PartRecorder::new(true);
        twice.merge(&part);
        twice.merge(&part);
        let seen = twice.part();
        assert_eq!((seen.offered, seen.completed, seen.errors.total()), (6, 2, 4));
        assert_eq!(seen.latency.unwrap().sum_ns, 4000);
        twice.reset();
        let empty = twice.part();
        assert_eq!((empty.offered, empty.latency.unwrap().count), (0, 0));
    }
}
