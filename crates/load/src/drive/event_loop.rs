//! A thread of the engine: its loop, and the life of a window on it.
//!
//! The loop waits for sockets and due times, and between windows for the conductor's next
//! command, always in the same epoll wait: so the sockets of arms that stand by are watched too.
//! What happens on connections is told to the users in one place, here.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::Duration;

use crate::count::{Capacity, EffortMeter, ErrorKind, Tally};
use crate::error::Error;
use crate::input::{LoadSpec, nanoseconds, places};
use crate::request::Target;
use crate::schedule::{Model, Plan};
use crate::sys::{self, Waker};

use super::clock::{Clock, Wake};
use super::connections::{Connections, Settings};
use super::context::Context;
use super::loopback::Loopback;
use super::platform::{EpollNet, Kernel, MonotonicTime, Platform};
use super::role::Role;
use super::shared::Shared;
use super::users::ThreadUsers;

/// What the conductor asks of a thread.
#[derive(Debug)]
pub(crate) enum Command {
    Run(Plan, Box<Tally>),
    Quit,
}

/// A thread's part of a run: its clock, its connections, its users, and the loop over them.
pub(super) struct Driver<P: Platform> {
    cx: Context<P>,
    connections: Connections<P>,
    users: ThreadUsers,
    shared: Arc<Shared>,
    waker: Arc<Waker>,
    /// Where the thread polls before due times, if it could be had.
    loopback: Option<Loopback>,
    meter: EffortMeter,
}

/// A driver on the kernel's clock and sockets, and its way to the conductor.
pub(crate) struct Worker {
    driver: Driver<Kernel>,
    cpu: Option<usize>,
    mailbox: Receiver<Command>,
}

/// Tokens are a socket's life and its connection's number; this is none.
pub(super) const WAKER_TOKEN: u64 = u64::MAX;

impl Worker {
    pub(crate) fn new(
        role: Role,
        spec: Arc<LoadSpec>,
        targets: &[Target],
        shared: Arc<Shared>,
        waker: Arc<Waker>,
        mailbox: Receiver<Command>,
    ) -> Result<Self, Error> {
        let net = EpollNet::new(&waker, WAKER_TOKEN)?;
        let cpu = role.cpu(&spec);
        let mut driver = Driver::new(role, spec, targets, (MonotonicTime, net), (shared, waker));
        driver.loopback = driver.cx.clock.polls().then(|| Loopback::new().ok()).flatten();
        Ok(Self { driver, cpu, mailbox })
    }

    /// Run windows until told to quit, and report each.
    pub(crate) fn work(mut self, reports: &Sender<Result<Box<Tally>, Error>>) {
        sys::sharpen_timers();
        let mut result = self.cpu.map_or(Ok(()), |cpu| {
            sys::pin_to(cpu).map_err(Error::system("sched_setaffinity for a CPU in cpus"))
        });
        self.driver.meter = EffortMeter::of_this_thread();
        loop {
            let (plan, mut tally) = match self.next_window() {
                Ok(Some(window)) => window,
                Ok(None) => break,
                Err(error) => {
                    let _ = reports.send(Err(error)); // no one to tell: the run is over
                    break;
                }
            };
            let ran = std::mem::replace(&mut result, Ok(()))
                .and_then(|()| self.driver.run(plan, &mut tally));
            if reports.send(ran.map(|()| tally)).is_err() {
                break;
            }
        }
        self.driver.connections.close_all();
    }

    /// Wait for the next window, watching the idle sockets; `None` means to quit.
    fn next_window(&mut self) -> Result<Option<(Plan, Box<Tally>)>, Error> {
        loop {
            match self.mailbox.try_recv() {
                Ok(Command::Run(plan, tally)) => return Ok(Some((plan, tally))),
                Ok(Command::Quit) | Err(TryRecvError::Disconnected) => return Ok(None),
                Err(TryRecvError::Empty) => {}
            }
            let n_events =
                self.driver.connections.wait(None).map_err(Error::system("epoll_pwait2"))?;
            self.driver.take_events(n_events);
        }
    }
}

impl<P: Platform> Driver<P> {
    pub(super) fn new(
        role: Role,
        spec: Arc<LoadSpec>,
        targets: &[Target],
        (time, net): (P::Time, P::Net),
        (shared, waker): (Arc<Shared>, Arc<Waker>),
    ) -> Self {
        let of_thread = |(target, arm)| {
            // In a closed loop each user may need all the connections of a page.
            let n_places = role.n_connections * (places(&spec, arm) / spec.connections).max(1);
            let mut target = Target::clone(target);
            target.tls = target.tls.map(|tls| tls.for_thread(n_places));
            (target, n_places)
        };
        let targets: Vec<_> = targets.iter().zip(&spec.arms).map(of_thread).collect();
        let n_places = targets.iter().map(|(_, n_places)| n_places).sum();
        let settings = Settings {
            has_cookies: spec.users.has_cookies,
            requests_per_connection: spec.requests_per_connection,
            timeout_ns: nanoseconds(spec.timeout_s),
            slow: spec.slow,
        };
        let spin_ns = nanoseconds(spec.spin_s);
        let numbers = ThreadUsers::first_numbers(&spec, role);
        let users = ThreadUsers::new(spec, role, Arc::clone(&shared), &targets);
        Self {
            cx: Context {
                clock: Clock::new(time, spin_ns, n_places),
                tally: Tally::new(&Capacity::default()),
            },
            connections: Connections::new(settings, net, targets, numbers),
            users,
            shared,
            waker,
            loopback: None,
            meter: EffortMeter::default(),
        }
    }

    /// Run a window, and count into `tally`.
    pub(super) fn run(&mut self, plan: Plan, tally: &mut Box<Tally>) -> Result<(), Error> {
        // The conductor's empty tally comes in, the full one goes out: nothing is allocated.
        std::mem::swap(&mut self.cx.tally, tally);
        let ran = self.run_window(plan);
        std::mem::swap(&mut self.cx.tally, tally);
        ran
    }

    fn run_window(&mut self, plan: Plan) -> Result<(), Error> {
        self.cx.tally.reset();
        self.cx.clock.open_window(self.users.open_window(plan));
        self.connections.open_window(self.users.seed());
        let opened = self.meter.read();
        let (mut measured_from, mut sending_until) = (None, None);
        loop {
            self.cx.clock.tick();
            if let Some(stopped_ns) = self.shared.stopped_ns() {
                self.abandon(stopped_ns);
                break;
            }
            if measured_from.is_none() && self.cx.clock.now_ns >= plan.measure_start_ns {
                measured_from = Some(self.meter.read());
            }
            self.expire();
            self.fire_timers();
            if self.cx.clock.progress.is_sending() {
                self.users.send(&mut self.cx, &mut self.connections);
                self.users.end_if_all_are_claimed(&mut self.cx, &mut self.connections);
            }
            if !self.cx.clock.progress.is_sending() {
                sending_until.get_or_insert_with(|| self.meter.read());
                if self.connections.is_at_rest() {
                    break;
                }
                if self.cx.clock.now_ns >= self.cx.clock.progress.drained_by_ns() {
                    self.give_up(ErrorKind::Unfinished);
                    break;
                }
            }
            let Context { clock, tally } = &mut self.cx;
            self.shared.live.publish(self.users.thread(), &plan, tally, clock.now_ns);
            let timeout = self.time_to_sleep(measured_from.is_none());
            if let Some(loopback) = &mut self.loopback
                && self.cx.clock.is_polling()
            {
                let clock = &self.cx.clock;
                loopback.note_use(clock.last_sent_ns);
                loopback.keep(clock.now_ns, clock.progress.next_due_ns());
            }
            let n_events = self.connections.wait(timeout).map_err(Error::system("epoll_pwait2"))?;
            let n_ready = n_events + self.connections.n_unread();
            self.cx.tally.turn(self.cx.clock.now_ns, n_ready);
            self.take_events(n_events);
        }
        self.cx.clock.tick();
        let closed = self.meter.read();
        let Context { clock, tally } = &mut self.cx;
        tally.whole = closed.since(&opened);
        // Where a number of requests ends it, all may be sent in its first instant, and that says
        // nothing of what the client lacked while the answers were on their way.
        let sending_until = sending_until.filter(|_| !plan.has_open_end()).unwrap_or(closed);
        tally.sending = sending_until.since(&measured_from.unwrap_or(opened));
        tally.closed_ns = clock.now_ns.max(plan.opened_ns);
        let plan = clock.progress.plan();
        let measure_end_ns = if plan.has_open_end() {
            tally.last_end_ns.max(clock.progress.closes_ns())
        } else {
            plan.measure_end_ns
        };
        tally.measure_end_ns = measure_end_ns.max(plan.opened_ns);
        tally.surplus = self.connections.close_window();
        self.users.close_window(&mut self.cx);
        self.cx.clock.close_window();
        Ok(())
    }

    /// Take what the last wait brought.
    ///
    /// In a closed loop all answers are read before any user goes on: reading takes a fifth of
    /// the time of writing, so an answer that is there already is stamped that much sooner, and to
    /// do the same thing many times is cheaper than to alternate. A schedule does not wait.
    #[inline]
    fn take_events(&mut self, n_events: usize) {
        let n_unread = self.connections.begin_turn();
        let is_closed_loop = self.cx.clock.progress.plan().model == Model::Closed;
        let is_batch = n_events + n_unread > 1 && is_closed_loop;
        for index in 0..n_events {
            let event = self.connections.event(index);
            if event.token == WAKER_TOKEN {
                self.waker.clear();
                continue;
            }
            self.connections.on_event(&mut self.cx, event);
            if !is_batch {
                self.go_on();
            }
        }
        for index in 0..n_unread {
            self.connections.read_on(&mut self.cx, index);
            if !is_batch {
                self.go_on();
            }
        }
        self.connections.end_turn();
        if is_batch {
            self.users.settle_batch(&mut self.cx, &mut self.connections);
        }
    }

    /// Have users go on whose exchanges have ended, and send what is due meanwhile.
    #[inline]
    fn go_on(&mut self) {
        self.users.settle(&mut self.cx, &mut self.connections);
        let progress = &self.cx.clock.progress;
        if progress.next_due_ns() <= self.cx.clock.now_ns && progress.is_sending() {
            self.users.send_due(&mut self.cx, &mut self.connections);
        }
    }

    /// End what is older than its patience, sent or waiting.
    #[inline]
    fn expire(&mut self) {
        let Self { cx, connections, users, .. } = self;
        while connections.patience_ends_ns().is_some_and(|at_ns| at_ns <= cx.clock.now_ns) {
            let Some(oldest) = connections.oldest() else { break };
            connections.fail(cx, oldest, ErrorKind::Timeout);
            users.settle(cx, connections);
        }
        users.expire_unsent(cx, connections.timeout_ns());
    }

    /// Do what is due.
    #[inline]
    fn fire_timers(&mut self) {
        let Self { cx, connections, users, .. } = self;
        while let Some((at_ns, wake)) = cx.clock.due() {
            match wake {
                Wake::Start(user) => users.set_to_work(cx, connections, user),
                Wake::Resume(visit) => users.resume(cx, connections, visit, at_ns),
                Wake::Refusal(socket) => connections.refuse(cx, socket),
                Wake::Connect(socket) => connections.connect_again(cx, socket),
                Wake::Line(socket) => connections.let_through(cx, socket),
            }
            users.settle(cx, connections);
            // Each of these may take a while: what follows must not carry its time.
            cx.clock.tick();
        }
    }

    /// End the window at once: the run was stopped. What was due until then is offered, on each
    /// thread, also where one looked up late; what it sent meanwhile it did send.
    fn abandon(&mut self, stopped_ns: u64) {
        if self.cx.clock.progress.is_sending() {
            let now_ns = self.cx.clock.now_ns;
            let plan = self.cx.clock.progress.plan();
            let stopped_ns = stopped_ns.max(plan.opened_ns).min(now_ns);
            self.users.drop_due(&mut self.cx, stopped_ns);
            self.users.end_sending(&mut self.cx, &mut self.connections, now_ns);
            self.cx.clock.progress.cut(stopped_ns);
        }
        self.give_up(ErrorKind::Unfinished);
    }

    /// End all that is under way.
    fn give_up(&mut self, kind: ErrorKind) {
        self.cx.clock.progress.give_up();
        while let Some(oldest) = self.connections.oldest() {
            self.connections.fail(&mut self.cx, oldest, kind);
            self.users.settle(&mut self.cx, &mut self.connections);
        }
    }

    /// How long nothing can be due; `None`: for ever.
    #[inline]
    fn time_to_sleep(&self, is_before_measuring: bool) -> Option<Duration> {
        if self.connections.n_unread() > 0 {
            return Some(Duration::ZERO);
        }
        let Context { clock, tally } = &self.cx;
        let until_ns = self
            .users
            .look_ns(clock)
            .min(self.connections.patience_ends_ns().unwrap_or(u64::MAX))
            .min(self.shared.live.due_ns(tally));
        clock.time_to_sleep(is_before_measuring, self.connections.timeout_ns(), until_ns)
    }
}
