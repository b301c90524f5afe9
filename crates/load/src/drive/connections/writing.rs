//! How a request goes out.

use std::io::ErrorKind as IoErrorKind;

use crate::drive::{
    clock::Wake,
    context::Context,
    ids::{ConnectionId, SocketId},
    platform::{Platform, Stream},
};
use crate::request::Vars;

use super::connection::{Connection, Phase};
use super::connections::Connections;
use super::slow_line::SlowLine;

impl<P: Platform> Connections<P> {
    /// Write the request of a connection that has none under way.
    #[inline]
    pub(super) fn begin(&mut self, cx: &mut Context<P>, id: ConnectionId) {
        let connection = &mut self.table[id];
        let exchange = &mut self.exchanges[connection.exchange];
        let order = exchange.order;
        let request = &self.pools[connection.arm].target.requests[order.request as usize];
        let identity = self.identities.of_mut(connection.arm, order.user);
        let jar = self.settings.has_cookies.then(|| {
            identity.jar.expire(cx.clock.unix_ms());
            &identity.jar
        });
        exchange.is_fixed = request.fixed(jar).is_some();
        if !exchange.is_fixed {
            let vars = Vars::new(order.number, identity.number, self.seed);
            exchange.outgoing.clear();
            request.render(&vars, jar, &mut exchange.outgoing);
        }
        let sent_before = connection.link.as_ref().map_or(0, Stream::sent_bytes);
        exchange.begin(cx.clock.now_ns, sent_before, request.is_head);
        connection.begin(cx.clock.now_ns);
        self.write(cx, id);
    }

    /// The socket takes bytes again.
    pub(super) fn write_on(&mut self, cx: &mut Context<P>, id: ConnectionId) {
        let connection = &mut self.table[id];
        if !self.exchanges[connection.exchange].is_written {
            self.write(cx, id);
        } else if let Some(link) = &mut connection.link
            && link.wants_flush()
            && link.flush().is_err()
        {
            self.read(cx, id, true);
        }
    }

    /// Write as much of the request as the socket and the line take.
    #[inline]
    fn write(&mut self, cx: &mut Context<P>, id: ConnectionId) {
        loop {
            let connection = &mut self.table[id];
            let exchange = &mut self.exchanges[connection.exchange];
            if exchange.is_written {
                return;
            }
            let requests = &self.pools[connection.arm].target.requests;
            let Connection { link, line, saw_reset, .. } = connection;
            let fixed = &requests[exchange.order.request as usize];
            let bytes = if exchange.is_fixed {
                fixed.fixed(None).unwrap_or(&[])
            } else {
                &exchange.outgoing
            };
            let left = &bytes[exchange.written..];
            let mut room = left.len();
            if let Some(line) = line {
                room = line.writing.allowance(cx.clock.now_ns, left.len()).min(left.len());
                if room == 0 {
                    let n_left = left.len();
                    return self.wait_for_the_line(cx, id, |line| line.writing.ready_ns(n_left));
                }
            }
            let Some(link) = link else { return };
            match link.write(&left[..room]) {
                Ok(count) => {
                    exchange.is_written = count == left.len();
                    exchange.written += count;
                    cx.tally.sockets.bytes_sent += count as u64;
                    if let Some(line) = line {
                        line.writing.spend(count);
                    }
                }
                Err(error) => match error.kind() {
                    IoErrorKind::WouldBlock => return,
                    IoErrorKind::Interrupted => {}
                    kind => {
                        *saw_reset = kind == IoErrorKind::ConnectionReset;
                        // The server may have answered before it closed: that answer counts.
                        self.read(cx, id, true);
                        return;
                    }
                },
            }
        }
    }

    /// A slow line is full: go on when it takes bytes again.
    pub(super) fn wait_for_the_line(
        &mut self,
        cx: &mut Context<P>,
        id: ConnectionId,
        until_ns: impl Fn(&SlowLine) -> u64,
    ) {
        let socket = self.socket(id);
        let Some(line) = &mut self.table[id].line else { return };
        if !line.has_timer {
            line.has_timer = true;
            cx.clock.set(until_ns(line), Wake::Line(socket));
        }
    }

    /// A slow line has carried what it was given.
    pub(in crate::drive) fn let_through(&mut self, cx: &mut Context<P>, socket: SocketId) {
        let id = socket.connection;
        if self.socket(id) != socket {
            return;
        }
        let connection = &mut self.table[id];
        let Some(line) = &mut connection.line else { return };
        line.has_timer = false;
        let (answer, has_more) = (line.read, line.has_more);
        if connection.phase != Phase::Busy {
            return;
        }
        if let Some(answer) = answer {
            return self.complete(cx, id, answer);
        }
        self.write(cx, id);
        if has_more && self.table[id].phase == Phase::Busy && self.socket(id) == socket {
            self.read(cx, id, false);
        }
    }
}
