//! The clock and the net of a virtual world.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::script::{Door, Reply, S, Seen, answer};
use crate::drive::platform::{Net, Platform, Stream, Time};
use crate::drive::shared::Shared;
use crate::drive::worker::WAKER_TOKEN;
use crate::request::Target;
use crate::sys::{Event, MAX_EVENTS};
use crate::wire::Handshake;

/// Of several waits of no length each but the first takes so long: who polls must get on.
const POLL_NS: u64 = 100;

type Service = Box<dyn FnMut(&Seen) -> Reply>;
type Doors = Box<dyn FnMut(u64) -> Door>;

/// The world as links, net and test share it.
#[derive(Clone)]
pub(in crate::drive) struct World(Rc<RefCell<State>>);

struct State {
    now_ns: u64,
    /// When the loop wakes up although it was to sleep until earlier.
    oversleeps_ns: u64,
    events: BinaryHeap<Reverse<(u64, usize, u32)>>,
    ready: Vec<Event>,
    sockets: Vec<Socket>,
    service: Service,
    doors: Doors,
    log: Vec<Seen>,
    n_waits: usize,
    /// When somebody stops the run, and where that is said.
    stop: Option<(u64, Arc<Shared>)>,
    /// The last wait took no time and brought nothing.
    is_polling: bool,
}

struct Socket {
    token: u64,
    door: Door,
    incoming: VecDeque<(u64, Vec<u8>)>,
    ends_ns: Option<u64>,
    resets_ns: Option<u64>,
    /// Bytes of a request that is not whole.
    outgoing: Vec<u8>,
    n_requests: usize,
    sent_bytes: u64,
    acknowledged_bytes: u64,
    is_endless: bool,
    is_gone: bool,
}

impl std::fmt::Debug for World {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("World")
    }
}

/// The clock and the net of such a world.
#[derive(Debug)]
pub(in crate::drive) struct Virtual;

impl Platform for Virtual {
    type Time = World;
    type Link = VirtualLink;
    type Net = World;
}

impl Time for World {
    fn now_ns(&self) -> u64 {
        self.0.borrow().now_ns
    }

    fn unix_s(&self) -> u64 {
        1_000_000_000 + self.now_ns() / S
    }
}

impl World {
    pub(in crate::drive) fn new(service: impl FnMut(&Seen) -> Reply + 'static) -> Self {
        Self(Rc::new(RefCell::new(State {
            now_ns: S,
            oversleeps_ns: 0,
            events: BinaryHeap::new(),
            ready: Vec::new(),
            sockets: Vec::new(),
            service: Box::new(service),
            doors: Box::new(|_| Door::Opens(0)),
            log: Vec::new(),
            n_waits: 0,
            stop: None,
            is_polling: false,
        })))
    }

    /// What becomes of each attempt to connect, made at the instant that is given.
    pub(in crate::drive) fn with_doors(self, doors: impl FnMut(u64) -> Door + 'static) -> Self {
        self.0.borrow_mut().doors = Box::new(doors);
        self
    }

    /// Have the loop wake up so much later than it asked for.
    pub(in crate::drive) fn that_oversleeps(self, by_ns: u64) -> Self {
        self.0.borrow_mut().oversleeps_ns = by_ns;
        self
    }

    /// All requests that came whole, in their order.
    pub(in crate::drive) fn log(&self) -> Vec<Seen> {
        self.0.borrow().log.clone()
    }

    /// Have the run stopped then.
    pub(super) fn stop_at(&self, at_ns: u64, shared: &Arc<Shared>) {
        self.0.borrow_mut().stop = Some((at_ns, Arc::clone(shared)));
    }

    /// How many sockets were ever opened.
    pub(in crate::drive) fn n_sockets(&self) -> usize {
        self.0.borrow().sockets.len()
    }

    /// How many are open.
    pub(super) fn n_open(&self) -> usize {
        self.0.borrow().sockets.iter().filter(|socket| !socket.is_gone).count()
    }

    /// How often the loop waited.
    pub(in crate::drive) fn n_waits(&self) -> usize {
        self.0.borrow().n_waits
    }
}

impl State {
    fn tell(&mut self, at_ns: u64, socket: usize, flags: u32) {
        self.events.push(Reverse((at_ns, socket, flags)));
    }

    /// Events that are due, one for each socket, as the kernel puts them together.
    fn collect(&mut self) -> usize {
        self.ready.clear();
        if let Some((at_ns, shared)) = self.stop.take_if(|(at_ns, _)| *at_ns <= self.now_ns) {
            shared.stop_at(at_ns);
            self.ready.push(Event::new(WAKER_TOKEN, Event::READABLE));
        }
        while let Some(&Reverse((at_ns, socket, flags))) = self.events.peek()
            && at_ns <= self.now_ns
            && self.ready.len() < MAX_EVENTS
        {
            self.events.pop();
            let Socket { token, is_gone, .. } = self.sockets[socket];
            if is_gone {
                continue;
            }
            if let Some(event) = self.ready.iter_mut().find(|event| event.token == token) {
                *event = event.with(flags);
            } else {
                self.ready.push(Event::new(token, flags));
            }
        }
        self.ready.len()
    }

    /// A socket has taken some bytes; answer what is a whole request now.
    fn take(&mut self, place: usize, bytes: &[u8]) {
        let socket = &mut self.sockets[place];
        socket.sent_bytes += bytes.len() as u64;
        socket.outgoing.extend_from_slice(bytes);
        let Some(end) = socket.outgoing.windows(4).position(|four| four == b"\r\n\r\n") else {
            return;
        };
        let text: Vec<u8> = socket.outgoing.drain(..end + 4).collect();
        let text = String::from_utf8(text).unwrap();
        let seen = Seen {
            index: self.log.len(),
            at_ns: self.now_ns,
            connection: place,
            nth_there: socket.n_requests,
            path: text.split(' ').nth(1).unwrap().to_owned(),
            text,
        };
        socket.n_requests += 1;
        let reply = (self.service)(&seen);
        self.log.push(seen);
        let socket = &mut self.sockets[place];
        if !matches!(reply, Reply::CloseUnread(_)) {
            socket.acknowledged_bytes = socket.sent_bytes;
        }
        let now_ns = self.now_ns;
        match reply {
            Reply::After(after_ns) => self.send(place, now_ns + after_ns, answer(200, "", 0)),
            Reply::Answer { after_ns, status, headers, body } => {
                self.send(place, now_ns + after_ns, answer(status, headers, body));
            }
            Reply::Pieces(pieces) => {
                for (after_ns, bytes) in pieces {
                    self.send(place, now_ns + after_ns, bytes);
                }
            }
            Reply::PiecesThenClose(pieces) => {
                let last_ns = now_ns + pieces.last().unwrap().0;
                for (after_ns, bytes) in pieces {
                    self.send(place, now_ns + after_ns, bytes);
                }
                self.sockets[place].ends_ns = Some(last_ns);
                self.tell(last_ns, place, Event::CLOSED);
            }
            Reply::AnswerThenClose(after_ns, idle_ns) => {
                self.send(place, now_ns + after_ns, answer(200, "", 0));
                self.sockets[place].ends_ns = Some(now_ns + after_ns + idle_ns);
                self.tell(now_ns + after_ns + idle_ns, place, Event::CLOSED);
            }
            Reply::Endless => {
                let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n";
                self.sockets[place].is_endless = true;
                self.send(place, now_ns, head.to_vec());
            }
            Reply::Silence => {}
            Reply::Close(after_ns) | Reply::CloseUnread(after_ns) => {
                self.sockets[place].ends_ns = Some(now_ns + after_ns);
                self.tell(now_ns + after_ns, place, Event::CLOSED);
            }
            Reply::Reset(after_ns) => {
                self.sockets[place].resets_ns = Some(now_ns + after_ns);
                self.tell(now_ns + after_ns, place, Event::BROKEN);
            }
        }
    }

    fn send(&mut self, place: usize, at_ns: u64, bytes: Vec<u8>) {
        self.sockets[place].incoming.push_back((at_ns, bytes));
        self.tell(at_ns, place, Event::READABLE);
    }
}

impl Net for World {
    type Link = VirtualLink;

    fn open(&mut self, _: &Target, _: usize) -> io::Result<VirtualLink> {
        let mut state = self.0.borrow_mut();
        let place = state.sockets.len();
        let now_ns = state.now_ns;
        let door = (state.doors)(now_ns);
        if let Door::Fails(code) = door {
            return Err(io::Error::from_raw_os_error(code));
        }
        state.sockets.push(Socket {
            token: 0,
            door,
            incoming: VecDeque::new(),
            ends_ns: None,
            resets_ns: None,
            outgoing: Vec::new(),
            n_requests: 0,
            sent_bytes: 0,
            acknowledged_bytes: 0,
            is_endless: false,
            is_gone: false,
        });
        Ok(VirtualLink { world: self.clone(), place })
    }

    fn watch(&mut self, link: &VirtualLink, token: u64) -> io::Result<()> {
        let mut state = self.0.borrow_mut();
        let now_ns = state.now_ns;
        state.sockets[link.place].token = token;
        match state.sockets[link.place].door {
            Door::Opens(after_ns) => state.tell(now_ns + after_ns, link.place, Event::WRITABLE),
            Door::Refuses(after_ns) => state.tell(now_ns + after_ns, link.place, Event::BROKEN),
            Door::Silent | Door::Fails(_) => {}
        }
        Ok(())
    }

    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        let mut state = self.0.borrow_mut();
        state.n_waits += 1;
        assert!(state.n_waits < 1_000_000, "the loop spins");
        let until_ns = timeout.map(|timeout| state.now_ns + timeout.as_nanos() as u64);
        let next_event_ns = state.events.peek().map(|Reverse((at_ns, ..))| *at_ns);
        let stop_ns = state.stop.as_ref().map(|(at_ns, _)| *at_ns);
        let next_ns = next_event_ns.into_iter().chain(stop_ns).min();
        let woken_ns = match (next_ns, until_ns) {
            (None, None) => panic!("the loop sleeps for ever"),
            (Some(next_ns), Some(until_ns)) if next_ns > until_ns => until_ns,
            (None, Some(until_ns)) => until_ns,
            (Some(next_ns), _) => next_ns,
        };
        if woken_ns > state.now_ns {
            state.now_ns = woken_ns + state.oversleeps_ns;
            state.is_polling = false;
        } else if next_ns.is_none_or(|next_ns| next_ns > state.now_ns) {
            state.now_ns += if state.is_polling { POLL_NS } else { 0 };
            state.is_polling = true;
        }
        Ok(state.collect())
    }

    fn event(&self, index: usize) -> Event {
        self.0.borrow().ready[index]
    }
}

/// A connection in such a world.
#[derive(Debug)]
pub(in crate::drive) struct VirtualLink {
    world: World,
    place: usize,
}

impl Drop for VirtualLink {
    fn drop(&mut self) {
        self.world.0.borrow_mut().sockets[self.place].is_gone = true;
    }
}

impl Stream for VirtualLink {
    fn handshake(&mut self) -> io::Result<bool> {
        Ok(true)
    }

    fn resumption(&self) -> Option<Handshake> {
        None
    }

    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let mut state = self.world.0.borrow_mut();
        let now_ns = state.now_ns;
        let socket = &mut state.sockets[self.place];
        let mut n_read = 0;
        while n_read < room.len()
            && let Some((at_ns, bytes)) = socket.incoming.front_mut()
            && *at_ns <= now_ns
        {
            let count = bytes.len().min(room.len() - n_read);
            room[n_read..n_read + count].copy_from_slice(&bytes[..count]);
            n_read += count;
            bytes.drain(..count);
            if bytes.is_empty() {
                socket.incoming.pop_front();
            }
        }
        if socket.is_endless {
            room[n_read..].fill(b'x');
            return Ok(room.len());
        }
        let has_come = |at_ns: Option<u64>| at_ns.is_some_and(|at_ns| at_ns <= now_ns);
        if n_read > 0 {
            Ok(n_read)
        } else if has_come(socket.resets_ns) {
            Err(io::ErrorKind::ConnectionReset.into())
        } else if has_come(socket.ends_ns) {
            Ok(0)
        } else {
            Err(io::ErrorKind::WouldBlock.into())
        }
    }

    fn is_drained_by_short_read(&self) -> bool {
        true
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.world.0.borrow_mut().take(self.place, bytes);
        Ok(bytes.len())
    }

    fn wants_flush(&self) -> bool {
        false
    }

    fn flush(&mut self) -> io::Result<bool> {
        Ok(true)
    }

    fn is_reusable(&self) -> bool {
        true
    }

    fn send_close_notify(&mut self) {}

    fn set_linger_zero(&self) -> io::Result<()> {
        Ok(())
    }

    fn sent_bytes(&self) -> u64 {
        self.world.0.borrow().sockets[self.place].sent_bytes
    }

    fn acknowledged_bytes(&self) -> Option<u64> {
        Some(self.world.0.borrow().sockets[self.place].acknowledged_bytes)
    }

    fn take_error(&self) -> io::Result<Option<io::Error>> {
        let is_refused = matches!(self.world.0.borrow().sockets[self.place].door, Door::Refuses(_));
        Ok(is_refused.then(|| io::Error::from_raw_os_error(libc::ECONNREFUSED)))
    }
}
