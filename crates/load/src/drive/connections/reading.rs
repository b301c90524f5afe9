//! How an answer comes in.

use std::io::ErrorKind as IoErrorKind;

use crate::count::ErrorKind;
use crate::drive::{
    context::Context,
    ids::ConnectionId,
    platform::{Platform, Stream},
};
use crate::http::{AtClose, Malformed, Scanned};
use crate::wire::{is_tls_failure, tls_reason};

use super::connection::Close;
use super::connections::Connections;
use super::slow_line::ReadAnswer;

impl<P: Platform> Connections<P> {
    /// Read what there is of an answer, as far as a turn of the loop allows. When `is_closed` the
    /// peer will send no more.
    #[inline]
    pub(super) fn read(&mut self, cx: &mut Context<P>, id: ConnectionId, mut is_closed: bool) {
        let mut n_read = 0;
        is_closed |= self.table[id].is_ending;
        if self.table[id].line.is_some() {
            cx.clock.tick();
        }
        loop {
            let now_ns = cx.clock.now_ns;
            let connection = &mut self.table[id];
            let exchange = &mut self.exchanges[connection.exchange];
            let mut room = self.buffer.len();
            if let Some(line) = &mut connection.line {
                line.is_ended |= is_closed;
                is_closed = line.is_ended;
                if !exchange.has_answer() {
                    line.reading.begin(now_ns);
                }
                line.has_more = true;
                if line.read.is_some() {
                    return; // it is whole: only the line has to carry it
                }
                let wanted = room;
                room = line.reading.allowance(now_ns, wanted).min(wanted);
                if room == 0 {
                    return self.wait_for_the_line(cx, id, |line| line.reading.ready_ns(wanted));
                }
            }
            let Some(link) = &mut connection.link else { return };
            match link.read(&mut self.buffer[..room]) {
                Ok(0) => return self.reach_end(cx, id, false),
                Ok(count) => {
                    let is_drained = count < room && link.is_drained_by_short_read();
                    cx.clock.tick();
                    exchange.received(cx.clock.now_ns);
                    if let Some(line) = &mut connection.line {
                        line.reading.spend(count);
                        line.has_more = !is_drained;
                    }
                    cx.tally.receive(count as u64, connection.is_slow);
                    match self.scan(cx, id, count) {
                        // A short read took all there was; a later byte brings a new event.
                        Ok(Scanned::Partial) if is_drained && !is_closed => return,
                        Ok(Scanned::Partial) => {
                            n_read += count;
                            if self.budget.is_spent(n_read, cx.clock.now_ns) {
                                return self.read_on_later(id, is_closed);
                            }
                        }
                        Ok(Scanned::Whole { consumed }) => {
                            let is_surplus = consumed < count;
                            self.n_surplus += u64::from(is_surplus);
                            let is_reusable = !is_closed && !is_surplus;
                            return self.complete(cx, id, ReadAnswer { is_reusable, is_closed });
                        }
                        Err(Malformed) => {
                            let scanner = &self.exchanges[self.table[id].exchange].scanner;
                            let fault = || scanner.fault(&self.buffer[..count]);
                            cx.tally.reasons.note(ErrorKind::BadResponse, fault);
                            return self.fail_on(cx, id, ErrorKind::BadResponse);
                        }
                    }
                }
                Err(error) => match error.kind() {
                    IoErrorKind::Interrupted => {
                        // By what is about the connection only, which is not worth a count.
                        return self.read_on_later(id, is_closed);
                    }
                    IoErrorKind::WouldBlock if !connection.saw_reset => {
                        if let Some(line) = &mut connection.line {
                            line.has_more = false;
                        }
                        return;
                    }
                    // Without the `close_notify` of TLS: somebody may have cut the connection.
                    IoErrorKind::UnexpectedEof => return self.reach_end(cx, id, true),
                    _ => {
                        let is_of_tls = is_tls_failure(&error);
                        cx.clock.tick();
                        if is_of_tls {
                            cx.tally.reasons.note(ErrorKind::Tls, || tls_reason(&error));
                        }
                        let kind = if is_of_tls { ErrorKind::Tls } else { ErrorKind::Reset };
                        return self.fail_on(cx, id, kind);
                    }
                },
            }
        }
    }

    /// Leave the rest of what a connection has to the next turn.
    fn read_on_later(&mut self, id: ConnectionId, is_closed: bool) {
        let connection = &mut self.table[id];
        connection.is_ending |= is_closed;
        if !connection.is_unread {
            connection.is_unread = true;
            self.budget.leave(id);
        }
    }

    /// Have the scanner take the first `count` bytes of the buffer.
    #[inline]
    fn scan(
        &mut self,
        cx: &mut Context<P>,
        id: ConnectionId,
        count: usize,
    ) -> Result<Scanned, Malformed> {
        let arm = self.table[id].arm;
        let exchange = &mut self.exchanges[self.table[id].exchange];
        let input = &self.buffer[..count];
        if !self.settings.has_cookies {
            return exchange.scanner.feed(input);
        }
        let jar = &mut self.identities.of_mut(arm, exchange.order.user).jar;
        let requests = &self.pools[arm].target.requests;
        let target = &requests[exchange.order.request as usize].target;
        let unix_now_ms = cx.clock.unix_ms();
        let lost_cookies = &mut cx.tally.lost_cookies;
        exchange.scanner.feed_with(input, |cookie| {
            *lost_cookies += u64::from(!jar.take(cookie, target, unix_now_ms));
        })
    }

    /// The peer closed while a request was under way, or the connection was cut.
    fn reach_end(&mut self, cx: &mut Context<P>, id: ConnectionId, is_cut: bool) {
        let connection = &mut self.table[id];
        let exchange = &mut self.exchanges[connection.exchange];
        let has_answer = exchange.has_answer();
        let may_be_sent_again = !has_answer && !exchange.has_retried;
        if may_be_sent_again && connection.is_stale(exchange.sent_before) {
            connection.close(Close::Fin);
            exchange.has_retried = true;
            cx.tally.retries += 1;
            return self.connect(cx, id);
        }
        let kind = match exchange.scanner.at_close() {
            AtClose::Whole if !connection.saw_reset && !is_cut => {
                let answer = ReadAnswer { is_reusable: false, is_closed: true };
                return self.complete(cx, id, answer);
            }
            _ if !has_answer || connection.saw_reset => ErrorKind::Reset,
            AtClose::InHead => {
                cx.tally.reasons.note(ErrorKind::BadResponse, || ("cut_off", String::new()));
                ErrorKind::BadResponse
            }
            _ => ErrorKind::ShortBody,
        };
        cx.clock.tick();
        self.fail_on(cx, id, kind);
    }

    /// A connection without a request is readable: the server closed it, or sent what nobody asked
    /// for. It is closed without an error in either case; bytes are counted as surplus.
    pub(super) fn read_idle(&mut self, id: ConnectionId) {
        let connection = &mut self.table[id];
        let Some(link) = &mut connection.link else { return };
        let with = match link.read(&mut self.buffer) {
            Err(error) if error.kind() == IoErrorKind::WouldBlock => return,
            Ok(0) => Close::Fin,
            Ok(_) => {
                self.n_surplus += 1;
                Close::Reset
            }
            Err(_) => Close::Reset,
        };
        let is_parked = connection.is_parked;
        if is_parked {
            self.unpark(id);
        }
        self.table[id].close(with);
        if is_parked {
            self.park(id);
        }
    }
}
