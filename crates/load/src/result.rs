//! What a window saw.

use std::collections::BTreeMap;

use crate::histogram::Distribution;
use crate::outcome::ErrorCounts;
use crate::verdict::{Evidence, LimitedBy};

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
    /// completed, and of its timeouts at their age.
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
