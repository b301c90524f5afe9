//! What came out, as Python reads it.

use std::collections::BTreeMap;
use std::sync::Arc;

use httpdyno_load as load;
use pyo3::prelude::*;

const NS_PER_S: f64 = 1e9;

/// Counts over log-linear buckets of nanoseconds (three significant digits).
#[pyclass(frozen, module = "httpdyno._native")]
pub(crate) struct Histogram(load::Distribution);

#[pymethods]
impl Histogram {
    #[getter]
    fn count(&self) -> u64 {
        self.0.count
    }

    #[getter]
    fn sum_s(&self) -> f64 {
        self.0.sum_ns as f64 / NS_PER_S
    }

    /// The largest value, exact; 0 when empty.
    #[getter]
    fn max_s(&self) -> f64 {
        self.0.max_ns as f64 / NS_PER_S
    }

    /// Upper bounds in nanoseconds of the buckets that are not empty, and their counts.
    fn buckets(&self) -> (Vec<u64>, Vec<u64>) {
        self.0.buckets.iter().copied().unzip()
    }
}

/// What one window saw. `offered == completed + sum(errors.values())`, always.
#[pyclass(frozen, module = "httpdyno._native")]
pub(crate) struct WindowResult(pub(crate) Arc<load::WindowResult>);

#[pymethods]
impl WindowResult {
    #[getter]
    fn index(&self) -> usize {
        self.0.index
    }

    #[getter]
    fn arm(&self) -> usize {
        self.0.arm
    }

    #[getter]
    fn opened_ns(&self) -> u64 {
        self.0.opened_ns
    }

    #[getter]
    fn measure_start_ns(&self) -> u64 {
        self.0.measure_start_ns
    }

    #[getter]
    fn measure_end_ns(&self) -> u64 {
        self.0.measure_end_ns
    }

    #[getter]
    fn closed_ns(&self) -> u64 {
        self.0.closed_ns
    }

    /// Requests of the whole window, lead-in and drain included.
    #[getter]
    fn offered(&self) -> u64 {
        self.0.offered
    }

    #[getter]
    fn completed(&self) -> u64 {
        self.0.completed
    }

    #[getter]
    fn errors(&self) -> BTreeMap<&'static str, u64> {
        self.0.errors.iter().map(|(kind, count)| (kind.name(), count)).collect()
    }

    #[getter]
    fn statuses(&self) -> BTreeMap<u16, u64> {
        self.0.statuses.clone()
    }

    /// Requests due (open loop) or sent (closed loop) in the measured part.
    #[getter]
    fn measured_offered(&self) -> u64 {
        self.0.measured_offered
    }

    /// Right answers that arrived in the measured part, whenever they were sent.
    #[getter]
    fn measured_completed(&self) -> u64 {
        self.0.measured_completed
    }

    /// Requests of `measured_offered` that failed, whenever that was.
    #[getter]
    fn measured_errors(&self) -> u64 {
        self.0.measured_errors
    }

    #[getter]
    fn connects(&self) -> u64 {
        self.0.connects
    }

    #[getter]
    fn bytes_sent(&self) -> u64 {
        self.0.bytes_sent
    }

    #[getter]
    fn bytes_received(&self) -> u64 {
        self.0.bytes_received
    }

    /// Of requests due in the measured part: completed ones, and timeouts at their age.
    #[getter]
    fn latency(&self) -> Histogram {
        Histogram(self.0.latency.clone())
    }

    #[getter]
    fn service_time(&self) -> Histogram {
        Histogram(self.0.service_time.clone())
    }

    #[getter]
    fn lateness(&self) -> Histogram {
        Histogram(self.0.lateness.clone())
    }

    #[getter]
    fn series_interval_s(&self) -> f64 {
        self.0.series.interval_ns as f64 / NS_PER_S
    }

    /// Right answers in each interval from `opened_ns` on; (`n_intervals`,).
    #[getter]
    fn series_completed(&self) -> Vec<u64> {
        self.0.series.completed.clone()
    }

    #[getter]
    fn series_errors(&self) -> Vec<u64> {
        self.0.series.errors.clone()
    }

    #[getter]
    fn series_latency_max_s(&self) -> Vec<f64> {
        self.0.series.latency_max_ns.iter().map(|&latency| latency as f64 / NS_PER_S).collect()
    }

    #[getter]
    fn client_cpu_s(&self) -> f64 {
        self.0.client_cpu_s
    }

    /// Time integral of requests in flight over the measured part, for Little's law.
    #[getter]
    fn busy_connection_s(&self) -> f64 {
        self.0.busy_connection_s
    }

    /// server, rate, `client_cpu`, `client_schedule`, connections, descriptors or ports.
    #[getter]
    fn limited_by(&self) -> &'static str {
        self.0.limited_by.name()
    }

    /// The figures that `limited_by` rests on.
    #[getter]
    fn evidence(&self) -> BTreeMap<&'static str, f64> {
        self.0.evidence.figures().into_iter().collect()
    }
}
