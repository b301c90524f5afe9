//! What all parts of a thread need at hand.

use crate::count::Tally;

use super::clock::Clock;
use super::platform::Platform;

/// A thread's clock, and its counts of the window under way.
#[derive(Debug)]
pub(super) struct Context<P: Platform> {
    pub(super) clock: Clock<P>,
    pub(super) tally: Box<Tally>,
}
