//! The event loop: one thread, edge-triggered epoll, a heap of timers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::{Shutdown, TcpListener};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::answer::{self, Ending, Script};
use crate::connection::{Connection, Phase, Play, Progress};
use crate::exchange::{Exchange, Exchanges};
use crate::log::count;
use crate::oracle::{OracleConfig, Shared};
use crate::request::{MAX_HEAD_BYTES, head_end};
use crate::route::{Behaviour, Control, Route};
use crate::service::{Rng, Workers};
use crate::sys::{self, Epoll, Event, monotonic_ns};

const LISTENER: u64 = u64::MAX;
const WAKER: u64 = u64::MAX - 1;
/// How long accepting rests after it failed for want of descriptors.
const ACCEPT_REST_NS: u64 = 10_000_000;

pub(crate) struct Server {
    config: OracleConfig,
    shared: Arc<Shared>,
    listener: TcpListener,
    is_accepting: bool,
    epoll: Epoll,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    accepted: u32,
    exchanges: Exchanges,
    timers: BinaryHeap<Reverse<(u64, u64, usize)>>,
    timer_serial: u64,
    workers: Workers,
    rng: Rng,
    next_stall_ns: u64,
    scratch: Vec<u8>,
}

impl Server {
    pub(crate) fn new(
        config: OracleConfig,
        listener: TcpListener,
        shared: Arc<Shared>,
    ) -> io::Result<Self> {
        sys::sharpen_timers();
        if let Some(cpu) = config.cpu {
            sys::pin(cpu)?;
        }
        let exchanges = Exchanges::new(&config)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let epoll = Epoll::new(256)?;
        epoll.watch_level(listener.as_raw_fd(), LISTENER)?;
        epoll.watch_level(shared.waker.fd(), WAKER)?;
        let period = config.stall_every.map(|stall| stall.period.as_nanos() as u64);
        Ok(Self {
            workers: Workers::new(config.workers),
            rng: Rng::new(config.seed),
            next_stall_ns: period.map_or(u64::MAX, |period| monotonic_ns() + period),
            config,
            shared,
            listener,
            is_accepting: true,
            epoll,
            connections: Vec::new(),
            free: Vec::new(),
            accepted: 0,
            exchanges,
            timers: BinaryHeap::new(),
            timer_serial: 0,
            scratch: vec![0; 64 * 1024],
        })
    }

    /// Serve until told to stop.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(256);
        while !self.shared.is_stopped.load(Ordering::Acquire) {
            self.freeze_if_told();
            self.resume_accepting()?;
            self.epoll.wait(self.patience_ns(), &mut events)?;
            for event in events.drain(..) {
                self.freeze_if_told();
                match event.token {
                    LISTENER => self.accept()?,
                    WAKER => self.shared.waker.drain(),
                    _ => self.on_event(event),
                }
            }
            self.fire_timers();
        }
        Ok(())
    }

    /// How long nothing is due.
    fn patience_ns(&self) -> Option<u64> {
        let timer = self.timers.peek().map_or(u64::MAX, |Reverse((due_ns, _, _))| *due_ns);
        let accept = if self.is_accepting {
            u64::MAX
        } else {
            self.shared.accept_stall_until_ns.load(Ordering::Acquire)
        };
        let next = timer.min(accept).min(self.next_stall_ns);
        (next != u64::MAX).then(|| next.saturating_sub(monotonic_ns()))
    }

    /// Do nothing for as long as a stall lasts.
    fn freeze_if_told(&mut self) {
        let told_ns = self.shared.stall_until_ns.load(Ordering::Acquire);
        if told_ns == 0 && self.next_stall_ns == u64::MAX {
            return;
        }
        let from_ns = monotonic_ns();
        let mut until_ns = told_ns;
        if let Some(stall) = self.config.stall_every.filter(|_| from_ns >= self.next_stall_ns) {
            until_ns = until_ns.max(self.next_stall_ns + stall.duration.as_nanos() as u64);
            let period_ns = stall.period.as_nanos().max(1) as u64;
            let missed = (from_ns - self.next_stall_ns) / period_ns;
            self.next_stall_ns += (missed + 1) * period_ns;
        }
        let mut now_ns = from_ns;
        while now_ns < until_ns && !self.shared.is_stopped.load(Ordering::Acquire) {
            self.shared.waker.wait(until_ns - now_ns);
            self.shared.waker.drain();
            until_ns = until_ns.max(self.shared.stall_until_ns.load(Ordering::Acquire));
            now_ns = monotonic_ns();
        }
        if now_ns > from_ns && until_ns > from_ns {
            self.shared.recorder.stalled(from_ns, now_ns);
        }
        // Only if nobody has asked for another one in the meantime.
        let _ = self.shared.stall_until_ns.compare_exchange(
            told_ns,
            0,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
    }

    fn accept(&mut self) -> io::Result<()> {
        while self.is_accepting {
            let stall_until_ns = self.shared.accept_stall_until_ns.load(Ordering::Acquire);
            if stall_until_ns > monotonic_ns() {
                self.epoll.forget(self.listener.as_raw_fd())?;
                self.is_accepting = false;
                return Ok(());
            }
            match self.listener.accept() {
                Ok((stream, _)) => self.welcome(Connection::new(stream, self.accepted))?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => {
                    count(&self.shared.recorder.counters.accept_errors);
                    let until_ns = monotonic_ns() + ACCEPT_REST_NS;
                    self.shared.accept_stall_until_ns.store(until_ns, Ordering::Release);
                }
            }
        }
        Ok(())
    }

    fn resume_accepting(&mut self) -> io::Result<()> {
        let until_ns = self.shared.accept_stall_until_ns.load(Ordering::Acquire);
        if !self.is_accepting && until_ns <= monotonic_ns() {
            self.epoll.watch_level(self.listener.as_raw_fd(), LISTENER)?;
            self.is_accepting = true;
        }
        Ok(())
    }

    fn welcome(&mut self, mut connection: Connection) -> io::Result<()> {
        connection.stream.set_nonblocking(true)?;
        connection.stream.set_nodelay(true)?;
        self.accepted += 1;
        let counters = &self.shared.recorder.counters;
        count(&counters.connections);
        counters.open.fetch_add(1, Ordering::Relaxed);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        let token = u64::from(connection.number) << 32 | slot as u64;
        self.epoll.watch_edges(connection.stream.as_raw_fd(), token)?;
        self.start_idling(slot, &mut connection);
        self.connections[slot] = Some(connection);
        Ok(())
    }

    fn on_event(&mut self, event: Event) {
        let slot = event.token as u32 as usize;
        let number = (event.token >> 32) as u32;
        let Some(mut connection) =
            self.connections[slot].take_if(|connection| connection.number == number)
        else {
            return;
        };
        if (event.readable || event.hung_up) && !connection.receive(&mut self.scratch) {
            return self.lose(slot, &connection);
        }
        if event.writable && matches!(connection.phase, Phase::Playing(_)) {
            let phase = std::mem::replace(&mut connection.phase, Phase::Idle);
            if let Phase::Playing(play) = phase {
                return self.play(slot, connection, play);
            }
        }
        self.take_requests(slot, connection);
    }

    /// The client has left.
    fn lose(&mut self, slot: usize, connection: &Connection) {
        let is_idle = matches!(connection.phase, Phase::Idle | Phase::Draining);
        if !is_idle {
            count(&self.shared.recorder.counters.abandoned);
        }
        self.release(slot);
    }

    fn release(&mut self, slot: usize) {
        self.shared.recorder.counters.open.fetch_sub(1, Ordering::Relaxed);
        self.free.push(slot);
    }

    /// Begin with the next request that was read whole, if there is one.
    fn take_requests(&mut self, slot: usize, mut connection: Connection) {
        if matches!(connection.phase, Phase::Idle) {
            if let Some(end) = head_end(&connection.received) {
                let exchange =
                    self.exchanges.look_up(&connection.received[..end], &self.shared.recorder);
                let body_bytes = exchange.request_body_bytes;
                let present = body_bytes.min(connection.received.len() - end);
                connection.received.drain(..end + present);
                connection.phase = Phase::Body { exchange, left: body_bytes - present };
            } else if connection.received.len() > MAX_HEAD_BYTES {
                let script = answer::bad_request("the header is too long");
                return self.play(slot, connection, Play::control(script));
            }
        }
        if matches!(connection.phase, Phase::Body { left: 0, .. }) {
            let phase = std::mem::replace(&mut connection.phase, Phase::Idle);
            if let Phase::Body { exchange, .. } = phase {
                return self.serve(slot, connection, &exchange);
            }
        }
        self.connections[slot] = Some(connection);
    }

    /// A request is here to its last byte: stamp it, and answer it when its time has come.
    fn serve(&mut self, slot: usize, mut connection: Connection, exchange: &Exchange) {
        let now_ns = monotonic_ns();
        if let Ok(Route { control: Some(control), .. }) = &exchange.route {
            let script = self.control(*control);
            return self.play(slot, connection, Play::control(script));
        }
        let place = (connection.number, connection.requests);
        connection.requests += 1;
        let (behaviour, finish_ns) = match &exchange.route {
            Ok(route) => {
                let service_ns = route.service.draw_ns(&mut self.rng);
                (route.behaviour, self.workers.finish_ns(now_ns, service_ns))
            }
            Err(_) => (Behaviour::BadRequest, now_ns),
        };
        let index = self.shared.recorder.arrived(now_ns, place, (exchange.path, behaviour));
        let ending = match self.config.close_after {
            _ if exchange.wants_close => Ending::Announced,
            Some(close) if connection.requests >= close.requests && close.is_announced => {
                Ending::Announced
            }
            Some(close) if connection.requests >= close.requests => Ending::Silent,
            _ => Ending::KeepAlive,
        };
        let play = Play::new(exchange.script(ending), index, finish_ns);
        let hold_until_ns = self.shared.hold_until_ns.load(Ordering::Acquire);
        if finish_ns > now_ns || hold_until_ns > now_ns {
            return self.wait(slot, connection, play);
        }
        self.play(slot, connection, play);
    }

    fn wait(&mut self, slot: usize, mut connection: Connection, play: Play) {
        let hold_until_ns = self.shared.hold_until_ns.load(Ordering::Acquire);
        connection.timer = self.set_timer(slot, play.due_ns.max(hold_until_ns));
        connection.phase = Phase::Waiting(play);
        self.connections[slot] = Some(connection);
    }

    fn set_timer(&mut self, slot: usize, due_ns: u64) -> u64 {
        self.timer_serial += 1;
        self.timers.push(Reverse((due_ns, self.timer_serial, slot)));
        self.timer_serial
    }

    fn fire_timers(&mut self) {
        while let Some(Reverse((due_ns, serial, slot))) = self.timers.peek().copied() {
            let now_ns = monotonic_ns();
            if due_ns > now_ns {
                return;
            }
            self.timers.pop();
            let Some(mut connection) =
                self.connections[slot].take_if(|connection| connection.timer == serial)
            else {
                continue;
            };
            match std::mem::replace(&mut connection.phase, Phase::Idle) {
                Phase::Waiting(play) => {
                    if self.shared.hold_until_ns.load(Ordering::Acquire) > now_ns {
                        self.wait(slot, connection, play);
                    } else {
                        self.play(slot, connection, play);
                    }
                }
                Phase::Idle => self.finish_sending(slot, connection),
                other => {
                    connection.phase = other;
                    self.connections[slot] = Some(connection);
                }
            }
        }
    }

    /// Go on with an answer.
    fn play(&mut self, slot: usize, mut connection: Connection, mut play: Play) {
        // Noted before the last write: who has the answer finds it in the log and the counts.
        let is_last = !play.is_control && play.is_ending();
        if is_last {
            self.shared.recorder.finished(play.log_index, monotonic_ns());
        }
        let progress = connection.advance(&mut play);
        if is_last && matches!(progress, Progress::Blocked | Progress::Broken) {
            self.shared.recorder.not_finished(play.log_index);
        }
        match progress {
            Progress::Blocked => connection.phase = Phase::Playing(play),
            Progress::Paused => return self.wait(slot, connection, play),
            Progress::Hang => connection.phase = Phase::Hanging,
            Progress::Fin => return self.finish_sending(slot, connection),
            Progress::Close => return self.release(slot),
            Progress::Reset => {
                sys::reset(connection.stream);
                return self.release(slot);
            }
            Progress::Broken => {
                count(&self.shared.recorder.counters.abandoned);
                return self.release(slot);
            }
            Progress::Done => {
                connection.phase = Phase::Idle;
                self.start_idling(slot, &mut connection);
                // Its depth is the number of requests that one read brought: pipelining only.
                return self.take_requests(slot, connection);
            }
        }
        self.connections[slot] = Some(connection);
    }

    /// Send FIN, and wait for the client's: closing at once could turn into RST.
    fn finish_sending(&mut self, slot: usize, mut connection: Connection) {
        if connection.stream.shutdown(Shutdown::Write).is_err() {
            return self.release(slot);
        }
        connection.phase = Phase::Draining;
        connection.received.clear();
        self.connections[slot] = Some(connection);
    }

    fn start_idling(&mut self, slot: usize, connection: &mut Connection) {
        connection.timer = 0;
        if let Some(idle) = self.config.idle_close {
            connection.timer = self.set_timer(slot, monotonic_ns() + idle.as_nanos() as u64);
        }
    }

    fn control(&self, control: Control) -> Script {
        let recorder = &self.shared.recorder;
        count(&recorder.counters.control);
        let until_ns = |duration: std::time::Duration| {
            monotonic_ns().saturating_add(duration.as_nanos() as u64)
        };
        let told = |instant: &std::sync::atomic::AtomicU64, duration| {
            let until_ns = until_ns(duration);
            instant.store(until_ns, Ordering::Release);
            format!("{{\"until_ns\":{until_ns}}}")
        };
        let json = match control {
            Control::Log { since_ns } => recorder.log(since_ns).to_json(),
            Control::Stats => recorder.stats().to_json(),
            Control::Stall(duration) => told(&self.shared.stall_until_ns, duration),
            Control::Hold(duration) => told(&self.shared.hold_until_ns, duration),
            Control::StallAccept(duration) => told(&self.shared.accept_stall_until_ns, duration),
        };
        answer::control("200 OK", &json)
    }
}
