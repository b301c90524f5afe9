//! The clock and the net of a virtual world.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::link::VirtualLink;
use super::script::{Door, MS, Reply, S, Seen, answer};
use crate::drive::event_loop::WAKER_TOKEN;
use crate::drive::platform::{Net, Platform, Time};
use crate::drive::shared::Shared;
use crate::request::Target;
use crate::sys::{Event, MAX_EVENTS};

/// Of several waits of no length each but the first takes so long: who polls must get on.
const POLL_NS: u64 = 100;

type Service = Box<dyn FnMut(&Seen) -> Reply>;
type Doors = Box<dyn FnMut(u64) -> Door>;

/// The world as links, net and test share it.
#[derive(Clone)]
pub(in crate::drive) struct World(pub(super) Rc<RefCell<State>>);

pub(super) struct State {
    pub(super) now_ns: u64,
    /// When the loop wakes up although it was to sleep until earlier.
    pub(super) oversleeps_ns: u64,
    pub(super) events: BinaryHeap<Reverse<(u64, usize, u32)>>,
    pub(super) ready: Vec<Event>,
    pub(super) sockets: Vec<Socket>,
    pub(super) service: Service,
    pub(super) doors: Doors,
    pub(super) log: Vec<Seen>,
    pub(super) n_waits: usize,
    /// When somebody stops the run, and where that is said.
    pub(super) stop: Option<(u64, Arc<Shared>)>,
    /// The last wait took no time and brought nothing.
    pub(super) is_polling: bool,
}

pub(super) struct Socket {
    pub(super) token: u64,
    pub(super) door: Door,
    pub(super) incoming: VecDeque<(u64, Vec<u8>)>,
    pub(super) ends_ns: Option<u64>,
    pub(super) resets_ns: Option<u64>,
    /// Bytes of a request that is not whole.
    pub(super) outgoing: Vec<u8>,
    pub(super) n_requests: usize,
    pub(super) sent_bytes: u64,
    pub(super) acknowledged_bytes: u64,
    pub(super) is_endless: bool,
    pub(super) is_gone: bool,
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

    fn unix_ms(&self) -> u64 {
        1_000_000_000_000 + self.now_ns() / MS
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
    pub(super) fn take(&mut self, place: usize, bytes: &[u8]) {
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
