//! What a thread does later.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::drive::ids::{SocketId, UserId, VisitId};

/// What to do at an instant. Of several at once, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::drive) enum Wake {
    /// A socket could not even begin to connect.
    Refusal(SocketId),
    /// A socket that could not connect just now tries again.
    Connect(SocketId),
    /// A slow line takes bytes again.
    Line(SocketId),
    /// A user's pause is over.
    Resume(VisitId),
    /// A user of a closed loop begins.
    Start(UserId),
}

/// Something to do at an instant. Ordered by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Timer {
    at_ns: u64,
    wake: Wake,
}

/// All that a thread does later.
#[derive(Debug, Default)]
pub(in crate::drive) struct Timers(BinaryHeap<Reverse<Timer>>);

impl Timers {
    pub(super) fn new(n_connections: usize) -> Self {
        Self(BinaryHeap::with_capacity(n_connections))
    }

    pub(super) fn push(&mut self, at_ns: u64, wake: Wake) {
        self.0.push(Reverse(Timer { at_ns, wake }));
    }

    /// What is due by then, the earliest first, with the instant that it was set to.
    #[inline]
    pub(super) fn pop_due(&mut self, now_ns: u64) -> Option<(u64, Wake)> {
        if self.next_ns()? > now_ns {
            return None;
        }
        self.0.pop().map(|Reverse(timer)| (timer.at_ns, timer.wake))
    }

    #[inline]
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.0.peek().map(|Reverse(timer)| timer.at_ns)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, in no order.
    pub(in crate::drive) fn drain(&mut self) -> impl Iterator<Item = (u64, Wake)> {
        self.0.drain().map(|Reverse(timer)| (timer.at_ns, timer.wake))
    }

    /// Take out the users who have not begun; how many there were.
    pub(super) fn drop_starts(&mut self) -> usize {
        let n_timers = self.0.len();
        self.0.retain(|Reverse(timer)| !matches!(timer.wake, Wake::Start(_)));
        n_timers - self.0.len()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::ids::{ConnectionId, Id};

    fn timers() -> Timers {
        let mut timers = Timers::new(4);
        let socket = SocketId { connection: ConnectionId::new(3), life: 1 };
        timers.push(30, Wake::Resume(VisitId::new(1)));
        timers.push(10, Wake::Start(UserId::new(2)));
        timers.push(20, Wake::Line(socket));
        timers.push(20, Wake::Refusal(socket));
        timers
    }

    #[test]
    fn timers_come_out_in_the_order_of_their_instants_and_not_before() {
        let mut timers = timers();
        assert_eq!(timers.pop_due(9), None);
        assert_eq!(timers.pop_due(25), Some((10, Wake::Start(UserId::new(2)))));
        assert!(matches!(timers.pop_due(25), Some((20, Wake::Refusal(_)))));
        assert!(matches!(timers.pop_due(25), Some((20, Wake::Line(_)))));
        assert_eq!((timers.pop_due(25), timers.next_ns()), (None, Some(30)));
    }

    #[test]
    fn users_who_have_not_begun_are_taken_out_and_nobody_else() {
        let mut some = timers();
        assert_eq!(some.drop_starts(), 1);
        assert_eq!((some.next_ns(), some.drain().count()), (Some(20), 3));
    }
}
