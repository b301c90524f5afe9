//! What an event on a socket leads to.

use crate::drive::{
    context::Context,
    ids::{ConnectionId, SocketId},
    platform::Platform,
};
use crate::sys::Event;

use super::connection::Phase;
use super::connections::Connections;

impl<P: Platform> Connections<P> {
    /// The turn's first events come; how many connections are to be read on after them.
    #[inline]
    pub(in crate::drive) fn begin_turn(&mut self) -> usize {
        self.budget.begin()
    }

    #[inline]
    pub(in crate::drive) fn end_turn(&mut self) {
        self.budget.end();
    }

    /// How many connections have something to read for the next turn.
    #[inline]
    pub(in crate::drive) fn n_unread(&self) -> usize {
        self.budget.n_unread()
    }

    /// Take an event of the last wait.
    #[inline]
    pub(in crate::drive) fn on_event(&mut self, cx: &mut Context<P>, event: Event) {
        let id = SocketId::of_token(event.token).connection;
        let connection = &self.table[id];
        if self.socket(id).to_token() != event.token {
            return; // of a socket that was closed in this batch
        }
        match connection.phase {
            Phase::Connecting => self.on_connecting(cx, id, event),
            Phase::Securing => {
                self.secure(cx, id);
                self.read_if_busy(cx, event);
            }
            Phase::Busy => {
                if event.is_writable() {
                    self.write_on(cx, id);
                }
                if event.is_readable() {
                    self.read_if_busy(cx, event);
                }
            }
            Phase::Idle if event.is_readable() => self.read_idle(id),
            Phase::Closed | Phase::Idle => {}
        }
    }

    #[inline]
    pub(super) fn read_if_busy(&mut self, cx: &mut Context<P>, event: Event) {
        let id = SocketId::of_token(event.token).connection;
        let is_meant = self.socket(id).to_token() == event.token;
        if is_meant && self.table[id].phase == Phase::Busy {
            self.read(cx, id, event.is_closed());
        }
    }

    /// The `index`-th of the connections that had more than the turn before allowed.
    pub(in crate::drive) fn read_on(&mut self, cx: &mut Context<P>, index: usize) {
        let id = self.budget.earlier(index);
        let connection = &mut self.table[id];
        let is_unread = std::mem::take(&mut connection.is_unread);
        if is_unread && connection.phase == Phase::Busy {
            self.read(cx, id, false);
        }
    }

    /// The socket that a connection has now, or its last one.
    #[inline]
    pub(super) fn socket(&self, connection: ConnectionId) -> SocketId {
        SocketId { connection, life: self.table[connection].life }
    }
}
