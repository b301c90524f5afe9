//! The only crate that knows Python: converts, releases the interpreter, calls `load`, converts
//! back. The contract is `python/httpdyno/_native.pyi`.

mod detail;
mod errors;
mod result;
mod run;
mod spec;

use httpdyno_load::ErrorKind;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("ERROR_KINDS", PyTuple::new(py, ErrorKind::ALL.map(ErrorKind::name))?)?;
    module.add("EngineError", py.get_type::<errors::EngineError>())?;
    module.add_class::<spec::Request>()?;
    module.add_class::<spec::Tls>()?;
    module.add_class::<spec::Arm>()?;
    module.add_class::<spec::Window>()?;
    module.add_class::<spec::Arrival>()?;
    module.add_class::<spec::Users>()?;
    module.add_class::<spec::Slow>()?;
    module.add_class::<spec::LoadSpec>()?;
    module.add_class::<detail::Histogram>()?;
    module.add_class::<detail::Part>()?;
    module.add_class::<detail::Pages>()?;
    module.add_class::<detail::Batches>()?;
    module.add_class::<detail::Trace>()?;
    module.add_class::<detail::Live>()?;
    module.add_class::<result::WindowResult>()?;
    module.add_class::<run::LoadRun>()?;
    module.add_function(wrap_pyfunction!(run::start, module)?)
}
