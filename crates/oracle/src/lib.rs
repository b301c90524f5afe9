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
//! | `/echo` `/echo/body` | the request, header and body, as the body; or its body alone |
//! | `/session` | `Set-Cookie: sid=…; Path=/` for who brings no session or an unknown one |
//! | `/cookies/set/NAME/VALUE…` `/cookies/delete/NAME…` | a `Set-Cookie` for each; `?path=/x` and `?max-age=5` add to them |
//! | `/fault/NAME` | a misbehaviour, see below |
//!
//! Any of these takes `?service=exp:5ms`, `?length=N` (bytes of the body) and `?interval=5ms` (of
//! what drips); other parameters are ignored. A known first word with a senseless rest is answered
//! 400. `HEAD` gets the header alone.
//!
//! | path | does |
//! | --- | --- |
//! | `/oracle/log[?since_ns=N]` `/oracle/stats` | the [`Log`], the [`Stats`] as JSON |
//! | `/oracle/connections` | the [`ConnectionLog`] |
//! | `/oracle/sessions` `/oracle/requests` | each [`Session`]; each [`KeptRequest`] |
//! | `/oracle/stall/TIME` | see [`Oracle::stall`] |
//! | `/oracle/hold/TIME` | see [`Oracle::hold`] |
//! | `/oracle/stall-accept/TIME` | see [`Oracle::stall_accept`] |
//! | `/oracle/receive/NAME[/COUNT]` | see [`Oracle::receive`] |
//!
//! Requests to `/oracle/` are neither logged nor delayed by a service time.
//!
//! # Faults
//!
//! Each behaves as [`Behaviour`] says of it.
//!
//! | `/fault/…` | what is wrong |
//! | --- | --- |
//! | `reset-before` `reset-in-headers` `reset-in-body` `reset-after` `reset-in-request` | RST at each stage |
//! | `fin-before` `fin-in-headers` `short-body` `unended-chunks` | FIN too early |
//! | `cut-in-body` `cut-until-close` | FIN without the `close_notify` of TLS |
//! | `silent-close` `silent-linger` `extra-bytes` | the connection after a whole answer |
//! | `never` `hang-in-headers` `hang-in-body` `drip-headers` | time |
//! | `endless-headers` `interim-flood` `endless-body` `header-flood` | amount |
//! | `garbage` `http2` `no-status` `no-colon` | the header |
//! | `long-length` `negative-length` `length-overflow` `doubled-length` `conflicting-length` `length-and-chunked` | the length |
//! | `bad-chunk` `chunk-overflow` `chunk-without-crlf` | the chunks |
//! | `early-answer` `early-413` `early-413-reset` `half-closed` | the order: an answer before the request is whole, or after the client's FIN |
//!
//! A connection can go wrong before there is a path to ask by; that is its [`Reception`]. A [`Door`]
//! may have one, and `/oracle/receive/NAME/COUNT` gives one to the next connections, whatever their
//! door.
//!
//! | `NAME` | what is wrong |
//! | --- | --- |
//! | `reset-at-accept` `fin-at-accept` `hang-at-accept` | at once |
//! | `reset-in-handshake` `fin-in-handshake` `hang-in-handshake` `tls-alert` `tls-garbage` | after the first bytes from the client, TLS or not |
//! | `tls-unknown-authority` `tls-wrong-name` `tls-expired` | the certificate, on a door with TLS |
//!
//! # Doors
//!
//! Besides [`OracleConfig::listen`] a server has any number of [`Door`]s: TCP or Unix, with TLS
//! or without, all to the same paths and the same log. An [`Authority`] of its own, made at the
//! start, has signed the certificates of those with TLS; [`TlsOptions`] says the rest.
//!
//! # What a client sees of a connection that waits
//!
//! The kernel answers a client that connects, and no program is asked: with
//! [`OracleConfig::accept_delay`] as with an accept stall the connection stands at once. The wait
//! is before the first byte, or within the handshake of TLS, where there is one; the wait of
//! [`OracleConfig::handshake_delay`] is there too.
//!
//! A wait of TCP *connecting* comes of a full accept queue alone: with [`OracleConfig::backlog`] 0
//! and an accept stall, one connection waits in the queue, and the SYN of each further one is
//! dropped. Its client sends another one after a second, then after two more, then four:
//! connecting takes 1 s, 3 s or 7 s, and nothing in between. On a Unix socket whose queue is full,
//! connecting blocks until there is room, and fails at once where it may not block.

mod answer;
mod authority;
mod behaviour;
mod config;
mod connection;
mod control;
mod cookie;
mod counters;
mod exchange;
mod fault;
mod json;
mod link;
mod log;
mod named;
mod oracle;
mod reception;
mod recorder;
mod request;
mod route;
mod server;
mod service;
mod serving;
mod session;
mod stats;
mod sys;
mod tls;
mod warmth;
mod welcome;

pub use answer::body;
pub use authority::{Authority, Identity};
pub use behaviour::Behaviour;
pub use config::{CloseAfter, Door, OracleConfig, PeriodicStall, Place, TlsOptions, TlsVersions};
pub use json::quoted;
pub use log::{
    Arrival, ConnectionLog, ConnectionRecord, KeptRequest, Log, MAX_KEPT_BODY_BYTES, OTHER_PATH,
};
pub use oracle::Oracle;
pub use reception::Reception;
pub use service::Service;
pub use stats::{Handshakes, Session, Stats};
pub use sys::{allow_descriptors, monotonic_ns, stop_signals, wait_readable};

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
