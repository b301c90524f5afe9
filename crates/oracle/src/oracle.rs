//! The handle on a running server.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::log::{Log, Recorder, Stats};
use crate::server::Server;
use crate::service::Service;
use crate::sys::{self, Waker};

/// How the server behaves where a path says nothing of it.
#[derive(Debug, Clone)]
pub struct OracleConfig {
    /// Where to listen; loopback only. Port 0 takes a free one.
    pub listen: SocketAddr,
    /// The service time of each request.
    pub service: Service,
    /// The length of a body.
    pub body_bytes: usize,
    /// How many requests are served at once; the others queue. `None`: all of them.
    pub workers: Option<NonZeroUsize>,
    /// Gives the service times, drawn in order of arrival.
    pub seed: u64,
    /// How many arrivals the log holds.
    pub log_capacity: usize,
    /// How many connections may wait to be accepted; `None`: as `std` sets it.
    pub backlog: Option<i32>,
    /// Whether connections are accepted at all.
    pub accepts: bool,
    /// After how many requests a connection ends.
    pub close_after: Option<CloseAfter>,
    /// After how much idleness a connection ends.
    pub idle_close: Option<Duration>,
    /// Stalls that come by themselves.
    pub stall_every: Option<PeriodicStall>,
    /// Paths that stand for others: `("/cart", "/fixed/20ms")`.
    pub routes: Vec<(String, String)>,
    /// The processor to run on.
    pub cpu: Option<usize>,
}

/// When a connection that is kept alive ends nevertheless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CloseAfter {
    /// With the answer to this many requests.
    pub requests: u32,
    /// Whether the last answer says `Connection: close`.
    pub is_announced: bool,
}

/// A stall at each multiple of a period after the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeriodicStall {
    /// From one stall's beginning to the next one's.
    pub period: Duration,
    /// How long each lasts.
    pub duration: Duration,
}

impl Default for OracleConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            service: Service::IMMEDIATE,
            body_bytes: 12,
            workers: None,
            seed: 1,
            log_capacity: 1 << 17,
            backlog: None,
            accepts: true,
            close_after: None,
            idle_close: None,
            stall_every: None,
            routes: Vec::new(),
            cpu: None,
        }
    }
}

/// What the handle and the server's thread share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) recorder: Recorder,
    pub(crate) waker: Waker,
    pub(crate) is_stopped: AtomicBool,
    pub(crate) stall_until_ns: AtomicU64,
    pub(crate) hold_until_ns: AtomicU64,
    pub(crate) accept_stall_until_ns: AtomicU64,
}

/// A running server; it ends when this is dropped.
#[derive(Debug)]
pub struct Oracle {
    addr: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Oracle {
    /// Start a server on a thread of its own.
    ///
    /// # Errors
    /// When the address is not on loopback or cannot be bound, when a route makes no sense, or
    /// when the kernel refuses a descriptor or the processor.
    pub fn start(config: OracleConfig) -> io::Result<Self> {
        if !config.listen.ip().is_loopback() {
            let reason = format!("{} is not a loopback address", config.listen);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        let listener = TcpListener::bind(config.listen)?;
        listener.set_nonblocking(true)?;
        if let Some(backlog) = config.backlog {
            sys::set_backlog(&listener, backlog)?;
        }
        let addr = listener.local_addr()?;
        let shared = Arc::new(Shared {
            recorder: Recorder::new(config.log_capacity),
            waker: Waker::new()?,
            is_stopped: AtomicBool::new(false),
            stall_until_ns: AtomicU64::new(0),
            hold_until_ns: AtomicU64::new(0),
            accept_stall_until_ns: AtomicU64::new(if config.accepts { 0 } else { u64::MAX }),
        });
        let server_shared = Arc::clone(&shared);
        let (ready, is_ready) = std::sync::mpsc::channel();
        // The server is built on its own thread: it is full of `Rc`, and pins itself.
        let thread = std::thread::Builder::new().name("oracle".to_owned()).spawn(move || {
            let server = match Server::new(config, listener, server_shared) {
                Ok(server) => server,
                Err(error) => {
                    let _ = ready.send(Err(error));
                    return Ok(());
                }
            };
            let _ = ready.send(Ok(()));
            server.run()
        })?;
        is_ready.recv().map_err(io::Error::other)??;
        Ok(Self { addr, shared, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The arrivals so far.
    pub fn log(&self) -> Log {
        self.shared.recorder.log(0)
    }

    /// The arrivals at or after this instant of [`monotonic_ns`](crate::monotonic_ns).
    pub fn log_since(&self, since_ns: u64) -> Log {
        self.shared.recorder.log(since_ns)
    }

    /// The counts so far.
    pub fn stats(&self) -> Stats {
        self.shared.recorder.stats()
    }

    /// Freeze the whole server from now on, as SIGSTOP would: it reads, answers and accepts
    /// nothing. What arrives meanwhile waits in the kernel and is stamped afterwards.
    pub fn stall(&self, duration: Duration) {
        Self::until(&self.shared.stall_until_ns, duration);
        self.shared.waker.wake();
    }

    /// Read and stamp requests but answer none from now on: the stall of which the log shows
    /// the true arrivals.
    pub fn hold(&self, duration: Duration) {
        Self::until(&self.shared.hold_until_ns, duration);
        self.shared.waker.wake();
    }

    /// Accept no connection from now on.
    pub fn stall_accept(&self, duration: Duration) {
        Self::until(&self.shared.accept_stall_until_ns, duration);
        self.shared.waker.wake();
    }

    fn until(instant_ns: &AtomicU64, duration: Duration) {
        let duration_ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        instant_ns.store(sys::monotonic_ns().saturating_add(duration_ns), Ordering::Release);
    }

    /// Stop, and say how it went.
    ///
    /// # Errors
    /// What ended the server before it was stopped.
    pub fn stop(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        self.shared.is_stopped.store(true, Ordering::Release);
        self.shared.waker.wake();
        let Some(thread) = self.thread.take() else { return Ok(()) };
        thread.join().map_err(|_| io::Error::other("the server's thread panicked"))?
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // Nobody is left to tell; `stop` is for those who want to know.
        let _ = self.end();
    }
}
