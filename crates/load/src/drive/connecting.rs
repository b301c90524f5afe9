//! How a connection comes to stand: the socket, and the TLS handshake upon it.

use std::cmp::Reverse;

use super::connection::Phase;
use super::timers::{Timer, TimerKind};
use super::worker::Worker;
use crate::count::ErrorKind;
use crate::sys::Event;
use crate::wire::{Handshake, Link, is_backlog_full, is_tls_failure};

/// A connection's number, and which of its sockets is meant.
pub(crate) const fn token(member: u32, life: u32) -> u64 {
    (life as u64) << 32 | member as u64
}

/// How soon to knock again where a Unix socket's backlog is full.
const RETRY_NS: u64 = 1_000_000;

impl Worker {
    /// Connect for the request of a connection without a socket.
    pub(crate) fn connect(&mut self, member: u32) {
        self.tally.connects += 1;
        self.open_socket(member);
    }

    /// Open a socket for the request of a connection that has none.
    pub(crate) fn open_socket(&mut self, member: u32) {
        let connection = &mut self.connections[member as usize];
        let target = &self.pools[connection.arm].target;
        let slow = self.spec.slow.as_ref();
        let slow = slow.filter(|_| self.visits[connection.owner as usize].is_slow);
        let token = token(member, connection.life);
        let opened = connection.open(&target.endpoint, target.tls.as_ref(), slow);
        if let Err(error) = opened.and_then(|link| self.epoll.add_stream(link, token)) {
            let connection = &mut self.connections[member as usize];
            let life = connection.life;
            let (at_ns, kind) = if is_backlog_full(&error) {
                // A Unix socket does not wait by itself.
                connection.phase = Phase::Closed;
                (self.now_ns + RETRY_NS, TimerKind::Connect)
            } else {
                // Not at once: a row of such failures would nest.
                connection.refusal = Some(ErrorKind::of_connect(&error));
                (self.now_ns, TimerKind::Refusal)
            };
            self.timers.push(Reverse(Timer { at_ns, kind, member, life }));
        }
    }

    /// A socket could not even begin to connect.
    pub(crate) fn refuse(&mut self, member: u32) {
        self.tick();
        let refusal = self.connections[member as usize].refusal.take();
        self.fail(member, refusal.unwrap_or(ErrorKind::Connect));
    }

    /// Take what epoll says about a socket that connects.
    pub(crate) fn on_connecting(&mut self, member: u32, event: Event) {
        if event.is_broken() {
            let link = self.connections[member as usize].link.as_ref();
            let error = link.map_or(Ok(None), Link::take_error);
            if let Some(error) = error.unwrap_or_else(Some) {
                self.tick();
                return self.fail(member, ErrorKind::of_connect(&error));
            }
            // No error: it was accepted, and closed before we came to look.
        } else if !event.is_writable() {
            return;
        }
        self.on_connected(member);
        // What came with the connection, its end say, brings no event of its own.
        if event.is_readable() {
            self.read_if_busy(event);
        }
    }

    fn on_connected(&mut self, member: u32) {
        self.tick();
        let connection = &mut self.connections[member as usize];
        connection.connected(self.now_ns);
        if self.pools[connection.arm].target.tls.is_some() {
            connection.phase = Phase::Securing;
            self.secure(member);
        } else {
            self.begin(member);
        }
    }

    /// Go on with the TLS handshake.
    pub(crate) fn secure(&mut self, member: u32) {
        let connection = &mut self.connections[member as usize];
        let Some(link) = &mut connection.link else { return };
        match link.handshake() {
            Ok(false) => {}
            Ok(true) => {
                let is_resumed = link.resumption() == Some(Handshake::Resumed);
                self.tick();
                self.connections[member as usize].secured(self.now_ns);
                if is_resumed {
                    self.tally.handshakes_resumed += 1;
                } else {
                    self.tally.handshakes_full += 1;
                }
                self.begin(member);
            }
            Err(error) => {
                self.tick();
                let is_cut = !is_tls_failure(&error);
                self.fail(member, if is_cut { ErrorKind::Reset } else { ErrorKind::Tls });
            }
        }
    }
}
