//! What happens on a connection: a request goes out, an answer comes in, or something breaks.

use std::io::ErrorKind as IoErrorKind;

use super::connecting::token;
use super::connection::{Connection, Farewell, Phase, ReadAnswer, Taken};
use super::worker::Worker;
use crate::count::ErrorKind;
use crate::http::{AtClose, Malformed, Scanned};
use crate::request::Vars;
use crate::sys::{self, Event};
use crate::wire::{Link, is_tls_failure};

impl Worker {
    /// Take what epoll says about a connection.
    pub(crate) fn on_event(&mut self, event: Event) {
        let member = event.token as u32;
        let connection = &self.connections[member as usize];
        if token(member, connection.life) != event.token {
            return; // of a socket that was closed in this batch
        }
        match connection.phase {
            Phase::Connecting => self.on_connecting(member, event),
            Phase::Securing => {
                self.secure(member);
                self.read_if_busy(event);
            }
            Phase::Busy => {
                if event.is_writable() {
                    self.write_on(member);
                }
                if event.is_readable() {
                    self.read_if_busy(event);
                }
            }
            Phase::Idle if event.is_readable() => self.read_idle(member),
            Phase::Closed | Phase::Idle => {}
        }
    }

    pub(crate) fn read_if_busy(&mut self, event: Event) {
        let member = event.token as u32;
        let connection = &self.connections[member as usize];
        if token(member, connection.life) == event.token && connection.phase == Phase::Busy {
            self.read(member, event.is_closed());
        }
    }

    /// Send a request on a connection without one, which is in no list.
    pub(crate) fn issue(&mut self, member: u32, taken: Taken) {
        let connection = &mut self.connections[member as usize];
        connection.take_up(taken, self.now_ns);
        let visit = &mut self.visits[connection.owner as usize];
        visit.n_under_way += 1;
        self.tally.offer(taken.is_measured, taken.request, visit.is_slow);
        self.tally.take_up(self.now_ns, taken.is_measured);
        let is_idle = connection.phase == Phase::Idle;
        self.add_in_flight(member, taken.base_ns);
        if is_idle {
            self.begin(member);
        } else {
            self.connect(member);
        }
    }

    /// The list is in the order in which patience ends. Requests are taken up nearly in that
    /// order, so the place is found at once or after a few steps.
    fn add_in_flight(&mut self, member: u32, base_ns: u64) {
        let mut before = self.in_flight.last();
        while let Some(other) = before
            && self.connections[other as usize].base_ns() > base_ns
        {
            before = self.links.previous(other);
        }
        self.links.insert_after(&mut self.in_flight, before, member);
    }

    /// Write the request of a connection that has none under way.
    pub(crate) fn begin(&mut self, member: u32) {
        let connection = &mut self.connections[member as usize];
        let pool = &self.pools[connection.arm];
        let request = &pool.target.requests[connection.request as usize];
        let user = &pool.users[self.visits[connection.owner as usize].user as usize];
        let jar = self.spec.users.has_cookies.then_some(&user.jar);
        connection.is_fixed = request.fixed(jar).is_some();
        if !connection.is_fixed {
            let number = connection.number();
            let vars = Vars::new(number, user.number, self.spec.seed);
            let connection = &mut self.connections[member as usize];
            connection.outgoing.clear();
            request.render(&vars, jar, &mut connection.outgoing);
        }
        let connection = &mut self.connections[member as usize];
        connection.begin(self.now_ns, request.is_head);
        self.write(member);
    }

    /// The socket takes bytes again.
    fn write_on(&mut self, member: u32) {
        let connection = &mut self.connections[member as usize];
        if !connection.is_written {
            self.write(member);
        } else if let Some(link) = &mut connection.link
            && link.wants_flush()
            && link.flush().is_err()
        {
            self.read(member, true);
        }
    }

    /// Write as much of the request as the socket and the line take.
    pub(crate) fn write(&mut self, member: u32) {
        loop {
            let now_ns = self.now_ns;
            let connection = &mut self.connections[member as usize];
            if connection.is_written {
                return;
            }
            let requests = &self.pools[connection.arm].target.requests;
            let Connection { link, pace, outgoing, .. } = connection;
            let fixed = &requests[connection.request as usize];
            let bytes =
                if connection.is_fixed { fixed.fixed(None).unwrap_or(&[]) } else { outgoing };
            let left = &bytes[connection.written..];
            let mut room = left.len();
            if let Some(pace) = pace {
                room = pace.writing.allowance(now_ns, left.len()).min(left.len());
                if room == 0 {
                    let n_left = left.len();
                    return self.wait_for_the_line(member, |pace| pace.writing.ready_ns(n_left));
                }
            }
            let Some(link) = link else { return };
            match link.write(&left[..room]) {
                Ok(count) => {
                    connection.is_written = count == left.len();
                    connection.written += count;
                    self.tally.bytes_sent += count as u64;
                    if let Some(pace) = &mut connection.pace {
                        pace.writing.spend(count);
                    }
                }
                Err(error) => match error.kind() {
                    IoErrorKind::WouldBlock => return,
                    IoErrorKind::Interrupted => {}
                    kind => {
                        connection.saw_reset = kind == IoErrorKind::ConnectionReset;
                        // The server may have answered before it closed: that answer counts.
                        self.read(member, true);
                        return;
                    }
                },
            }
        }
    }

    /// Read what there is of an answer, as far as a turn of the loop allows. When `is_closed` the
    /// peer will send no more.
    pub(crate) fn read(&mut self, member: u32, mut is_closed: bool) {
        let mut n_read = 0;
        is_closed |= self.connections[member as usize].is_ending;
        if self.connections[member as usize].pace.is_some() {
            self.tick();
        }
        loop {
            let now_ns = self.now_ns;
            let connection = &mut self.connections[member as usize];
            let mut room = self.buffer.len();
            let has_answer = connection.has_answer();
            if let Some(pace) = &mut connection.pace {
                pace.is_ended |= is_closed;
                is_closed = pace.is_ended;
                if !has_answer {
                    pace.reading.begin(now_ns);
                }
                pace.has_more = true;
                if pace.read.is_some() {
                    return; // it is whole: only the line has to carry it
                }
                let wanted = room;
                room = pace.reading.allowance(now_ns, wanted).min(wanted);
                if room == 0 {
                    return self.wait_for_the_line(member, |pace| pace.reading.ready_ns(wanted));
                }
            }
            let Some(link) = &mut connection.link else { return };
            match link.read(&mut self.buffer[..room]) {
                Ok(0) => return self.reach_end(member, false),
                Ok(count) => {
                    let is_drained = count < room && link.is_drained_by_short_read();
                    self.now_ns = sys::monotonic_ns();
                    connection.received(self.now_ns);
                    if let Some(pace) = &mut connection.pace {
                        pace.reading.spend(count);
                        pace.has_more = !is_drained;
                    }
                    self.tally.receive(count as u64, connection.is_slow);
                    match self.scan(member, count) {
                        // A short read took all there was; a later byte brings a new event.
                        Ok(Scanned::Partial) if is_drained && !is_closed => return,
                        Ok(Scanned::Partial) => {
                            n_read += count;
                            if self.turn.is_spent(n_read, self.now_ns) {
                                return self.read_on_later(member, is_closed);
                            }
                        }
                        Ok(Scanned::Whole { consumed }) => {
                            let is_surplus = consumed < count;
                            self.surplus += u64::from(is_surplus);
                            let is_reusable = !is_closed && !is_surplus;
                            return self.complete(member, ReadAnswer { is_reusable, is_closed });
                        }
                        Err(_) => return self.fail(member, ErrorKind::BadResponse),
                    }
                }
                Err(error) => match error.kind() {
                    IoErrorKind::Interrupted => {
                        // By what is about the connection only, which is not worth a count.
                        return self.read_on_later(member, is_closed);
                    }
                    IoErrorKind::WouldBlock if !connection.saw_reset => {
                        if let Some(pace) = &mut connection.pace {
                            pace.has_more = false;
                        }
                        return;
                    }
                    // Without the goodbye of TLS: somebody may have cut the connection.
                    IoErrorKind::UnexpectedEof => return self.reach_end(member, true),
                    _ => {
                        let is_of_tls = is_tls_failure(&error);
                        self.tick();
                        let kind = if is_of_tls { ErrorKind::Tls } else { ErrorKind::Reset };
                        return self.fail(member, kind);
                    }
                },
            }
        }
    }

    /// Leave the rest of what a connection has to the next turn.
    fn read_on_later(&mut self, member: u32, is_closed: bool) {
        let connection = &mut self.connections[member as usize];
        connection.is_ending |= is_closed;
        if !connection.is_unread {
            connection.is_unread = true;
            self.turn.leave(member);
        }
    }

    /// Read a connection that had more than a turn allowed.
    pub(crate) fn read_on(&mut self, member: u32) {
        let connection = &mut self.connections[member as usize];
        let is_unread = std::mem::take(&mut connection.is_unread);
        if is_unread && connection.phase == Phase::Busy {
            self.read(member, false);
        }
    }

    /// Have the scanner take the first `count` bytes of the buffer.
    #[inline]
    fn scan(&mut self, member: u32, count: usize) -> Result<Scanned, Malformed> {
        let connection = &mut self.connections[member as usize];
        let input = &self.buffer[..count];
        if !self.spec.users.has_cookies {
            return connection.scanner.feed(input);
        }
        let pool = &mut self.pools[connection.arm];
        let user = &mut pool.users[self.visits[connection.owner as usize].user as usize];
        let target = &pool.target.requests[connection.request as usize].target;
        let unix_now_s = self.unix_now_s;
        connection.scanner.feed_with(input, |cookie| user.jar.take(cookie, target, unix_now_s))
    }

    /// The peer closed while a request was under way, or the connection was cut.
    fn reach_end(&mut self, member: u32, is_cut: bool) {
        let connection = &mut self.connections[member as usize];
        if !connection.has_answer() && connection.is_stale() {
            connection.close(Farewell::Orderly);
            connection.has_retried = true;
            self.tally.retries += 1;
            return self.connect(member);
        }
        let kind = match connection.scanner.at_close() {
            AtClose::Whole if !connection.saw_reset && !is_cut => {
                let answer = ReadAnswer { is_reusable: false, is_closed: true };
                return self.complete(member, answer);
            }
            _ if !connection.has_answer() || connection.saw_reset => ErrorKind::Reset,
            AtClose::InHead => ErrorKind::BadResponse,
            _ => ErrorKind::ShortBody,
        };
        self.tick();
        self.fail(member, kind);
    }

    /// The answer is whole, now: judge it, and let the connection go on.
    pub(crate) fn complete(&mut self, member: u32, answer: ReadAnswer) {
        let ReadAnswer { is_reusable, mut is_closed } = answer;
        if let Some(pace) = &self.connections[member as usize].pace {
            is_closed |= pace.is_ended;
        }
        if let Some(pace) = &mut self.connections[member as usize].pace
            && pace.reading.paid_ns() > self.now_ns
        {
            // It is with the user when the line has carried its last byte.
            (pace.read, pace.has_more) = (Some(answer), false);
            return self.wait_for_the_line(member, |pace| pace.reading.paid_ns());
        }
        if is_closed {
            self.tick();
        }
        let limit = self.spec.requests_per_connection;
        let connection = &mut self.connections[member as usize];
        let (scanner, status) = (&connection.scanner, connection.scanner.status());
        let request = &self.pools[connection.arm].target.requests[connection.request as usize];
        let age_ns = self.now_ns.saturating_sub(connection.base_ns());
        let outcome = if age_ns >= self.setup.timeout_ns {
            Err(ErrorKind::Timeout)
        } else if !request.expects_status(status) {
            Err(ErrorKind::WrongStatus)
        } else if !request.expects_length(scanner.body_bytes()) {
            Err(ErrorKind::WrongLength)
        } else {
            Ok(())
        };
        self.tally.statuses[usize::from(status)] += 1;
        connection.n_answers += 1;
        let has_room = limit == 0 || connection.n_answers < limit;
        let is_sound = connection.link.as_ref().is_some_and(Link::is_reusable);
        if is_reusable
            && !is_closed
            && is_sound
            && connection.is_written
            && has_room
            && scanner.keeps_alive()
        {
            connection.phase = Phase::Idle;
        } else {
            connection.close(if is_closed { Farewell::Orderly } else { Farewell::Abrupt });
        }
        self.finish(member, outcome);
    }

    /// The request failed, and its connection with it.
    pub(crate) fn fail(&mut self, member: u32, kind: ErrorKind) {
        let connection = &mut self.connections[member as usize];
        let kind = match kind {
            ErrorKind::Timeout if connection.is_unconnected() => ErrorKind::ConnectTimeout,
            kind => kind,
        };
        connection.close(Farewell::Abrupt);
        self.finish(member, Err(kind));
    }

    /// Count the end of a connection's request, now, and have its visit go on.
    fn finish(&mut self, member: u32, outcome: Result<(), ErrorKind>) {
        self.links.remove(&mut self.in_flight, member);
        let connection = &self.connections[member as usize];
        if self.progress.plan.is_credited() {
            self.visits[connection.owner as usize].n_right += u32::from(outcome.is_ok());
        }
        self.tally.end(&self.progress.plan, &connection.ended(self.now_ns), outcome);
        if self.is_holding_back {
            self.held_back.push((member, outcome));
        } else {
            self.go_on(member, outcome);
        }
    }

    /// A connection without a request is readable: the server closed it, or sent what nobody asked
    /// for. It is closed without an error in either case; bytes are counted as surplus.
    fn read_idle(&mut self, member: u32) {
        let connection = &mut self.connections[member as usize];
        let Some(link) = &mut connection.link else { return };
        let farewell = match link.read(&mut self.buffer) {
            Err(error) if error.kind() == IoErrorKind::WouldBlock => return,
            Ok(0) => Farewell::Orderly,
            Ok(_) => {
                self.surplus += 1;
                Farewell::Abrupt
            }
            Err(_) => Farewell::Abrupt,
        };
        let is_parked = connection.is_parked;
        if is_parked {
            self.unpark(member);
        }
        self.connections[member as usize].close(farewell);
        if is_parked {
            self.park(member);
        }
    }
}
