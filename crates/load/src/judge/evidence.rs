//! The figures that the verdict rests on, and those that show whether the engine's books agree.

use serde::Serialize;

use super::host::{HostChange, Taken};
use crate::count::{Distribution, ErrorKind, Tally, residual_ratio};

/// An answer that needed a segment to be sent again takes at least this long: the shortest
/// retransmission timeout of Linux (`TCP_RTO_MIN`).
const RESENT_NS: u64 = 200_000_000;

/// CPU time is counted in ticks of 10 ms: of less time nothing is told.
const TOLD_NS: u64 = 100_000_000;

/// The figures that the verdict rests on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Evidence {
    /// CPU time over wall time of the busiest thread, from the begin of the measured part to the
    /// end of sending.
    pub client_cpu_ratio: f64,
    /// The part of that time in which that thread was ready to run and had no CPU: what it lost
    /// to the server and others on the same cores.
    pub client_wait_ratio: f64,
    /// Of the requests on connections, the part that had news when a thread came to look, averaged
    /// over time: near 1 where answers wait for the client, near 0 where the client waits for
    /// answers.
    pub client_ready_ratio: f64,
    /// The part of that time in which this process was stopped from outside: by a CPU quota, a
    /// signal, a frozen machine.
    pub client_frozen_ratio: f64,
    /// Time for which a CPU quota held this process's control group back, summed over the CPUs that
    /// it was on, over that time; at most 1.
    pub client_throttled_ratio: f64,
    /// The part of that time for which the host of this virtual machine ran others on a CPU that
    /// the client may use, the one that lost most; at most 1.
    pub client_stolen_ratio: f64,
    /// How often a thread of the engine was taken off its CPU although it could have gone on.
    pub involuntary_switches: f64,
    /// 99 % of the measured requests were sent at most this late; 0 in a closed loop.
    pub lateness_p99_s: f64,
    /// Mean of requests on connections over the measured part.
    pub busy_connections: f64,
    /// The part of the connections that they are.
    pub busy_ratio: f64,
    /// Requests, pages and steps of visits that were due, each once: what waited or was late is a
    /// part of them. 0 in a closed loop.
    pub due_requests: f64,
    /// Requests that were due when no connection was idle.
    pub waited_requests: f64,
    /// Requests that were sent over a millisecond late, and not for want of a connection.
    pub late_requests: f64,
    /// Mean service time over that of the window's first requests, which met an idle server; 0
    /// where there were none, or no more than those.
    pub service_inflation_ratio: f64,
    /// How many first requests those were.
    pub unloaded_requests: f64,
    /// Standard deviation over mean of the service times after those, of each request by itself.
    pub service_spread_ratio: f64,
    /// How alike those were that ended one after the other: their correlation. Requests that wait
    /// in one queue wait for the same.
    pub service_likeness_ratio: f64,
    /// Of how many requests.
    pub loaded_requests: f64,
    /// Standard deviation over mean of the gaps between the ends of those on a thread: near 0 where
    /// a server answers one after the other.
    pub answer_gap_spread_ratio: f64,
    /// CPU time on this machine that was not this process's over the measured part: 1 is a core.
    /// The server's is in it, if it is on this machine.
    pub others_cpu_ratio: f64,
    /// How much more of it other programs ran than from this one's start to this window, when
    /// nothing had been sent; 0 where nobody knows, as of later windows.
    pub others_risen_ratio: f64,
    /// What was left of this machine's CPUs: 1 is a core.
    pub idle_cpu_ratio: f64,
    /// Offered in the measured part, per second.
    pub offered_per_s: f64,
    /// Right answers in the measured part, per second.
    pub achieved_per_s: f64,
    /// Requests sent again because their idle connection proved stale.
    pub retries: f64,
    /// Connections on which bytes came that belong to no answer.
    pub surplus_answers: f64,
    /// Cookies that a user's jar had no room for: what followed was not asked as a browser would.
    pub lost_cookies: f64,
    /// Answers that came as they are though they are compressed for who accepts that.
    pub uncoded_answers: f64,
    /// Requests that found no file descriptor.
    pub no_descriptors: f64,
    /// Requests that found no local port.
    pub no_ports: f64,
    /// The part of the time on connections that went into connecting without an answer to the
    /// first `SYN`.
    pub unanswered_connect_ratio: f64,
    /// Connections that found a full accept queue, in the whole network namespace.
    pub listen_overflows: f64,
    /// All connections that a listener dropped, in the whole network namespace.
    pub listen_drops: f64,
    /// `SYN` and `SYN ACK` segments sent again, in the whole network namespace.
    pub syn_retransmits: f64,
    /// All segments sent again, in the whole network namespace.
    pub tcp_retransmits: f64,
    /// Measured requests whose service took as long as a segment that had to be sent again.
    pub long_answers: f64,
    /// The part of the measured requests' service time that went into those.
    pub long_answer_ratio: f64,
    /// How far the mean number of requests on connections, integrated as they came and went, is
    /// from rate times mean time on a connection by their records (Little's law), relative to it.
    /// Over 0.02 the engine's own books are wrong.
    pub little_residual_ratio: f64,
}

impl Evidence {
    /// Of all threads' counts, merged, and their connections.
    pub(crate) fn of(
        tally: &Tally,
        n_connections: usize,
        measured_s: f64,
        host: &HostChange,
    ) -> Self {
        let per_s = |count: f64| part(count, measured_s);
        let of_measured = |time_ns: u64| part(time_ns as f64, host.taken.elapsed_ns as f64);
        let inflation = tally.strain.inflation();
        let (long_answers, long_ns) = beyond(&tally.service_time.distribution(), RESENT_NS);
        let busy_connections = per_s(tally.occupancy.busy_ns as f64 / 1e9);
        Self {
            client_cpu_ratio: tally.sending.load_ratio(),
            client_wait_ratio: tally.sending.wait_ratio(),
            client_ready_ratio: tally.readiness.ratio(),
            client_frozen_ratio: of_measured(host.taken.frozen_ns),
            client_throttled_ratio: of_measured(host.taken.throttled_ns).min(1.0),
            client_stolen_ratio: of_measured(host.taken.stolen_ns).min(1.0),
            involuntary_switches: tally.whole.preemptions as f64,
            lateness_p99_s: tally.lateness.distribution().quantile_ns(0.99) as f64 / 1e9,
            busy_connections,
            busy_ratio: part(busy_connections, n_connections as f64),
            due_requests: tally.punctuality.due as f64,
            waited_requests: tally.punctuality.waited as f64,
            late_requests: tally.punctuality.late as f64,
            service_inflation_ratio: inflation.ratio,
            unloaded_requests: inflation.n_light as f64,
            service_spread_ratio: inflation.spread,
            service_likeness_ratio: inflation.likeness,
            loaded_requests: inflation.n_loaded as f64,
            answer_gap_spread_ratio: inflation.gap_spread,
            others_cpu_ratio: of_measured(host.taken.others_ns),
            others_risen_ratio: risen(host),
            idle_cpu_ratio: of_measured(host.taken.idle_ns),
            offered_per_s: per_s(tally.measured_offered as f64),
            achieved_per_s: per_s(tally.measured_completed as f64),
            retries: tally.retries as f64,
            surplus_answers: tally.surplus as f64,
            lost_cookies: tally.lost_cookies as f64,
            uncoded_answers: tally.uncoded as f64,
            no_descriptors: tally.errors.of(ErrorKind::NoDescriptors) as f64,
            no_ports: tally.errors.of(ErrorKind::NoPorts) as f64,
            unanswered_connect_ratio: part(
                tally.occupancy.unanswered_ns as f64,
                tally.occupancy.busy_ns as f64,
            ),
            listen_overflows: host.network.listen_overflows as f64,
            listen_drops: host.network.listen_drops as f64,
            syn_retransmits: host.network.syn_retransmits as f64,
            tcp_retransmits: host.network.retransmits as f64,
            long_answers,
            long_answer_ratio: part(long_ns, tally.service_time.sum_ns() as f64).min(1.0),
            little_residual_ratio: residual_ratio(
                tally.occupancy.in_flight.integral_ns(),
                tally.on_connections_ns(),
            ),
        }
    }
}

/// By how many cores more other programs ran than before anything was sent, if that is known.
fn risen(host: &HostChange) -> f64 {
    let HostChange { taken, before, .. } = host;
    if before.elapsed_ns < TOLD_NS {
        return 0.0;
    }
    let cores = |of: &Taken| part(of.programs_ns as f64, of.elapsed_ns as f64);
    (cores(taken) - cores(before)).max(0.0)
}

fn part(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// How many durations are at least so long, and their sum in nanoseconds.
fn beyond(distribution: &Distribution, least_ns: u64) -> (f64, f64) {
    let long = distribution.buckets.iter().filter(|bucket| bucket.0 >= least_ns);
    long.fold((0.0, 0.0), |(n, sum_ns), &(bound_ns, count)| {
        (n + count as f64, sum_ns + bound_ns as f64 * count as f64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_programs_ran_more_than_before_came_with_the_load() {
        let taken = |elapsed_ns, programs_ns| Taken {
            elapsed_ns,
            programs_ns,
            // Packets, as of a load that goes to another machine.
            others_ns: programs_ns + elapsed_ns,
            ..Taken::default()
        };
        let risen = |before| {
            risen(&HostChange { taken: taken(1000, 900), before, ..HostChange::default() })
        };
        assert!(risen(taken(TOLD_NS - 1, 0)) < 1e-9, "too short to tell");
        assert!((risen(taken(TOLD_NS, 0)) - 0.9).abs() < 1e-9);
        assert!((risen(taken(2 * TOLD_NS, TOLD_NS)) - 0.4).abs() < 1e-9);
        assert!(risen(taken(TOLD_NS, 2 * TOLD_NS)) < 1e-9, "it fell");
    }
}
