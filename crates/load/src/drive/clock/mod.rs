//! When a thread acts: its time, its timers, and how far the window is.

#[expect(clippy::module_inception, reason = "what the folder is about")]
mod clock;
mod progress;
mod timer_queue;

pub(super) use clock::Clock;
pub(super) use progress::{Progress, Share};
pub(super) use timer_queue::Wake;
