//! One connection: what it has received and the script it plays.

use std::io;
use std::rc::Rc;

use crate::answer::{Script, Source, Step};
use crate::exchange::Exchange;
use crate::link::Link;
use crate::log::KeptRequest;
use crate::reception::Reception;
use crate::sys::monotonic_ns;

/// A request that was read, and the script that answers it.
#[derive(Debug)]
pub(crate) struct Play {
    pub(crate) script: Script,
    /// Its place in the log; `None` when it has none.
    pub(crate) log_index: Option<usize>,
    pub(crate) is_control: bool,
    /// Whether its first byte has been noted as written.
    pub(crate) has_begun: bool,
    step: usize,
    offset: usize,
    /// Whether the pause before the present piece of a drip is over.
    is_piece_due: bool,
    /// When the present step may go on.
    pub(crate) due_ns: u64,
}

impl Play {
    pub(crate) fn new(script: Script, log_index: Option<usize>, due_ns: u64) -> Self {
        Self {
            script,
            log_index,
            is_control: false,
            has_begun: false,
            step: 0,
            offset: 0,
            is_piece_due: false,
            due_ns,
        }
    }

    /// An answer that the log knows nothing of.
    pub(crate) fn control(script: Script) -> Self {
        Self { is_control: true, ..Self::new(script, None, 0) }
    }

    /// The steps to go; one that waits for the client's end is none when it has come.
    fn rest(&self, has_ended: bool) -> &[Step] {
        match &self.script[self.step..] {
            [Step::AwaitEnd, rest @ ..] if has_ended => rest,
            rest => rest,
        }
    }

    /// Whether the next thing it does is to write.
    pub(crate) fn is_writing(&self, has_ended: bool) -> bool {
        match self.rest(has_ended).first() {
            Some(Step::Send(_) | Step::Repeat { .. }) => true,
            Some(Step::Drip { .. }) => self.is_piece_due,
            _ => false,
        }
    }

    /// Whether nothing but a full socket can keep the script from its end now.
    pub(crate) fn is_ending(&self, has_ended: bool) -> bool {
        let mut steps = self.rest(has_ended).iter();
        if let Some(Step::Drip { source, piece_bytes, .. }) = steps.as_slice().first() {
            if !self.is_piece_due || piece_end(self.offset, *piece_bytes) < source.len() {
                return false;
            }
            steps.next();
        }
        steps.all(|step| {
            matches!(step, Step::Send(_) | Step::Fin | Step::Cut | Step::Close | Step::Reset)
        })
    }
}

fn piece_end(offset: usize, piece_bytes: usize) -> usize {
    (offset / piece_bytes + 1) * piece_bytes
}

/// What a connection is at.
#[derive(Debug)]
pub(crate) enum Phase {
    /// Accepted; is served when its timer fires.
    Delayed,
    /// Waits for the first bytes, to do what the reception says.
    Greeting,
    /// Waits for the first bytes of a handshake, to delay it.
    Knocking,
    /// The handshake has begun, and is gone on with when its timer fires.
    Resting,
    /// In the middle of the handshake of TLS.
    Handshaking,
    /// Reading a header.
    Idle,
    /// Reading a body of which so many bytes are missing.
    Body { exchange: Rc<Exchange>, left: usize, kept: Option<Box<KeptRequest>> },
    /// Serving, or between two pieces: the script goes on at its `due_ns`.
    Waiting(Play),
    /// In the middle of writing; goes on when the socket has room.
    Playing(Play),
    /// Goes on when the client has sent FIN.
    Awaiting(Play),
    /// Never reads nor writes.
    Deaf,
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
    /// Goes on when the client has sent FIN.
    Awaiting,
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
    pub(crate) link: Link,
    pub(crate) number: u32,
    pub(crate) reception: Reception,
    pub(crate) accepted_ns: u64,
    pub(crate) requests: u32,
    pub(crate) received: Vec<u8>,
    /// So many bytes to come belong to a request that has been answered already.
    pub(crate) skip: usize,
    /// When the first byte of the present request was read; zero before.
    pub(crate) first_byte_ns: u64,
    /// When anything was read last.
    pub(crate) read_ns: u64,
    /// When the answer was out after which the next request was already here.
    pub(crate) free_ns: u64,
    /// How long the present request is.
    pub(crate) request_bytes: u64,
    /// When the last write of a long body began; zero when there was none.
    pub(crate) written_ns: u64,
    /// Whether the client has sent FIN.
    pub(crate) has_ended: bool,
    pub(crate) phase: Phase,
    /// The timer that may wake it; any other is stale.
    pub(crate) timer: u64,
}

impl Connection {
    pub(crate) fn new(link: Link, number: u32, reception: Reception) -> Self {
        Self {
            link,
            number,
            reception,
            accepted_ns: monotonic_ns(),
            requests: 0,
            received: Vec::with_capacity(1024),
            skip: 0,
            first_byte_ns: 0,
            read_ns: 0,
            free_ns: 0,
            request_bytes: 0,
            written_ns: 0,
            has_ended: false,
            phase: Phase::Idle,
            timer: 0,
        }
    }

    /// Take in what the socket has; note when the client has ended.
    ///
    /// Reads to the end also while an answer is under way: a client that leaves is seen at once.
    /// A read that does not fill the buffer was the last one: there will be another event for
    /// whatever comes later, unless this one told of the end already (epoll(7)).
    ///
    /// # Errors
    /// When the connection is broken.
    pub(crate) fn receive(&mut self, scratch: &mut [u8], is_hung_up: bool) -> io::Result<()> {
        let is_short_read_last = !self.link.is_tls() && !is_hung_up;
        loop {
            let read = match self.phase {
                Phase::Draining => self.link.read_beneath(scratch),
                _ => self.link.read(scratch),
            };
            match read {
                Ok(0) => {
                    self.has_ended = true;
                    return Ok(());
                }
                Ok(got) => {
                    self.take_in(&scratch[..got]);
                    if got < scratch.len() && is_short_read_last {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn take_in(&mut self, bytes: &[u8]) {
        self.read_ns = monotonic_ns();
        let skipped = self.skip.min(bytes.len());
        self.skip -= skipped;
        let bytes = &bytes[skipped..];
        if self.first_byte_ns == 0 && !bytes.is_empty() {
            self.first_byte_ns = self.read_ns;
        }
        match &mut self.phase {
            Phase::Draining => {}
            Phase::Body { left, kept, .. } => {
                let (ours, next) = bytes.split_at(bytes.len().min(*left));
                if let Some(kept) = kept {
                    kept.take_in(ours);
                }
                *left -= ours.len();
                self.received.extend(next);
            }
            _ => self.received.extend(bytes),
        }
    }

    /// Play on until the script ends, pauses or the socket is full.
    pub(crate) fn advance(&mut self, play: &mut Play) -> Progress {
        let script = Rc::clone(&play.script);
        while let Some(step) = script.get(play.step) {
            match self.perform(step, play) {
                Ok(()) => {
                    play.step += 1;
                    play.offset = 0;
                }
                Err(stop) => return stop,
            }
        }
        Progress::Done
    }

    /// Do one step; an error is what keeps the script from the next one.
    fn perform(&mut self, step: &Step, play: &mut Play) -> Result<(), Progress> {
        match step {
            Step::Send(source) => self.send(source, &mut play.offset, source.len()),
            Step::Drip { source, piece_bytes, every_ns } => {
                if play.is_piece_due {
                    let end = piece_end(play.offset, *piece_bytes).min(source.len());
                    self.send(source, &mut play.offset, end)?;
                    play.is_piece_due = false;
                    if play.offset == source.len() {
                        return Ok(());
                    }
                }
                play.is_piece_due = true;
                // From the instant planned, so that lateness does not add up.
                play.due_ns += every_ns;
                Err(Progress::Paused)
            }
            Step::Repeat { bytes, every_ns } => {
                let source = Source::These(Rc::clone(bytes));
                self.send(&source, &mut play.offset, bytes.len())?;
                play.offset = 0;
                play.due_ns += every_ns;
                Err(Progress::Paused)
            }
            Step::AwaitEnd if self.has_ended => Ok(()),
            Step::AwaitEnd => Err(Progress::Awaiting),
            Step::Fin => Err(self.ended(Link::finish)),
            Step::Cut => Err(self.ended(Link::cut)),
            Step::Close => match self.ended(Link::take_leave) {
                Progress::Blocked => Err(Progress::Blocked),
                _ => Err(Progress::Close),
            },
            Step::Reset => Err(Progress::Reset),
            Step::Hang => Err(Progress::Hang),
        }
    }

    fn ended(&mut self, end: fn(&mut Link) -> io::Result<()>) -> Progress {
        match end(&mut self.link) {
            Ok(()) => Progress::Fin,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Progress::Blocked,
            // The client was faster: it had the whole answer, and has closed.
            Err(_) => Progress::Close,
        }
    }

    fn send(&mut self, source: &Source, offset: &mut usize, end: usize) -> Result<(), Progress> {
        while *offset < end {
            if matches!(source, Source::Body(_)) {
                self.written_ns = monotonic_ns();
            }
            match self.link.write(source.some(*offset, end)) {
                Ok(sent) => *offset += sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err(Progress::Blocked);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Progress::Broken),
            }
        }
        match self.link.flush() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(Progress::Blocked),
            Err(_) => Err(Progress::Broken),
            Ok(()) => Ok(()),
        }
    }
}
