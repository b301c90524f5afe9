//! What a thread counts over a window consists of these.

use serde::Serialize;

use crate::histogram::Coarse;
use crate::outcome::ErrorKind;
use crate::result::PageCounts;

/// A request that ended: when it was due, sent and so on. All in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ended {
    /// Due (open loop) or taken up (closed loop): what its age counts from.
    pub(crate) base_ns: u64,
    /// Taken up by a connection; `None`: never.
    pub(crate) issued_ns: Option<u64>,
    /// This request opened the connection, and it was connected then.
    pub(crate) connected_ns: Option<u64>,
    /// The TLS handshake was done. Only with `connected_ns`.
    pub(crate) secured_ns: Option<u64>,
    /// Began to be written; `None`: never.
    pub(crate) written_ns: Option<u64>,
    /// The first byte of the answer came.
    pub(crate) first_byte_ns: Option<u64>,
    pub(crate) end_ns: u64,
    pub(crate) is_measured: bool,
    /// An object of a page: the page was due, not it.
    pub(crate) is_object: bool,
    /// The index in the arm's table of requests.
    pub(crate) request: u32,
    /// Of the slow population.
    pub(crate) is_slow: bool,
    /// The number of the request in the run.
    pub(crate) due_index: u64,
}

/// For how much a tally has room.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Room {
    /// Requests in the table: of the arm that has most.
    pub(crate) n_requests: usize,
    /// There is a slow population.
    pub(crate) has_slow: bool,
    /// The instants of so many requests are kept.
    pub(crate) n_traced: usize,
    /// Users of the thread (closed loop), or connections.
    pub(crate) n_connections: usize,
}

/// What became of the users' visits. Plain counts, which the loop keeps itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Visits {
    /// Visits that began.
    pub started: u64,
    /// Visits whose last step was answered, or failed but for lost patience.
    pub finished: u64,
    /// A request timed out: the user lost patience and left.
    pub left: u64,
    /// The window ended in the middle of it.
    pub cut: u64,
    /// Visits of users with an empty cookie jar.
    pub new_users: u64,
    /// Visits of users who came back with their jar.
    pub returning_users: u64,
}

/// What became of the measured part's pages.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) offered: u64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) time: Coarse,
    pub(crate) censored: Coarse,
}

/// How a page ended: as the worst of its parts did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PageEnd {
    #[default]
    Completed,
    Failed,
    /// A part of it might have come later: its age is a lower bound of its time.
    GivenUp,
}

impl PageEnd {
    /// What a part of the page makes of it.
    pub(crate) fn of_part(outcome: Result<(), ErrorKind>) -> Self {
        match outcome {
            Ok(()) => Self::Completed,
            Err(kind) if kind.is_censored() => Self::GivenUp,
            Err(_) => Self::Failed,
        }
    }
}

impl Pages {
    pub(crate) fn new() -> Self {
        let (time, censored) = (Coarse::new(), Coarse::new());
        Self { offered: 0, completed: 0, failed: 0, time, censored }
    }

    pub(crate) fn counts(&self) -> PageCounts {
        PageCounts {
            offered: self.offered,
            completed: self.completed,
            failed: self.failed,
            time: self.time.distribution(),
            censored: self.censored.distribution(),
        }
    }

    pub(crate) fn reset(&mut self) {
        (self.offered, self.completed, self.failed) = (0, 0, 0);
        self.time.reset();
        self.censored.reset();
    }

    /// Count an offered page's end: when its last part had ended.
    pub(crate) fn end(&mut self, time_ns: u64, end: PageEnd) {
        match end {
            PageEnd::Completed => self.completed += 1,
            PageEnd::Failed | PageEnd::GivenUp => self.failed += 1,
        }
        if end != PageEnd::Failed {
            self.time.record(time_ns);
        }
        if end == PageEnd::GivenUp {
            self.censored.record(time_ns);
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.offered += other.offered;
        self.completed += other.completed;
        self.failed += other.failed;
        self.time.merge(&other.time);
        self.censored.merge(&other.censored);
    }
}

impl Visits {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.started += other.started;
        self.finished += other.finished;
        self.left += other.left;
        self.cut += other.cut;
        self.new_users += other.new_users;
        self.returning_users += other.returning_users;
    }
}
