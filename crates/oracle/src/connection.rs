//! One connection: what it has received and the script it plays.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::rc::Rc;

use crate::answer::{Script, Step};
use crate::exchange::Exchange;

/// How often an endless answer sends its next piece: it must not starve the other connections.
const REPEAT_EVERY_NS: u64 = 100_000;

/// A request that was read, and the script that answers it.
#[derive(Debug)]
pub(crate) struct Play {
    pub(crate) script: Script,
    /// Its place in the log; `None` when it has none.
    pub(crate) log_index: Option<usize>,
    pub(crate) is_control: bool,
    step: usize,
    offset: usize,
    /// When the present step may go on.
    pub(crate) due_ns: u64,
}

impl Play {
    pub(crate) fn new(script: Script, log_index: Option<usize>, due_ns: u64) -> Self {
        Self { script, log_index, is_control: false, step: 0, offset: 0, due_ns }
    }

    /// Whether nothing but a full socket can keep the script from its end now.
    pub(crate) fn is_ending(&self) -> bool {
        let is_plain =
            |step: &Step| !matches!(step, Step::Pause { .. } | Step::Repeat(_) | Step::Hang);
        self.script[self.step..].iter().all(is_plain)
    }

    /// An answer that the log knows nothing of.
    pub(crate) fn control(script: Script) -> Self {
        Self { is_control: true, ..Self::new(script, None, 0) }
    }
}

/// What a connection is at.
#[derive(Debug)]
pub(crate) enum Phase {
    /// Reading a header.
    Idle,
    /// Reading a body of which so many bytes are missing.
    Body { exchange: Rc<Exchange>, left: usize },
    /// Serving, or between two pieces: the script goes on at its `due_ns`.
    Waiting(Play),
    /// In the middle of writing; goes on when the socket has room.
    Playing(Play),
    /// Never answers.
    Hanging,
    /// Has sent FIN; whatever the client still sends is thrown away.
    Draining,
}

/// How far a script came.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The socket has no room.
    Blocked,
    /// Goes on at the play's `due_ns`.
    Paused,
    Done,
    Fin,
    Close,
    Reset,
    Hang,
    /// The client is gone.
    Broken,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    pub(crate) number: u32,
    pub(crate) requests: u32,
    pub(crate) received: Vec<u8>,
    pub(crate) phase: Phase,
    /// The timer that may wake it; any other is stale.
    pub(crate) timer: u64,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, number: u32) -> Self {
        let received = Vec::with_capacity(1024);
        Self { stream, number, requests: 0, received, phase: Phase::Idle, timer: 0 }
    }

    /// Take in what the socket has; return whether the client is still there.
    ///
    /// Reads to the end also while an answer is under way: a client that leaves is seen at once.
    pub(crate) fn receive(&mut self, scratch: &mut [u8]) -> bool {
        loop {
            match self.stream.read(scratch) {
                Ok(0) => return false,
                Ok(got) => match &mut self.phase {
                    Phase::Draining => {}
                    // A body's bytes count, their content does not.
                    Phase::Body { left, .. } if *left >= got => *left -= got,
                    Phase::Body { left, .. } => {
                        self.received.extend(&scratch[*left..got]);
                        *left = 0;
                    }
                    _ => self.received.extend(&scratch[..got]),
                },
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }

    /// Play on until the script ends, pauses or the socket is full.
    pub(crate) fn advance(&mut self, play: &mut Play) -> Progress {
        let script = Rc::clone(&play.script);
        while let Some(step) = script.get(play.step) {
            match step {
                Step::Send(bytes) => {
                    if let Err(stop) = self.send(bytes, &mut play.offset) {
                        return stop;
                    }
                    play.step += 1;
                }
                Step::Repeat(bytes) => {
                    if let Err(stop) = self.send(bytes, &mut play.offset) {
                        return stop;
                    }
                    play.due_ns += REPEAT_EVERY_NS;
                    return Progress::Paused;
                }
                Step::Pause { ns } => {
                    play.step += 1;
                    // From the instant planned, so that lateness does not add up.
                    play.due_ns += ns;
                    return Progress::Paused;
                }
                Step::Fin => return Progress::Fin,
                Step::Close => return Progress::Close,
                Step::Reset => return Progress::Reset,
                Step::Hang => return Progress::Hang,
            }
        }
        Progress::Done
    }

    fn send(&mut self, bytes: &[u8], offset: &mut usize) -> Result<(), Progress> {
        while *offset < bytes.len() {
            match self.stream.write(&bytes[*offset..]) {
                Ok(sent) => *offset += sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err(Progress::Blocked);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Progress::Broken),
            }
        }
        *offset = 0;
        Ok(())
    }
}
