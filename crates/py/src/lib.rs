//! The only crate that knows Python: reads a message, releases the interpreter, calls `load`,
//! writes messages. The contract is `python/httpdyno/_native.pyi`.

mod run;

use std::fmt::Display;

use httpdyno_load::ErrorKind;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use serde::Deserialize;

pyo3::create_exception!(
    httpdyno._native,
    EngineError,
    PyException,
    "The engine cannot run: a wrong argument or a failing system call, said in one sentence."
);

/// Whatever is wrong is an `EngineError` with its own sentence.
fn engine_error(error: impl Display) -> PyErr {
    EngineError::new_err(error.to_string())
}

fn read<'a, T: Deserialize<'a>>(message: &'a [u8]) -> PyResult<T> {
    rmp_serde::from_slice(message).map_err(engine_error)
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("ERROR_KINDS", PyTuple::new(py, ErrorKind::ALL.map(ErrorKind::name))?)?;
    module.add("EngineError", py.get_type::<EngineError>())?;
    module.add_class::<run::LoadRun>()?;
    module.add_function(wrap_pyfunction!(run::start, module)?)?;
    module.add_function(wrap_pyfunction!(run::check_tls, module)?)?;
    module.add_function(wrap_pyfunction!(run::unread, module)?)
}
