//! What the server saw and did: arrivals, counts, stalls.
//!
//! One thread writes, anybody reads, nobody waits: the log is a preallocated array of atomics
//! that is only ever appended to.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::Behaviour;

/// How many different paths are remembered by name; later ones are logged as [`OTHER_PATH`].
const MAX_PATHS: usize = 4096;

/// The name of a path that came after too many others.
pub const OTHER_PATH: &str = "(other)";

/// One request, as the server saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// When its last byte was read; `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// When the write began that handed the last byte of the answer to the kernel, or the
    /// connection was broken on purpose; `None` while neither happened.
    pub answered_ns: Option<u64>,
    /// The connection it came on, from 0 in order of acceptance.
    pub connection: u32,
    /// Its number on that connection, from 0.
    pub request: u32,
    /// What was asked for, with the query.
    pub path: String,
    /// What the path made the server do.
    pub behaviour: Behaviour,
}

/// The arrivals in order, and how many more there were than the log could hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    /// In order of arrival.
    pub arrivals: Vec<Arrival>,
    /// Arrivals that found the log full.
    pub dropped: u64,
    /// When the server was made to stall, from and until; `CLOCK_MONOTONIC`.
    pub stalls_ns: Vec<(u64, u64)>,
}

/// What the server counted since it started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Connections accepted.
    pub connections: u64,
    /// Connections open now.
    pub open: u64,
    /// Requests read to their last byte, but for those to `/oracle/`.
    pub requests: u64,
    /// Requests to `/oracle/`.
    pub control: u64,
    /// Answers (or misbehaviours) carried out to the end.
    pub finished: u64,
    /// Connections that the client left while a request of it was being served.
    pub abandoned: u64,
    /// Accepts that failed, for want of descriptors say.
    pub accept_errors: u64,
    /// Arrivals that the log had no room for.
    pub log_dropped: u64,
    /// Requests by what they made the server do, in the order of [`Behaviour::ALL`].
    pub by_behaviour: Vec<(Behaviour, u64)>,
}

#[derive(Debug, Default)]
struct Entry {
    at_ns: AtomicU64,
    /// Zero until answered.
    answered_ns: AtomicU64,
    /// Connection in the high half, request in the low.
    place: AtomicU64,
    /// Path in the high half, behaviour in the low.
    what: AtomicU64,
}

/// The counters, written by the server's thread alone.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) connections: AtomicU64,
    pub(crate) open: AtomicU64,
    pub(crate) control: AtomicU64,
    pub(crate) finished: AtomicU64,
    pub(crate) abandoned: AtomicU64,
    pub(crate) accept_errors: AtomicU64,
    by_behaviour: [AtomicU64; Behaviour::ALL.len()],
}

/// Add to a counter that one thread writes.
pub(crate) fn count(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

#[derive(Debug, Default)]
struct Paths {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

/// The log under way.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) counters: Counters,
    entries: Box<[Entry]>,
    length: AtomicUsize,
    dropped: AtomicU64,
    paths: Mutex<Paths>,
    stalls_ns: Mutex<Vec<(u64, u64)>>,
}

impl Recorder {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            counters: Counters::default(),
            entries: (0..capacity).map(|_| Entry::default()).collect(),
            length: AtomicUsize::new(0),
            dropped: AtomicU64::new(0),
            paths: Mutex::default(),
            stalls_ns: Mutex::default(),
        }
    }

    /// Return the number that stands for a path in the log.
    pub(crate) fn path_number(&self, path: &str) -> u32 {
        let mut paths = lock(&self.paths);
        if let Some(number) = paths.numbers.get(path) {
            return *number;
        }
        let number = paths.names.len();
        if number >= MAX_PATHS {
            return u32::MAX;
        }
        paths.names.push(path.to_owned());
        paths.numbers.insert(path.to_owned(), number as u32);
        number as u32
    }

    /// Note a request; return its place in the log, if there is room.
    pub(crate) fn arrived(
        &self,
        at_ns: u64,
        place: (u32, u32),
        what: (u32, Behaviour),
    ) -> Option<usize> {
        count(&self.counters.by_behaviour[what.1 as usize]);
        let index = self.length.load(Ordering::Relaxed);
        let Some(entry) = self.entries.get(index) else {
            count(&self.dropped);
            return None;
        };
        entry.at_ns.store(at_ns, Ordering::Relaxed);
        entry.place.store(u64::from(place.0) << 32 | u64::from(place.1), Ordering::Relaxed);
        entry.what.store(u64::from(what.0) << 32 | what.1 as u64, Ordering::Relaxed);
        // Publishes the entry to readers, who load the length first.
        self.length.store(index + 1, Ordering::Release);
        Some(index)
    }

    /// Note that a request's answer is out.
    pub(crate) fn finished(&self, index: Option<usize>, now_ns: u64) {
        count(&self.counters.finished);
        if let Some(entry) = index.and_then(|index| self.entries.get(index)) {
            entry.answered_ns.store(now_ns, Ordering::Relaxed);
        }
    }

    /// Take back that a request's answer is out.
    pub(crate) fn not_finished(&self, index: Option<usize>) {
        let finished = &self.counters.finished;
        finished.store(finished.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
        if let Some(entry) = index.and_then(|index| self.entries.get(index)) {
            entry.answered_ns.store(0, Ordering::Relaxed);
        }
    }

    pub(crate) fn stalled(&self, from_ns: u64, until_ns: u64) {
        lock(&self.stalls_ns).push((from_ns, until_ns));
    }

    /// Copy the log, from the first arrival at or after `since_ns`.
    pub(crate) fn log(&self, since_ns: u64) -> Log {
        let paths = lock(&self.paths);
        let arrivals = self.entries[..self.length.load(Ordering::Acquire)].iter().map(|entry| {
            let place = entry.place.load(Ordering::Relaxed);
            let what = entry.what.load(Ordering::Relaxed);
            let answered_ns = entry.answered_ns.load(Ordering::Relaxed);
            let path = paths.names.get((what >> 32) as usize).map_or(OTHER_PATH, String::as_str);
            Arrival {
                at_ns: entry.at_ns.load(Ordering::Relaxed),
                answered_ns: (answered_ns != 0).then_some(answered_ns),
                connection: (place >> 32) as u32,
                request: place as u32,
                path: path.to_owned(),
                behaviour: Behaviour::ALL[what as u32 as usize],
            }
        });
        Log {
            arrivals: arrivals.filter(|arrival| arrival.at_ns >= since_ns).collect(),
            dropped: self.dropped.load(Ordering::Relaxed),
            stalls_ns: lock(&self.stalls_ns).clone(),
        }
    }

    pub(crate) fn stats(&self) -> Stats {
        let counters = &self.counters;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let by_behaviour: Vec<(Behaviour, u64)> = Behaviour::ALL
            .iter()
            .map(|b| (*b, read(&counters.by_behaviour[*b as usize])))
            .collect();
        Stats {
            connections: read(&counters.connections),
            open: read(&counters.open),
            requests: by_behaviour.iter().map(|(_, count)| count).sum(),
            control: read(&counters.control),
            finished: read(&counters.finished),
            abandoned: read(&counters.abandoned),
            accept_errors: read(&counters.accept_errors),
            log_dropped: read(&self.dropped),
            by_behaviour,
        }
    }
}

/// Lock, also after a panic elsewhere: what is guarded here is never left half written.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Stats {
    /// Return how many requests made the server do this.
    pub fn count(&self, behaviour: Behaviour) -> u64 {
        self.by_behaviour.iter().find(|(b, _)| *b == behaviour).map_or(0, |(_, count)| *count)
    }

    /// Render as a JSON object.
    pub fn to_json(&self) -> String {
        let behaviours: Vec<String> = self
            .by_behaviour
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(behaviour, count)| format!("\"{}\":{count}", behaviour.name()))
            .collect();
        format!(
            "{{\"connections\":{},\"open\":{},\"requests\":{},\"control\":{},\"finished\":{},\
             \"abandoned\":{},\"accept_errors\":{},\"log_dropped\":{},\"by_behaviour\":{{{}}}}}",
            self.connections,
            self.open,
            self.requests,
            self.control,
            self.finished,
            self.abandoned,
            self.accept_errors,
            self.log_dropped,
            behaviours.join(","),
        )
    }
}

impl Log {
    /// Render as a JSON object.
    pub fn to_json(&self) -> String {
        let mut json = String::with_capacity(100 + 120 * self.arrivals.len());
        json.push_str("{\"arrivals\":[");
        for (index, arrival) in self.arrivals.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let answered_ns = arrival.answered_ns.map_or("null".to_owned(), |ns| ns.to_string());
            // Writing to a string cannot fail.
            let _ = write!(
                json,
                "{comma}{{\"at_ns\":{},\"answered_ns\":{answered_ns},\"connection\":{},\
                 \"request\":{},\"path\":{},\"behaviour\":\"{}\"}}",
                arrival.at_ns,
                arrival.connection,
                arrival.request,
                quoted(&arrival.path),
                arrival.behaviour.name(),
            );
        }
        let stalls: Vec<String> =
            self.stalls_ns.iter().map(|(from, until)| format!("[{from},{until}]")).collect();
        let _ =
            write!(json, "],\"dropped\":{},\"stalls_ns\":[{}]}}", self.dropped, stalls.join(","));
        json
    }
}

/// Render a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if (c as u32) < 0x20 => {
                let _ = write!(quoted, "\\u{:04x}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_counts_what_it_drops() {
        let recorder = Recorder::new(2);
        let path = recorder.path_number("/a\"b");
        for request in 0..5 {
            recorder.arrived(10, (0, request), (path, Behaviour::Plain));
        }
        let log = recorder.log(0);
        assert_eq!((log.arrivals.len(), log.dropped), (2, 3));
        assert_eq!(recorder.stats().requests, 5);
        assert_eq!(recorder.stats().log_dropped, 3);
        assert!(log.to_json().contains("\"path\":\"/a\\\"b\""));
    }

    #[test]
    fn the_log_can_be_read_from_an_instant_on() {
        let recorder = Recorder::new(10);
        for at_ns in [10, 20, 30] {
            recorder.arrived(at_ns, (0, 0), (0, Behaviour::Never));
        }
        let log = recorder.log(20);
        assert_eq!(log.arrivals.iter().map(|a| a.at_ns).collect::<Vec<_>>(), [20, 30]);
        assert!(log.arrivals.iter().all(|a| a.answered_ns.is_none()));
    }
}
