//! A run: its threads, and the conductor that leads them from window to window.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crate::count::{Capacity, Live, LiveBoard, Tally};
use crate::drive::{Command, Role, Shared, Worker};
use crate::error::Error;
use crate::input::{LoadSpec, Window, check, check_descriptors, nanoseconds};
use crate::judge::{HostMeter, watchdog};
use crate::request::Target;
use crate::result::WindowResult;
use crate::schedule::{Model, Plan};
use crate::sys::{self, Network, Waker};

/// From the decision to open a window to its first request: time for all threads to wake up.
const START_DELAY_NS: u64 = 200_000;

/// Called at the edges of windows: the window's index, and whether it opens. Runs on the
/// conductor's thread; breaking stops the run.
pub type Observer = Box<dyn FnMut(usize, bool) -> ControlFlow<()> + Send>;

/// A run under way on its own threads. Dropping it stops it without waiting.
#[derive(Debug)]
pub struct Run {
    board: Arc<Board>,
    conductor: Option<JoinHandle<()>>,
}

/// What the conductor, its threads and the owner of the run share.
#[derive(Debug, Default)]
struct Board {
    shared: Arc<Shared>,
    wakers: Vec<Arc<Waker>>,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_over: bool,
    failure: Option<Arc<Error>>,
    results: Vec<Arc<WindowResult>>,
    entrances: Vec<Arc<WindowResult>>,
}

impl Run {
    /// Refuse a spec that makes no sense, without starting anything.
    ///
    /// Not asked is what only shows when it starts: whether the process may open as many sockets.
    ///
    /// # Errors
    /// Says what is wrong, in one sentence.
    pub fn check(spec: &LoadSpec) -> Result<(), Error> {
        check(spec)?;
        Target::all(spec).map(drop)
    }

    /// Check the spec and start the run.
    ///
    /// `observer` is called with a window's index and `true` before its first request, and with
    /// `false` after its last answer: nothing is in flight then, and every thread waits. When it
    /// breaks, the run stops.
    ///
    /// # Errors
    /// The spec makes no sense, or the threads and their descriptors can't be had.
    pub fn start(spec: &LoadSpec, observer: Option<Observer>) -> Result<Self, Error> {
        check(spec)?;
        let targets = Target::all(spec)?;
        check_descriptors(spec)?;
        let spec = Arc::new(spec.clone());
        let n_threads = spec.threads.min(spec.connections);
        let live = LiveBoard::new(n_threads);
        let shared = Arc::new(Shared::new(live, spec.arms.len(), n_threads));
        let (reports_in, reports) = channel();
        let mut threads = Vec::with_capacity(n_threads);
        let mut wakers = Vec::with_capacity(n_threads);
        for thread in 0..n_threads {
            let waker = Arc::new(Waker::new().map_err(Error::system("eventfd"))?);
            wakers.push(Arc::clone(&waker));
            let (mailbox_in, mailbox) = channel();
            let worker = Worker::new(
                Role::of(&spec, thread, n_threads),
                Arc::clone(&spec),
                &targets,
                Arc::clone(&shared),
                Arc::clone(&waker),
                mailbox,
            )?;
            let reports = reports_in.clone();
            let handle = spawn(&format!("httpdyno-load-{thread}"), move || worker.work(&reports))?;
            threads.push(Thread { mailbox: mailbox_in, waker, handle: Some(handle) });
        }
        let board = Arc::new(Board { shared, wakers, ..Board::default() });
        let program = Program::of(&spec, &targets, n_threads);
        let conductor = Conductor { board: Arc::clone(&board), threads, reports, observer };
        let conductor = spawn("httpdyno-load", move || conductor.conduct(&program))?;
        Ok(Self { board, conductor: Some(conductor) })
    }

    /// Wait for the end of the run, at most `timeout`; true when it is over.
    ///
    /// # Errors
    /// The engine failed. Results up to then are kept.
    pub fn wait(&self, timeout: Duration) -> Result<bool, Arc<Error>> {
        let deadline = Instant::now().checked_add(timeout);
        let mut state = self.board.state();
        while !state.is_over {
            // Waiting for ever is waiting for an hour, again and again.
            let left = deadline.map_or(Duration::from_secs(3600), |deadline| {
                deadline.saturating_duration_since(Instant::now())
            });
            if left.is_zero() {
                return Ok(false);
            }
            let waited = self.board.ended.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.failure.as_ref().map_or(Ok(true), |failure| Err(Arc::clone(failure)))
    }

    /// Send nothing more, count what is in flight as unfinished, and end soon.
    pub fn stop(&self) {
        self.board.stop();
    }

    /// The window that is under way, at most a tenth of a second old; `None` between windows.
    ///
    /// The first look asks the threads to publish their counts, so it may see none yet.
    pub fn live(&self) -> Option<Live> {
        let shared = &self.board.shared;
        if !shared.live.ask() {
            self.board.wake();
        }
        shared.live.look()
    }

    /// The windows that ended so far, in order.
    pub fn results(&self) -> Vec<Arc<WindowResult>> {
        self.board.state().results.clone()
    }

    /// What the first steps came to, of each arm that has some and whose turn has come: before its
    /// first window, and told apart from it. The requests are those of the arm and then the first
    /// ones. Where no user got through, the run ends with it.
    pub fn entrances(&self) -> Vec<Arc<WindowResult>> {
        self.board.state().entrances.clone()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.board.stop();
        // Not joined: the observer may need a lock that the dropping thread holds.
        drop(self.conductor.take());
    }
}

impl Board {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self) {
        self.shared.stop();
        self.wake();
    }

    fn wake(&self) {
        for waker in &self.wakers {
            waker.wake();
        }
    }

    fn is_stopped(&self) -> bool {
        self.shared.stopped_ns().is_some()
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Error> {
    Builder::new().name(name.to_owned()).spawn(work).map_err(Error::system("starting a thread"))
}

/// The windows to run, and what they have in common.
struct Program {
    windows: Vec<Window>,
    model: Model,
    drain_ns: u64,
    /// Of each arm: its requests, and with the first ones.
    n_requests: Vec<(usize, usize)>,
    networks: Vec<Option<Arc<Network>>>,
    n_connections: usize,
    /// Of the threads; empty: not pinned.
    cpus: Vec<usize>,
    capacity: Capacity,
}

impl Program {
    fn of(spec: &LoadSpec, targets: &[Target], n_threads: usize) -> Self {
        let n_requests: Vec<_> = spec.arms.iter().map(|arm| arm.requests.len()).collect();
        let n_in_all = targets.iter().map(|target| target.requests.len());
        let capacity = Capacity {
            n_requests: n_in_all.clone().max().unwrap_or(0),
            has_slow: spec.slow.is_some(),
            n_traced: spec.n_traced,
            n_connections: spec.connections.div_ceil(n_threads),
        };
        Self {
            windows: spec.windows.clone(),
            model: Model::of(&spec.arrival),
            drain_ns: nanoseconds(spec.drain_s),
            n_requests: n_requests.into_iter().zip(n_in_all).collect(),
            networks: targets.iter().map(|target| target.network.clone()).collect(),
            n_connections: spec.connections,
            cpus: spec.cpus.clone(),
            capacity,
        }
    }

    /// The plan of the entrance to an arm, where it has one.
    fn entrance(&self, arm: usize) -> Option<Plan> {
        let (n_requests, n_in_all) = self.n_requests[arm];
        let opened_ns = sys::monotonic_ns() + START_DELAY_NS;
        (n_in_all > n_requests).then(|| Plan::entrance(arm, opened_ns, self.drain_ns))
    }

    fn plan(&self, index: usize) -> Plan {
        let opened_ns = sys::monotonic_ns() + START_DELAY_NS;
        Plan::of(&self.windows[index], index, opened_ns, self.model, self.drain_ns)
    }
}

struct Thread {
    mailbox: Sender<Command>,
    waker: Arc<Waker>,
    /// Taken when it is joined.
    handle: Option<JoinHandle<()>>,
}

impl Thread {
    fn is_finished(&self) -> bool {
        self.handle.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Thread {
    /// Have the thread end: also when the run could not be started for another's sake.
    fn drop(&mut self) {
        // One that is gone already needs no telling.
        let _ = self.mailbox.send(Command::Quit);
        self.waker.wake();
    }
}

struct Conductor {
    board: Arc<Board>,
    threads: Vec<Thread>,
    reports: Receiver<Result<Box<Tally>, Error>>,
    observer: Option<Observer>,
}

impl Conductor {
    fn conduct(mut self, program: &Program) {
        let mut tallies: Vec<_> =
            self.threads.iter().map(|_| Tally::new(&program.capacity)).collect();
        let mut host = HostMeter::new(&program.cpus);
        let ended = (0..program.windows.len()).try_for_each(|index| {
            self.admit(program, index, &mut tallies, &mut host)?;
            if self.board.is_stopped() || self.is_broken_off(index, true) {
                return Ok(());
            }
            host.open(program.networks[program.windows[index].arm].as_ref());
            let plan = program.plan(index);
            self.board.shared.live.show(Some(&plan));
            let ended = self.run_window(plan, &mut tallies, &mut host);
            let host = host.close();
            self.board.shared.live.show(None);
            if self.is_broken_off(index, false) {
                self.board.stop();
            }
            ended?;
            let size = (program.n_requests[plan.arm].0, program.n_connections);
            let result = WindowResult::of(&plan, size, &mut tallies, &host);
            self.board.state().results.push(Arc::new(result));
            Ok(())
        });
        let dismissed = self.dismiss();
        let mut state = self.board.state();
        state.failure = ended.and(dismissed).err().map(Arc::new);
        state.is_over = true;
        self.board.ended.notify_all();
    }

    /// Have the users of a window's arm do their first steps, if they have not yet.
    fn admit(
        &self,
        program: &Program,
        index: usize,
        tallies: &mut Vec<Box<Tally>>,
        host: &mut HostMeter,
    ) -> Result<(), Error> {
        let arm = program.windows[index].arm;
        let is_known = program.windows[..index].iter().any(|window| window.arm == arm);
        if is_known || self.board.is_stopped() {
            return Ok(());
        }
        let Some(plan) = program.entrance(arm) else { return Ok(()) };
        host.open(program.networks[arm].as_ref());
        self.run_window(plan, tallies, host)?;
        let (_, n_in_all) = program.n_requests[arm];
        let result =
            WindowResult::of(&plan, (n_in_all, program.n_connections), tallies, &host.close());
        if result.by_request.last().is_none_or(|last| last.completed == 0) {
            self.board.stop();
        }
        self.board.state().entrances.push(Arc::new(result));
        Ok(())
    }

    /// Tell the observer about an edge; true when it wants the run to stop.
    fn is_broken_off(&mut self, index: usize, is_opening: bool) -> bool {
        let Some(observer) = &mut self.observer else { return false };
        let is_break = matches!(observer(index, is_opening), ControlFlow::Break(()));
        if is_break {
            self.board.stop();
        }
        is_break
    }

    /// Have all threads run a window; their tallies are full then.
    fn run_window(
        &self,
        plan: Plan,
        tallies: &mut Vec<Box<Tally>>,
        host: &mut HostMeter,
    ) -> Result<(), Error> {
        self.board.shared.open_window();
        let mut failure = None;
        for (thread, tally) in self.threads.iter().zip(tallies.drain(..)) {
            if thread.mailbox.send(Command::Run(plan, tally)).is_err() {
                failure = Some(Error::ThreadDied);
            }
            thread.waker.wake();
        }
        while failure.is_none() && tallies.len() < self.threads.len() {
            match self.report(&plan, host) {
                Ok(tally) => tallies.push(tally),
                Err(error) => failure = Some(error),
            }
        }
        failure.map_or(Ok(()), |error| {
            self.board.stop();
            Err(error)
        })
    }

    fn report(&self, plan: &Plan, host: &mut HostMeter) -> Result<Box<Tally>, Error> {
        host.before_sleep();
        loop {
            let report = self.reports.recv_timeout(watchdog::SLEEP);
            host.after_sleep(plan);
            match report {
                Ok(report) => return report,
                // A thread that panicked sends no report.
                Err(_) if self.threads.iter().any(Thread::is_finished) => {
                    return Err(Error::ThreadDied);
                }
                Err(_) => {}
            }
        }
    }

    /// Have the threads end.
    fn dismiss(&mut self) -> Result<(), Error> {
        let handles: Vec<_> =
            self.threads.drain(..).map(|mut thread| thread.handle.take()).collect();
        let joined = handles.into_iter().flatten().map(JoinHandle::join);
        if joined.fold(true, |all, one| all & one.is_ok()) {
            Ok(())
        } else {
            Err(Error::ThreadDied)
        }
    }
}

#[cfg(test)]
#[path = "run_long_answer_tests.rs"]
mod long_answer_tests;
#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
