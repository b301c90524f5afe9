//! How requests are read, and their answers played.

use std::sync::atomic::Ordering;

use crate::answer::{self, Ending, Manner, Script};
use crate::behaviour::Behaviour;
use crate::connection::{Connection, Phase, Play, Progress};
use crate::cookie;
use crate::counters::count;
use crate::exchange::Exchange;
use crate::log::KeptRequest;
use crate::recorder::Seen;
use crate::request::{MAX_HEAD_BYTES, head_end};
use crate::route::Route;
use crate::server::Server;
use crate::session;
use crate::sys::monotonic_ns;

impl Server {
    /// Begin with the next request that was read whole, if there is one.
    pub(crate) fn take_requests(&mut self, slot: usize, mut connection: Box<Connection>) {
        if matches!(connection.phase, Phase::Idle) && !connection.received.is_empty() {
            if let Some(end) = head_end(&connection.received) {
                return self.take_head(slot, connection, end);
            }
            if connection.received.len() > MAX_HEAD_BYTES {
                let script = answer::bad_request("the header is too long");
                return self.play(slot, connection, Play::control(script));
            }
        }
        if matches!(connection.phase, Phase::Body { left: 0, .. }) {
            let phase = std::mem::replace(&mut connection.phase, Phase::Idle);
            if let Phase::Body { exchange, kept, .. } = phase {
                return self.serve(slot, connection, &exchange, kept);
            }
        }
        if connection.has_ended {
            return self.lose(slot, &connection);
        }
        self.connections[slot] = Some(connection);
    }

    /// Read a header of so many bytes, and as much of the body as is there.
    fn take_head(&mut self, slot: usize, mut connection: Box<Connection>, end: usize) {
        let received = &mut connection.received;
        let exchange = self.exchanges.look_up(&received[..end], &self.shared.recorder);
        let present = exchange.body_bytes.min(received.len() - end);
        let kept = self.keeps(&exchange).then(|| {
            let mut kept = KeptRequest {
                connection: connection.number,
                request: connection.requests,
                head: received[..end].to_vec(),
                body: Vec::new(),
                body_bytes: exchange.body_bytes,
            };
            kept.take_in(&received[end..end + present]);
            Box::new(kept)
        });
        received.drain(..end + present);
        connection.request_bytes = (end + exchange.body_bytes) as u64;
        let left = exchange.body_bytes - present;
        if left == 0 {
            return self.serve(slot, connection, &exchange, kept);
        }
        if exchange.answer.is_early() {
            connection.skip = left;
            connection.request_bytes -= left as u64;
            return self.serve(slot, connection, &exchange, kept);
        }
        connection.phase = Phase::Body { exchange, left, kept };
        self.take_requests(slot, connection);
    }

    /// Whether a request's header and body are needed later.
    fn keeps(&self, exchange: &Exchange) -> bool {
        match &exchange.answer.route {
            Ok(Route { control: Some(_), .. }) => false,
            Ok(Route { behaviour: Behaviour::Echo, .. }) => true,
            _ => self.kept < self.config.keep_requests,
        }
    }

    /// A request is here to its last byte: log it, and answer it when its time has come.
    fn serve(
        &mut self,
        slot: usize,
        mut connection: Box<Connection>,
        exchange: &Exchange,
        kept: Option<Box<KeptRequest>>,
    ) {
        let (at_ns, first_byte_ns) = (connection.read_ns, connection.first_byte_ns);
        connection.first_byte_ns = if connection.received.is_empty() { 0 } else { at_ns };
        let starts_ns = at_ns.max(connection.free_ns);
        let (behaviour, finish_ns) = match &exchange.answer.route {
            Ok(Route { control: Some(control), .. }) => {
                let script = self.control(*control);
                return self.play(slot, connection, Play::control(script));
            }
            Ok(route) => {
                let service_ns = route.service.draw_ns(&mut self.rng);
                (route.behaviour, self.workers.finish_ns(starts_ns, service_ns))
            }
            Err(_) => (Behaviour::BadRequest, starts_ns),
        };
        let index = self.shared.recorder.arrived(Seen {
            at_ns,
            first_byte_ns,
            accepted_ns: connection.accepted_ns,
            connection: connection.number,
            request: connection.requests,
            path: exchange.answer.path,
            behaviour,
            bytes: connection.request_bytes,
        });
        connection.requests += 1;
        let script = self.script(exchange, kept.as_deref(), connection.requests);
        if let Some(kept) = kept.filter(|_| self.kept < self.config.keep_requests) {
            self.kept += 1;
            self.shared.recorder.keep(*kept);
        }
        let play = Play::new(script, index, finish_ns);
        let hold_until_ns = self.shared.hold_until_ns.load(Ordering::Acquire);
        if finish_ns > starts_ns || hold_until_ns > starts_ns {
            return self.wait(slot, connection, play);
        }
        self.play(slot, connection, play);
    }

    /// The answer to the connection's so-manieth request.
    fn script(&self, exchange: &Exchange, kept: Option<&KeptRequest>, requests: u32) -> Script {
        let recorder = &self.shared.recorder;
        let ending = match self.config.close_after {
            _ if exchange.wants_close => Ending::Announced,
            Some(close) if requests >= close.requests && close.is_announced => Ending::Announced,
            Some(close) if requests >= close.requests => Ending::Silent,
            _ => Ending::KeepAlive,
        };
        let manner = Manner { is_head: exchange.is_head, ending };
        let is_known = exchange.session.is_some_and(|session| recorder.visited(session));
        match (&exchange.answer.route, kept) {
            (Ok(route), Some(kept)) if route.behaviour == Behaviour::Echo => {
                let head: &[u8] = if route.echoes_body_alone { &[] } else { &kept.head };
                answer::echo(&[head, &kept.body].concat(), manner)
            }
            (Ok(route), _) if route.behaviour == Behaviour::Session && !is_known => {
                let Some(session) = recorder.begin_session() else {
                    return exchange.script(ending);
                };
                let fields = cookie::session_field(&session::name(session));
                answer::script(&Route { fields, ..route.clone() }, manner)
            }
            _ => exchange.script(ending),
        }
    }

    /// Go on with an answer when it is due.
    pub(crate) fn wait(&mut self, slot: usize, mut connection: Box<Connection>, play: Play) {
        let hold_until_ns = self.shared.hold_until_ns.load(Ordering::Acquire);
        connection.timer = self.set_timer(slot, play.due_ns.max(hold_until_ns));
        self.rest(slot, connection, Phase::Waiting(play));
    }

    /// Put a connection back with an answer under way, if the client is still there.
    fn rest(&mut self, slot: usize, mut connection: Box<Connection>, phase: Phase) {
        connection.phase = phase;
        if connection.has_ended {
            return self.lose(slot, &connection);
        }
        self.connections[slot] = Some(connection);
    }

    /// Go on with an answer.
    pub(crate) fn play(&mut self, slot: usize, mut connection: Box<Connection>, mut play: Play) {
        let recorder = &self.shared.recorder;
        // Noted before the last write: who has the answer finds it in the log and the counts.
        let is_last = !play.is_control && play.is_ending(connection.has_ended);
        let begins = !play.is_control && !play.has_begun && play.is_writing(connection.has_ended);
        if is_last || begins {
            let now_ns = monotonic_ns();
            if begins {
                play.has_begun = true;
                recorder.answering(play.log_index, now_ns);
            }
            if is_last {
                recorder.finished(play.log_index, now_ns);
            }
        }
        connection.written_ns = 0;
        let progress = connection.advance(&mut play);
        if is_last && matches!(progress, Progress::Blocked | Progress::Broken) {
            recorder.not_finished(play.log_index);
        } else if is_last && connection.written_ns != 0 {
            recorder.finished_at(play.log_index, connection.written_ns);
        }
        match progress {
            Progress::Blocked => self.rest(slot, connection, Phase::Playing(play)),
            Progress::Paused => self.wait(slot, connection, play),
            Progress::Awaiting => self.rest(slot, connection, Phase::Awaiting(play)),
            Progress::Hang => self.rest(slot, connection, Phase::Hanging),
            Progress::Fin => self.drain(slot, connection),
            Progress::Close => self.release(slot, &connection),
            Progress::Reset => {
                self.release(slot, &connection);
                connection.link.reset();
            }
            Progress::Broken => {
                count(&recorder.counters.abandoned);
                self.release(slot, &connection);
            }
            Progress::Done => {
                connection.phase = Phase::Idle;
                self.start_idling(slot, &mut connection);
                if !connection.received.is_empty() {
                    connection.free_ns = monotonic_ns();
                }
                // Its depth is the number of requests that one read brought: pipelining only.
                self.take_requests(slot, connection);
            }
        }
    }

    /// Send FIN for want of requests.
    pub(crate) fn finish_sending(&mut self, slot: usize, mut connection: Box<Connection>) {
        if connection.link.finish().is_err() {
            return self.release(slot, &connection);
        }
        self.drain(slot, connection);
    }

    /// Wait for the client's FIN after ours: closing at once could turn into RST.
    pub(crate) fn drain(&mut self, slot: usize, mut connection: Box<Connection>) {
        connection.received.clear();
        if connection.has_ended {
            return self.release(slot, &connection);
        }
        connection.phase = Phase::Draining;
        self.connections[slot] = Some(connection);
    }

    pub(crate) fn start_idling(&mut self, slot: usize, connection: &mut Connection) {
        connection.timer = 0;
        if let Some(idle) = self.config.idle_close {
            connection.timer = self.set_timer(slot, monotonic_ns() + idle.as_nanos() as u64);
        }
    }

    /// The client has left.
    pub(crate) fn lose(&mut self, slot: usize, connection: &Connection) {
        let has_request = matches!(
            connection.phase,
            Phase::Body { .. }
                | Phase::Waiting(_)
                | Phase::Playing(_)
                | Phase::Awaiting(_)
                | Phase::Hanging
        );
        if has_request {
            count(&self.shared.recorder.counters.abandoned);
        }
        self.release(slot, connection);
    }

    pub(crate) fn release(&mut self, slot: usize, connection: &Connection) {
        let now_ns = monotonic_ns();
        self.shared.recorder.closed(connection.number, connection.requests, now_ns);
        self.free.push(slot);
    }
}
