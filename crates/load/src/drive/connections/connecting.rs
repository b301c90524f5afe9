//! How a connection comes to stand: the socket, and the TLS handshake upon it.

use std::io;

use crate::count::ErrorKind;
use crate::drive::{
    clock::Wake,
    context::Context,
    ids::{ConnectionId, SocketId},
    platform::{Net, Platform, Stream},
};
use crate::sys::Event;
use crate::wire::{Handshake, is_backlog_full, is_tls_failure, tls_reason};

use super::connection::Phase;
use super::connections::Connections;

/// The kind of a failure to connect, with what the system said where that is all that is known.
fn kind_of<P: Platform>(cx: &mut Context<P>, error: &io::Error) -> ErrorKind {
    let kind = ErrorKind::of_connect(error);
    if kind == ErrorKind::Connect {
        cx.tally.reasons.note(kind, || ("system", error.to_string()));
    }
    kind
}

/// How soon to try again where a Unix socket's backlog is full.
const RETRY_NS: u64 = 1_000_000;

impl<P: Platform> Connections<P> {
    /// Connect for the request of a connection without a socket.
    pub(super) fn connect(&mut self, cx: &mut Context<P>, id: ConnectionId) {
        cx.tally.sockets.connects += 1;
        self.open_socket(cx, id);
    }

    /// Try again to open a socket, if nothing has changed meanwhile.
    pub(in crate::drive) fn connect_again(&mut self, cx: &mut Context<P>, socket: SocketId) {
        if self.socket(socket.connection) == socket {
            self.open_socket(cx, socket.connection);
        }
    }

    /// Open a socket for the request of a connection that has none.
    fn open_socket(&mut self, cx: &mut Context<P>, id: ConnectionId) {
        let socket = self.socket(id);
        let connection = &mut self.table[id];
        let exchange = &mut self.exchanges[connection.exchange];
        exchange.wait_for_socket();
        let slow = self.settings.slow.filter(|_| exchange.order.is_slow);
        connection.prepare(slow.map(|slow| slow.bytes_per_s));
        let buffer_bytes = slow.map_or(0, |slow| slow.receive_buffer_bytes);
        let opened = self.net.open(&self.pools[connection.arm].target, buffer_bytes);
        let watched =
            opened.and_then(|link| self.net.watch(connection.link.insert(link), socket.to_token()));
        if let Err(error) = watched {
            if is_backlog_full(&error) {
                // A Unix socket does not wait by itself.
                connection.phase = Phase::Closed;
                cx.clock.set(cx.clock.now_ns + RETRY_NS, Wake::Connect(socket));
            } else {
                // Not at once: a row of such failures would never let go.
                connection.refusal = Some(kind_of(cx, &error));
                cx.clock.set(cx.clock.now_ns, Wake::Refusal(socket));
            }
        }
    }

    /// A socket could not even begin to connect.
    pub(in crate::drive) fn refuse(&mut self, cx: &mut Context<P>, socket: SocketId) {
        if self.socket(socket.connection) != socket {
            return;
        }
        cx.clock.tick();
        let refusal = self.table[socket.connection].refusal.take();
        self.fail_on(cx, socket.connection, refusal.unwrap_or(ErrorKind::Connect));
    }

    /// Take what epoll says about a socket that connects.
    pub(super) fn on_connecting(&mut self, cx: &mut Context<P>, id: ConnectionId, event: Event) {
        if event.is_broken() {
            let link = self.table[id].link.as_ref();
            let error = link.map_or(Ok(None), Stream::take_error);
            if let Some(error) = error.unwrap_or_else(Some) {
                cx.clock.tick();
                let kind = kind_of(cx, &error);
                return self.fail_on(cx, id, kind);
            }
            // No error: it was accepted, and closed before we came to look.
        } else if !event.is_writable() {
            return;
        }
        self.on_connected(cx, id);
        // What came with the connection, its end say, brings no event of its own.
        if event.is_readable() {
            self.read_if_busy(cx, event);
        }
    }

    fn on_connected(&mut self, cx: &mut Context<P>, id: ConnectionId) {
        cx.clock.tick();
        let connection = &mut self.table[id];
        self.exchanges[connection.exchange].connected_ns = Some(cx.clock.now_ns);
        if self.pools[connection.arm].target.tls.is_some() {
            connection.phase = Phase::Securing;
            self.secure(cx, id);
        } else {
            self.begin(cx, id);
        }
    }

    /// Go on with the TLS handshake.
    pub(super) fn secure(&mut self, cx: &mut Context<P>, id: ConnectionId) {
        let connection = &mut self.table[id];
        let Some(link) = &mut connection.link else { return };
        match link.handshake() {
            Ok(false) => {}
            Ok(true) => {
                let is_resumed = link.resumption() == Some(Handshake::Resumed);
                cx.clock.tick();
                self.exchanges[connection.exchange].secured_ns = Some(cx.clock.now_ns);
                if is_resumed {
                    cx.tally.sockets.handshakes_resumed += 1;
                } else {
                    cx.tally.sockets.handshakes_full += 1;
                }
                self.begin(cx, id);
            }
            Err(error) => {
                cx.clock.tick();
                let is_cut = !is_tls_failure(&error);
                if !is_cut {
                    cx.tally.reasons.note(ErrorKind::Tls, || tls_reason(&error));
                }
                self.fail_on(cx, id, if is_cut { ErrorKind::Reset } else { ErrorKind::Tls });
            }
        }
    }
}
