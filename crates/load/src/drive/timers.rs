//! What a thread does later.

use std::cmp::Reverse;

use super::connection::{Phase, SlowLine};
use super::worker::Worker;

/// Something to do at an instant. Ordered by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Timer {
    pub(crate) at_ns: u64,
    pub(crate) kind: TimerKind,
    /// The connection, or the user who starts.
    pub(crate) member: u32,
    /// The connection's life that is meant.
    pub(crate) life: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TimerKind {
    /// A socket could not even begin to connect.
    Refusal,
    /// A socket that could not connect just now tries again.
    Connect,
    /// A slow line takes bytes again.
    Line,
    /// A user's pause is over.
    Resume,
    /// A user of a closed loop begins.
    Start,
}

impl Worker {
    /// Do what is due.
    pub(crate) fn fire_timers(&mut self) {
        while let Some(&Reverse(timer)) = self.timers.peek()
            && timer.at_ns <= self.now_ns
        {
            self.timers.pop();
            let Timer { at_ns, kind, member, life } = timer;
            match kind {
                TimerKind::Start => self.set_to_work(member),
                TimerKind::Resume => self.resume(member, at_ns),
                TimerKind::Refusal | TimerKind::Connect | TimerKind::Line
                    if self.connections[member as usize].life != life => {}
                TimerKind::Refusal => self.refuse(member),
                TimerKind::Connect => self.open_socket(member),
                TimerKind::Line => self.let_through(member),
            }
            // Each of these may take a while: what follows must not carry its time.
            self.tick();
        }
    }

    /// Nothing new is sent: users who pause go home, and nobody starts any more.
    pub(crate) fn cut_pauses_short(&mut self) {
        let mut timers = std::mem::take(&mut self.timers);
        for Reverse(timer) in timers.drain() {
            match timer.kind {
                TimerKind::Resume => self.cut_short(timer.member),
                TimerKind::Start => {}
                TimerKind::Refusal | TimerKind::Connect | TimerKind::Line => {
                    self.timers.push(Reverse(timer));
                }
            }
        }
        if self.timers.is_empty() {
            self.timers = timers; // keep the room
        }
    }

    /// A slow line is full: go on when it takes bytes again.
    pub(crate) fn wait_for_the_line(&mut self, member: u32, until_ns: impl Fn(&SlowLine) -> u64) {
        let connection = &mut self.connections[member as usize];
        let life = connection.life;
        let Some(pace) = &mut connection.pace else { return };
        let at_ns = until_ns(pace);
        if !pace.has_timer {
            pace.has_timer = true;
            self.timers.push(Reverse(Timer { at_ns, kind: TimerKind::Line, member, life }));
        }
    }

    /// A slow line has carried what it was given.
    fn let_through(&mut self, member: u32) {
        let connection = &mut self.connections[member as usize];
        let life = connection.life;
        let Some(pace) = &mut connection.pace else { return };
        pace.has_timer = false;
        let (answer, has_more) = (pace.read, pace.has_more);
        if connection.phase != Phase::Busy {
            return;
        }
        if let Some(answer) = answer {
            return self.complete(member, answer);
        }
        self.write(member);
        let connection = &self.connections[member as usize];
        if has_more && connection.phase == Phase::Busy && connection.life == life {
            self.read(member, false);
        }
    }
}
