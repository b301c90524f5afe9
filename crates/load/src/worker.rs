//! A thread of the engine: its loop, and the life of a window on it.
//!
//! The loop waits for sockets and due times, and between windows for the conductor's next
//! command, always in the same epoll wait: so the sockets of arms that stand by are watched too.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use crate::Error;
use crate::connection::{Connection, Farewell, Phase};
use crate::effort::EffortMeter;
use crate::links::{Links, List};
use crate::live::LiveBoard;
use crate::outcome::ErrorKind;
use crate::request::Rendered;
use crate::sys::{self, Epoll, Waker};
use crate::tally::{Room, Tally};
use crate::window::{Plan, Progress};

/// What all threads share. Read in the loop, written at edges; only a window that is bounded by a
/// number of requests writes to it for each request.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) is_stopped: AtomicBool,
    /// Requests that were claimed in a closed-loop window with `n_requests`.
    pub(crate) claimed: AtomicU64,
    pub(crate) live: LiveBoard,
}

/// What the conductor asks of a thread.
#[derive(Debug)]
pub(crate) enum Command {
    Run(Plan, Box<Tally>),
    Quit,
}

/// What a thread is, for good.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup {
    pub(crate) thread: usize,
    pub(crate) n_threads: usize,
    pub(crate) cpu: Option<usize>,
    pub(crate) n_connections: usize,
    pub(crate) keep_alive: bool,
    pub(crate) timeout_ns: u64,
    pub(crate) spin_ns: u64,
}

/// An arm as a thread sees it.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) address: SocketAddr,
    pub(crate) requests: Arc<[Rendered]>,
    /// Connections that could send at once. The one that was used last is taken first: that
    /// keeps as few connections busy as the load needs, and leaves the others for the server to
    /// close, as a client's pool does.
    pub(crate) open: List,
    /// Places without a socket.
    pub(crate) closed: List,
    /// Where the last window left the requests; none was there yet: `None`.
    mix_from: Option<u64>,
}

pub(crate) struct Worker {
    pub(crate) setup: Setup,
    pub(crate) shared: Arc<Shared>,
    waker: Arc<Waker>,
    mailbox: Receiver<Command>,
    pub(crate) epoll: Epoll,
    pub(crate) pools: Vec<Pool>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) links: Links,
    /// Connections with a request, in the order in which their patience ends: all requests have
    /// the same patience and are taken up in the order of their due times, so no heap is needed.
    pub(crate) in_flight: List,
    /// When a connection may try again to connect (closed loop).
    pub(crate) backoff: BinaryHeap<Reverse<(u64, u32)>>,
    pub(crate) buffer: Box<[u8]>,
    pub(crate) tally: Box<Tally>,
    pub(crate) progress: Progress,
    pub(crate) now_ns: u64,
    pub(crate) surplus: u64,
    meter: EffortMeter,
}

/// Tokens are a connection's life and number; this is none.
pub(crate) const WAKER_TOKEN: u64 = u64::MAX;

/// A read's room: most answers take one read, and it fits the second-level cache.
const READ_BYTES: usize = 64 * 1024;

impl Worker {
    pub(crate) fn new(
        setup: Setup,
        arms: &[(SocketAddr, Arc<[Rendered]>)],
        shared: Arc<Shared>,
        waker: Arc<Waker>,
        mailbox: Receiver<Command>,
    ) -> Result<Self, Error> {
        let n_places = setup.n_connections * arms.len();
        let mut links = Links::new(n_places);
        let mut connections = Vec::with_capacity(n_places);
        let pool = |(arm, (address, requests)): (usize, &(SocketAddr, Arc<[Rendered]>))| {
            let mut closed = List::new();
            for _ in 0..setup.n_connections {
                links.push_back(&mut closed, connections.len() as u32);
                connections.push(Connection::new(arm));
            }
            let (requests, open) = (Arc::clone(requests), List::new());
            Pool { address: *address, requests, open, closed, mix_from: None }
        };
        let pools = arms.iter().enumerate().map(pool).collect();
        let epoll = Epoll::new().map_err(Error::system("epoll_create1"))?;
        epoll.add_waker(&waker, WAKER_TOKEN).map_err(Error::system("epoll_ctl"))?;
        Ok(Self {
            setup,
            shared,
            waker,
            mailbox,
            epoll,
            pools,
            connections,
            links,
            in_flight: List::new(),
            backoff: BinaryHeap::with_capacity(setup.n_connections),
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
            tally: Tally::new(&Room::default()),
            progress: Progress::none(),
            now_ns: 0,
            surplus: 0,
            meter: EffortMeter::default(),
        })
    }

    /// Run windows until told to quit, and report each.
    pub(crate) fn work(mut self, reports: &Sender<Result<Box<Tally>, Error>>) {
        sys::sharpen_timers();
        let mut result = self.setup.cpu.map_or(Ok(()), |cpu| {
            sys::pin_to(cpu).map_err(Error::system("sched_setaffinity for a CPU in cpus"))
        });
        self.meter = EffortMeter::of_this_thread();
        loop {
            let (plan, mut tally) = match self.next_window() {
                Ok(Some(window)) => window,
                Ok(None) => break,
                Err(error) => {
                    let _ = reports.send(Err(error)); // no one to tell: the run is over
                    break;
                }
            };
            // The conductor's empty tally comes in, the full one goes out: nothing is allocated.
            std::mem::swap(&mut self.tally, &mut tally);
            let ran = std::mem::replace(&mut result, Ok(())).and_then(|()| self.run(plan));
            std::mem::swap(&mut self.tally, &mut tally);
            if reports.send(ran.map(|()| tally)).is_err() {
                break;
            }
        }
        for connection in &mut self.connections {
            connection.close(Farewell::Orderly);
        }
    }

    /// Wait for the next window, watching the idle sockets; `None` means to quit.
    fn next_window(&mut self) -> Result<Option<(Plan, Box<Tally>)>, Error> {
        loop {
            match self.mailbox.try_recv() {
                Ok(Command::Run(plan, tally)) => return Ok(Some((plan, tally))),
                Ok(Command::Quit) | Err(TryRecvError::Disconnected) => return Ok(None),
                Err(TryRecvError::Empty) => {}
            }
            let n_events = self.epoll.wait(None).map_err(Error::system("epoll_pwait2"))?;
            self.take_events(n_events);
        }
    }

    fn run(&mut self, plan: Plan) -> Result<(), Error> {
        self.tally.reset();
        let (thread, n_threads) = (self.setup.thread as u64, self.setup.n_threads as u64);
        let Pool { requests, mix_from, .. } = &self.pools[plan.arm];
        let mix_from = mix_from.unwrap_or_else(|| Progress::mix_start(&plan, thread));
        self.progress = Progress::new(plan, thread, n_threads, requests.len() as u64, mix_from);
        let opened = self.meter.read();
        let (mut measured_from, mut sending_until) = (None, None);
        loop {
            self.tick();
            if self.shared.is_stopped.load(Ordering::Relaxed) {
                self.abandon();
                break;
            }
            if measured_from.is_none() && self.now_ns >= plan.measure_start_ns {
                measured_from = Some(self.meter.read());
            }
            self.expire();
            if self.progress.is_sending {
                self.send();
            }
            if !self.progress.is_sending {
                sending_until.get_or_insert_with(|| self.meter.read());
                if self.in_flight.is_empty() {
                    break;
                }
                if self.now_ns >= self.progress.drained_by_ns {
                    self.give_up(ErrorKind::Unfinished);
                    break;
                }
            }
            self.shared.live.publish(self.setup.thread, &plan, &mut self.tally, self.now_ns);
            let timeout = self.time_to_sleep(measured_from.is_none());
            let n_events = self.epoll.wait(timeout).map_err(Error::system("epoll_pwait2"))?;
            self.take_events(n_events);
        }
        self.tick();
        let closed = self.meter.read();
        self.tally.whole = closed.since(&opened);
        let sending_until = sending_until.unwrap_or(closed);
        self.tally.sending = sending_until.since(&measured_from.unwrap_or(opened));
        self.tally.surplus = std::mem::take(&mut self.surplus);
        self.tally.closed_ns = self.now_ns;
        let Plan { n_requests, measure_end_ns, .. } = self.progress.plan;
        self.tally.measure_end_ns =
            if n_requests == 0 { measure_end_ns } else { self.tally.last_end_ns };
        self.pools[plan.arm].mix_from = Some(self.progress.mix_until());
        self.progress = Progress::none();
        Ok(())
    }

    pub(crate) fn tick(&mut self) {
        self.now_ns = sys::monotonic_ns();
    }

    fn take_events(&mut self, n_events: usize) {
        for index in 0..n_events {
            let event = self.epoll.event(index);
            if event.token == WAKER_TOKEN {
                self.waker.clear();
                continue;
            }
            self.on_event(event);
            if self.progress.next_due_ns <= self.now_ns && self.progress.is_sending {
                self.send_due();
            }
        }
    }

    pub(crate) fn idle_connection(&mut self, arm: usize) -> Option<u32> {
        let Pool { open, closed, .. } = &mut self.pools[arm];
        self.links.pop_back(open).or_else(|| self.links.pop_back(closed))
    }

    /// Put a connection without a request into the list that it belongs to.
    pub(crate) fn park(&mut self, member: u32) {
        let connection = &self.connections[member as usize];
        let pool = &mut self.pools[connection.arm];
        let list = if connection.phase == Phase::Idle { &mut pool.open } else { &mut pool.closed };
        self.links.push_back(list, member);
    }
}
