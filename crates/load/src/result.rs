//! What a window saw.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::count::{
    Batches, Cycles, Distribution, ErrorCounts, ErrorKind, PageCounts, Part, Phases, Reasons,
    Series, SocketCounts, Tally, Trace, Tracer, Visits, by_population, message,
};
use crate::judge::{Case, Evidence, HostChange, LimitedBy, verdict};
use crate::schedule::Plan;

/// What one window saw, over all threads. `offered == completed + errors.total()`, always.
///
/// Instants are `CLOCK_MONOTONIC` nanoseconds. In an open loop a request belongs to the measured
/// part when it was *due* there, in a closed loop when it was *sent* there.
#[derive(Debug, Clone, Serialize)]
pub struct WindowResult {
    /// The index of the window in the spec.
    #[serde(skip)]
    pub index: usize,
    /// The index of the arm that was loaded.
    #[serde(skip)]
    pub arm: usize,
    /// When load began.
    #[serde(skip)]
    pub opened_ns: u64,
    /// When the measured part began.
    #[serde(skip)]
    pub measure_start_ns: u64,
    /// When the measured part ended: as planned, at the last answer of a window that is bounded
    /// by `n_requests`, or when the run was stopped.
    #[serde(skip)]
    pub measure_end_ns: u64,
    /// When the last answer had come or been given up.
    #[serde(skip)]
    pub closed_ns: u64,
    /// Requests of the whole window, lead-in included.
    pub offered: u64,
    /// Right answers.
    pub completed: u64,
    /// What became of the other requests.
    pub errors: ErrorCounts,
    /// Why the first request of a kind of error failed, where more is known than the kind.
    #[serde(skip_serializing_if = "message::is_default")]
    pub reasons: Reasons,
    /// How often each status was seen, of whole answers, right or wrong.
    #[serde(serialize_with = "message::by_text")]
    pub statuses: BTreeMap<u16, u64>,
    /// Requests that belong to the measured part.
    pub measured_offered: u64,
    /// Right answers that came within the measured part, whenever they were sent.
    pub measured_completed: u64,
    /// Requests that belong to the measured part and failed, whenever that was.
    pub measured_errors: u64,
    /// What went over the sockets.
    #[serde(flatten)]
    pub sockets: SocketCounts,
    /// End − due (open loop) or end − sent (closed loop), of the measured part's requests that
    /// completed, and of those that were given up (timed out, unfinished, unsent) at their age.
    #[serde(skip_serializing_if = "message::is_default")]
    pub latency: Distribution,
    /// End − written of the same requests, as far as they were written.
    #[serde(skip_serializing_if = "message::is_default")]
    pub service_time: Distribution,
    /// Sent − due of the same requests; one that was never sent counts its age. Empty in a closed
    /// loop, where nothing is due.
    #[serde(skip_serializing_if = "message::is_default")]
    pub lateness: Distribution,
    /// Ages of the measured requests that never ended by themselves: they timed out, or were
    /// unfinished or unsent at the window's end. Lower bounds of latencies, and in `latency` too.
    #[serde(skip_serializing_if = "message::is_default")]
    pub censored: Distribution,
    /// What the latencies of the measured requests that completed consist of.
    pub phases: Phases,
    /// By index in the arm's table of requests, the measured ones of each.
    pub by_request: Vec<Part>,
    /// The measured requests of the usual users and of the slow ones; `None` where none are slow.
    #[serde(serialize_with = "by_population")]
    pub by_population: Option<[Part; 2]>,
    /// Pages of the measured part.
    #[serde(skip_serializing_if = "message::is_default")]
    pub pages: PageCounts,
    /// Visits of the whole window.
    #[serde(skip_serializing_if = "message::is_default")]
    pub visits: Visits,
    /// What the users' cycles gave; `None` where the window is not credited, or was stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<Cycles>,
    /// The measured part in equal intervals.
    pub batches: Batches,
    /// The instants of the first measured requests; `None` when none were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// By equal intervals from `opened_ns` on.
    #[serde(flatten)]
    pub series: Series,
    /// CPU time of the engine's threads over the window.
    pub client_cpu_s: f64,
    /// What kept the throughput from being higher.
    pub limited_by: LimitedBy,
    /// What that rests on.
    pub evidence: Evidence,
}

impl WindowResult {
    /// Put the counts of all threads together, in the form in which they are given out: for an
    /// arm with so many requests, over so many connections. The first of the tallies takes the
    /// counts of the others.
    pub(crate) fn of(
        plan: &Plan,
        (n_requests, n_connections): (usize, usize),
        tallies: &mut [Box<Tally>],
        host: &HostChange,
    ) -> Self {
        let trace = Tracer::merged(tallies.iter().map(|tally| &tally.tracer));
        let Some((tally, others)) = tallies.split_first_mut() else {
            unreachable!("a run has at least one thread")
        };
        let mut batches = tally.batches.batches();
        for other in others {
            batches.merge(other.batches.batches());
            tally.merge(other);
        }
        let measure_end_ns = tally.measure_end_ns;
        // A run that was stopped in the lead-in has measured nothing.
        let measure_start_ns = plan.measure_start_ns.min(measure_end_ns);
        let is_cut = measure_end_ns < plan.measure_end_ns;
        let measured_s = (measure_end_ns - measure_start_ns) as f64 / 1e9;
        let evidence = Evidence::of(tally, n_connections, measured_s, host);
        let usual_busy_s =
            tally.occupancy.busy_ns.saturating_sub(tally.occupancy.slow_busy_ns) as f64 / 1e9;
        let (judged_offered, judged) = match &tally.by_population {
            Some([usual, _]) => (usual.offered(), *usual.errors()),
            None => (tally.offered, tally.errors),
        };
        let limited_by = verdict(&Case {
            is_open_loop: plan.is_open_loop(),
            offered: judged_offered,
            failed: judged.total() - judged.of(ErrorKind::Unfinished),
            due: tally.punctuality.due,
            busy_ratio: usual_busy_s / (n_connections as f64 * measured_s).max(1e-9),
            starved: tally.punctuality.starved,
            sessionless: judged.of(ErrorKind::Tls),
            completed: judged_offered - judged.total(),
            measured_s,
            is_answered: tally.sockets.bytes_received > 0,
            evidence: &evidence,
        });
        // Each user had to come in.
        let is_connecting = tally.sockets.connects >= n_connections as u64;
        let statuses = tally.statuses.iter().enumerate().filter(|&(_, &count)| count > 0);
        let populations = tally.by_population.as_ref();
        Self {
            index: plan.index,
            arm: plan.arm,
            opened_ns: plan.opened_ns,
            measure_start_ns,
            measure_end_ns,
            closed_ns: tally.closed_ns,
            offered: tally.offered,
            completed: tally.completed,
            errors: tally.errors,
            reasons: tally.reasons.clone(),
            statuses: statuses.map(|(status, &count)| (status as u16, count)).collect(),
            measured_offered: tally.measured_offered,
            measured_completed: tally.measured_completed,
            measured_errors: tally.measured_errors.total(),
            sockets: tally.sockets,
            latency: tally.latency.distribution(),
            service_time: tally.service_time.distribution(),
            lateness: tally.lateness.distribution(),
            censored: tally.censored.distribution(),
            phases: tally.phases.phases(),
            by_request: tally.parts(n_requests),
            by_population: populations.map(|parts| [parts[0].part(), parts[1].part()]),
            pages: tally.pages.counts(),
            visits: tally.visits,
            cycles: (plan.is_credited() && !is_cut).then_some(Cycles {
                n_users: n_connections as u64,
                is_fresh: measure_start_ns <= plan.opened_ns,
                first_s: if is_connecting { tally.cycles.first_s } else { 0.0 },
                later_s: if is_connecting { tally.cycles.later_s } else { 0.0 },
                ..tally.cycles
            }),
            batches,
            trace,
            series: tally.series.series.clone(),
            client_cpu_s: tally.whole.cpu_ns as f64 / 1e9,
            limited_by,
            evidence,
        }
    }
}

/// A result with what others read of it that follows from its instants.
#[derive(Serialize)]
pub struct Report<'a> {
    opened_s: f64,
    measured_s: f64,
    total_s: f64,
    #[serde(flatten)]
    result: &'a WindowResult,
}

impl<'a> From<&'a WindowResult> for Report<'a> {
    fn from(result: &'a WindowResult) -> Self {
        let seconds = |ns: u64| ns as f64 / 1e9;
        Self {
            opened_s: seconds(result.opened_ns),
            measured_s: seconds(result.measure_end_ns - result.measure_start_ns),
            total_s: seconds(result.closed_ns - result.opened_ns),
            result,
        }
    }
}
