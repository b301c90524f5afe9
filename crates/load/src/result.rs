//! What a window saw.

use std::collections::BTreeMap;

use crate::histogram::Distribution;
use crate::outcome::ErrorCounts;
use crate::tally::Tally;
use crate::verdict::{Evidence, LimitedBy, verdict};
use crate::window::Plan;

/// The width of an interval of the time series.
pub const SERIES_INTERVAL_NS: u64 = 100_000_000;

/// What one window saw, over all threads. `offered == completed + errors.total()`, always.
///
/// Instants are `CLOCK_MONOTONIC` nanoseconds. In an open loop a request belongs to the measured
/// part when it was *due* there, in a closed loop when it was *sent* there.
#[derive(Debug, Clone)]
pub struct WindowResult {
    /// The index of the window in the spec.
    pub index: usize,
    /// The index of the arm that was loaded.
    pub arm: usize,
    /// When load began.
    pub opened_ns: u64,
    /// When the measured part began.
    pub measure_start_ns: u64,
    /// When the measured part ended: as planned, at the last answer of a window that is bounded
    /// by `n_requests`, or when the run was stopped.
    pub measure_end_ns: u64,
    /// When the last answer had come or been given up.
    pub closed_ns: u64,
    /// Requests of the whole window, lead-in included.
    pub offered: u64,
    /// Right answers.
    pub completed: u64,
    /// What became of the other requests.
    pub errors: ErrorCounts,
    /// How often each status was seen, of whole answers, right or wrong.
    pub statuses: BTreeMap<u16, u64>,
    /// Requests that belong to the measured part.
    pub measured_offered: u64,
    /// Right answers that came within the measured part, whenever they were sent.
    pub measured_completed: u64,
    /// Requests that belong to the measured part and failed, whenever that was.
    pub measured_errors: u64,
    /// Connections that were tried to open.
    pub connects: u64,
    /// Bytes of requests written.
    pub bytes_sent: u64,
    /// Bytes of answers read.
    pub bytes_received: u64,
    /// End − due (open loop) or end − sent (closed loop), of the measured part's requests that
    /// completed, and of those that were given up (timed out, unfinished, unsent) at their age.
    pub latency: Distribution,
    /// End − written of the same requests, as far as they were written.
    pub service_time: Distribution,
    /// Sent − due of the same requests; one that was never sent counts its age. Empty in a closed
    /// loop, where nothing is due.
    pub lateness: Distribution,
    /// By intervals of [`SERIES_INTERVAL_NS`] from `opened_ns` on.
    pub series: Series,
    /// CPU time of the engine's threads over the window.
    pub client_cpu_s: f64,
    /// Time integral of requests in flight over the measured part.
    pub busy_connection_s: f64,
    /// What kept the throughput from being higher.
    pub limited_by: LimitedBy,
    /// What that rests on.
    pub evidence: Evidence,
    pub visits: crate::tally::Visits,
    pub pages: PagesT,
}
#[derive(Debug, Clone)]
pub struct PagesT {
    pub offered: u64,
    pub completed: u64,
    pub failed: u64,
    pub time: Distribution,
}

/// A time series of a window; its parts have the same length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Series {
    /// Right answers in the interval.
    pub completed: Vec<u64>,
    /// Errors in the interval.
    pub errors: Vec<u64>,
    /// The largest latency among the interval's right answers and timeouts.
    pub latency_max_ns: Vec<u64>,
}

impl WindowResult {
    /// Put the counts of all threads, merged, into the form in which they are given out.
    pub(crate) fn of(plan: &Plan, tally: &Tally) -> Self {
        let measure_end_ns = tally.measure_end_ns;
        // A run that was stopped in the lead-in has measured nothing.
        let measure_start_ns = plan.measure_start_ns.min(measure_end_ns);
        let evidence = Evidence::of(tally, (measure_end_ns - measure_start_ns) as f64 / 1e9);
        let statuses = tally.statuses.iter().enumerate().filter(|&(_, &count)| count > 0);
        Self {
            index: plan.index,
            arm: plan.arm,
            opened_ns: plan.opened_ns,
            measure_start_ns,
            measure_end_ns,
            closed_ns: tally.closed_ns,
            offered: tally.offered,
            completed: tally.completed,
            errors: tally.errors,
            statuses: statuses.map(|(status, &count)| (status as u16, count)).collect(),
            measured_offered: tally.measured_offered,
            measured_completed: tally.measured_completed,
            measured_errors: tally.measured_errors,
            connects: tally.connects,
            bytes_sent: tally.bytes_sent,
            bytes_received: tally.bytes_received,
            latency: tally.latency.distribution(),
            service_time: tally.service_time.distribution(),
            lateness: tally.lateness.distribution(),
            series: tally.series.clone(),
            client_cpu_s: tally.whole.cpu_ns as f64 / 1e9,
            busy_connection_s: tally.busy_ns as f64 / 1e9,
            limited_by: verdict(plan, tally, &evidence),
            evidence,
            visits: tally.visits,
            pages: PagesT {
                offered: tally.pages.offered,
                completed: tally.pages.completed,
                failed: tally.pages.failed,
                time: tally.pages.time.distribution(),
            },
        }
    }
}
