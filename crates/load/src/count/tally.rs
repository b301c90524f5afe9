//! What one thread counts over one window.

use super::batches::BatchRecorder;
use super::breakdown::{MAX_DISTRIBUTIONS, Part, PartRecorder};
use super::capacity::Capacity;
use super::cycles::Cycles;
use super::effort::Effort;
use super::ended::Ended;
use super::histogram::{Coarse, Fine};
use super::in_flight::Readiness;
use super::occupancy::Occupancy;
use super::outcome::{ErrorCounts, ErrorKind};
use super::pages::{PageEnd, Pages};
use super::phases::PhaseRecorder;
use super::punctuality::Punctuality;
use super::reasons::Reasons;
use super::series::SeriesRecorder;
use super::socket_counts::SocketCounts;
use super::strain::Strain;
use super::trace::Tracer;
use super::visit_counts::Visits;
use crate::schedule::Plan;

/// Statuses are below this.
const STATUS_END: usize = 1000;

/// The counts of a thread. Boxed, and reused from window to window. Its memory does not grow with
/// the number of requests, nor is any of it allocated while a window is under way.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) offered: u64,
    pub(crate) completed: u64,
    pub(crate) errors: ErrorCounts,
    pub(crate) reasons: Reasons,
    pub(crate) statuses: [u64; STATUS_END],
    pub(crate) measured_offered: u64,
    pub(crate) measured_completed: u64,
    pub(crate) measured_errors: ErrorCounts,
    pub(crate) sockets: SocketCounts,
    pub(crate) latency: Fine,
    pub(crate) service_time: Fine,
    pub(crate) lateness: Fine,
    /// Ages of requests that were given up. They are in `latency` too.
    pub(crate) censored: Coarse,
    /// Latencies of requests that are not measured: for those who look while they are.
    unmeasured: Coarse,
    pub(crate) phases: PhaseRecorder,
    /// By index in the table of requests; empty for a table of one.
    by_request: Vec<PartRecorder>,
    /// The usual users and the slow ones; `None` where none are slow.
    pub(crate) by_population: Option<[PartRecorder; 2]>,
    pub(crate) batches: BatchRecorder,
    pub(crate) series: SeriesRecorder,
    pub(crate) tracer: Tracer,
    pub(crate) pages: Pages,
    pub(crate) visits: Visits,
    pub(crate) cycles: Cycles,
    pub(crate) occupancy: Occupancy,
    pub(crate) punctuality: Punctuality,
    pub(crate) strain: Strain,
    pub(crate) last_end_ns: u64,
    /// Requests sent again after a stale connection.
    pub(crate) retries: u64,
    /// Connections on which bytes came that belong to no answer.
    pub(crate) surplus: u64,
    /// Cookies that a user's jar had no room for.
    pub(crate) lost_cookies: u64,
    /// Answers that came as they are though they are coded for who accepts that.
    pub(crate) uncoded: u64,
    pub(crate) readiness: Readiness,
    /// How the thread fared over the whole window and over the part in which it sent.
    pub(crate) whole: Effort,
    pub(crate) sending: Effort,
    pub(crate) measure_end_ns: u64,
    pub(crate) closed_ns: u64,
    /// When the counts were published last, and what they were then.
    pub(super) published_ns: u64,
    published_offered: u64,
    published_ended: u64,
}

impl Tally {
    pub(crate) fn new(capacity: &Capacity) -> Box<Self> {
        let n_requests = capacity.n_requests.max(1);
        let part = |index| PartRecorder::new(index < MAX_DISTRIBUTIONS);
        Box::new(Self {
            offered: 0,
            completed: 0,
            errors: ErrorCounts::default(),
            reasons: Reasons::default(),
            statuses: [0; STATUS_END],
            measured_offered: 0,
            measured_completed: 0,
            measured_errors: ErrorCounts::default(),
            sockets: SocketCounts::default(),
            latency: Fine::new(),
            service_time: Fine::new(),
            lateness: Fine::new(),
            censored: Coarse::new(),
            unmeasured: Coarse::new(),
            phases: PhaseRecorder::new(),
            by_request: (0..n_requests).filter(|_| n_requests > 1).map(part).collect(),
            by_population: capacity.has_slow.then(|| [part(0), part(0)]),
            batches: BatchRecorder::new(),
            series: SeriesRecorder::default(),
            tracer: Tracer::new(capacity.n_traced),
            pages: Pages::new(),
            visits: Visits::default(),
            cycles: Cycles::default(),
            occupancy: Occupancy::default(),
            punctuality: Punctuality::default(),
            strain: Strain::new(n_requests, capacity.n_connections),
            last_end_ns: 0,
            retries: 0,
            surplus: 0,
            lost_cookies: 0,
            uncoded: 0,
            readiness: Readiness::default(),
            whole: Effort::default(),
            sending: Effort::default(),
            measure_end_ns: 0,
            closed_ns: 0,
            published_ns: 0,
            published_offered: 0,
            published_ended: 0,
        })
    }

    /// Empty it for the next window, keeping its room.
    pub(crate) fn reset(&mut self) {
        self.offered = 0;
        self.completed = 0;
        self.errors = ErrorCounts::default();
        self.reasons.reset();
        self.statuses = [0; STATUS_END];
        self.measured_offered = 0;
        self.measured_completed = 0;
        self.measured_errors = ErrorCounts::default();
        self.sockets = SocketCounts::default();
        for recorder in [&mut self.latency, &mut self.service_time, &mut self.lateness] {
            recorder.reset();
        }
        self.censored.reset();
        self.unmeasured.reset();
        self.phases.reset();
        for part in self.by_request.iter_mut().chain(self.by_population.iter_mut().flatten()) {
            part.reset();
        }
        self.batches.reset();
        self.series.reset();
        self.tracer.reset();
        self.pages.reset();
        self.visits = Visits::default();
        self.cycles = Cycles::default();
        self.occupancy = Occupancy::default();
        self.punctuality = Punctuality::default();
        self.strain.reset();
        self.last_end_ns = 0;
        self.retries = 0;
        self.surplus = 0;
        self.lost_cookies = 0;
        self.uncoded = 0;
        self.readiness = Readiness::default();
        self.whole = Effort::default();
        self.sending = Effort::default();
        self.measure_end_ns = 0;
        self.closed_ns = 0;
        (self.published_ns, self.published_offered, self.published_ended) = (0, 0, 0);
    }

    /// Count a request that is offered: of this index in the arm's table, and of the slow
    /// population or not.
    #[inline]
    pub(crate) fn offer(&mut self, is_measured: bool, request: u32, is_slow: bool) {
        self.offered += 1;
        if !is_measured {
            return;
        }
        self.measured_offered += 1;
        if let Some(part) = self.by_request.get_mut(request as usize) {
            part.offer();
        }
        if let Some(populations) = &mut self.by_population {
            populations[usize::from(is_slow)].offer();
        }
    }

    /// Count that a connection took up an offered request, now. [`Self::end`] takes that back.
    #[inline]
    pub(crate) fn take_up(&mut self, now_ns: u64, is_measured: bool) {
        self.occupancy.in_flight.enter(now_ns, is_measured);
        self.strain.take_up(now_ns, self.occupancy.in_flight.level());
    }

    /// Count a turn of the loop: begun then, and so many events were there when it looked.
    #[inline]
    pub(crate) fn turn(&mut self, begun_ns: u64, n_events: usize) {
        self.readiness.turn(begun_ns, n_events, self.occupancy.in_flight.level());
    }

    /// Count bytes of an answer.
    #[inline]
    pub(crate) fn receive(&mut self, n_bytes: u64, is_slow: bool) {
        self.sockets.bytes_received += n_bytes;
        if let Some(populations) = &mut self.by_population {
            populations[usize::from(is_slow)].bytes_received += n_bytes;
        }
    }

    /// Count a page that is offered.
    #[inline]
    pub(crate) fn page_offer(&mut self, is_measured: bool) {
        self.pages.offered += u64::from(is_measured);
    }

    /// Count an offered page's end: when its last part had ended.
    pub(crate) fn page_end(&mut self, is_measured: bool, time_ns: u64, end: PageEnd) {
        if is_measured {
            self.pages.end(time_ns, end);
        }
    }

    /// Count an offered request's end.
    pub(crate) fn end(&mut self, plan: &Plan, request: &Ended, outcome: Result<(), ErrorKind>) {
        let age_ns = request.end_ns.saturating_sub(request.base_ns);
        let has_latency = outcome.is_ok() || outcome.is_err_and(ErrorKind::is_censored);
        let is_counted = plan.counts_end_at(request.end_ns);
        match outcome {
            Ok(()) => {
                self.completed += 1;
                self.measured_completed += u64::from(is_counted);
            }
            Err(kind) => {
                self.errors.add(kind, 1);
                self.measured_errors.add(kind, u64::from(request.is_measured));
                self.punctuality.fail(request, kind);
            }
        }
        let since_opening_ns = request.end_ns.saturating_sub(plan.opened_ns);
        self.series.end(since_opening_ns, outcome.is_ok(), if has_latency { age_ns } else { 0 });
        if has_latency {
            if !request.is_measured {
                self.unmeasured.record(age_ns);
            }
            if !request.is_slow {
                self.strain.end(request);
            }
        }
        if request.is_measured {
            let due_ns = request.base_ns.saturating_sub(plan.measure_start_ns);
            self.batches.offer(due_ns);
            self.end_measured(plan, request, age_ns, outcome);
        }
        if outcome.is_err_and(ErrorKind::is_cut_off) {
            // Its end is that of the test, which says nothing of when it failed.
            if request.is_measured {
                let due_ns = request.base_ns.saturating_sub(plan.measure_start_ns);
                self.batches.cut_off(due_ns);
            }
        } else if is_counted {
            let since_start_ns = request.end_ns.saturating_sub(plan.measure_start_ns);
            self.batches.end(since_start_ns, age_ns, outcome);
        }
        self.occupancy.end(plan, request, outcome);
        self.last_end_ns = self.last_end_ns.max(request.end_ns);
    }

    fn end_measured(
        &mut self,
        plan: &Plan,
        request: &Ended,
        age_ns: u64,
        outcome: Result<(), ErrorKind>,
    ) {
        if let Some(part) = self.by_request.get_mut(request.request as usize) {
            part.end(age_ns, outcome);
        }
        if let Some(populations) = &mut self.by_population {
            populations[usize::from(request.is_slow)].end(age_ns, outcome);
        }
        self.tracer.end(request, outcome);
        match outcome {
            Ok(()) => self.phases.record(request),
            Err(kind) => {
                if !kind.is_censored() {
                    return;
                }
                self.censored.record(age_ns);
            }
        }
        self.latency.record(age_ns);
        if let Some(written_ns) = request.written_ns {
            self.service_time.record(request.end_ns.saturating_sub(written_ns));
        }
        if plan.is_open_loop() {
            let sent_ns = request.issued_ns.unwrap_or(request.end_ns);
            if !request.is_object {
                self.lateness.record(sent_ns.saturating_sub(request.base_ns));
            }
        }
    }

    /// Latencies of the whole window, measured or not, to two digits.
    pub(super) fn copy_latencies(&self, into: &mut Coarse) {
        into.copy_from(&self.unmeasured);
        self.latency.add_to(into);
    }

    /// The measured requests by index in a table of so many.
    pub(crate) fn parts(&self, n_requests: usize) -> Vec<Part> {
        if !self.by_request.is_empty() {
            return self.by_request.iter().take(n_requests).map(PartRecorder::part).collect();
        }
        vec![Part {
            offered: self.measured_offered,
            completed: self.measured_offered - self.measured_errors.total(),
            errors: self.measured_errors,
            bytes_received: 0,
            latency: Some(self.latency.distribution()),
        }]
    }

    /// Whether anything was counted since it was published last.
    #[inline]
    pub(super) fn has_news(&self) -> bool {
        self.offered != self.published_offered
            || self.completed + self.errors.total() != self.published_ended
    }

    pub(super) fn published(&mut self, now_ns: u64) {
        self.published_ns = now_ns;
        self.published_offered = self.offered;
        self.published_ended = self.completed + self.errors.total();
    }

    /// Time that the measured requests spent on connections, by their records.
    pub(crate) fn on_connections_ns(&self) -> u128 {
        self.phases.on_connections_ns() + self.occupancy.failed_ns()
    }

    /// Add another thread's counts of the same window; but for batches and trace, which are put
    /// together as they are given out.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.offered += other.offered;
        self.completed += other.completed;
        self.errors.merge(&other.errors);
        self.reasons.merge(&other.reasons);
        for (mine, theirs) in self.statuses.iter_mut().zip(&other.statuses) {
            *mine += theirs;
        }
        self.measured_offered += other.measured_offered;
        self.measured_completed += other.measured_completed;
        self.measured_errors.merge(&other.measured_errors);
        self.sockets += other.sockets;
        self.latency.merge(&other.latency);
        self.service_time.merge(&other.service_time);
        self.lateness.merge(&other.lateness);
        self.censored.merge(&other.censored);
        self.phases.merge(&other.phases);
        for (mine, theirs) in self.by_request.iter_mut().zip(&other.by_request) {
            mine.merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.by_population, &other.by_population) {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                mine.merge(theirs);
            }
        }
        self.series.merge(&other.series);
        self.pages.merge(&other.pages);
        self.visits += other.visits;
        self.cycles.merge(&other.cycles);
        self.occupancy.merge(&other.occupancy);
        self.punctuality += other.punctuality;
        self.strain.merge(&other.strain);
        self.last_end_ns = self.last_end_ns.max(other.last_end_ns);
        self.retries += other.retries;
        self.surplus += other.surplus;
        self.lost_cookies += other.lost_cookies;
        self.uncoded += other.uncoded;
        self.readiness.merge(&other.readiness);
        self.whole.cpu_ns += other.whole.cpu_ns;
        self.whole.preemptions += other.whole.preemptions;
        self.measure_end_ns = self.measure_end_ns.max(other.measure_end_ns);
        self.closed_ns = self.closed_ns.max(other.closed_ns);
        // The busiest thread decides whether the client was short of CPU.
        if other.sending.demand_ratio() > self.sending.demand_ratio() {
            self.sending = other.sending;
        }
    }
}

#[cfg(test)]
#[path = "tally_tests.rs"]
mod tests;
