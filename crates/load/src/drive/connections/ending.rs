//! How an exchange ends: its answer is judged, or it failed.

use crate::count::ErrorKind;
use crate::drive::{
    context::Context,
    ids::{ConnectionId, ExchangeId},
    platform::{Platform, Stream},
};

use super::connection::{Close, Phase};
use super::connections::Connections;
use super::slow_line::ReadAnswer;

impl<P: Platform> Connections<P> {
    /// The answer is whole, now: judge it, and let the connection go on.
    #[inline]
    pub(super) fn complete(&mut self, cx: &mut Context<P>, id: ConnectionId, answer: ReadAnswer) {
        let ReadAnswer { is_reusable, mut is_closed } = answer;
        if let Some(line) = &mut self.table[id].line {
            is_closed |= line.is_ended;
            if line.reading.paid_ns() > cx.clock.now_ns {
                // It is with the user when the line has carried its last byte.
                (line.read, line.has_more) = (Some(answer), false);
                return self.wait_for_the_line(cx, id, |line| line.reading.paid_ns());
            }
        }
        if is_closed {
            cx.clock.tick();
        }
        let limit = self.settings.requests_per_connection;
        let connection = &mut self.table[id];
        let exchange = &self.exchanges[connection.exchange];
        let (scanner, status) = (&exchange.scanner, exchange.scanner.status());
        let requests = &self.pools[connection.arm].target.requests;
        let request = &requests[exchange.order.request as usize];
        let age_ns = cx.clock.now_ns.saturating_sub(exchange.order.base_ns);
        let outcome = if age_ns >= self.settings.timeout_ns {
            Err(ErrorKind::Timeout)
        } else if !request.expects_status(status) {
            Err(ErrorKind::WrongStatus)
        } else if !request.expects_length_of(scanner) {
            cx.tally.reasons.note(ErrorKind::WrongLength, || match scanner.decoded_bytes() {
                Some(n_bytes) => ("length", n_bytes.to_string()),
                None => ("coding", String::new()),
            });
            Err(ErrorKind::WrongLength)
        } else {
            Ok(())
        };
        cx.tally.statuses[usize::from(status)] += 1;
        cx.tally.uncoded += u64::from(scanner.is_plain_by_choice());
        connection.n_answers += 1;
        let has_room = limit == 0 || connection.n_answers < limit;
        let is_sound = connection.link.as_ref().is_some_and(Stream::is_reusable);
        if is_reusable
            && !is_closed
            && is_sound
            && exchange.is_written
            && has_room
            && scanner.keeps_alive()
        {
            connection.phase = Phase::Idle;
        } else {
            connection.close(if is_closed { Close::Fin } else { Close::Reset });
        }
        let exchange = connection.exchange;
        self.finish(cx, exchange, outcome);
    }

    /// An exchange failed, and its connection with it.
    pub(in crate::drive) fn fail(
        &mut self,
        cx: &mut Context<P>,
        exchange: ExchangeId,
        kind: ErrorKind,
    ) {
        let kind = match kind {
            ErrorKind::Timeout if self.exchanges[exchange].is_unconnected() => {
                ErrorKind::ConnectTimeout
            }
            kind => kind,
        };
        self.table[self.exchanges[exchange].connection].close(Close::Reset);
        self.finish(cx, exchange, Err(kind));
    }

    /// A connection failed, and the exchange on it.
    pub(super) fn fail_on(&mut self, cx: &mut Context<P>, id: ConnectionId, kind: ErrorKind) {
        let exchange = self.table[id].exchange;
        self.fail(cx, exchange, kind);
    }

    /// Count the end of an exchange, now.
    #[inline]
    fn finish(
        &mut self,
        cx: &mut Context<P>,
        exchange: ExchangeId,
        outcome: Result<(), ErrorKind>,
    ) {
        self.remove_in_flight(exchange);
        let ended = &self.exchanges[exchange];
        let is_slow = self.table[ended.connection].is_slow;
        let ended = ended.ended(cx.clock.now_ns, is_slow);
        cx.tally.end(cx.clock.progress.plan(), &ended, outcome);
        self.note(exchange, outcome);
    }
}
