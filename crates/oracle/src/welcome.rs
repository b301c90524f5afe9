//! How connections are received, from their acceptance to the first request.

use std::io;
use std::sync::atomic::Ordering;

use crate::config::Door;
use crate::connection::{Connection, Phase, Play};
use crate::counters::count;
use crate::link::{Link, Socket};
use crate::reception::Reception;
use crate::server::Server;
use crate::sys::{Event, monotonic_ns};

impl Server {
    /// Receive a connection: as it was told for the next ones, or else as its door does.
    pub(crate) fn welcome(&mut self, socket: Socket, door: usize) -> io::Result<()> {
        let Door { reception: own, is_tls, .. } = self.listeners[door].door;
        let reception = self.shared.told_reception().unwrap_or(own);
        let number = self.accepted;
        self.accepted += 1;
        let connection = Connection::new(Link::new(socket), number, reception);
        let mut connection = Box::new(connection);
        self.shared.recorder.accepted(number, door as u32, reception, connection.accepted_ns);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        self.epoll.watch_edges(connection.link.fd(), token(slot, &connection))?;
        if let Some(tls) = self.tls.as_ref().filter(|_| is_tls && !reception.is_script()) {
            connection.link.secure(tls.session(reception)?);
        }
        let delay_ns = self.config.accept_delay.as_nanos() as u64;
        if delay_ns == 0 {
            self.begin(slot, connection);
        } else {
            connection.phase = Phase::Delayed;
            connection.timer = self.set_timer(slot, connection.accepted_ns + delay_ns);
            self.connections[slot] = Some(connection);
        }
        Ok(())
    }

    /// Begin to serve a connection.
    fn begin(&mut self, slot: usize, mut connection: Box<Connection>) {
        if let Some(script) = connection.reception.at_once() {
            return self.play(slot, connection, Play::control(script));
        }
        connection.phase = if connection.reception == Reception::HangAtAccept {
            Phase::Deaf
        } else if connection.reception.at_first_bytes().is_some() {
            Phase::Greeting
        } else if !connection.link.is_tls() {
            self.start_idling(slot, &mut connection);
            Phase::Idle
        } else if self.config.handshake_delay.is_zero() {
            Phase::Handshaking
        } else {
            Phase::Knocking
        };
        self.connections[slot] = Some(connection);
    }

    /// Begin after a delay: what came meanwhile has had its event, and gets another one.
    pub(crate) fn begin_late(&mut self, slot: usize, connection: Box<Connection>) {
        let (fd, token) = (connection.link.fd(), token(slot, &connection));
        self.begin(slot, connection);
        let Some(connection) = self.connections[slot].take() else { return };
        if self.epoll.watch_edges_again(fd, token).is_err() {
            return self.lose(slot, &connection);
        }
        self.connections[slot] = Some(connection);
    }

    /// Something happens on a connection before its first request.
    pub(crate) fn receive_on(
        &mut self,
        slot: usize,
        mut connection: Box<Connection>,
        event: Event,
    ) {
        match connection.phase {
            Phase::Deaf if event.hung_up => return self.release(slot, &connection),
            Phase::Greeting => return self.greet(slot, connection),
            Phase::Handshaking => return self.shake_hands(slot, connection),
            Phase::Knocking if event.readable || event.hung_up => {
                let delay_ns = self.config.handshake_delay.as_nanos() as u64;
                connection.phase = Phase::Resting;
                connection.timer = self.set_timer(slot, monotonic_ns() + delay_ns);
            }
            // What it has brought, or that it has left, is seen when its time has come.
            _ => {}
        }
        self.connections[slot] = Some(connection);
    }

    /// Do what the reception says, once the first bytes are there.
    fn greet(&mut self, slot: usize, mut connection: Box<Connection>) {
        let is_whole = self.read_all(&mut connection).is_ok();
        if connection.received.is_empty() {
            if connection.has_ended || !is_whole {
                return self.release(slot, &connection);
            }
            self.connections[slot] = Some(connection);
            return;
        }
        connection.received.clear();
        connection.phase = Phase::Idle;
        if let Some(script) = connection.reception.at_first_bytes() {
            self.play(slot, connection, Play::control(script));
        }
    }

    /// Go on with the handshake of TLS, and with what came behind it.
    pub(crate) fn shake_hands(&mut self, slot: usize, mut connection: Box<Connection>) {
        let told = match connection.link.handshake() {
            Ok(Some(told)) => told,
            Ok(None) => {
                connection.phase = Phase::Handshaking;
                self.connections[slot] = Some(connection);
                return;
            }
            Err(_) => {
                count(&self.shared.recorder.counters.handshakes_failed);
                // Not closed at once: the client shall read the alert that says why.
                return match connection.link.cut() {
                    Ok(()) => self.drain(slot, connection),
                    Err(_) => self.release(slot, &connection),
                };
            }
        };
        self.shared.recorder.secured(connection.number, told, monotonic_ns());
        connection.phase = Phase::Idle;
        self.start_idling(slot, &mut connection);
        match self.read_all(&mut connection) {
            Ok(()) => self.take_requests(slot, connection),
            Err(_) => self.lose(slot, &connection),
        }
    }
}

/// What epoll knows a connection by: a slot alone could be another connection's by now.
fn token(slot: usize, connection: &Connection) -> u64 {
    u64::from(connection.number) << 32 | slot as u64
}

/// Which reception the next connections get, and how many of them: in one number, so that it
/// can be told and counted down without a lock.
impl crate::oracle::Shared {
    const ALL_OF_THEM: u32 = u32::MAX;

    /// Tell how the next connections are received; `None`: all of them.
    pub(crate) fn tell_reception(&self, reception: Reception, count: Option<u32>) {
        let count = count.unwrap_or(Self::ALL_OF_THEM);
        // What all doors do by themselves needs no telling.
        let count = if reception == Reception::Usual { 0 } else { count };
        let told = (reception as u64) << 32 | u64::from(count);
        self.told_reception.store(told, Ordering::Release);
    }

    fn told_reception(&self) -> Option<Reception> {
        let told = self.told_reception.load(Ordering::Acquire);
        let count = told as u32;
        if count == 0 {
            return None;
        }
        if count != Self::ALL_OF_THEM {
            // Only if nobody has told another one in the meantime.
            let _ = self.told_reception.compare_exchange(
                told,
                told - 1,
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
        }
        Some(Reception::ALL[(told >> 32) as usize])
    }
}
