//! What happens on a connection: a request goes out, an answer comes in, or something breaks.

use std::cmp::Reverse;
use std::io::{ErrorKind as IoErrorKind, Read, Write};
use std::sync::atomic::Ordering;

use crate::connection::{Farewell, Phase};
use crate::outcome::ErrorKind;
use crate::scanner::{AtClose, Progress};
use crate::sys::{self, Event};
use crate::tally::Ended;
use crate::worker::Worker;

/// A connection's number, and which of its sockets is meant.
const fn token(member: u32, life: u32) -> u64 {
    (life as u64) << 32 | member as u64
}

impl Worker {
    /// Take what epoll says about a connection.
    pub(crate) fn on_event(&mut self, event: Event) {
        let member = event.token as u32;
        let connection = &self.connections[member as usize];
        if token(member, connection.life) != event.token {
            return; // of a socket that was closed in this batch
        }
        match connection.phase {
            Phase::Connecting if event.is_broken() => self.fail_to_connect(member),
            Phase::Connecting if event.is_writable() => {
                self.tick();
                let connection = &mut self.connections[member as usize];
                connection.reset_backoff();
                connection.connected_ns = Some(self.now_ns);
                self.begin(member);
            }
            Phase::Busy => {
                if event.is_writable() && self.has_more_to_write(member) {
                    self.write(member);
                }
                if event.is_readable() && self.is_same_life(event) {
                    self.read(member, event.is_closed());
                }
            }
            Phase::Idle if event.is_readable() => self.read_idle(member),
            Phase::Closed | Phase::Connecting | Phase::Idle => {}
        }
    }

    fn is_same_life(&self, event: Event) -> bool {
        let member = event.token as u32;
        let connection = &self.connections[member as usize];
        token(member, connection.life) == event.token && connection.phase == Phase::Busy
    }

    /// Have a connection send the next request of a closed loop, or leave it idle.
    pub(crate) fn send_next(&mut self, member: u32) {
        let plan = self.progress.plan;
        let is_measured = self.now_ns >= plan.measure_start_ns;
        if !self.progress.is_sending || self.now_ns >= plan.measure_end_ns {
            self.park(member);
            return;
        }
        if is_measured && plan.n_requests > 0 {
            let claimed = self.shared.claimed.fetch_add(1, Ordering::Relaxed);
            if claimed >= plan.n_requests {
                self.park(member);
                self.end_sending(self.now_ns);
                return;
            }
        }
        let index = self.progress.index();
        self.progress.advance();
        self.issue(member, index, self.now_ns, is_measured);
    }

    /// Send the request of an index on an idle connection, which is in no list.
    pub(crate) fn issue(&mut self, member: u32, index: u64, base_ns: u64, is_measured: bool) {
        let n_requests = self.pools[self.progress.plan.arm].requests.len() as u64;
        let request = (index % n_requests) as u32;
        self.tally.offer(is_measured, request, false);
        self.tally.take_up(self.now_ns, is_measured);
        self.links.push_back(&mut self.in_flight, member);
        let connection = &mut self.connections[member as usize];
        connection.take_up(request as usize, base_ns, self.now_ns, is_measured);
        connection.due_index = index;
        if connection.phase == Phase::Idle {
            self.begin(member);
        } else {
            self.connect(member);
        }
    }

    fn connect(&mut self, member: u32) {
        self.tally.connects += 1;
        let connection = &mut self.connections[member as usize];
        let address = self.pools[connection.arm].address;
        let token = token(member, connection.life);
        let watched = match connection.open(address) {
            Ok(stream) => self.epoll.add_stream(stream, token),
            Err(error) => Err(error),
        };
        if let Err(error) = watched {
            self.tick();
            self.fail(member, ErrorKind::of_connect(&error));
        }
    }

    fn fail_to_connect(&mut self, member: u32) {
        self.tick();
        let stream = self.connections[member as usize].stream.as_ref();
        let error = stream.and_then(|stream| stream.take_error().ok().flatten());
        let kind = error.as_ref().map_or(ErrorKind::Connect, ErrorKind::of_connect);
        self.fail(member, kind);
    }

    /// Write the request of a connection that has none under way.
    fn begin(&mut self, member: u32) {
        let connection = &mut self.connections[member as usize];
        let request = &self.pools[connection.arm].requests[connection.request];
        connection.begin(self.now_ns, request.is_head);
        self.write(member);
    }

    fn has_more_to_write(&self, member: u32) -> bool {
        let connection = &self.connections[member as usize];
        let request = &self.pools[connection.arm].requests[connection.request];
        connection.written < request.bytes.len()
    }

    fn write(&mut self, member: u32) {
        let connection = &mut self.connections[member as usize];
        let bytes = &self.pools[connection.arm].requests[connection.request].bytes;
        let Some(mut stream) = connection.stream.as_ref() else { return };
        while connection.written < bytes.len() {
            match stream.write(&bytes[connection.written..]) {
                Ok(count) => {
                    connection.written += count;
                    self.tally.bytes_sent += count as u64;
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

    /// Read what there is of an answer. When `is_closed` the peer will send no more.
    fn read(&mut self, member: u32, is_closed: bool) {
        loop {
            let connection = &mut self.connections[member as usize];
            let Some(mut stream) = connection.stream.as_ref() else { return };
            match stream.read(&mut self.buffer) {
                Ok(0) => return self.reach_end(member),
                Ok(count) => {
                    if !connection.has_answer {
                        connection.has_answer = true;
                        connection.first_byte_ns = Some(sys::monotonic_ns());
                    }
                    self.tally.receive(count as u64, false);
                    match connection.scanner.feed(&self.buffer[..count]) {
                        // A short read took all there was; a later byte brings a new event.
                        Ok(Progress::Partial) if count < self.buffer.len() && !is_closed => return,
                        Ok(Progress::Partial) => {}
                        Ok(Progress::Whole { consumed }) => {
                            let is_surplus = consumed < count;
                            self.surplus += u64::from(is_surplus);
                            return self.complete(member, !is_closed && !is_surplus, is_closed);
                        }
                        Err(_) => {
                            self.tick();
                            return self.fail(member, ErrorKind::BadResponse);
                        }
                    }
                }
                Err(error) => match error.kind() {
                    IoErrorKind::Interrupted => {}
                    IoErrorKind::WouldBlock if !connection.saw_reset => return,
                    _ => {
                        self.tick();
                        return self.fail(member, ErrorKind::Reset);
                    }
                },
            }
        }
    }

    /// The peer closed while a request was under way.
    fn reach_end(&mut self, member: u32) {
        let connection = &mut self.connections[member as usize];
        if !connection.has_answer && connection.is_stale() {
            connection.close(Farewell::Orderly);
            connection.has_retried = true;
            self.tally.retries += 1;
            return self.connect(member);
        }
        let kind = match connection.scanner.at_close() {
            AtClose::Whole if !connection.saw_reset => {
                return self.complete(member, false, true);
            }
            _ if !connection.has_answer || connection.saw_reset => ErrorKind::Reset,
            AtClose::InHead => ErrorKind::BadResponse,
            _ => ErrorKind::ShortBody,
        };
        self.tick();
        self.fail(member, kind);
    }

    /// The answer is whole: judge it, and let the connection go on.
    fn complete(&mut self, member: u32, is_reusable: bool, is_closed: bool) {
        self.tick();
        let is_written = !self.has_more_to_write(member);
        let connection = &mut self.connections[member as usize];
        let (scanner, status) = (&connection.scanner, connection.scanner.status());
        let request = &self.pools[connection.arm].requests[connection.request];
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
        if is_reusable && is_written && self.setup.keep_alive && scanner.keeps_alive() {
            connection.phase = Phase::Idle;
        } else {
            connection.close(if is_closed { Farewell::Orderly } else { Farewell::Abrupt });
        }
        self.finish(member, outcome);
    }

    /// The request failed, and its connection with it.
    pub(crate) fn fail(&mut self, member: u32, kind: ErrorKind) {
        self.connections[member as usize].close(Farewell::Abrupt);
        self.finish(member, Err(kind));
    }

    /// Count the end of a connection's request, now, and have the connection go on.
    fn finish(&mut self, member: u32, outcome: Result<(), ErrorKind>) {
        self.links.remove(&mut self.in_flight, member);
        let plan = self.progress.plan;
        let connection = &mut self.connections[member as usize];
        self.tally.end(&plan, &connection.ended(self.now_ns), outcome);
        if plan.is_open_loop() || !self.progress.is_sending {
            // The caller sends what waits: not here, or a row of failures would nest.
            self.park(member);
        } else if outcome.is_err_and(ErrorKind::is_of_connecting) {
            let wake_ns = self.now_ns + connection.next_backoff_ns();
            self.backoff.push(Reverse((wake_ns, member)));
        } else {
            self.send_next(member);
        }
    }

    /// Have the connections whose backoff is over try again (closed loop).
    pub(crate) fn wake_backed_off(&mut self) {
        while let Some(&Reverse((at_ns, member))) = self.backoff.peek()
            && at_ns <= self.now_ns
        {
            self.backoff.pop();
            self.send_next(member);
        }
    }

    /// The next due request ends without having been sent.
    pub(crate) fn end_unsent(&mut self, kind: ErrorKind) {
        let n_requests = self.pools[self.progress.plan.arm].requests.len() as u64;
        let due_index = self.progress.index();
        let ended = Ended {
            base_ns: self.progress.next_due_ns,
            issued_ns: None,
            connected_ns: None,
            secured_ns: None,
            written_ns: None,
            first_byte_ns: None,
            end_ns: self.now_ns,
            is_measured: self.progress.is_next_measured(),
            request: (due_index % n_requests) as u32,
            is_slow: false,
            due_index,
        };
        self.progress.advance();
        self.tally.offer(ended.is_measured, ended.request, ended.is_slow);
        self.tally.waited += u64::from(kind.is_timeout());
        self.tally.end(&self.progress.plan, &ended, Err(kind));
    }

    /// An idle connection is readable: the server closed it, or sent what nobody asked for. It is
    /// closed without an error in either case; bytes are counted as surplus.
    fn read_idle(&mut self, member: u32) {
        let connection = &mut self.connections[member as usize];
        let Some(mut stream) = connection.stream.as_ref() else { return };
        let farewell = match stream.read(&mut self.buffer) {
            Err(error) if error.kind() == IoErrorKind::WouldBlock => return,
            Ok(0) => Farewell::Orderly,
            Ok(_) => {
                self.surplus += 1;
                Farewell::Abrupt
            }
            Err(_) => Farewell::Abrupt,
        };
        let pool = &mut self.pools[connection.arm];
        self.links.remove(&mut pool.open, member);
        connection.close(farewell);
        self.links.push_back(&mut pool.closed, member);
    }
}
