//! What became of the pages: a document and its objects, with one time for all.

use serde::Serialize;

use super::histogram::{Coarse, Distribution};
use super::message;
use super::outcome::ErrorKind;

/// What became of the measured part's pages. `offered == completed + failed`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PageCounts {
    /// Pages that were due in the measured part (closed loop: begun).
    pub offered: u64,
    /// Pages of which each request was answered right.
    pub completed: u64,
    /// The others.
    pub failed: u64,
    /// From the page's due time to the end of its last request, of those that completed; and of
    /// those that were given up, as at least the time until then, like `WindowResult::latency`.
    #[serde(skip_serializing_if = "message::is_default")]
    pub time: Distribution,
    /// What is a lower bound in `time`.
    #[serde(skip_serializing_if = "message::is_default")]
    pub censored: Distribution,
}

/// What became of the measured part's pages.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(super) offered: u64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    time: Coarse,
    censored: Coarse,
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
    pub(super) fn new() -> Self {
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

    pub(super) fn reset(&mut self) {
        (self.offered, self.completed, self.failed) = (0, 0, 0);
        self.time.reset();
        self.censored.reset();
    }

    /// Count an offered page's end: when its last part had ended.
    pub(super) fn end(&mut self, time_ns: u64, end: PageEnd) {
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

    pub(super) fn merge(&mut self, other: &Self) {
        self.offered += other.offered;
        self.completed += other.completed;
        self.failed += other.failed;
        self.time.merge(&other.time);
        self.censored.merge(&other.censored);
    }
}
