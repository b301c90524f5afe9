//! A thread of the engine: its loop, and the life of a window on it.
//!
//! The loop waits for sockets and due times, and between windows for the conductor's next
//! command, always in the same epoll wait: so the sockets of arms that stand by are watched too.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::SystemTime;

use super::connection::{Connection, Farewell, Phase};
use super::links::{Links, List};
use super::loopback::Warmth;
use super::progress::{Progress, Share};
use super::shared::Shared;
use super::timers::Timer;
use super::turn::Turn;
use super::visit::{User, Visit};
use crate::count::{Capacity, EffortMeter, ErrorKind, Tally};
use crate::error::Error;
use crate::input::{Arrival, Length, LoadSpec, Think, places};
use crate::request::{Rendered, Target};
use crate::schedule::{Model, Plan, random};
use crate::sys::{self, Epoll, Waker};

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
    /// Users in a closed loop, else connections to each arm.
    pub(crate) n_connections: usize,
    pub(crate) timeout_ns: u64,
    pub(crate) spin_ns: u64,
}

/// An arm as a thread sees it.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) target: Target,
    /// Connections that could send at once, those of usual and of slow users. The one that was
    /// used last is taken first: that keeps as few connections busy as the load needs, and leaves
    /// the others for the server to close, as a client's pool does.
    open: [List; 2],
    /// Places without a socket.
    closed: List,
    /// Of an open loop: the first `n_returning` are those who may return, then comes one for each
    /// connection.
    pub(crate) users: Vec<User>,
    pub(crate) n_returning: usize,
    pub(crate) first_connection: u32,
    /// Where the last window left the steps; none was there yet: `None`.
    mix_from: Option<u64>,
}

pub(crate) struct Worker {
    pub(crate) setup: Setup,
    pub(crate) spec: Arc<LoadSpec>,
    /// Users have no memory and visits one step: nothing is drawn for them, and none is counted.
    pub(crate) is_plain: bool,
    pub(crate) shared: Arc<Shared>,
    waker: Arc<Waker>,
    mailbox: Receiver<Command>,
    pub(crate) epoll: Epoll,
    pub(crate) pools: Vec<Pool>,
    pub(crate) connections: Vec<Connection>,
    /// What the connection of the same index is used for, if it is the first one of a visit.
    pub(crate) visits: Vec<Visit>,
    pub(crate) links: Links,
    /// Connections with a request, in the order in which their patience ends: all requests have
    /// the same patience and are taken up nearly in the order of their due times, so no heap is
    /// needed.
    pub(crate) in_flight: List,
    pub(crate) timers: BinaryHeap<Reverse<Timer>>,
    pub(crate) buffer: Box<[u8]>,
    pub(crate) tally: Box<Tally>,
    pub(crate) progress: Progress,
    pub(crate) now_ns: u64,
    /// The calendar's time when the window began, for cookies that expire.
    pub(crate) unix_now_s: u64,
    /// The number of the next new user.
    pub(crate) next_user: u64,
    pub(crate) surplus: u64,
    /// Connections whose requests ended while events are taken, and whose users go on after that.
    pub(crate) held_back: Vec<(u32, Result<(), ErrorKind>)>,
    pub(crate) is_holding_back: bool,
    pub(crate) turn: Turn,
    /// Where the thread polls before due times, if it could be had.
    pub(crate) warmth: Option<Warmth>,
    meter: EffortMeter,
}

/// Tokens are a connection's life and number; this is none.
pub(crate) const WAKER_TOKEN: u64 = u64::MAX;

/// A read's room: most answers take one read, and it fits the second-level cache.
const READ_BYTES: usize = 64 * 1024;

impl Worker {
    pub(crate) fn new(
        setup: Setup,
        spec: Arc<LoadSpec>,
        targets: &[Target],
        shared: Arc<Shared>,
        waker: Arc<Waker>,
        mailbox: Receiver<Command>,
    ) -> Result<Self, Error> {
        let mut connections = Vec::new();
        let mut pools = Vec::with_capacity(targets.len());
        let n_threads = setup.n_threads;
        let n_returning = spec.users.n_returning.div_ceil(n_threads);
        let n_users = match spec.arrival {
            Arrival::Closed => setup.n_connections,
            _ => n_returning + setup.n_connections,
        };
        for (target, arm) in targets.iter().zip(&spec.arms) {
            // In a closed loop each user may need all the connections of a page.
            let n_places = setup.n_connections * (places(&spec, arm) / spec.connections).max(1);
            connections.extend((0..n_places).map(|_| Connection::new(pools.len())));
            let number = |user: usize| (user * n_threads + setup.thread) as u64;
            let user = |index| User { number: number(index), ..User::default() };
            let mut target = target.clone();
            target.tls = target.tls.map(|tls| tls.for_thread(n_places));
            pools.push(Pool {
                target,
                open: [List::new(); 2],
                closed: List::new(),
                users: (0..n_users).map(user).collect(),
                n_returning,
                first_connection: (connections.len() - n_places) as u32,
                mix_from: None,
            });
        }
        let epoll = Epoll::new().map_err(Error::system("epoll_create1"))?;
        epoll.add_waker(&waker, WAKER_TOKEN).map_err(Error::system("epoll_ctl"))?;
        let warmth = (setup.spin_ns > 0).then(|| Warmth::new().ok()).flatten();
        let turn = Turn::new(connections.len());
        let mut worker = Self {
            is_plain: is_plain(&spec, targets),
            shared,
            waker,
            mailbox,
            epoll,
            visits: vec![Visit::default(); connections.len()],
            links: Links::new(connections.len()),
            timers: BinaryHeap::with_capacity(connections.len()),
            connections,
            pools,
            in_flight: List::new(),
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
            tally: Tally::new(&Capacity::default()),
            progress: Progress::none(),
            now_ns: 0,
            unix_now_s: 0,
            next_user: (n_users * n_threads + setup.thread) as u64,
            surplus: 0,
            held_back: Vec::with_capacity(sys::MAX_EVENTS),
            is_holding_back: false,
            turn,
            warmth,
            meter: EffortMeter::default(),
            setup,
            spec,
        };
        for member in 0..worker.connections.len() {
            worker.park(member as u32);
        }
        Ok(worker)
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
        let Setup { thread, n_threads, .. } = self.setup;
        let Pool { target, mix_from, .. } = &self.pools[plan.arm];
        let mix_from = mix_from.unwrap_or_else(|| Progress::mix_start(plan.model, thread as u64));
        let (thread, n_threads) = (thread as u64, n_threads as u64);
        let share = Share { thread, n_threads, period: target.steps.len() as u64 };
        self.progress = Progress::new(plan, &self.spec.arrival, self.spec.seed, share, mix_from);
        let unix_now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        self.unix_now_s = unix_now.map_or(0, |since| since.as_secs());
        let opened = self.meter.read();
        let (mut measured_from, mut sending_until) = (None, None);
        loop {
            self.tick();
            if let Some(stopped_ns) = self.shared.stopped_ns() {
                self.abandon(stopped_ns);
                break;
            }
            if measured_from.is_none() && self.now_ns >= plan.measure_start_ns {
                measured_from = Some(self.meter.read());
            }
            self.expire();
            self.fire_timers();
            if self.progress.is_sending {
                self.send();
                self.end_if_all_are_claimed();
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
            if self.is_polling()
                && let Some(warmth) = &mut self.warmth
            {
                warmth.keep(self.now_ns, self.progress.next_due_ns);
            }
            let n_events = self.epoll.wait(timeout).map_err(Error::system("epoll_pwait2"))?;
            self.tally.turn(self.now_ns, n_events + self.turn.n_unread());
            self.take_events(n_events);
        }
        self.tick();
        let closed = self.meter.read();
        self.tally.whole = closed.since(&opened);
        // Where a number of requests ends it, all may be sent in its first instant, and that says
        // nothing of what the client lacked while the answers were on their way.
        let sending_until = sending_until.filter(|_| !plan.has_open_end()).unwrap_or(closed);
        self.tally.sending = sending_until.since(&measured_from.unwrap_or(opened));
        self.tally.surplus = std::mem::take(&mut self.surplus);
        self.tally.closed_ns = self.now_ns.max(plan.opened_ns);
        let plan = self.progress.plan;
        let measure_end_ns =
            if plan.has_open_end() { self.tally.last_end_ns } else { plan.measure_end_ns };
        self.tally.measure_end_ns = measure_end_ns.max(plan.opened_ns);
        if plan.is_credited() {
            self.close_cycles();
        }
        self.pools[plan.arm].mix_from = Some(self.progress.mix_until());
        self.progress = Progress::none();
        self.timers.clear();
        self.turn.clear();
        debug_assert!(self.connections.iter().all(|each| each.is_parked), "all came home");
        Ok(())
    }

    pub(crate) fn tick(&mut self) {
        self.now_ns = sys::monotonic_ns();
    }

    /// Take what the last wait brought.
    ///
    /// In a closed loop all answers are read before any user goes on: reading takes a fifth of
    /// the time of writing, so an answer that is there already is stamped that much sooner, and to
    /// do the same thing many times is cheaper than to alternate. A schedule does not wait.
    fn take_events(&mut self, n_events: usize) {
        let n_unread = self.turn.begin();
        let is_closed_loop = self.progress.plan.model == Model::Closed;
        self.is_holding_back = n_events + n_unread > 1 && is_closed_loop;
        for index in 0..n_events {
            let event = self.epoll.event(index);
            if event.token == WAKER_TOKEN {
                self.waker.clear();
                continue;
            }
            self.on_event(event);
            self.send_if_due();
        }
        for index in 0..n_unread {
            self.read_on(self.turn.earlier(index));
            self.send_if_due();
        }
        self.turn.end();
        self.is_holding_back = false;
        for index in 0..self.held_back.len() {
            let (member, outcome) = self.held_back[index];
            self.tick();
            self.go_on(member, outcome);
        }
        self.held_back.clear();
    }

    #[inline]
    fn send_if_due(&mut self) {
        if self.progress.next_due_ns <= self.now_ns && self.progress.is_sending {
            self.send_due();
        }
    }

    /// Take a connection that is free out of its list: open if there is one, and of a line as
    /// slow as the user's.
    pub(crate) fn idle_connection(&mut self, arm: usize, is_slow: bool) -> Option<u32> {
        let Pool { open, closed, .. } = &mut self.pools[arm];
        let [same, other] = if is_slow { [1, 0] } else { [0, 1] };
        let free = self.links.pop_back(&mut open[same]).or_else(|| self.links.pop_back(closed));
        let member = free.or_else(|| {
            let member = self.links.pop_back(&mut open[other])?;
            self.connections[member as usize].close(Farewell::Abrupt);
            Some(member)
        })?;
        self.connections[member as usize].is_parked = false;
        Some(member)
    }

    /// Put a connection without a request into the list that it belongs to.
    pub(crate) fn park(&mut self, member: u32) {
        let connection = &mut self.connections[member as usize];
        debug_assert!(!connection.is_parked);
        connection.is_parked = true;
        let pool = &mut self.pools[connection.arm];
        self.links.push_back(pool.list_of(connection), member);
    }

    /// Take a connection out of its list.
    pub(crate) fn unpark(&mut self, member: u32) {
        let connection = &mut self.connections[member as usize];
        connection.is_parked = false;
        let pool = &mut self.pools[connection.arm];
        self.links.remove(pool.list_of(connection), member);
    }

    /// Random bits of a stream for the thing of this number.
    pub(crate) fn draw(&self, stream: u64, number: u64) -> u64 {
        random::hash(self.spec.seed, stream, number)
    }

    /// The number over all threads of a thread's user.
    pub(crate) fn global_user(&self, user: u64) -> u64 {
        user * self.setup.n_threads as u64 + self.setup.thread as u64
    }
}

impl Pool {
    /// Where a connection without a request belongs.
    fn list_of(&mut self, connection: &Connection) -> &mut List {
        match connection.phase {
            Phase::Idle => &mut self.open[usize::from(connection.is_slow)],
            _ => &mut self.closed,
        }
    }
}

/// Nothing has to be drawn or counted for users.
fn is_plain(spec: &LoadSpec, targets: &[Target]) -> bool {
    let users = &spec.users;
    !users.has_cookies
        && users.new_ratio == 0.0
        && users.visit == Length::Fixed(1)
        && users.think == Think::None
        && !matches!(spec.arrival, Arrival::Sessions { .. })
        && targets.iter().flat_map(|target| &*target.requests).all(Rendered::is_fixed)
}
