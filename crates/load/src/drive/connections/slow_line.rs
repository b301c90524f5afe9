//! The line of a slow user: both directions of one connection.

use super::throttle::Throttle;

/// The two directions of a slow line.
#[derive(Debug)]
pub(super) struct SlowLine {
    pub(super) reading: Throttle,
    pub(super) writing: Throttle,
    /// The socket may have more to read than the line lets through.
    pub(super) has_more: bool,
    /// The peer will send no more.
    pub(super) is_ended: bool,
    /// A timer is set for it.
    pub(super) has_timer: bool,
    /// The whole answer was read, and is with the user when the line has carried it.
    pub(super) read: Option<ReadAnswer>,
}

/// How the reading of a whole answer ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadAnswer {
    pub(super) is_reusable: bool,
    /// The peer closed with it.
    pub(super) is_closed: bool,
}

impl SlowLine {
    pub(super) fn new(bytes_per_s: f64) -> Self {
        Self {
            reading: Throttle::reading(bytes_per_s),
            writing: Throttle::writing(bytes_per_s),
            has_more: false,
            is_ended: false,
            has_timer: false,
            read: None,
        }
    }

    /// A request goes out.
    pub(super) fn begin(&mut self, now_ns: u64) {
        self.read = None;
        self.has_timer = false;
        self.writing.begin(now_ns);
        self.reading.begin(now_ns);
    }
}
