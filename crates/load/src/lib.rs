//! The load engine: HTTP/1.1 over TCP, TLS or Unix sockets, closed loop, by a schedule or by
//! visits, in windows that alternate between servers without reconnecting.
//!
//! ```no_run
//! use std::time::Duration;
//! use httpdyno_load::{Arm, Arrival, LoadSpec, Request, Run, Users, Window};
//!
//! let arm = Arm::new("127.0.0.1:8080", vec![Request::get("127.0.0.1:8080", "/")]);
//! let spec = LoadSpec {
//!     arms: vec![arm],
//!     windows: vec![Window { arm: 0, lead_in_s: 0.1, measure_s: 1.0, n_requests: 0, credit: None }],
//!     connections: 8,
//!     arrival: Arrival::constant(500.0),
//!     users: Users::PLAIN,
//!     requests_per_connection: 0,
//!     connections_per_s: 0.0,
//!     slow: None,
//!     timeout_s: 10.0,
//!     drain_s: 1.0,
//!     threads: 1,
//!     cpus: Vec::new(),
//!     seed: 0,
//!     spin_s: 0.0,
//!     n_traced: 0,
//! };
//! let run = Run::start(&spec, None).unwrap();
//! assert!(run.wait(Duration::from_secs(10)).unwrap());
//! let window = &run.results()[0];
//! assert_eq!(window.offered, window.completed + window.errors.total());
//! ```
//!
//! How it is built: a [`Run`] has one conductor and some workers, each an OS thread with its own
//! epoll loop, connections and counts. They meet only at the edges of windows. Requests are
//! rendered before the run, but for what varies; a worker allocates nothing for a request. Every offered request ends
//! in exactly one way: completed, or one [`ErrorKind`].

mod arrival;
mod batches;
mod cells;
mod check;
mod connecting;
mod connection;
mod cookie_date;
mod counts;
mod credited;
mod cycles;
mod effort;
mod endpoint;
mod error;
mod evidence;
mod exchange;
mod head;
mod histogram;
mod host;
mod in_flight;
mod jar;
mod leftover;
mod link;
mod links;
mod live;
mod message;
mod mix;
mod network;
mod outcome;
mod pace;
mod part;
mod phases;
mod quota;
mod random;
mod request;
mod result;
mod run;
mod scanner;
mod series;
mod shared;
mod spec;
mod spec_message;
mod stolen;
mod strain;
mod sys;
mod tally;
mod target;
mod template;
mod throttle;
mod tickets;
mod timers;
mod tls;
mod tls_session;
mod trace;
mod traffic;
#[cfg(test)]
mod transport_rig;
mod turn;
mod verdict;
mod visit;
mod visit_draw;
mod visits;
mod warmth;
mod watchdog;
mod window;
mod worker;

use std::ops::ControlFlow;

pub use batches::Batches;
pub use counts::Visits;
pub use cycles::Cycles;
pub use error::Error;
pub use evidence::Evidence;
pub use histogram::Distribution;
pub use live::Live;
pub use outcome::{ErrorCounts, ErrorKind};
pub use part::Part;
pub use phases::Phases;
pub use result::{PageCounts, Report, WindowResult};
pub use run::Run;
pub use series::Series;
pub use spec::{
    Arm, Arrival, Credit, Length, LoadSpec, Request, Slow, Stage, Step, Think, Tls, TlsVersions,
    Users, Window,
};
pub use trace::Trace;
pub use verdict::LimitedBy;

/// Called at the edges of windows: the window's index, and whether it opens. Runs on the
/// conductor's thread; breaking stops the run.
pub type Observer = Box<dyn FnMut(usize, bool) -> ControlFlow<()> + Send>;
