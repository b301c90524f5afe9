//! The event loop: one thread, edge-triggered epoll, a heap of timers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::config::OracleConfig;
use crate::connection::{Connection, Phase};
use crate::counters::count;
use crate::exchange::Exchanges;
use crate::link::Listener;
use crate::oracle::Shared;
use crate::service::{Rng, Workers};
use crate::sys::{self, Epoll, Event, monotonic_ns};
use crate::tls::Tls;
use crate::warmth::Warmth;

const WAKER: u64 = u64::MAX;
const WARMTH: u64 = WAKER - 1;
/// The tokens of doors begin here; those of connections, number and slot, end before it.
const FIRST_DOOR: u64 = u64::MAX - 0xffff;
/// How long accepting rests after it failed for want of descriptors.
const ACCEPT_REST_NS: u64 = 10_000_000;

pub(crate) struct Server {
    pub(crate) config: OracleConfig,
    pub(crate) shared: Arc<Shared>,
    /// Before the connections, because fields are dropped in order: whoever comes back at once
    /// when a server dies must be refused, not taken in and dropped.
    pub(crate) listeners: Vec<Listener>,
    pub(crate) epoll: Epoll,
    /// Boxed, because they are taken out and put back with each event.
    pub(crate) connections: Vec<Option<Box<Connection>>>,
    pub(crate) free: Vec<usize>,
    pub(crate) accepted: u32,
    pub(crate) exchanges: Exchanges,
    pub(crate) workers: Workers,
    pub(crate) rng: Rng,
    /// How many requests were kept whole.
    pub(crate) kept: usize,
    /// For the doors with TLS, if there are any.
    pub(crate) tls: Option<Tls>,
    is_accepting: bool,
    timers: BinaryHeap<Reverse<(u64, u64, usize)>>,
    timer_serial: u64,
    next_stall_ns: u64,
    scratch: Vec<u8>,
    /// Where the server never sleeps.
    warmth: Option<Warmth>,
}

impl Server {
    pub(crate) fn new(
        config: OracleConfig,
        listeners: Vec<Listener>,
        tls: Option<Tls>,
        shared: Arc<Shared>,
    ) -> io::Result<Self> {
        sys::sharpen_timers();
        if let Some(cpu) = config.cpu {
            sys::pin(cpu)?;
        }
        let exchanges = Exchanges::new(&config)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let epoll = Epoll::new(256)?;
        epoll.watch_level(shared.waker.fd(), WAKER)?;
        let warmth = config.spins.then(|| Warmth::new(&epoll, WARMTH)).transpose()?;
        let period = config.stall_every.map(|stall| stall.period.as_nanos() as u64);
        let mut server = Self {
            workers: Workers::new(config.workers),
            rng: Rng::new(config.seed),
            next_stall_ns: period.map_or(u64::MAX, |period| monotonic_ns() + period),
            config,
            shared,
            listeners,
            tls,
            is_accepting: false,
            epoll,
            connections: Vec::new(),
            free: Vec::new(),
            accepted: 0,
            kept: 0,
            exchanges,
            timers: BinaryHeap::new(),
            timer_serial: 0,
            scratch: vec![0; 64 * 1024],
            warmth,
        };
        server.start_accepting()?;
        Ok(server)
    }

    /// Serve until told to stop.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(256);
        loop {
            self.freeze_if_told();
            // Asked after a stall, which takes the wake-up of who stops.
            if self.shared.is_stopped.load(Ordering::Acquire) {
                return Ok(());
            }
            self.resume_accepting()?;
            self.epoll.wait(self.patience_ns(), &mut events)?;
            self.keep_warm(!events.is_empty());
            for event in events.drain(..) {
                self.freeze_if_told();
                match event.token {
                    WAKER => self.shared.waker.drain(),
                    WARMTH => self.warmth.iter_mut().for_each(Warmth::take),
                    token if token >= FIRST_DOOR => self.accept((token - FIRST_DOOR) as usize)?,
                    _ => self.on_event(event),
                }
            }
            self.fire_timers();
        }
    }

    fn keep_warm(&mut self, is_used: bool) {
        let Some(warmth) = &mut self.warmth else { return };
        let now_ns = monotonic_ns();
        if is_used {
            warmth.note_use(now_ns);
        } else {
            warmth.keep(now_ns);
        }
    }

    /// How long to wait for events: until something is due.
    fn patience_ns(&self) -> Option<u64> {
        if self.config.spins {
            return Some(0);
        }
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

    fn accept(&mut self, door: usize) -> io::Result<()> {
        while self.is_accepting {
            let stall_until_ns = self.shared.accept_stall_until_ns.load(Ordering::Acquire);
            if stall_until_ns > monotonic_ns() {
                for listener in &self.listeners {
                    self.epoll.forget(listener.fd())?;
                }
                self.is_accepting = false;
                return Ok(());
            }
            match self.listeners[door].accept() {
                Ok(socket) => self.welcome(socket, door)?,
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

    fn start_accepting(&mut self) -> io::Result<()> {
        for (door, listener) in self.listeners.iter().enumerate() {
            self.epoll.watch_level(listener.fd(), FIRST_DOOR + door as u64)?;
        }
        self.is_accepting = true;
        Ok(())
    }

    fn resume_accepting(&mut self) -> io::Result<()> {
        let until_ns = self.shared.accept_stall_until_ns.load(Ordering::Acquire);
        if !self.is_accepting && until_ns <= monotonic_ns() {
            self.start_accepting()?;
        }
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
        match connection.phase {
            Phase::Delayed
            | Phase::Deaf
            | Phase::Greeting
            | Phase::Knocking
            | Phase::Resting
            | Phase::Handshaking => return self.receive_on(slot, connection, event),
            _ => {}
        }
        let has_input = event.readable || event.hung_up;
        if has_input && connection.receive(&mut self.scratch, event.hung_up).is_err() {
            return self.lose(slot, &connection);
        }
        match connection.phase {
            Phase::Awaiting(_) if connection.has_ended => self.go_on(slot, connection),
            Phase::Waiting(_) | Phase::Playing(_) | Phase::Hanging | Phase::Draining
                if connection.has_ended =>
            {
                self.lose(slot, &connection);
            }
            Phase::Playing(_) if event.writable => self.go_on(slot, connection),
            _ => self.take_requests(slot, connection),
        }
    }

    /// Read all that there is, also when no event has told of it.
    pub(crate) fn read_all(&mut self, connection: &mut Connection) -> io::Result<()> {
        connection.receive(&mut self.scratch, true)
    }

    /// Go on with the answer that a connection is at.
    fn go_on(&mut self, slot: usize, mut connection: Box<Connection>) {
        match std::mem::replace(&mut connection.phase, Phase::Idle) {
            Phase::Waiting(play) | Phase::Playing(play) | Phase::Awaiting(play) => {
                self.play(slot, connection, play);
            }
            phase => {
                connection.phase = phase;
                self.connections[slot] = Some(connection);
            }
        }
    }

    pub(crate) fn set_timer(&mut self, slot: usize, due_ns: u64) -> u64 {
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
            let Some(connection) =
                self.connections[slot].take_if(|connection| connection.timer == serial)
            else {
                continue;
            };
            self.on_timer(slot, connection, now_ns);
        }
    }

    fn on_timer(&mut self, slot: usize, mut connection: Box<Connection>, now_ns: u64) {
        match std::mem::replace(&mut connection.phase, Phase::Idle) {
            Phase::Delayed => self.begin_late(slot, connection),
            Phase::Resting => self.shake_hands(slot, connection),
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
