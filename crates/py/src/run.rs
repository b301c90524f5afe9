//! Starting a run, and the handle on it.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use httpdyno_load as load;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;

use crate::{engine_error, failed, read};

/// About 30 years; also for an infinite timeout.
const LONGEST_WAIT_S: f64 = 1e9;

/// What `on_edge` raised, kept until somebody waits.
type Raised = Arc<Mutex<Option<PyErr>>>;

/// A run under way on its own threads.
#[pyclass(frozen, module = "httpdyno._native")]
pub(crate) struct LoadRun {
    /// A number for the provenance: the same for the same arrivals, seed and mix.
    #[pyo3(get)]
    schedule_hash: u64,
    run: load::Run,
    raised: Raised,
}

#[pymethods]
impl LoadRun {
    /// Wait with the interpreter released; True when the run is over.
    ///
    /// Raises what `on_edge` raised, or `EngineError` when the engine failed.
    fn wait(&self, py: Python<'_>, timeout_s: f64) -> PyResult<bool> {
        if timeout_s.is_nan() || timeout_s < 0.0 {
            let complaint = format!("timeout_s is {timeout_s}; expected a time of 0 s or more");
            return Err(failed(complaint));
        }
        let timeout = Duration::from_secs_f64(timeout_s.min(LONGEST_WAIT_S));
        let is_over = py.detach(|| self.run.wait(timeout)).map_err(failed)?;
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        match raised.take() {
            Some(error) if is_over => Err(error),
            other => {
                *raised = other;
                Ok(is_over)
            }
        }
    }

    /// Send nothing more, count what is in flight as `unfinished`, end soon. Idempotent.
    fn stop(&self) {
        self.run.stop();
    }

    /// The windows that ended so far but for the first so many, each a message, in order.
    fn results<'py>(&self, py: Python<'py>, first: usize) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let results = self.run.results();
        let new = results.iter().skip(first);
        new.map(|result| written(py, &load::Report::from(&**result))).collect()
    }

    /// What the first steps of the arms came to so far: of each its number, and a message.
    fn entrances<'py>(&self, py: Python<'py>) -> PyResult<Vec<(usize, Bound<'py, PyBytes>)>> {
        let entrances = self.run.entrances();
        let each = entrances.iter();
        each.map(|one| Ok((one.arm, written(py, &load::Report::from(&**one))?))).collect()
    }

    /// The window that is under way as a message, at most 0.1 s old; None between windows.
    fn live<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        py.detach(|| self.run.live()).map(|live| written(py, &live)).transpose()
    }
}

fn written<'py>(py: Python<'py>, message: &impl Serialize) -> PyResult<Bound<'py, PyBytes>> {
    rmp_serde::to_vec_named(message).map(|bytes| PyBytes::new(py, &bytes)).map_err(failed)
}

/// Refuse TLS that cannot work, such as a key of another certificate, without connecting.
#[pyfunction]
pub(crate) fn check_tls(message: &[u8]) -> PyResult<()> {
    read::<load::Tls>(message)?.check().map_err(engine_error)
}

/// The places in a spec that the engine does not look at, such as `arms.0.tls.roots_file`.
#[pyfunction]
pub(crate) fn unread(spec: &[u8]) -> PyResult<Vec<String>> {
    let mut places = Vec::new();
    let mut reader = rmp_serde::Deserializer::from_read_ref(spec);
    let note = |place: serde_ignored::Path<'_>| places.push(place.to_string());
    serde_ignored::deserialize::<_, _, load::LoadSpec>(&mut reader, note).map_err(failed)?;
    Ok(places)
}

/// Check the spec and start the run.
///
/// `on_edge(window_index, is_opening)` is called before a window's first request and after its
/// last answer, when nothing is in flight and every thread waits.
#[pyfunction]
#[pyo3(signature = (spec, on_edge))]
pub(crate) fn start(py: Python<'_>, spec: &[u8], on_edge: Option<Py<PyAny>>) -> PyResult<LoadRun> {
    let spec: load::LoadSpec = read(spec)?;
    let raised = Raised::default();
    let observer = on_edge.map(|on_edge| observer(on_edge, Arc::clone(&raised)));
    let run = py.detach(|| load::Run::start(&spec, observer)).map_err(engine_error)?;
    Ok(LoadRun { schedule_hash: spec.schedule_hash(), run, raised })
}

/// Call `on_edge` with the interpreter attached; break off the run when it raises, or when there
/// is no interpreter any more.
fn observer(on_edge: Py<PyAny>, raised: Raised) -> load::Observer {
    Box::new(move |window, is_opening| {
        let called = Python::try_attach(|py| on_edge.call1(py, (window, is_opening)).map(drop));
        match called {
            Some(Ok(())) => ControlFlow::Continue(()),
            Some(Err(error)) => {
                let mut slot = raised.lock().unwrap_or_else(PoisonError::into_inner);
                // The first is the cause; closing the window may raise another.
                slot.get_or_insert(error);
                ControlFlow::Break(())
            }
            None => ControlFlow::Break(()),
        }
    })
}
