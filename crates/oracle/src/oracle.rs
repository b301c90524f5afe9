//! The handle on a running server.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::authority::Authority;
use crate::config::{Door, OracleConfig, Place};
use crate::link::Listener;
use crate::log::{ConnectionLog, KeptRequest, Log};
use crate::reception::Reception;
use crate::recorder::Recorder;
use crate::server::Server;
use crate::stats::{Session, Stats};
use crate::sys::{self, Waker};
use crate::tls::Tls;

/// What the handle and the server's thread share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) recorder: Recorder,
    pub(crate) waker: Waker,
    pub(crate) is_stopped: AtomicBool,
    pub(crate) stall_until_ns: AtomicU64,
    pub(crate) hold_until_ns: AtomicU64,
    pub(crate) accept_stall_until_ns: AtomicU64,
    /// Reception in the high half, for how many connections in the low.
    pub(crate) told_reception: AtomicU64,
}

/// A running server; it ends when this is dropped.
#[derive(Debug)]
pub struct Oracle {
    addr: SocketAddr,
    doors: Vec<Door>,
    authority: Option<Authority>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Oracle {
    /// Start a server on a thread of its own.
    ///
    /// # Errors
    /// When an address is not on loopback or cannot be bound, when a route makes no sense, or
    /// when the kernel refuses a descriptor, the processor, or randomness for certificates.
    pub fn start(config: OracleConfig) -> io::Result<Self> {
        let first = Listener::open(Door::plain(Place::Tcp(config.listen)), &config)?;
        let Place::Tcp(addr) = first.door.place else {
            return Err(io::Error::other("a TCP door has no address"));
        };
        let speaks_tls = config.doors.iter().any(|door| door.is_tls);
        let authority = speaks_tls.then(Authority::generate).transpose()?;
        let tls =
            authority.as_ref().map(|authority| Tls::new(config.tls, authority)).transpose()?;
        let mut listeners = vec![first];
        for door in &config.doors {
            listeners.push(Listener::open(door.clone(), &config)?);
        }
        let doors = listeners.iter().map(|listener| listener.door.clone()).collect();
        let shared = Arc::new(Shared {
            recorder: Recorder::new(&config),
            waker: Waker::new()?,
            is_stopped: AtomicBool::new(false),
            stall_until_ns: AtomicU64::new(0),
            hold_until_ns: AtomicU64::new(0),
            accept_stall_until_ns: AtomicU64::new(if config.accepts { 0 } else { u64::MAX }),
            told_reception: AtomicU64::new(0),
        });
        let server_shared = Arc::clone(&shared);
        let (ready, is_ready) = std::sync::mpsc::channel();
        // The server is built on its own thread: it is full of `Rc`, and pins itself.
        let thread = std::thread::Builder::new().name("oracle".to_owned()).spawn(move || {
            let server = match Server::new(config, listeners, tls, server_shared) {
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
        Ok(Self { addr, doors, authority, shared, thread: Some(thread) })
    }

    /// Where it listens without TLS: the first of its doors.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// All doors: that of [`OracleConfig::listen`], then [`OracleConfig::doors`]; each with the
    /// port that it has got.
    pub fn doors(&self) -> &[Door] {
        &self.doors
    }

    /// The address of the first door with TLS that has one.
    pub fn tls_addr(&self) -> Option<SocketAddr> {
        self.doors.iter().filter(|door| door.is_tls).find_map(|door| match door.place {
            Place::Tcp(addr) => Some(addr),
            Place::Unix(_) => None,
        })
    }

    /// Who has signed the certificates of the doors with TLS; `None` without such a door.
    ///
    /// They are for `localhost`, `oracle.test`, `127.0.0.1` and `::1`.
    pub fn authority(&self) -> Option<&Authority> {
        self.authority.as_ref()
    }

    /// The arrivals so far.
    pub fn log(&self) -> Log {
        self.shared.recorder.log(0)
    }

    /// The arrivals at or after this instant of [`monotonic_ns`](crate::monotonic_ns).
    pub fn log_since(&self, since_ns: u64) -> Log {
        self.shared.recorder.log(since_ns)
    }

    /// The connections so far.
    pub fn connections(&self) -> ConnectionLog {
        self.shared.recorder.connections()
    }

    /// The sessions that `/session` has begun, in order.
    pub fn sessions(&self) -> Vec<Session> {
        self.shared.recorder.sessions()
    }

    /// The first requests, as many as [`OracleConfig::keep_requests`] says.
    pub fn kept_requests(&self) -> Vec<KeptRequest> {
        self.shared.recorder.kept()
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

    /// Receive the next connections so, whatever their door: so many, or all from now on.
    /// [`Reception::Usual`] leaves it to the doors again.
    pub fn receive(&self, reception: Reception, count: Option<u32>) {
        self.shared.tell_reception(reception, count);
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
