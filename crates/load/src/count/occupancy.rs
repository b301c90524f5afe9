//! The time that requests spend on connections.

use super::ended::Ended;
use super::in_flight::InFlight;
use super::outcome::ErrorKind;
use crate::schedule::Plan;

/// A first `SYN` that got no answer is sent again after this (RFC 6298 section 2, rule 2.1). Over
/// any network that a load test makes sense on, a connection that took as long has lost one.
pub(super) const SYN_RETRY_NS: u64 = 1_000_000_000;

/// What the connections of a thread were occupied with over a window.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Occupancy {
    pub(crate) in_flight: InFlight,
    /// Time that failed measured requests spent on connections.
    failed_ns: u128,
    /// Time on connections within the measured part, of all requests.
    pub(crate) busy_ns: u128,
    /// Of it, of slow users.
    pub(crate) slow_busy_ns: u128,
    /// As far as it was spent to connect without an answer to the first `SYN`.
    pub(crate) unanswered_ns: u128,
}

impl Occupancy {
    pub(super) const fn failed_ns(&self) -> u128 {
        self.failed_ns
    }

    /// A request ended that a connection may have taken up.
    #[inline]
    pub(super) fn end(&mut self, plan: &Plan, request: &Ended, outcome: Result<(), ErrorKind>) {
        let Some(issued_ns) = request.issued_ns else { return };
        self.in_flight.leave(request.end_ns, request.is_measured);
        let busy_ns = u128::from(plan.measured_overlap_ns(issued_ns, request.end_ns));
        self.busy_ns += busy_ns;
        if request.is_slow {
            self.slow_busy_ns += busy_ns;
        }
        if request.is_measured && outcome.is_err() {
            self.failed_ns += u128::from(request.end_ns.saturating_sub(issued_ns));
        }
        self.look_for_retry(plan, request, issued_ns, outcome);
    }

    /// Count the time that went into a connection whose first `SYN` got no answer.
    #[inline]
    fn look_for_retry(
        &mut self,
        plan: &Plan,
        request: &Ended,
        issued_ns: u64,
        outcome: Result<(), ErrorKind>,
    ) {
        let tried_until_ns = match (request.connected_ns, request.written_ns) {
            (Some(connected_ns), _) => connected_ns,
            // It never came so far; else it was sent on a connection that was there.
            (None, None) => request.end_ns,
            (None, Some(_)) => return,
        };
        let was_given_up = request.connected_ns.is_none()
            && outcome.is_err_and(|kind| kind == ErrorKind::ConnectTimeout);
        if was_given_up || tried_until_ns.saturating_sub(issued_ns) >= SYN_RETRY_NS {
            let retried_ns = plan.measured_overlap_ns(issued_ns, tried_until_ns);
            self.unanswered_ns += u128::from(retried_ns);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.in_flight.merge(&other.in_flight);
        self.failed_ns += other.failed_ns;
        self.busy_ns += other.busy_ns;
        self.slow_busy_ns += other.slow_busy_ns;
        self.unanswered_ns += other.unanswered_ns;
    }
}
