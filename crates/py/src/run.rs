//! Starting a run, and the handle on it.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use httpdyno_load as load;
use pyo3::prelude::*;

use crate::detail::Live;
use crate::errors::{engine_error, out_of_range};
use crate::result::WindowResult;
use crate::spec::LoadSpec;

/// About 30 years; also for an infinite timeout.
const LONGEST_WAIT_S: f64 = 1e9;

/// What `on_edge` raised, kept until somebody waits.
type Raised = Arc<Mutex<Option<PyErr>>>;

/// A run under way on its own threads.
#[pyclass(frozen, module = "httpdyno._native")]
pub(crate) struct LoadRun {
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
            return Err(out_of_range("timeout_s", timeout_s, "a time of 0 s or more"));
        }
        let timeout = Duration::from_secs_f64(timeout_s.min(LONGEST_WAIT_S));
        let is_over = py.detach(|| self.run.wait(timeout)).map_err(|error| engine_error(&error))?;
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

    /// The windows that ended so far, in order.
    fn results(&self) -> Vec<WindowResult> {
        self.run.results().into_iter().map(WindowResult).collect()
    }

    /// The window that is under way, at most 0.1 s old; None between windows.
    fn live(&self, py: Python<'_>) -> Option<Live> {
        py.detach(|| self.run.live()).map(Live)
    }
}

/// Check the spec and start the run.
///
/// `on_edge(window_index, is_opening)` is called before a window's first request and after its
/// last answer, when nothing is in flight and every thread waits.
#[pyfunction]
#[pyo3(signature = (spec, on_edge))]
pub(crate) fn start(
    py: Python<'_>,
    spec: &LoadSpec,
    on_edge: Option<Py<PyAny>>,
) -> PyResult<LoadRun> {
    let raised = Raised::default();
    let observer = on_edge.map(|on_edge| observer(on_edge, Arc::clone(&raised)));
    let run =
        py.detach(|| load::Run::start(&spec.0, observer)).map_err(|error| engine_error(&error))?;
    Ok(LoadRun { run, raised })
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
