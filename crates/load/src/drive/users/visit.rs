//! What a user is doing: the state of a visit, kept beside the connection that carries it.

use crate::count::PageEnd;
use crate::drive::{
    connections::Order,
    ids::{ConnectionId, UserId, VisitId},
};

/// A user, who may come back. What requests show of it is kept with the connections.
#[derive(Debug, Default)]
pub(super) struct User {
    /// It has visited.
    pub(super) is_known: bool,
    /// Visits so far.
    pub(super) n_visits: u64,
    /// It is on a visit (open loop and sessions).
    pub(super) is_here: bool,
    /// Closed loop, steps in their order: where a window's end cut its visit short.
    pub(super) place: u32,
}

/// A visit under way. It stands at the index of its first connection.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not states of a machine")]
pub(super) struct Visit {
    /// The user's place in the arm's table.
    pub(super) user: UserId,
    /// Steps to come after this one.
    pub(super) n_left: u32,
    /// Steps before this one, of those that are taken in order.
    pub(super) place: u32,
    /// This step's place in the arm's mix, and its number in the run.
    pub(super) step: u32,
    pub(super) number: u64,
    /// When this step was due (open loop) or sent (closed loop).
    pub(super) base_ns: u64,
    /// Requests of the page that are under way, and objects that were asked for.
    pub(super) n_under_way: u32,
    pub(super) n_asked: u32,
    /// A connection that it borrowed for a page before, and which leads to the next such one.
    pub(super) spare: Option<ConnectionId>,
    /// When the cycle under way began; 0: none did.
    pub(super) cycle_ns: u64,
    /// It is the user's first one of the window.
    pub(super) is_first_cycle: bool,
    /// Right answers in it.
    pub(super) n_right: u32,
    /// The user has begun a step after the measured part of a credited window.
    pub(super) has_passed: bool,
    /// This step belongs to the measured part.
    pub(super) is_measured: bool,
    /// The step is a page that did not end yet.
    pub(super) is_in_page: bool,
    /// How the page will have ended, by the parts that did.
    pub(super) page_end: PageEnd,
    /// A request of the page outlived the user's patience.
    pub(super) has_left: bool,
    /// The user has a slow line.
    pub(super) is_slow: bool,
    /// The visit is over, the user's next one to come (closed loop).
    pub(super) is_between: bool,
}

impl Visit {
    /// To ask for what this step asks for first: `request` of the arm's table.
    #[inline]
    pub(super) const fn order(&self, id: VisitId, request: usize) -> Order {
        Order {
            visit: id,
            user: self.user,
            is_slow: self.is_slow,
            request: request as u32,
            number: self.number,
            base_ns: self.base_ns,
            is_measured: self.is_measured,
            is_object: false,
        }
    }
}

/// How a visit ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VisitEnd {
    /// All steps were made.
    Finished,
    /// The user lost patience.
    Left,
    /// The window was over before the visit.
    Cut,
}
