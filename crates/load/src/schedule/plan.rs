//! A window's plan.

use crate::input::{Arrival, Window, nanoseconds};

/// A window as its threads run it. Instants are `CLOCK_MONOTONIC` nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) index: usize,
    pub(crate) arm: usize,
    pub(crate) opened_ns: u64,
    pub(crate) measure_start_ns: u64,
    /// `u64::MAX`: only `n_requests`, or the end of the arrivals, ends the measured part.
    pub(crate) measure_end_ns: u64,
    /// 0: only time ends the measured part.
    pub(crate) n_requests: u64,
    pub(crate) drain_ns: u64,
    pub(crate) model: Model,
    /// The users of a closed loop begin within so long, in a random order; 0: all at once.
    pub(crate) spread_ns: u64,
    /// Load goes on for at most so long after the measured part, until every user has begun
    /// another step; 0: cycles are not looked at.
    pub(crate) tail_ns: u64,
    /// Users do the arm's first steps, each once, and that ends it: no window that was asked for.
    pub(crate) is_entrance: bool,
}

/// What makes a request due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Model {
    /// The answer before it.
    Closed,
    /// A schedule.
    Open,
    /// A schedule of visits, then the answers within a visit.
    Sessions,
}

impl Model {
    pub(crate) const fn of(arrival: &Arrival) -> Self {
        match arrival {
            Arrival::Closed => Self::Closed,
            Arrival::Open { .. } | Arrival::Replay { .. } => Self::Open,
            Arrival::Sessions { .. } => Self::Sessions,
        }
    }
}

impl Plan {
    /// Between windows.
    pub(crate) const NONE: Self = Self {
        index: 0,
        arm: 0,
        opened_ns: 0,
        measure_start_ns: 0,
        measure_end_ns: 0,
        n_requests: 0,
        drain_ns: 0,
        model: Model::Closed,
        spread_ns: 0,
        tail_ns: 0,
        is_entrance: false,
    };

    /// The plan of an arm's entrance, which opens then.
    pub(crate) const fn entrance(arm: usize, opened_ns: u64, drain_ns: u64) -> Self {
        Self {
            arm,
            opened_ns,
            measure_start_ns: opened_ns,
            measure_end_ns: u64::MAX,
            drain_ns,
            is_entrance: true,
            ..Self::NONE
        }
    }

    /// The plan of a window that opens then.
    pub(crate) fn of(
        window: &Window,
        index: usize,
        opened_ns: u64,
        model: Model,
        drain_ns: u64,
    ) -> Self {
        let credit = window.credit.unwrap_or_default();
        let spread_ns = nanoseconds(credit.spread_s);
        let measure_start_ns = opened_ns + spread_ns + nanoseconds(window.lead_in_s);
        let measure_end_ns = if window.measure_s.is_finite() {
            measure_start_ns + nanoseconds(window.measure_s)
        } else {
            u64::MAX
        };
        Self {
            index,
            arm: window.arm,
            opened_ns,
            measure_start_ns,
            measure_end_ns,
            n_requests: window.n_requests,
            drain_ns,
            model,
            spread_ns,
            tail_ns: nanoseconds(credit.tail_s),
            is_entrance: false,
        }
    }

    /// Requests are due whatever the server does; their latency counts from then.
    pub(crate) fn is_open_loop(&self) -> bool {
        self.model != Model::Closed
    }

    /// Until when an answer counts for the measured part. One that has no planned end lasts until
    /// its last answer.
    fn counted_until_ns(&self) -> u64 {
        if self.n_requests == 0 { self.measure_end_ns } else { u64::MAX }
    }

    /// What each cycle's share in the measured part was is credited.
    pub(crate) fn is_credited(&self) -> bool {
        self.tail_ns > 0
    }

    /// Nothing is sent from then on.
    pub(crate) fn sending_end_ns(&self) -> u64 {
        self.measure_end_ns.saturating_add(self.tail_ns)
    }

    /// A step that begins then belongs to the measured part.
    pub(crate) fn measures(&self, at_ns: u64) -> bool {
        (self.measure_start_ns..self.measure_end_ns).contains(&at_ns)
    }

    /// The window has no planned end: it is over when all was sent and answered.
    pub(crate) fn has_open_end(&self) -> bool {
        self.n_requests > 0 || self.measure_end_ns == u64::MAX
    }

    pub(crate) fn counts_end_at(&self, end_ns: u64) -> bool {
        (self.measure_start_ns..=self.counted_until_ns()).contains(&end_ns)
    }

    /// The part of a stretch of time that lies in the measured part.
    pub(crate) fn measured_overlap_ns(&self, from_ns: u64, to_ns: u64) -> u64 {
        to_ns.min(self.counted_until_ns()).saturating_sub(from_ns.max(self.measure_start_ns))
    }
}
