//! How connections are received, from their acceptance to the first request.

use std::io;
use std::sync::atomic::Ordering;

use crate::connection::{Connection, Phase, Play};
use crate::link::{Link, Socket};
use crate::reception::Reception;
use crate::server::Server;

impl Server {
    /// Receive a connection: as it was told for the next ones, or else as its door does.
    pub(crate) fn welcome(
        &mut self,
        socket: Socket,
        door: usize,
        own: Reception,
    ) -> io::Result<()> {
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
        let token = u64::from(number) << 32 | slot as u64;
        self.epoll.watch_edges(connection.link.fd(), token)?;
        let delay_ns = self.config.accept_delay.as_nanos() as u64;
        if delay_ns == 0 {
            self.begin(slot, connection, false);
        } else {
            connection.phase = Phase::Delayed;
            connection.timer = self.set_timer(slot, connection.accepted_ns + delay_ns);
            self.connections[slot] = Some(connection);
        }
        Ok(())
    }

    /// Begin to serve a connection; after a delay, look for what came during it.
    pub(crate) fn begin(&mut self, slot: usize, mut connection: Box<Connection>, is_late: bool) {
        if let Some(script) = connection.reception.at_once() {
            return self.play(slot, connection, Play::control(script));
        }
        if connection.reception.at_first_bytes().is_some() {
            connection.phase = Phase::Greeting;
        } else {
            self.start_idling(slot, &mut connection);
        }
        if !is_late {
            self.connections[slot] = Some(connection);
        } else if matches!(connection.phase, Phase::Greeting) {
            self.greet(slot, connection);
        } else if self.read_all(&mut connection).is_ok() {
            self.take_requests(slot, connection);
        } else {
            self.lose(slot, &connection);
        }
    }

    /// Do what the reception says, once the first bytes are there.
    pub(crate) fn greet(&mut self, slot: usize, mut connection: Box<Connection>) {
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
