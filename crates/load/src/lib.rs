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
//! rendered before the run, but for what varies; a worker allocates nothing for a request. Every
//! offered request ends in exactly one way: completed, or one [`ErrorKind`].
//!
//! Each folder is a room, and uses only those beside it in this table; so no two of them use each
//! other (`tests/engine/rooms.rs` reads the table and looks).
//!
//! | room | what it knows | uses |
//! | --- | --- | --- |
//! | `error` | what can go wrong before or instead of a measurement | |
//! | `sys` | system calls; all that is unsafe | |
//! | `input` | what a run is asked to do, and the refusal of what makes no sense | `error` `sys` |
//! | `schedule` | windows, when what is due, and all that is drawn at random | `input` |
//! | `wire` | sockets: TCP or Unix, with or without TLS | `error` `input` `sys` |
//! | `http` | answers: where they end, their heads, their cookies | |
//! | `request` | requests, rendered as far as they can be before the run | `error` `http` `input` `schedule` `sys` `wire` |
//! | `count` | what became of requests | `schedule` `sys` |
//! | `judge` | who was the limit, and what the host did meanwhile | `count` `schedule` `sys` |
//! | `drive` | a thread's loop: who sends when over which connection | `count` `error` `http` `input` `request` `schedule` `sys` `wire` |
//! | `result` | a window as it is given out | `count` `judge` `schedule` |
//! | `run` | threads, and the conductor that leads them from window to window | `count` `drive` `error` `input` `judge` `request` `result` `schedule` `sys` |

mod count;
mod drive;
mod error;
mod http;
mod input;
mod judge;
mod request;
mod result;
mod run;
mod schedule;
mod sys;
mod wire;

pub use count::{
    Batches, Cycles, Distribution, ErrorCounts, ErrorKind, Live, PageCounts, Part, Phases, Reason,
    Reasons, Series, SocketCounts, Trace, Visits,
};
pub use error::Error;
pub use input::{
    Arm, Arrival, Credit, Length, LoadSpec, Order, Request, Slow, Stage, Step, Think, Tls,
    TlsVersions, Users, Window, count_expected,
};
pub use judge::{Evidence, LimitedBy, remember_idle_host};
pub use result::{Report, WindowResult};
pub use run::{Observer, Run};
