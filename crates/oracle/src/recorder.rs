//! The log under way.
//!
//! One thread writes, anybody reads, nobody waits: arrivals and connections are preallocated
//! arrays of atomics that are only ever appended to. Behind locks is only what is rare.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::behaviour::Behaviour;
use crate::config::OracleConfig;
use crate::counters::{Counters, count, read, uncount};
use crate::log::{Arrival, ConnectionLog, ConnectionRecord, KeptRequest, Log, OTHER_PATH};
use crate::reception::Reception;
use crate::session::Sessions;
use crate::stats::{Session, Stats};
use crate::tls::Handshake;

/// How many different paths are remembered by name; later ones are logged as [`OTHER_PATH`].
const MAX_PATHS: usize = 1 << 16;

/// How many different names of servers are remembered.
const MAX_SERVER_NAMES: usize = 1000;

/// A request that was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) at_ns: u64,
    pub(crate) first_byte_ns: u64,
    pub(crate) accepted_ns: u64,
    pub(crate) connection: u32,
    pub(crate) request: u32,
    pub(crate) path: u32,
    pub(crate) behaviour: Behaviour,
    pub(crate) bytes: u64,
}

/// An arrival: one cache line.
#[derive(Debug, Default)]
struct Entry {
    at_ns: AtomicU64,
    first_byte_ns: AtomicU64,
    accepted_ns: AtomicU64,
    /// Zero until something was written.
    first_written_ns: AtomicU64,
    /// Zero until answered.
    answered_ns: AtomicU64,
    /// Connection in the high half, request in the low.
    place: AtomicU64,
    /// Path in the high half, behaviour in the low.
    what: AtomicU64,
    bytes: AtomicU64,
}

#[derive(Debug, Default)]
struct ConnectionEntry {
    accepted_ns: AtomicU64,
    /// Zero without TLS.
    secured_ns: AtomicU64,
    /// Zero while it is open.
    closed_ns: AtomicU64,
    /// Door in the high half, requests in the low.
    what: AtomicU64,
}

#[derive(Debug, Default)]
struct Paths {
    names: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
}

#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) counters: Counters,
    entries: Box<[Entry]>,
    length: AtomicUsize,
    connections: Box<[ConnectionEntry]>,
    paths: Mutex<Paths>,
    stalls_ns: Mutex<Vec<(u64, u64)>>,
    sessions: Mutex<Sessions>,
    kept: Mutex<Vec<KeptRequest>>,
    server_names: Mutex<BTreeMap<String, u64>>,
}

impl Recorder {
    pub(crate) fn new(config: &OracleConfig) -> Self {
        Self {
            counters: Counters::default(),
            entries: (0..config.log_capacity).map(|_| Entry::default()).collect(),
            length: AtomicUsize::new(0),
            connections: (0..config.connection_log_capacity)
                .map(|_| ConnectionEntry::default())
                .collect(),
            paths: Mutex::default(),
            stalls_ns: Mutex::default(),
            sessions: Mutex::new(Sessions::new(config.seed)),
            kept: Mutex::default(),
            server_names: Mutex::default(),
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
        let name: Arc<str> = path.into();
        paths.names.push(Arc::clone(&name));
        paths.numbers.insert(name, number as u32);
        number as u32
    }

    /// Note a request; return its place in the log, if there is room.
    pub(crate) fn arrived(&self, request: Seen) -> Option<usize> {
        count(&self.counters.by_behaviour.0[request.behaviour as usize]);
        let index = self.length.load(Ordering::Relaxed);
        let Some(entry) = self.entries.get(index) else {
            count(&self.counters.log_dropped);
            return None;
        };
        entry.at_ns.store(request.at_ns, Ordering::Relaxed);
        entry.first_byte_ns.store(request.first_byte_ns, Ordering::Relaxed);
        entry.accepted_ns.store(request.accepted_ns, Ordering::Relaxed);
        entry.place.store(halves(request.connection, request.request), Ordering::Relaxed);
        entry.what.store(halves(request.path, request.behaviour as u32), Ordering::Relaxed);
        entry.bytes.store(request.bytes, Ordering::Relaxed);
        // Publishes the entry to readers, who load the length first.
        self.length.store(index + 1, Ordering::Release);
        Some(index)
    }

    /// Note that the first byte of a request's answer is written.
    pub(crate) fn answering(&self, index: Option<usize>, now_ns: u64) {
        if let Some(entry) = self.entry(index) {
            entry.first_written_ns.store(now_ns, Ordering::Relaxed);
        }
    }

    /// Note that a request's answer is out.
    pub(crate) fn finished(&self, index: Option<usize>, now_ns: u64) {
        count(&self.counters.finished);
        self.finished_at(index, now_ns);
    }

    /// Correct when a request's answer was out.
    pub(crate) fn finished_at(&self, index: Option<usize>, now_ns: u64) {
        if let Some(entry) = self.entry(index) {
            entry.answered_ns.store(now_ns, Ordering::Relaxed);
        }
    }

    /// Take back that a request's answer is out.
    pub(crate) fn not_finished(&self, index: Option<usize>) {
        uncount(&self.counters.finished);
        self.finished_at(index, 0);
    }

    fn entry(&self, index: Option<usize>) -> Option<&Entry> {
        index.and_then(|index| self.entries.get(index))
    }

    /// Note a connection by its number.
    pub(crate) fn accepted(&self, number: u32, door: u32, reception: Reception, now_ns: u64) {
        count(&self.counters.by_reception.0[reception as usize]);
        self.counters.open();
        if let Some(entry) = self.connections.get(number as usize) {
            entry.accepted_ns.store(now_ns, Ordering::Relaxed);
            entry.what.store(halves(door, 0), Ordering::Relaxed);
        }
        // Publishes the entry to readers, who load the count first.
        self.counters.connections.store(u64::from(number) + 1, Ordering::Release);
    }

    /// Note that a connection's handshake is done.
    pub(crate) fn secured(&self, number: u32, told: Handshake, now_ns: u64) {
        self.counters.secured(&told);
        if let Some(entry) = self.connections.get(number as usize) {
            entry.secured_ns.store(now_ns, Ordering::Relaxed);
        }
        if let Some(name) = told.server_name {
            let mut names = lock(&self.server_names);
            if names.len() < MAX_SERVER_NAMES || names.contains_key(&name) {
                *names.entry(name).or_default() += 1;
            }
        }
    }

    /// Note that a connection has ended.
    pub(crate) fn closed(&self, number: u32, requests: u32, now_ns: u64) {
        uncount(&self.counters.open);
        if let Some(entry) = self.connections.get(number as usize) {
            entry.what.store(read(&entry.what) | u64::from(requests), Ordering::Relaxed);
            entry.closed_ns.store(now_ns, Ordering::Relaxed);
        }
    }

    pub(crate) fn stalled(&self, from_ns: u64, until_ns: u64) {
        lock(&self.stalls_ns).push((from_ns, until_ns));
    }

    /// Note that a request brought this session; return whether it is known.
    pub(crate) fn visited(&self, session: u64) -> bool {
        let is_known = lock(&self.sessions).visit(session);
        if is_known {
            count(&self.counters.session_requests);
        }
        is_known
    }

    /// Begin a session; return its identity, or `None` when there are too many.
    pub(crate) fn begin_session(&self) -> Option<u64> {
        let session = lock(&self.sessions).begin()?;
        count(&self.counters.sessions_created);
        count(&self.counters.session_requests);
        Some(session)
    }

    pub(crate) fn keep(&self, request: KeptRequest) {
        lock(&self.kept).push(request);
    }

    /// Copy the log, from the first arrival at or after `since_ns`.
    pub(crate) fn log(&self, since_ns: u64) -> Log {
        // Copied, so that the server does not wait for the lock while the log is read.
        let names = lock(&self.paths).names.clone();
        let arrivals = self.entries[..self.length.load(Ordering::Acquire)].iter().map(|entry| {
            let (connection, request) = split(&entry.place);
            let (path, behaviour) = split(&entry.what);
            let path = names.get(path as usize).map_or(OTHER_PATH, |name| &**name);
            Arrival {
                at_ns: read(&entry.at_ns),
                answered_ns: instant(&entry.answered_ns),
                connection,
                request,
                path: path.to_owned(),
                behaviour: Behaviour::ALL[behaviour as usize],
                accepted_ns: read(&entry.accepted_ns),
                first_byte_ns: read(&entry.first_byte_ns),
                first_written_ns: instant(&entry.first_written_ns),
                bytes: read(&entry.bytes),
            }
        });
        Log {
            arrivals: arrivals.filter(|arrival| arrival.at_ns >= since_ns).collect(),
            dropped: read(&self.counters.log_dropped),
            stalls_ns: lock(&self.stalls_ns).clone(),
        }
    }

    pub(crate) fn connections(&self) -> ConnectionLog {
        let opened = self.counters.connections.load(Ordering::Acquire);
        let length = self.connections.len().min(opened as usize);
        let connections = self.connections[..length].iter().map(|entry| {
            let (door, requests) = split(&entry.what);
            ConnectionRecord {
                accepted_ns: read(&entry.accepted_ns),
                secured_ns: instant(&entry.secured_ns),
                closed_ns: instant(&entry.closed_ns),
                requests,
                door,
            }
        });
        ConnectionLog {
            open: read(&self.counters.open),
            opened,
            most_open: read(&self.counters.most_open),
            connections: connections.collect(),
        }
    }

    pub(crate) fn sessions(&self) -> Vec<Session> {
        lock(&self.sessions).all()
    }

    pub(crate) fn kept(&self) -> Vec<KeptRequest> {
        lock(&self.kept).clone()
    }

    pub(crate) fn stats(&self) -> Stats {
        let mut stats = self.counters.stats();
        stats.handshakes.server_names.clone_from(&lock(&self.server_names));
        stats
    }
}

fn halves(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn split(halves: &AtomicU64) -> (u32, u32) {
    let halves = read(halves);
    ((halves >> 32) as u32, halves as u32)
}

/// An instant that zero stands for the lack of.
fn instant(ns: &AtomicU64) -> Option<u64> {
    Some(read(ns)).filter(|ns| *ns != 0)
}

/// Lock, also after a panic elsewhere: what is guarded here is never left half written.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorder(log_capacity: usize, connection_log_capacity: usize) -> Recorder {
        Recorder::new(&OracleConfig {
            log_capacity,
            connection_log_capacity,
            ..OracleConfig::default()
        })
    }

    fn request(at_ns: u64, path: u32) -> Seen {
        let behaviour = Behaviour::Never;
        let (connection, request) = (3, 4);
        Seen {
            at_ns,
            first_byte_ns: 1,
            accepted_ns: 2,
            connection,
            request,
            path,
            behaviour,
            bytes: 5,
        }
    }

    #[test]
    fn a_full_log_counts_what_it_drops() {
        let recorder = recorder(2, 0);
        let path = recorder.path_number("/a\"b");
        for _ in 0..5 {
            recorder.arrived(request(10, path));
        }
        let log = recorder.log(0);
        assert_eq!((log.arrivals.len(), log.dropped), (2, 3));
        assert_eq!(recorder.stats().requests, 5);
        assert_eq!(recorder.stats().log_dropped, 3);
        assert!(log.to_json().contains("\"path\":\"/a\\\"b\""));
    }

    #[test]
    fn the_log_tells_what_it_was_told_from_an_instant_on() {
        let recorder = recorder(10, 0);
        let path = recorder.path_number("/");
        for at_ns in [10, 20, 30] {
            let index = recorder.arrived(request(at_ns, path));
            if at_ns == 30 {
                recorder.answering(index, 31);
                recorder.finished(index, 32);
            }
        }
        let arrivals = recorder.log(20).arrivals;
        let told = |arrival: &Arrival| {
            (arrival.at_ns, arrival.first_written_ns, arrival.answered_ns, arrival.bytes)
        };
        let told: Vec<_> = arrivals.iter().map(told).collect();
        assert_eq!(told, [(20, None, None, 5), (30, Some(31), Some(32), 5)]);
        assert!(arrivals.iter().all(|a| (a.first_byte_ns, a.accepted_ns) == (1, 2)));
        assert!(arrivals.iter().all(|a| (a.connection, a.request) == (3, 4)));
    }

    #[test]
    fn connections_are_counted_also_those_that_their_log_has_no_room_for() {
        let recorder = recorder(0, 2);
        for number in 0..3 {
            recorder.accepted(number, 7, Reception::Usual, 10 + u64::from(number));
        }
        recorder.closed(1, 9, 50);
        recorder.closed(2, 9, 60);
        recorder.accepted(3, 0, Reception::FinAtAccept, 70);
        let log = recorder.connections();
        assert_eq!((log.open, log.opened, log.most_open), (2, 4, 3));
        let told = |c: &ConnectionRecord| (c.accepted_ns, c.closed_ns, c.requests, c.door);
        let told: Vec<_> = log.connections.iter().map(told).collect();
        assert_eq!(told, [(10, None, 0, 7), (11, Some(50), 9, 7)]);
        assert_eq!(recorder.stats().received(Reception::FinAtAccept), 1);
    }
}
