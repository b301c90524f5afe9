//! What one thread counts over one window.

use crate::histogram::Recorder;
use crate::outcome::{ErrorCounts, ErrorKind};
use crate::result::{SERIES_INTERVAL_NS, Series};
use crate::window::Plan;

/// Statuses are below this.
const STATUS_END: usize = 600;

/// Room for the time series of a window that has no planned end: 10 minutes, before it grows.
const SERIES_ROOM: usize = 6000;

/// A lateness that the client must answer for, and not the granularity of its timers.
const LATE_NS: u64 = 1_000_000;

/// The counts of a thread. Boxed, and reused from window to window.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) offered: u64,
    pub(crate) completed: u64,
    pub(crate) errors: ErrorCounts,
    pub(crate) statuses: [u64; STATUS_END],
    pub(crate) measured_offered: u64,
    pub(crate) measured_completed: u64,
    pub(crate) measured_errors: u64,
    pub(crate) connects: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) latency: Recorder,
    pub(crate) service_time: Recorder,
    pub(crate) lateness: Recorder,
    pub(crate) series: Series,
    pub(crate) busy_ns: u128,
    pub(crate) last_end_ns: u64,
    /// Requests sent again after a stale connection.
    pub(crate) retries: u64,
    /// Connections on which bytes came that belong to no answer.
    pub(crate) surplus: u64,
    /// Requests that were due when no connection was idle.
    pub(crate) waited: u64,
    /// Requests sent more than [`LATE_NS`] after they were due although a connection was idle.
    pub(crate) late: u64,
    /// How the thread fared over the whole window and over the part in which it sent.
    pub(crate) whole: Effort,
    pub(crate) sending: Effort,
    pub(crate) measure_end_ns: u64,
    pub(crate) closed_ns: u64,
    pub(crate) visits: Visits,
    pub(crate) pages: Pages,
    pub(crate) handshakes_full: u64,
    pub(crate) handshakes_resumed: u64,
    #[allow(dead_code, reason = "read by the recorders that follow")]
    room: Room,
}

/// What a thread got of the CPU over a stretch of time.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_field_names, reason = "the unit")]
pub(crate) struct Effort {
    pub(crate) elapsed_ns: u64,
    pub(crate) cpu_ns: u64,
    /// Ready to run, and not running.
    pub(crate) wait_ns: u64,
}

/// A request that ended: when it was due, sent and so on. All in nanoseconds.
#[derive(Debug, Clone, Copy)]
#[allow(dead_code, reason = "read by the recorders that follow")]
pub(crate) struct Ended {
    /// Due (open loop) or taken up (closed loop): what its age counts from.
    pub(crate) base_ns: u64,
    /// Taken up by a connection; `None`: never.
    pub(crate) issued_ns: Option<u64>,
    /// This request opened the connection, and it was connected then.
    pub(crate) connected_ns: Option<u64>,
    /// The TLS handshake was done. Only with `connected_ns`.
    pub(crate) secured_ns: Option<u64>,
    /// Began to be written; `None`: never.
    pub(crate) written_ns: Option<u64>,
    /// The first byte of the answer came.
    pub(crate) first_byte_ns: Option<u64>,
    pub(crate) end_ns: u64,
    pub(crate) is_measured: bool,
    /// The index in the arm's table of requests.
    pub(crate) request: u32,
    /// Of the slow population.
    pub(crate) is_slow: bool,
    /// The number of the request in the run.
    pub(crate) due_index: u64,
}

/// For how much a tally has room.
#[derive(Debug, Clone, Copy, Default)]
#[allow(dead_code, reason = "read by the recorders that follow")]
pub(crate) struct Room {
    /// Requests in the table: of the arm that has most.
    pub(crate) n_requests: usize,
    /// There is a slow population.
    pub(crate) has_slow: bool,
    /// The instants of so many requests are kept.
    pub(crate) n_traced: usize,
}

/// What became of the users' visits. Plain counts, which the loop keeps itself.
#[derive(Debug, Clone, Copy, Default)]
#[allow(dead_code, reason = "the loop counts no visits yet")]
pub struct Visits {
    pub started: u64,
    pub finished: u64,
    /// A request timed out: the user lost patience and left.
    pub left: u64,
    /// The window ended in the middle of it.
    pub cut: u64,
    pub new_users: u64,
    pub returning_users: u64,
}

/// What became of the measured part's pages.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) offered: u64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) time: Recorder,
}

impl Tally {
    pub(crate) fn new(room: &Room) -> Box<Self> {
        Box::new(Self {
            room: *room,
            visits: Visits::default(),
            pages: Pages { offered: 0, completed: 0, failed: 0, time: Recorder::new() },
            handshakes_full: 0,
            handshakes_resumed: 0,
            offered: 0,
            completed: 0,
            errors: ErrorCounts::default(),
            statuses: [0; STATUS_END],
            measured_offered: 0,
            measured_completed: 0,
            measured_errors: 0,
            connects: 0,
            bytes_sent: 0,
            bytes_received: 0,
            latency: Recorder::new(),
            service_time: Recorder::new(),
            lateness: Recorder::new(),
            series: Series::default(),
            busy_ns: 0,
            last_end_ns: 0,
            retries: 0,
            surplus: 0,
            waited: 0,
            late: 0,
            whole: Effort::default(),
            sending: Effort::default(),
            measure_end_ns: 0,
            closed_ns: 0,
        })
    }

    /// Empty it for the next window, keeping its room.
    pub(crate) fn reset(&mut self, plan: &Plan) {
        let Self { latency, service_time, lateness, series, .. } = self;
        for recorder in [&mut *latency, &mut *service_time, &mut *lateness] {
            recorder.reset();
        }
        let intervals = plan.longest_ns() / SERIES_INTERVAL_NS + 2;
        series.clear_with_room(usize::try_from(intervals).unwrap_or(usize::MAX).min(SERIES_ROOM));
        self.offered = 0;
        self.completed = 0;
        self.errors = ErrorCounts::default();
        self.statuses = [0; STATUS_END];
        self.measured_offered = 0;
        self.measured_completed = 0;
        self.measured_errors = 0;
        self.connects = 0;
        self.bytes_sent = 0;
        self.bytes_received = 0;
        self.busy_ns = 0;
        self.last_end_ns = 0;
        self.retries = 0;
        self.surplus = 0;
        self.waited = 0;
        self.late = 0;
        self.whole = Effort::default();
        self.sending = Effort::default();
        self.measure_end_ns = 0;
        self.closed_ns = 0;
        self.visits = Visits::default();
        self.pages.time.reset();
        (self.pages.offered, self.pages.completed, self.pages.failed) = (0, 0, 0);
        (self.handshakes_full, self.handshakes_resumed) = (0, 0);
    }

    /// Count a request that is offered: of this index in the arm's table, and of the slow
    /// population or not.
    #[inline]
    pub(crate) fn offer(&mut self, is_measured: bool, _request: u32, _is_slow: bool) {
        self.offered += 1;
        self.measured_offered += u64::from(is_measured);
    }

    /// Count that a connection took up an offered request, now. [`Self::end`] takes that back.
    #[inline]
    #[allow(clippy::unused_self, reason = "the integral of what is in flight follows")]
    pub(crate) fn take_up(&mut self, _now_ns: u64, _is_measured: bool) {}

    /// Count bytes of an answer.
    #[inline]
    pub(crate) fn receive(&mut self, n_bytes: u64, _is_slow: bool) {
        self.bytes_received += n_bytes;
    }

    /// Count a page that is offered.
    #[inline]
    #[allow(dead_code, reason = "the loop knows no pages yet")]
    pub(crate) fn page_offer(&mut self, is_measured: bool) {
        self.pages.offered += u64::from(is_measured);
    }

    /// Count an offered page's end: when its last part had ended. It failed when any part did.
    #[allow(dead_code, reason = "the loop knows no pages yet")]
    pub(crate) fn page_end(&mut self, is_measured: bool, time_ns: u64, has_failed: bool) {
        if !is_measured {
            return;
        }
        if has_failed {
            self.pages.failed += 1;
        } else {
            self.pages.completed += 1;
            self.pages.time.record(time_ns);
        }
    }

    /// Count how a due request came to be sent.
    #[inline]
    pub(crate) fn punctuality(&mut self, has_waited: bool, lateness_ns: u64) {
        if has_waited {
            self.waited += 1;
        } else if lateness_ns > LATE_NS {
            self.late += 1;
        }
    }

    /// Count an offered request's end.
    pub(crate) fn end(&mut self, plan: &Plan, request: &Ended, outcome: Result<(), ErrorKind>) {
        let age_ns = request.end_ns.saturating_sub(request.base_ns);
        let interval =
            (request.end_ns.saturating_sub(plan.opened_ns) / SERIES_INTERVAL_NS) as usize;
        self.series.reach(interval);
        match outcome {
            Ok(()) => {
                self.completed += 1;
                self.series.completed[interval] += 1;
                self.measured_completed += u64::from(plan.counts_end_at(request.end_ns));
            }
            Err(kind) => {
                self.errors.add(kind, 1);
                self.series.errors[interval] += 1;
                self.measured_errors += u64::from(request.is_measured);
            }
        }
        if outcome.is_ok() || outcome.is_err_and(ErrorKind::is_censored) {
            let latest = &mut self.series.latency_max_ns[interval];
            *latest = age_ns.max(*latest);
            if request.is_measured {
                self.record(plan, request, age_ns);
            }
        }
        if let Some(issued_ns) = request.issued_ns {
            self.busy_ns += u128::from(plan.measured_overlap_ns(issued_ns, request.end_ns));
        }
        self.last_end_ns = self.last_end_ns.max(request.end_ns);
    }

    fn record(&mut self, plan: &Plan, request: &Ended, age_ns: u64) {
        self.latency.record(age_ns);
        if let Some(written_ns) = request.written_ns {
            self.service_time.record(request.end_ns.saturating_sub(written_ns));
        }
        if plan.is_open_loop() {
            let sent_ns = request.issued_ns.unwrap_or(request.end_ns);
            self.lateness.record(sent_ns.saturating_sub(request.base_ns));
        }
    }

    /// Add another thread's counts of the same window.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.offered += other.offered;
        self.completed += other.completed;
        self.errors.merge(&other.errors);
        for (mine, theirs) in self.statuses.iter_mut().zip(&other.statuses) {
            *mine += theirs;
        }
        self.measured_offered += other.measured_offered;
        self.measured_completed += other.measured_completed;
        self.measured_errors += other.measured_errors;
        self.connects += other.connects;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.latency.merge(&other.latency);
        self.service_time.merge(&other.service_time);
        self.lateness.merge(&other.lateness);
        self.series.merge(&other.series);
        self.busy_ns += other.busy_ns;
        self.last_end_ns = self.last_end_ns.max(other.last_end_ns);
        self.retries += other.retries;
        self.surplus += other.surplus;
        self.waited += other.waited;
        self.late += other.late;
        self.whole.cpu_ns += other.whole.cpu_ns;
        self.measure_end_ns = self.measure_end_ns.max(other.measure_end_ns);
        self.closed_ns = self.closed_ns.max(other.closed_ns);
        self.visits.merge(&other.visits);
        self.pages.offered += other.pages.offered;
        self.pages.completed += other.pages.completed;
        self.pages.failed += other.pages.failed;
        self.pages.time.merge(&other.pages.time);
        self.handshakes_full += other.handshakes_full;
        self.handshakes_resumed += other.handshakes_resumed;
        // The busiest thread decides whether the client was short of CPU.
        if other.sending.load_ratio() > self.sending.load_ratio() {
            self.sending = other.sending;
        }
    }
}

impl Visits {
    fn merge(&mut self, other: &Self) {
        self.started += other.started;
        self.finished += other.finished;
        self.left += other.left;
        self.cut += other.cut;
        self.new_users += other.new_users;
        self.returning_users += other.returning_users;
    }
}

impl Effort {
    /// The part of the time that the thread ran.
    pub(crate) fn load_ratio(&self) -> f64 {
        ratio(self.cpu_ns, self.elapsed_ns)
    }

    /// The part of the time that the thread was ready and did not run.
    pub(crate) fn wait_ratio(&self) -> f64 {
        ratio(self.wait_ns, self.elapsed_ns)
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl Series {
    fn clear_with_room(&mut self, room: usize) {
        for column in [&mut self.completed, &mut self.errors, &mut self.latency_max_ns] {
            column.clear();
            column.reserve(room);
        }
    }

    /// Have the interval, and all before it.
    #[inline]
    fn reach(&mut self, interval: usize) {
        if self.completed.len() <= interval {
            for column in [&mut self.completed, &mut self.errors, &mut self.latency_max_ns] {
                column.resize(interval + 1, 0);
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        if let Some(last) = other.completed.len().checked_sub(1) {
            self.reach(last);
        }
        for (mine, theirs) in self.completed.iter_mut().zip(&other.completed) {
            *mine += theirs;
        }
        for (mine, theirs) in self.errors.iter_mut().zip(&other.errors) {
            *mine += theirs;
        }
        for (mine, theirs) in self.latency_max_ns.iter_mut().zip(&other.latency_max_ns) {
            *mine = (*mine).max(*theirs);
        }
    }
}
