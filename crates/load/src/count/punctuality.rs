//! Whether what was due was taken up in time, and if not, whether it was for want of a connection
//! or the client that was late.

use derive_more::AddAssign;

use super::ended::Ended;
use super::outcome::ErrorKind;

/// A lateness that the client must answer for, and not the granularity of its timers.
pub(super) const LATE_NS: u64 = 1_000_000;

/// How the due requests of a thread came to be taken up.
#[derive(Debug, Clone, Copy, Default, AddAssign)]
pub(crate) struct Punctuality {
    /// Requests, pages and steps of visits that were due, by the schedule or as a pause ended. Each
    /// is counted once.
    pub(crate) due: u64,
    /// Requests that were due when no connection was idle.
    pub(crate) waited: u64,
    /// Requests taken up more than [`LATE_NS`] after they were due although a connection was idle.
    pub(crate) late: u64,
    /// Requests that were given up after they had waited for a connection for most of their time.
    pub(crate) starved: u64,
}

impl Punctuality {
    /// Count how a due request came to be taken up. `blocked_since_ns` is since when requests have
    /// been waiting because no connection was idle; `None`: they were not.
    ///
    /// A request waited for a connection when none was idle by the time that a punctual client
    /// would have taken it up. Else it is the client that was late: also where it found all
    /// connections taken by requests that it was just as late with.
    #[inline]
    pub(crate) fn take_up(&mut self, due_ns: u64, now_ns: u64, blocked_since_ns: Option<u64>) {
        self.due += 1;
        let punctual_ns = due_ns.saturating_add(LATE_NS);
        if blocked_since_ns.is_some_and(|since_ns| since_ns <= punctual_ns) {
            self.waited += 1;
        } else if now_ns > punctual_ns {
            self.late += 1;
        }
    }

    /// Count a due request that outlived its patience before it was taken up, for want of a
    /// connection or because the thread slept for longer.
    pub(crate) fn expire(&mut self, is_blocked: bool) {
        self.due += 1;
        if is_blocked {
            self.waited += 1;
        } else {
            self.late += 1;
        }
    }

    /// A request failed.
    #[inline]
    pub(super) fn fail(&mut self, request: &Ended, kind: ErrorKind) {
        let age_ns = request.end_ns.saturating_sub(request.base_ns);
        let waited_until_ns = request.issued_ns.unwrap_or(request.end_ns);
        let waited_ns = waited_until_ns.saturating_sub(request.base_ns);
        self.starved += u64::from(kind.is_censored() && waited_ns > age_ns / 2);
    }
}
