//! The instants of a window's first requests, one by one.
//!
//! Requests end in another order than they were due in, so a thread keeps the ones that were due
//! first in a heap of fixed size, with the last one of them on top: once it is full, one
//! comparison turns a later request away.

use std::collections::BinaryHeap;

use serde::Serialize;

use super::ended::Ended;
use super::message;
use super::outcome::ErrorKind;

/// The first measured requests by due time (closed loop: by taking up), in that order. Instants
/// are `CLOCK_MONOTONIC` nanoseconds; 0 is never. The columns have the same length.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Trace {
    /// When the request was due; in a closed loop, taken up.
    #[serde(serialize_with = "message::column")]
    pub due_ns: Vec<u64>,
    /// When a connection took it up.
    #[serde(serialize_with = "message::column")]
    pub issued_ns: Vec<u64>,
    /// When it began to be written.
    #[serde(serialize_with = "message::column")]
    pub written_ns: Vec<u64>,
    /// When it ended.
    #[serde(serialize_with = "message::column")]
    pub end_ns: Vec<u64>,
    /// Its index in the arm's table of requests.
    #[serde(serialize_with = "message::column")]
    pub request: Vec<u32>,
    /// 0: completed; else the number of the [`ErrorKind`] plus 1.
    #[serde(with = "serde_bytes")]
    pub outcome: Vec<u8>,
}

/// One request. In the order of due times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    due_ns: u64,
    due_index: u64,
    issued_ns: u64,
    written_ns: u64,
    end_ns: u64,
    request: u32,
    outcome: u8,
}

/// Keeps one thread's first requests.
#[derive(Debug)]
pub(crate) struct Tracer {
    n_traced: usize,
    first: BinaryHeap<Entry>,
}

impl Tracer {
    pub(super) fn new(n_traced: usize) -> Self {
        Self { n_traced, first: BinaryHeap::with_capacity(n_traced) }
    }

    pub(super) fn reset(&mut self) {
        self.first.clear();
    }

    /// Keep a measured request, if it is one of the first.
    #[inline]
    pub(super) fn end(&mut self, request: &Ended, outcome: Result<(), ErrorKind>) {
        if self.n_traced > 0 {
            self.keep(request, outcome);
        }
    }

    fn keep(&mut self, request: &Ended, outcome: Result<(), ErrorKind>) {
        let entry = Entry {
            due_ns: request.base_ns,
            due_index: request.due_index,
            issued_ns: request.issued_ns.unwrap_or(0),
            written_ns: request.written_ns.unwrap_or(0),
            end_ns: request.end_ns,
            request: request.request,
            outcome: outcome.map_or_else(|kind| kind as u8 + 1, |()| 0),
        };
        if self.first.len() < self.n_traced {
            self.first.push(entry);
        } else if let Some(mut last) = self.first.peek_mut()
            && entry < *last
        {
            *last = entry;
        }
    }

    /// Put the traces of all threads together; `None` when none was asked for.
    pub(crate) fn merged<'a>(tracers: impl Iterator<Item = &'a Self>) -> Option<Trace> {
        let (mut entries, mut n_traced) = (Vec::new(), 0);
        for tracer in tracers {
            n_traced = n_traced.max(tracer.n_traced);
            entries.extend(tracer.first.iter().copied());
        }
        entries.sort_unstable();
        entries.truncate(n_traced);
        (n_traced > 0).then(|| Trace {
            due_ns: entries.iter().map(|entry| entry.due_ns).collect(),
            issued_ns: entries.iter().map(|entry| entry.issued_ns).collect(),
            written_ns: entries.iter().map(|entry| entry.written_ns).collect(),
            end_ns: entries.iter().map(|entry| entry.end_ns).collect(),
            request: entries.iter().map(|entry| entry.request).collect(),
            outcome: entries.iter().map(|entry| entry.outcome).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(due_ns: u64, end_ns: u64) -> Ended {
        Ended { base_ns: due_ns, end_ns, is_measured: true, ..Ended::default() }
    }

    #[test]
    fn the_first_due_are_kept_however_late_they_end_and_on_whichever_thread() {
        let mut tracers = [Tracer::new(4), Tracer::new(4)];
        // Due at 0, 1, 2 ..., the odd ones on the other thread; the first ends last.
        for due_ns in (0..20).rev() {
            let outcome = if due_ns == 3 { Err(ErrorKind::Reset) } else { Ok(()) };
            tracers[(due_ns % 2) as usize].end(&ended(due_ns, 100 - due_ns), outcome);
        }
        let trace = Tracer::merged(tracers.iter()).unwrap();
        assert_eq!(trace.due_ns, [0, 1, 2, 3]);
        assert_eq!(trace.end_ns, [100, 99, 98, 97]);
        assert_eq!(trace.outcome, [0, 0, 0, ErrorKind::Reset as u8 + 1]);
        assert_eq!(trace.issued_ns, [0; 4], "never taken up");
        assert!(tracers.iter().all(|tracer| tracer.first.capacity() == 4));
    }

    #[test]
    fn nothing_is_kept_unless_it_was_asked_for() {
        let mut tracer = Tracer::new(0);
        tracer.end(&ended(0, 1), Ok(()));
        assert_eq!(Tracer::merged([&tracer].into_iter()), None);
    }
}
