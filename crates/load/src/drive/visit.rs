//! What a user is doing: the state of a visit, kept beside the connection that carries it.

use crate::count::PageEnd;
use crate::http::Jar;

/// A user, who may come back.
#[derive(Debug, Default)]
pub(crate) struct User {
    /// A number of its own in the run.
    pub(crate) number: u64,
    /// It has visited.
    pub(crate) is_known: bool,
    /// Visits so far.
    pub(crate) n_visits: u64,
    /// It is on a visit (open loop and sessions).
    pub(crate) is_here: bool,
    pub(crate) jar: Jar,
}

/// A visit under way. It stands at the index of its first connection.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not states of a machine")]
pub(crate) struct Visit {
    /// The user's place in the arm's table.
    pub(crate) user: u32,
    /// Steps to come after this one.
    pub(crate) n_left: u32,
    /// This step's place in the arm's mix, and its number in the run.
    pub(crate) step: u32,
    pub(crate) number: u64,
    /// When this step was due (open loop) or sent (closed loop).
    pub(crate) base_ns: u64,
    /// Requests of the page that are under way, and objects that were asked for.
    pub(crate) n_under_way: u32,
    pub(crate) n_asked: u32,
    /// A connection that it borrowed for a page before, and which leads to the next such one.
    pub(crate) spare: Option<u32>,
    /// When the cycle under way began; 0: none did.
    pub(crate) cycle_ns: u64,
    /// Right answers in it.
    pub(crate) n_right: u32,
    /// The user has begun a step after the measured part of a credited window.
    pub(crate) has_passed: bool,
    /// This step belongs to the measured part.
    pub(crate) is_measured: bool,
    /// The step is a page that did not end yet.
    pub(crate) is_in_page: bool,
    /// How the page will have ended, by the parts that did.
    pub(crate) page_end: PageEnd,
    /// A request of the page outlived the user's patience.
    pub(crate) has_left: bool,
    /// The user has a slow line.
    pub(crate) is_slow: bool,
    /// The visit is over, the user's next one to come (closed loop).
    pub(crate) is_between: bool,
}

impl Visit {
    /// The step of this number is a page that did not end yet.
    pub(crate) const fn is_page_of(&self, number: u64) -> bool {
        self.is_in_page && self.number == number
    }
}

/// How a visit ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VisitEnd {
    /// All steps were made.
    Finished,
    /// The user lost patience.
    Left,
    /// The window was over before the visit.
    Cut,
}
