//! The parts of a result, as Python reads them. Numbers cross as flat arrays, long ones as bytes.

use std::collections::BTreeMap;
use std::sync::Arc;

use httpdyno_load as load;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

pub(crate) const NS_PER_S: f64 = 1e9;

/// Counts over log-linear buckets of nanoseconds.
#[pyclass(frozen, module = "httpdyno._native")]
pub(crate) struct Histogram(pub(crate) load::Distribution);

#[pymethods]
impl Histogram {
    #[getter]
    fn count(&self) -> u64 {
        self.0.count
    }

    #[getter]
    fn sum_ns(&self) -> u128 {
        self.0.sum_ns
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

/// The part that some of the measured requests have: those of an index, or of a population.
#[pyclass(frozen, module = "httpdyno._native")]
pub(crate) struct Part(pub(crate) load::Part);

#[pymethods]
impl Part {
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

    /// Of the whole window; 0 in a part by request, where it is not counted.
    #[getter]
    fn bytes_received(&self) -> u64 {
        self.0.bytes_received
    }

    /// As in `WindowResult.latency`; None for requests of index 64 and above.
    #[getter]
    fn latency(&self) -> Option<Histogram> {
        self.0.latency.clone().map(Histogram)
    }
}

/// Pages of the measured part: `offered == completed + failed`.
#[pyclass(frozen, module = "httpdyno._native")]
pub(crate) struct Pages(pub(crate) load::PageCounts);

#[pymethods]
impl Pages {
    #[getter]
    fn offered(&self) -> u64 {
        self.0.offered
    }

    #[getter]
    fn completed(&self) -> u64 {
        self.0.completed
    }

    /// One of the page's requests failed.
    #[getter]
    fn failed(&self) -> u64 {
        self.0.failed
    }

    /// From the page's due time to the end of its last object; of pages that were given up at
    /// least as long.
    #[getter]
    fn time(&self) -> Histogram {
        Histogram(self.0.time.clone())
    }

    /// What is a lower bound in `time`.
    #[getter]
    fn censored(&self) -> Histogram {
        Histogram(self.0.censored.clone())
    }
}

/// The measured part in at most 256 equal intervals; the last one may be cut short.
#[pyclass(frozen, module = "httpdyno._native")]
pub(crate) struct Batches(pub(crate) Arc<load::WindowResult>);

#[pymethods]
impl Batches {
    #[getter]
    fn interval_ns(&self) -> u64 {
        self.0.batches.interval_ns
    }

    /// Measured requests that were due (closed loop: sent) in the interval; (`n_intervals`,).
    #[getter]
    fn offered(&self) -> Vec<u64> {
        self.0.batches.offered.clone()
    }

    /// Right answers that came in the interval, whenever their requests were sent.
    #[getter]
    fn completed(&self) -> Vec<u64> {
        self.0.batches.completed.clone()
    }

    /// Requests that failed in the interval, measured or not.
    #[getter]
    fn errors(&self) -> Vec<u64> {
        self.0.batches.errors.clone()
    }

    /// Latencies of the requests that ended in the interval, as in `WindowResult.latency`.
    #[getter]
    fn latency(&self) -> Vec<Histogram> {
        let batches = &self.0.batches;
        (0..batches.len()).map(|interval| Histogram(batches.latency(interval))).collect()
    }
}

/// The first measured requests by due time (closed loop: by taking up), ascending.
///
/// Columns of native-endian integers for `numpy.frombuffer`.
#[pyclass(frozen, module = "httpdyno._native")]
pub(crate) struct Trace(pub(crate) Arc<load::WindowResult>);

#[pymethods]
impl Trace {
    #[getter]
    fn count(&self) -> usize {
        self.column(|trace| &trace.outcome).len()
    }

    #[getter]
    fn due_ns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        bytes(py, self.column(|trace| &trace.due_ns), u64::to_ne_bytes)
    }

    /// When a connection took it up.
    #[getter]
    fn issued_ns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        bytes(py, self.column(|trace| &trace.issued_ns), u64::to_ne_bytes)
    }

    /// When it began to be written.
    #[getter]
    fn written_ns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        bytes(py, self.column(|trace| &trace.written_ns), u64::to_ne_bytes)
    }

    #[getter]
    fn end_ns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        bytes(py, self.column(|trace| &trace.end_ns), u64::to_ne_bytes)
    }

    /// The index in the arm's table of requests; uint32.
    #[getter]
    fn request<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        bytes(py, self.column(|trace| &trace.request), u32::to_ne_bytes)
    }

    /// 0 is completed, n is `ERROR_KINDS[n - 1]`; uint8.
    #[getter]
    fn outcome<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.column(|trace| &trace.outcome))
    }
}

impl Trace {
    fn column<T>(&self, of: impl FnOnce(&load::Trace) -> &Vec<T>) -> &[T] {
        self.0.trace.as_ref().map_or(&[], |trace| of(trace))
    }
}

/// Copy a column straight into the object that Python gets.
fn bytes<'py, T: Copy, const SIZE: usize>(
    py: Python<'py>,
    column: &[T],
    to_bytes: impl Fn(T) -> [u8; SIZE],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, column.len() * SIZE, |buffer| {
        for (room, &value) in buffer.chunks_exact_mut(SIZE).zip(column) {
            room.copy_from_slice(&to_bytes(value));
        }
        Ok(())
    })
}

/// A window that is under way, since it began; lead-in included.
#[pyclass(frozen, module = "httpdyno._native")]
pub(crate) struct Live(pub(crate) load::Live);

#[pymethods]
impl Live {
    /// Of the window.
    #[getter]
    fn index(&self) -> usize {
        self.0.index
    }

    #[getter]
    fn elapsed_s(&self) -> f64 {
        self.0.elapsed_s
    }

    #[getter]
    fn offered(&self) -> u64 {
        self.0.offered
    }

    #[getter]
    fn completed(&self) -> u64 {
        self.0.completed
    }

    #[getter]
    fn errors(&self) -> u64 {
        self.0.errors
    }

    #[getter]
    fn in_flight(&self) -> u64 {
        self.0.in_flight
    }

    /// Of completed requests, and of given up ones at their age; two digits.
    #[getter]
    fn latency(&self) -> Histogram {
        Histogram(self.0.latency.clone())
    }
}
