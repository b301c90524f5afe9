//! Errors of the engine as exceptions: the one place where they are turned.

use std::fmt::Display;

use httpdyno_load::Error;
use pyo3::PyErr;
use pyo3::exceptions::PyException;

pyo3::create_exception!(
    httpdyno._native,
    EngineError,
    PyException,
    "The engine cannot run: a wrong argument or a failing system call, said in one sentence."
);

/// Every variant becomes an `EngineError` with the engine's own sentence.
pub(crate) fn engine_error(error: &Error) -> PyErr {
    EngineError::new_err(error.to_string())
}

/// A number that the engine's type does not hold.
pub(crate) fn out_of_range(field: &str, value: impl Display, expected: &str) -> PyErr {
    EngineError::new_err(format!("{field} is {value}; expected {expected}"))
}
