//! An HTTP/1.1 origin whose timing is known: the truth that a load generator is held against.
//!
//! It stamps each request when its last byte was read, keeps a programmed service time, stalls
//! and misbehaves on command, and counts what it did. [`Oracle::start`] runs one on a thread of
//! its own; the program `httpdyno-oracle` runs one by itself.
//!
//! # Paths
//!
//! | path | answer |
//! | --- | --- |
//! | `/`, any other | 200, Content-Length, body of [`OracleConfig::body_bytes`] |
//! | `/fixed/20ms` `/exp/5ms` `/lognormal/5ms/0.5` `/bimodal/1ms/20ms/0.1` | the same after a service time: fixed, exponential (mean), lognormal (median, sigma), two values (the second with that probability) |
//! | `/bytes/N` | a body of N bytes |
//! | `/chunked/N/C` | N bytes in chunks of C |
//! | `/until-close/N` | N bytes that end with the connection |
//! | `/status/CODE` | 200 … 599; 204 and 304 without a body (304 with a Content-Length) |
//! | `/continue` `/early-hints` | 100 or 103, then 200 |
//! | `/http10` `/close` | an HTTP/1.0 answer, or `Connection: close`; then FIN |
//! | `/drip/N/C/INTERVAL` | N bytes, C of them each interval |
//! | `/fault/NAME` | a misbehaviour, see [`Behaviour`] |
//!
//! Any of these takes `?service=exp:5ms` and `?length=N` (bytes of the body); other parameters
//! are ignored. A known first word with a senseless rest is answered 400. `HEAD` gets the header
//! alone.
//!
//! | path | does |
//! | --- | --- |
//! | `/oracle/log[?since_ns=N]` `/oracle/stats` | the [`Log`], the [`Stats`] as JSON |
//! | `/oracle/stall/TIME` | see [`Oracle::stall`] |
//! | `/oracle/hold/TIME` | see [`Oracle::hold`] |
//! | `/oracle/stall-accept/TIME` | see [`Oracle::stall_accept`] |
//!
//! Requests to `/oracle/` are neither logged nor delayed by a service time.

mod answer;
mod connection;
mod exchange;
mod log;
mod oracle;
mod request;
mod route;
mod server;
mod service;
mod sys;

pub use answer::body;
pub use log::{Arrival, Log, OTHER_PATH, Stats};
pub use oracle::{CloseAfter, Oracle, OracleConfig, PeriodicStall};
pub use route::Behaviour;
pub use service::Service;
pub use sys::{monotonic_ns, stop_signals, wait_readable};

/// What was asked for in a way that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// Not a service time.
    Service(String),
    /// Not a path of the grammar above.
    Path(String),
    /// Not an argument of the program.
    Argument(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Service(text) => write!(
                f,
                "service time `{text}` is none of fixed:TIME, exp:MEAN, lognormal:MEDIAN:SIGMA, \
                 bimodal:TIME:TIME:PROBABILITY"
            ),
            Self::Path(text) => write!(f, "path `{text}` does not follow the oracle's grammar"),
            Self::Argument(text) => write!(f, "{text}"),
        }
    }
}

impl std::error::Error for Error {}
