//! Which side kept the throughput from being higher.
//!
//! The client is looked at first, and the server is named only when the client was not short of
//! anything: a verdict against the server that was the client's own fault sends a person looking
//! in the wrong place for days; the other way round costs a second run with more client.
//!
//! The rule; the first line that holds decides:
//!
//! 0. A request failed for want of a file descriptor: `descriptors`; of a local port: `ports`.
//!    Both are the client's own, and more would have carried more.
//! 1. No right answer came: `nobody`. There is no throughput that anything could
//!    have limited; what happened is in the errors. Open loop, and the rate was kept: `rate`.
//!    Answers in the measured part fell short of what was offered by no more than those that were
//!    under way, and [`FEW`]. Whoever was late or waited meanwhile limited latencies.
//! 2. [`MOST`] of the time on connections went into connecting without an answer to the first
//!    `SYN`, and the host's counters confirm it (full accept queues, dropped or repeated `SYN`s):
//!    `network` in a closed loop. A client cannot bring that about by being slow, and the few
//!    connections that are left may well keep it busy.
//! 3. Closed loop: `client_cpu`, if the busiest thread of the client ran, stood in the queue for a
//!    CPU or was held back [`DEMAND_SHORT`] of the time, so it hardly ever had nothing to do; or
//!    stood in that queue or was held back [`WAIT_SHORT`] of the time, and found [`MOST`] of the
//!    answers there when it came to look, so the server had been idle meanwhile (of a server that
//!    never answers, all that it finds are connections that the kernel took); or if this process
//!    was stopped from outside, or its control group throttled, for [`FROZEN_SHORT`] of the time. A
//!    server in the same group is held back with it; what it can do by itself is not to be seen
//!    then. It is held back by a stop, by a quota, or where the host of a virtual machine runs
//!    others on its core: of that the scheduler's account of a thread has at most the quota. What
//!    the host takes does not decide alone, for it may have taken it from the server.
//!    `machine_cpu`, if that thread stood in the queue, and not for its quota, for longer than it
//!    ran or was held back, and this machine had less than [`SPARE_CORE`] left: others used its
//!    CPUs up, the server maybe among them.
//! 4. Open loop, and requests were late or had to wait (over [`FEW`] of them were sent late, or
//!    found no connection, or more was offered than achieved): if the client was short of CPU as
//!    in 3, `client_cpu`. If over [`MANY_LATE`] were sent late though a connection was idle, and
//!    these are more than those that found none: `client_cpu` if it was waiting for a CPU or
//!    stopped for [`SOME`] of the time, else `client_schedule`.
//! 5. The network: as in 2, in an open loop. Or [`MOST`] of the service time went into answers as
//!    late as a segment that is sent again, no more than [`RARE`] of the answers are, and about as
//!    many segments were: `network`. The counters are of the whole network namespace; so they
//!    never decide alone.
//! 6. Over [`FEW`] of the usual users' requests failed, and neither because the window ended, nor
//!    because they had waited for a connection for most of their patience, nor for want of a TLS
//!    session, which the client may have refused: `server`. Over [`FEW`] for want of that: `nobody`.
//! 7. Closed loop: less than [`IDLE`] of the connections were busy on average, so the users
//!    thought more than they waited: `rate`, the load asked for. More `connections` would carry
//!    more, if there is evidence that they did not wait for each other in the server: service times
//!    hardly vary and were those of the first requests, which met an idle server ([`IDLE_LIKE`]);
//!    or they vary ([`VARYING`]) and say nothing of each other ([`ALIKE`]) over many of them
//!    ([`ROUNDS`]). Service times that hardly vary say nothing where answers came at even gaps
//!    ([`EVEN_GAPS`]), as of a server that answers one after the other, whose first answer was as
//!    late as its queue makes the later ones. Who shares a CPU evenly shows neither way, so nobody beside the client may have
//!    used [`A_CORE`] on this machine; but where others want it and service times are still
//!    [`EVEN`], they are not made of CPU time. It is the `server` if they did wait for each other:
//!    answers took [`QUEUEING`] times as long as of an idle server, or, where a core was left, or was
//!    before this load came, just longer than that, or those that follow each other took alike; or
//!    this load has others use up what the client left of this machine's CPUs ([`SPARE_CORE`]).
//!    Where neither shows, as with one connection or on a machine that others keep busy, it is one
//!    of the two: `server_or_connections`.
//! 8. Open loop, and over [`FEW`] of the requests waited for a connection, or ran out of patience
//!    or time while they did, and more than were late: a client that is late sends in bursts, which
//!    take all connections. Then all connections were busy as in a closed loop, and the evidence of
//!    7 tells `connections`, `server` and `server_or_connections`.
//! 9. Open loop, answers in the measured part fell short of what was offered by [`BEHIND`], and
//!    requests waited for each other by the evidence of 7: `server`, a queue grew inside it.
//! 10. Else nobody was short, the `rate` was the limit.

use serde::{Serialize, Serializer};
use std::fmt;

use super::evidence::Evidence;

/// Of a thread's time. A thread that is served at all sleeps a tenth of its time, or it is at its
/// end: the last tenth goes into the wake-ups themselves.
const DEMAND_SHORT: f64 = 0.9;
/// Of a thread's time. It would have made a fifth more of it.
const WAIT_SHORT: f64 = 0.2;
/// Of the window. Ten times what a machine with its host's jobs beside it was seen to lose.
const FROZEN_SHORT: f64 = 0.1;
/// Of a thread's time or of the window: enough to explain requests that were sent late.
const SOME: f64 = 0.05;
/// Of the requests. Percentiles up to p99 are not touched by fewer.
const FEW: f64 = 0.01;
/// Of the requests. A machine that is busy elsewhere wakes the client over a millisecond late
/// for some of them; that limits nobody's throughput, and it is in the latencies.
const MANY_LATE: f64 = 0.1;
/// Of the time, or of the answers.
const MOST: f64 = 0.5;
/// Of the answers, too. Where more of them take as long as a segment that is sent again, the server
/// may just as well be slow.
const RARE: f64 = 0.5;
/// Of the connections.
const IDLE: f64 = 0.5;
/// Service time under load over that of the first requests, error included. A server of `w` workers
/// behind `c` connections makes them wait `c / w` times as long; below two that is hardly a queue.
const QUEUEING: f64 = 2.0;
/// Of a normal distribution, for what the first few service times may have been by chance.
const SIGMAS: f64 = 2.0;
/// Service time under load over that of the first requests, error included. With a fifth more
/// connections than a server takes at a time, a fifth of them wait.
const IDLE_LIKE: f64 = 1.2;
/// Standard deviation over mean of service times. Of less, what is alike in them or not is mostly
/// this machine's unrest.
const VARYING: f64 = 0.3;
/// The same. Turns on a CPU take milliseconds: what waits for them varies by more.
const EVEN: f64 = 0.05;
/// Correlation of service times of answers that come one after the other, error included.
const ALIKE: f64 = 0.1;
/// So many requests on each connection: what begins together ends together for a while.
const ROUNDS: f64 = 20.0;
/// Of a core, in CPU time of others. Who has used one up may be at its end.
const A_CORE: f64 = 0.9;
/// Standard deviation over mean of gaps between answers. Those of users who come at random have 1.
const EVEN_GAPS: f64 = 0.3;
/// Of a core that nobody used: less is none for another thread.
const SPARE_CORE: f64 = 0.5;
/// Standard deviations of how many are under way at an instant where they come and go at random.
const ANY_MOMENT: f64 = 2.0;
/// Of what was offered. More than a window's last answers, which come after its end.
const BEHIND: f64 = 0.1;

/// What kept the throughput from being higher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitedBy {
    /// There was no throughput, or the two sides did not agree on any session.
    Nobody,
    /// The server under test.
    Server,
    /// In a closed loop, the server or the number of connections: nothing tells which.
    ServerOrConnections,
    /// The load that was asked for, a rate or users who think: everybody could have done more.
    Rate,
    /// The engine's threads had no CPU time left, or were not let run.
    ClientCpu,
    /// The engine's threads stood in the queue for CPUs that others used up.
    MachineCpu,
    /// The engine sent late though it had CPU time and connections.
    ClientSchedule,
    /// All connections were busy, and the server was not slow.
    Connections,
    /// The limit of open files.
    Descriptors,
    /// The local ports.
    Ports,
    /// Connections that nobody accepted in time, or lost segments.
    Network,
}

impl LimitedBy {
    /// The name in results, such as `client_cpu`; empty for nobody.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nobody => "",
            Self::Server => "server",
            Self::ServerOrConnections => "server_or_connections",
            Self::Rate => "rate",
            Self::ClientCpu => "client_cpu",
            Self::MachineCpu => "machine_cpu",
            Self::ClientSchedule => "client_schedule",
            Self::Connections => "connections",
            Self::Descriptors => "descriptors",
            Self::Ports => "ports",
            Self::Network => "network",
        }
    }
}

impl Serialize for LimitedBy {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl fmt::Display for LimitedBy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// What the rule looks at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) is_open_loop: bool,
    /// Of the users with a usual line: how long a slow one takes is nobody's fault.
    pub(crate) offered: u64,
    /// Those of them that failed, but for what the window's end or a stop cut off.
    pub(crate) failed: u64,
    /// What waited or was late is a part of these: requests, pages and steps of visits that were
    /// due.
    pub(crate) due: u64,
    /// Mean of connections that carried a request of such a user, over those that there are.
    pub(crate) busy_ratio: f64,
    /// Requests of those that were given up because they waited for a connection, all the time
    /// or most of it.
    pub(crate) starved: u64,
    /// Those that found no TLS session.
    pub(crate) sessionless: u64,
    /// Users with a usual line had so many right answers, in the lead-in too.
    pub(crate) completed: u64,
    /// How long the measured part was.
    pub(crate) measured_s: f64,
    /// Anything came back from the server.
    pub(crate) is_answered: bool,
    pub(crate) evidence: &'a Evidence,
}

/// Apply the rule.
pub(crate) fn verdict(case: &Case) -> LimitedBy {
    let Case { is_open_loop, evidence, .. } = *case;
    if evidence.no_descriptors > 0.0 {
        return LimitedBy::Descriptors;
    }
    if evidence.no_ports > 0.0 {
        return LimitedBy::Ports;
    }
    if case.completed == 0 {
        return LimitedBy::Nobody;
    }
    if !is_open_loop && is_unanswered(evidence) {
        return LimitedBy::Network;
    }
    if is_open_loop && is_kept(case) {
        return LimitedBy::Rate;
    }
    if let Some(client) = if is_open_loop { late_client(case) } else { slow_client(case) } {
        return client;
    }
    if is_of_network(case) {
        return LimitedBy::Network;
    }
    let few = FEW * case.offered as f64;
    if case.failed.saturating_sub(case.starved + case.sessionless) as f64 > few {
        return LimitedBy::Server;
    }
    if case.sessionless as f64 > few {
        return LimitedBy::Nobody;
    }
    let is_out_of_connections = if is_open_loop {
        waiting(case) > (FEW * case.due as f64).max(evidence.late_requests)
    } else {
        case.busy_ratio >= IDLE
    };
    match () {
        () if is_out_of_connections && has_room(evidence) => LimitedBy::Connections,
        () if is_out_of_connections && has_queue(evidence) => LimitedBy::Server,
        () if is_out_of_connections => LimitedBy::ServerOrConnections,
        () if is_open_loop && is_behind(evidence) && has_queue(evidence) => LimitedBy::Server,
        () => LimitedBy::Rate,
    }
}

/// Whether an open loop had what it asked for, but for what was under way when it ended.
fn is_kept(case: &Case) -> bool {
    let Case { evidence, offered, .. } = *case;
    let missing = (evidence.offered_per_s - evidence.achieved_per_s) * case.measured_s;
    let under_way = evidence.busy_connections + ANY_MOMENT * evidence.busy_connections.sqrt();
    missing <= under_way + FEW * offered as f64
}

/// The client in a closed loop.
fn slow_client(case: &Case) -> Option<LimitedBy> {
    is_short(case).then(|| short_of_cpu(case.evidence))
}

/// Whether others used up what the client was short of.
fn short_of_cpu(evidence: &Evidence) -> LimitedBy {
    // A thread of a throttled group stands in that queue by the scheduler's account, too.
    let by_others = evidence.client_wait_ratio - evidence.client_throttled_ratio;
    let is_crowded = by_others > evidence.client_cpu_ratio.max(held_back_ratio(evidence))
        && evidence.idle_cpu_ratio < SPARE_CORE
        && !is_core_left(evidence);
    if is_crowded { LimitedBy::MachineCpu } else { LimitedBy::ClientCpu }
}

/// The client in an open loop: what it lacked matters only where something came of it.
fn late_client(case: &Case) -> Option<LimitedBy> {
    let Case { evidence, .. } = *case;
    let (due, late) = (case.due as f64, evidence.late_requests);
    if late + waiting(case) <= FEW * due && !is_behind(evidence) {
        return None;
    }
    if is_short(case) {
        return Some(short_of_cpu(evidence));
    }
    if late <= MANY_LATE * due || late <= waiting(case) {
        return None;
    }
    let is_explained = evidence.client_wait_ratio + held_back_ratio(evidence) >= SOME;
    Some(if is_explained { short_of_cpu(evidence) } else { LimitedBy::ClientSchedule })
}

fn is_short(case: &Case) -> bool {
    let evidence = case.evidence;
    let lost = evidence.client_wait_ratio + held_back_ratio(evidence);
    let found_answers = case.is_answered && evidence.client_ready_ratio >= MOST;
    let is_waited_for = lost >= WAIT_SHORT && found_answers;
    is_waited_for
        || evidence.client_cpu_ratio + lost >= DEMAND_SHORT
        || evidence.client_frozen_ratio >= FROZEN_SHORT
        || evidence.client_throttled_ratio >= FROZEN_SHORT
}

/// The part of the time in which a thread could neither run nor stand in a queue. The three
/// accounts overlap: what a quota or the host takes shows as a stop, too, if it lasts.
fn held_back_ratio(evidence: &Evidence) -> f64 {
    let by_others = evidence.client_throttled_ratio.max(evidence.client_stolen_ratio);
    evidence.client_frozen_ratio.max(by_others)
}

/// Connections waited for the server's kernel to take them.
fn is_unanswered(evidence: &Evidence) -> bool {
    let unanswered = evidence.listen_overflows + evidence.listen_drops + evidence.syn_retransmits;
    evidence.unanswered_connect_ratio >= MOST && unanswered > 0.0
}

fn is_of_network(case: &Case) -> bool {
    let evidence = case.evidence;
    if is_unanswered(evidence) {
        return true;
    }
    let resent = evidence.tcp_retransmits - evidence.syn_retransmits;
    evidence.long_answer_ratio >= MOST
        && evidence.long_answers <= RARE * case.offered as f64
        && resent >= evidence.long_answers / 2.0
}

/// Requests that no connection was there for.
fn waiting(case: &Case) -> f64 {
    case.evidence.waited_requests + case.starved as f64
}

fn is_queueing(evidence: &Evidence) -> bool {
    inflation_within(evidence, -SIGMAS) >= QUEUEING
}

/// Whether the server would have done more at a time, by all that a loop with no connection idle
/// can see.
fn has_room(evidence: &Evidence) -> bool {
    let inflation = evidence.service_inflation_ratio;
    if inflation <= 0.0 || is_queueing(evidence) {
        return false;
    }
    let is_idle_like = inflation_within(evidence, SIGMAS) < IDLE_LIKE
        && inflation > 1.0 / IDLE_LIKE
        && evidence.answer_gap_spread_ratio >= EVEN_GAPS;
    let is_independent = has_likeness(evidence)
        && evidence.service_likeness_ratio + likeness_noise(evidence) < ALIKE;
    let is_even = evidence.service_spread_ratio < EVEN;
    is_idle_like && (is_core_left(evidence) || is_even) || is_independent && is_core_left(evidence)
}

/// Whether requests waited for each other in the server, by the same.
fn has_queue(evidence: &Evidence) -> bool {
    if is_queueing(evidence) {
        return true;
    }
    let slower = inflation_within(evidence, -SIGMAS);
    let is_alike = has_likeness(evidence)
        && evidence.service_likeness_ratio - likeness_noise(evidence) > ALIKE;
    // Who waits for a CPU that others have is the slower for it, too, and for a while at a time.
    let is_own = is_core_of_load(evidence);
    let is_used_up = is_own && !is_core_left(evidence) && evidence.idle_cpu_ratio < SPARE_CORE;
    is_used_up || (is_own || is_core_left(evidence)) && (slower >= IDLE_LIKE || is_alike)
}

/// Whoever is on this machine beside the client may have had all the CPU time that it wanted.
fn is_core_left(evidence: &Evidence) -> bool {
    evidence.others_cpu_ratio < A_CORE
}

/// A core that nobody used before this load came: who uses it up now is the server.
fn is_core_of_load(evidence: &Evidence) -> bool {
    evidence.others_cpu_ratio - evidence.others_risen_ratio < SPARE_CORE
}

/// How many times as long answers took under load as of an idle server, where the mean of the few
/// that an idle server gave was so many standard deviations off.
///
/// A mean of few service times is skewed: that of two exponential ones is below a third of what it
/// stands for once in seven times. It is taken for gamma distributed, with the spread of those
/// under load, and its quantile by the cube of a normal one (Wilson and Hilferty 1931). Service
/// times whose spread nobody saw are taken for exponential ones.
fn inflation_within(evidence: &Evidence, sigmas: f64) -> f64 {
    let is_seen = evidence.loaded_requests > 0.0;
    let spread = if is_seen { evidence.service_spread_ratio } else { 1.0 };
    let ninth = spread * spread / evidence.unloaded_requests.max(1.0) / 9.0;
    let quantile = (1.0 - ninth + sigmas * ninth.sqrt()).max(0.0).powi(3);
    evidence.service_inflation_ratio * quantile
}

/// Twice the standard error of the likeness of service times that have none.
fn likeness_noise(evidence: &Evidence) -> f64 {
    2.0 / evidence.loaded_requests.max(1.0).sqrt()
}

/// Whether service times vary enough, and were seen often enough, to be alike or not.
fn has_likeness(evidence: &Evidence) -> bool {
    let is_seen = evidence.loaded_requests >= ROUNDS * evidence.busy_connections;
    is_seen && evidence.service_spread_ratio >= VARYING
}

fn is_behind(evidence: &Evidence) -> bool {
    evidence.achieved_per_s < (1.0 - BEHIND) * evidence.offered_per_s
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
