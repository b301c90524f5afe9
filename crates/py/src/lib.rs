//! The only crate that knows Python: reads a message, releases the interpreter, calls `load`,
//! writes messages. The contract is `python/httpdyno/_native.pyi`.

mod run;

use std::fmt::Display;

use httpdyno_load::{Error, ErrorKind, Run};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use serde::Deserialize;

pyo3::create_exception!(
    httpdyno._native,
    EngineError,
    PyException,
    "The engine cannot run: a sentence; of a value that was refused its place, itself, and what \
     was expected besides."
);

/// What failed, and is nobody's value.
fn failed(why: impl Display) -> PyErr {
    EngineError::new_err((why.to_string(),))
}

/// What the engine says is wrong.
fn engine_error(error: Error) -> PyErr {
    let sentence = error.to_string();
    match error {
        Error::Invalid { field, value, expected } => {
            EngineError::new_err((sentence, field, value, expected))
        }
        _ => failed(sentence),
    }
}

fn read<'a, T: Deserialize<'a>>(message: &'a [u8]) -> PyResult<T> {
    let mut reader = rmp_serde::Deserializer::from_read_ref(message);
    serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| refusal(&error.path().to_string(), &error.inner().to_string()))
}

/// What is wrong with a value that its type cannot hold, as the engine says what is wrong with
/// others.
fn refusal(place: &str, complaint: &str) -> PyErr {
    let said = complaint.strip_prefix("invalid value: ").and_then(|rest| {
        let (value, expected) = rest.rsplit_once(", expected ")?;
        let value = value.split('`').nth(1).unwrap_or(value);
        let expected = match expected {
            "u16" => "a whole number from 0 to 65535",
            "u32" => "a whole number from 0 to 4294967295",
            "u64" | "usize" => {
                let field = place.rsplit('.').next().unwrap_or(place);
                httpdyno_load::count_expected(field).unwrap_or("a whole number of 0 or more")
            }
            other => other,
        };
        Some((value.to_owned(), expected.to_owned()))
    });
    match said {
        Some((value, expected)) => {
            engine_error(Error::Invalid { field: place.to_owned(), value, expected })
        }
        None => failed(format!("{place}: {complaint}")),
    }
}

/// Refuse a spec that makes no sense, as `start` would, without starting anything.
#[pyfunction]
fn check(spec: &[u8]) -> PyResult<()> {
    Run::check(&read(spec)?).map_err(engine_error)
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    httpdyno_load::remember_idle_host();
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("ERROR_KINDS", PyTuple::new(py, ErrorKind::ALL.map(ErrorKind::name))?)?;
    module.add("EngineError", py.get_type::<EngineError>())?;
    module.add_class::<run::LoadRun>()?;
    module.add_function(wrap_pyfunction!(run::start, module)?)?;
    module.add_function(wrap_pyfunction!(run::check_tls, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(run::unread, module)?)
}
