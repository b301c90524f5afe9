//! What came out, as Python reads it.

use std::collections::BTreeMap;
use std::sync::Arc;

use httpdyno_load as load;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::detail::{Batches, Histogram, NS_PER_S, Pages, Part, Trace};

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

    /// TLS handshakes that made a new session.
    #[getter]
    fn handshakes_full(&self) -> u64 {
        self.0.handshakes_full
    }

    #[getter]
    fn handshakes_resumed(&self) -> u64 {
        self.0.handshakes_resumed
    }

    /// Of the measured requests: completed ones, and given up ones (`censored`) at their age.
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

    /// Ages of the measured requests that never ended by themselves: lower bounds.
    #[getter]
    fn censored(&self) -> Histogram {
        Histogram(self.0.censored.clone())
    }

    /// What latency consists of, of the measured requests that completed.
    #[getter]
    fn phases<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let phases = PyDict::new(py);
        for (name, phase) in self.0.phases.each() {
            phases.set_item(name, Histogram(phase.clone()))?;
        }
        Ok(phases)
    }

    /// By index in the arm's table of requests; (`n_requests`,).
    #[getter]
    fn by_request(&self) -> Vec<Part> {
        self.0.by_request.iter().cloned().map(Part).collect()
    }

    /// usual and slow; empty where no user is slow.
    #[getter]
    fn by_population(&self) -> BTreeMap<&'static str, Part> {
        let [usual, slow] = match &self.0.by_population {
            Some(parts) => parts.clone(),
            None => return BTreeMap::new(),
        };
        [("usual", Part(usual)), ("slow", Part(slow))].into()
    }

    #[getter]
    fn pages(&self) -> Pages {
        Pages(self.0.pages.clone())
    }

    /// Of the whole window: started, finished, left, cut, `new_users`, `returning_users`.
    #[getter]
    fn visits(&self) -> BTreeMap<&'static str, u64> {
        let load::Visits { started, finished, left, cut, new_users, returning_users } =
            self.0.visits;
        [
            ("started", started),
            ("finished", finished),
            ("left", left),
            ("cut", cut),
            ("new_users", new_users),
            ("returning_users", returning_users),
        ]
        .into()
    }

    /// What the users' cycles gave; None where the window is not credited, or was stopped.
    #[getter]
    fn cycles(&self) -> Option<BTreeMap<&'static str, f64>> {
        let cycles = self.0.cycles?;
        let figures = [
            ("credit", cycles.credit),
            ("begun", cycles.begun as f64),
            ("begun_right", cycles.begun_right as f64),
            ("begun_s", cycles.begun_s),
            ("begun_s2", cycles.begun_s2),
            ("longest_s", cycles.longest_s),
            ("open", cycles.open as f64),
            ("starved", cycles.starved as f64),
            ("open_credit", cycles.open_credit),
        ];
        Some(figures.into())
    }

    #[getter]
    fn batches(&self) -> Batches {
        Batches(Arc::clone(&self.0))
    }

    /// None unless `n_traced` asked for it.
    #[getter]
    fn trace(&self) -> Option<Trace> {
        self.0.trace.is_some().then(|| Trace(Arc::clone(&self.0)))
    }

    /// 0.1 s, doubled as often as needed for at most 1200 intervals.
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

    /// Time integral of requests on connections over the measured part.
    #[getter]
    fn busy_connection_s(&self) -> f64 {
        self.0.busy_connection_s
    }

    /// server, rate, `client_cpu`, `client_schedule`, connections, descriptors, ports or network.
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
