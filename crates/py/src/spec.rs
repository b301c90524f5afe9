//! What to run, as Python gives it: frozen, keyword-only, every field required.

use httpdyno_load as load;
use pyo3::prelude::*;

use crate::errors::{engine_error, out_of_range};

/// One request, and what a right answer to it looks like.
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

/// How to speak TLS. Certificates and keys are PEM.
#[pyclass(frozen, module = "httpdyno._native")]
pub(crate) struct Tls(load::Tls);

#[pymethods]
impl Tls {
    #[new]
    #[pyo3(signature = (*, server_name, roots_pem, identity_pem, is_verified, versions, resumes))]
    fn new(
        server_name: String,
        roots_pem: Option<Vec<u8>>,
        identity_pem: Option<(Vec<u8>, Vec<u8>)>,
        is_verified: bool,
        versions: &str,
        resumes: bool,
    ) -> PyResult<Self> {
        let versions = match versions {
            "any" => load::TlsVersions::Any,
            "1.2" => load::TlsVersions::Only12,
            "1.3" => load::TlsVersions::Only13,
            other => return Err(out_of_range("versions", other, "any, 1.2 or 1.3")),
        };
        Ok(Self(load::Tls { server_name, roots_pem, identity_pem, is_verified, versions, resumes }))
    }

    /// Refuse what cannot work, without connecting to anything.
    fn check(&self) -> PyResult<()> {
        self.0.check().map_err(|error| engine_error(&error))
    }
}

/// A server to load: `address` is `ip:port`, `[ip]:port` or `unix:/path`.
#[pyclass(frozen, module = "httpdyno._native")]
pub(crate) struct Arm(load::Arm);

#[pymethods]
impl Arm {
    #[new]
    #[pyo3(signature = (*, address, tls, requests, steps, connections_per_page))]
    fn new(
        address: String,
        tls: Option<Py<Tls>>,
        requests: Vec<Py<Request>>,
        steps: Vec<(f64, i128, Vec<i128>)>,
        connections_per_page: i128,
    ) -> PyResult<Self> {
        let step = |(weight, request, objects): (f64, i128, Vec<i128>)| {
            let objects = objects.into_iter().map(|object| count("steps", object));
            Ok(load::Step {
                weight,
                request: count("steps", request)?,
                objects: objects.collect::<PyResult<_>>()?,
            })
        };
        Ok(Self(load::Arm {
            address,
            tls: tls.map(|tls| tls.get().0.clone()),
            requests: requests.into_iter().map(|request| request.get().0.clone()).collect(),
            steps: steps.into_iter().map(step).collect::<PyResult<_>>()?,
            connections_per_page: count("connections_per_page", connections_per_page)?,
        }))
    }
}

/// A stretch of load on one arm.
#[pyclass(frozen, module = "httpdyno._native")]
pub(crate) struct Window(load::Window);

#[pymethods]
impl Window {
    #[new]
    #[pyo3(signature = (*, arm, lead_in_s, measure_s, n_requests, credit))]
    fn new(
        arm: i128,
        lead_in_s: f64,
        measure_s: f64,
        n_requests: i128,
        credit: Option<(f64, f64)>,
    ) -> PyResult<Self> {
        let arm = count("arm", arm)?;
        let n_requests = count("n_requests", n_requests)?;
        let credit = credit.map(|(spread_s, tail_s)| load::Credit { spread_s, tail_s });
        Ok(Self(load::Window { arm, lead_in_s, measure_s, n_requests, credit }))
    }
}

/// When requests are sent.
#[pyclass(frozen, module = "httpdyno._native")]
pub(crate) struct Arrival(load::Arrival);

/// Seconds, the rate at the beginning, the rate at the end.
type Stage = (f64, f64, f64);

#[pymethods]
impl Arrival {
    #[staticmethod]
    fn closed() -> Self {
        Self(load::Arrival::Closed)
    }

    #[staticmethod]
    #[pyo3(signature = (*, stages, is_poisson))]
    fn open(stages: Vec<Stage>, is_poisson: bool) -> Self {
        Self(load::Arrival::Open { stages: stages_of(stages), is_poisson })
    }

    #[staticmethod]
    #[pyo3(signature = (*, stages))]
    fn sessions(stages: Vec<Stage>) -> Self {
        Self(load::Arrival::Sessions { stages: stages_of(stages) })
    }

    #[staticmethod]
    #[pyo3(signature = (*, offsets_ns, steps))]
    fn replay(offsets_ns: Vec<u64>, steps: Vec<u32>) -> Self {
        Self(load::Arrival::Replay { offsets_ns: offsets_ns.into(), steps: steps.into() })
    }
}

fn stages_of(stages: Vec<Stage>) -> Vec<load::Stage> {
    let stage =
        |(duration_s, from_per_s, to_per_s)| load::Stage { duration_s, from_per_s, to_per_s };
    stages.into_iter().map(stage).collect()
}

/// The users behind the requests.
#[pyclass(frozen, module = "httpdyno._native")]
pub(crate) struct Users(load::Users);

#[pymethods]
impl Users {
    #[new]
    #[pyo3(signature = (
        *, has_cookies, new_ratio, n_returning, visit_steps, is_visit_geometric, think_s,
        is_think_exponential
    ))]
    fn new(
        has_cookies: bool,
        new_ratio: f64,
        n_returning: i128,
        visit_steps: f64,
        is_visit_geometric: bool,
        think_s: f64,
        is_think_exponential: bool,
    ) -> PyResult<Self> {
        let visit = if is_visit_geometric {
            load::Length::Geometric { mean: visit_steps }
        } else if visit_steps.fract() == 0.0 {
            load::Length::Fixed(count("visit_steps", visit_steps as i128)?)
        } else {
            return Err(out_of_range("visit_steps", visit_steps, "a whole number of steps"));
        };
        let think = if think_s == 0.0 {
            load::Think::None
        } else if is_think_exponential {
            load::Think::Exponential { mean_s: think_s }
        } else {
            load::Think::Fixed { s: think_s }
        };
        let n_returning = count("n_returning", n_returning)?;
        Ok(Self(load::Users { has_cookies, new_ratio, n_returning, visit, think }))
    }
}

/// Users whose line is slow, both ways.
#[pyclass(frozen, module = "httpdyno._native")]
pub(crate) struct Slow(load::Slow);

#[pymethods]
impl Slow {
    #[new]
    #[pyo3(signature = (*, ratio, bytes_per_s, receive_buffer_bytes))]
    fn new(ratio: f64, bytes_per_s: f64, receive_buffer_bytes: i128) -> PyResult<Self> {
        let receive_buffer_bytes = count("receive_buffer_bytes", receive_buffer_bytes)?;
        Ok(Self(load::Slow { ratio, bytes_per_s, receive_buffer_bytes }))
    }
}

/// All of a run.
#[pyclass(frozen, module = "httpdyno._native")]
pub(crate) struct LoadSpec(pub(crate) load::LoadSpec);

#[pymethods]
impl LoadSpec {
    #[new]
    #[pyo3(signature = (
        *, arms, windows, connections, arrival, users, requests_per_connection, connections_per_s,
        slow, timeout_s, drain_s, threads, cpus, seed, spin_s, n_traced
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword-only in Python, one per field")]
    fn new(
        arms: Vec<Py<Arm>>,
        windows: Vec<Py<Window>>,
        connections: i128,
        arrival: &Arrival,
        users: &Users,
        requests_per_connection: i128,
        connections_per_s: f64,
        slow: Option<Py<Slow>>,
        timeout_s: f64,
        drain_s: f64,
        threads: i128,
        cpus: Vec<i128>,
        seed: i128,
        spin_s: f64,
        n_traced: i128,
    ) -> PyResult<Self> {
        Ok(Self(load::LoadSpec {
            arms: arms.into_iter().map(|arm| arm.get().0.clone()).collect(),
            windows: windows.into_iter().map(|window| window.get().0).collect(),
            connections: count("connections", connections)?,
            arrival: arrival.0.clone(),
            users: users.0,
            requests_per_connection: count("requests_per_connection", requests_per_connection)?,
            connections_per_s,
            slow: slow.map(|slow| slow.get().0),
            timeout_s,
            drain_s,
            threads: count("threads", threads)?,
            cpus: cpus.into_iter().map(|cpu| count("cpus", cpu)).collect::<PyResult<_>>()?,
            seed: count("seed", seed)?,
            spin_s,
            n_traced: count("n_traced", n_traced)?,
        }))
    }

    /// A number for the provenance: the same for the same arrivals, seed and mix.
    #[getter]
    fn schedule_hash(&self) -> u64 {
        self.0.schedule_hash()
    }
}

/// Turn Python's integer into the engine's.
fn count<T: TryFrom<i128>>(field: &str, value: i128) -> PyResult<T> {
    T::try_from(value).map_err(|_| out_of_range(field, value, "a whole number of 0 or more"))
}
