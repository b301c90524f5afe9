//! What to run, as Python gives it: frozen, keyword-only, every field required.

use httpdyno_load as load;
use pyo3::prelude::*;

use crate::errors::out_of_range;

/// One request, rendered once to bytes, and what a right answer to it looks like.
#[pyclass(frozen, module = "httpdyno._native")]
pub(crate) struct Request(load::Request);

#[pymethods]
impl Request {
    #[new]
    #[pyo3(signature = (*, method, target, headers, body, expect_status, expect_length))]
    fn new(
        method: String,
        target: String,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
        expect_status: i128,
        expect_length: Option<i128>,
    ) -> PyResult<Self> {
        let expect_status = count("expect_status", expect_status)?;
        let expect_length =
            expect_length.map(|length| count("expect_length", length)).transpose()?;
        let request = load::Request { method, target, headers, body, expect_status, expect_length };
        Ok(Self(request))
    }
}

/// A server to load: `address` is `ip:port`; requests are sent in turn.
#[pyclass(frozen, module = "httpdyno._native")]
pub(crate) struct Arm(load::Arm);

#[pymethods]
impl Arm {
    #[new]
    #[pyo3(signature = (*, address, requests))]
    fn new(address: String, requests: Vec<Py<Request>>) -> Self {
        let requests = requests.into_iter().map(|request| request.get().0.clone()).collect();
        Self(load::Arm { address, requests })
    }
}

/// A stretch of load on one arm.
#[pyclass(frozen, module = "httpdyno._native")]
pub(crate) struct Window(load::Window);

#[pymethods]
impl Window {
    #[new]
    #[pyo3(signature = (*, arm, lead_in_s, measure_s, n_requests))]
    fn new(arm: i128, lead_in_s: f64, measure_s: f64, n_requests: i128) -> PyResult<Self> {
        let arm = count("arm", arm)?;
        let n_requests = count("n_requests", n_requests)?;
        Ok(Self(load::Window { arm, lead_in_s, measure_s, n_requests }))
    }
}

/// All of a run. `rate_per_s` 0 is closed loop; else open loop at that constant rate.
#[pyclass(frozen, module = "httpdyno._native")]
pub(crate) struct LoadSpec(pub(crate) load::LoadSpec);

#[pymethods]
impl LoadSpec {
    #[new]
    #[pyo3(signature = (
        *, arms, windows, connections, keep_alive, rate_per_s, timeout_s, drain_s, threads, cpus,
        seed, spin_s
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword-only in Python, one per field")]
    fn new(
        arms: Vec<Py<Arm>>,
        windows: Vec<Py<Window>>,
        connections: i128,
        keep_alive: bool,
        rate_per_s: f64,
        timeout_s: f64,
        drain_s: f64,
        threads: i128,
        cpus: Vec<i128>,
        seed: i128,
        spin_s: f64,
    ) -> PyResult<Self> {
        Ok(Self(load::LoadSpec {
            arms: arms.into_iter().map(|arm| arm.get().0.clone()).collect(),
            windows: windows.into_iter().map(|window| window.get().0).collect(),
            connections: count("connections", connections)?,
            keep_alive,
            rate_per_s,
            timeout_s,
            drain_s,
            threads: count("threads", threads)?,
            cpus: cpus.into_iter().map(|cpu| count("cpus", cpu)).collect::<PyResult<_>>()?,
            seed: count("seed", seed)?,
            spin_s,
        }))
    }
}

/// Turn Python's integer into the engine's.
fn count<T: TryFrom<i128>>(field: &str, value: i128) -> PyResult<T> {
    T::try_from(value).map_err(|_| out_of_range(field, value, "a whole number of 0 or more"))
}
