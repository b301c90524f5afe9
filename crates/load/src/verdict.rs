//! Which side kept the throughput from being higher.
//!
//! The rule, first version; the first line that holds decides:
//!
//! 1. A request failed for want of a file descriptor: `descriptors`; of a local port: `ports`.
//! 2. The busiest thread of the client used [`CPU_SHORT`] or more of a core while it sent:
//!    in a closed loop `client_cpu`.
//! 3. Closed loop, else: `server`.
//! 4. Open loop, and more than [`SHORT`] of the requests waited for a connection although they
//!    were due. The client was out of CPU: `client_cpu`. Answers took on average
//!    [`QUEUEING`] or more times what the fastest took, or there were timeouts: requests queue
//!    inside the `server`. Else the server answers as fast as it ever does, and more
//!    `connections` would carry more.
//! 5. Open loop, and more than [`SHORT`] of the requests were sent over a millisecond late though
//!    a connection was idle: `client_cpu` if that was short, else `client_schedule`.
//! 6. Open loop, and more than [`SHORT`] of the requests failed in whatever way: `server`.
//! 7. Else nobody was short, the `rate` was the limit.

use std::fmt;

use crate::outcome::ErrorKind;
use crate::tally::Tally;
use crate::window::Plan;

/// Of a core, by one thread.
const CPU_SHORT: f64 = 0.9;
/// Of the requests.
const SHORT: f64 = 0.01;
/// Mean service time over the smallest.
const QUEUEING: f64 = 3.0;

/// What kept the throughput from being higher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitedBy {
    /// The server under test.
    Server,
    /// The rate that was asked for: everybody could have done more.
    Rate,
    /// The engine's threads had no CPU time left.
    ClientCpu,
    /// The engine sent late though it had CPU time and connections.
    ClientSchedule,
    /// All connections were busy, and the server was not slow.
    Connections,
    /// The limit of open files.
    Descriptors,
    /// The local ports.
    Ports,
}

impl LimitedBy {
    /// The name in results, such as `client_cpu`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Rate => "rate",
            Self::ClientCpu => "client_cpu",
            Self::ClientSchedule => "client_schedule",
            Self::Connections => "connections",
            Self::Descriptors => "descriptors",
            Self::Ports => "ports",
        }
    }
}

impl fmt::Display for LimitedBy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The figures that the verdict rests on.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Evidence {
    /// CPU time over wall time of the busiest thread while it sent.
    pub client_cpu_ratio: f64,
    /// The part of that time in which that thread was ready to run and had no CPU: what it lost
    /// to the server and others on the same cores.
    pub client_wait_ratio: f64,
    /// 99 % of the measured requests were sent at most this late; 0 in a closed loop.
    pub lateness_p99_s: f64,
    /// Mean of requests in flight over the measured part.
    pub busy_connections: f64,
    /// Requests that were due when no connection was idle.
    pub waited_requests: f64,
    /// Requests that were sent over a millisecond late though a connection was idle.
    pub late_requests: f64,
    /// Mean service time over its smallest; 0 without an answer.
    pub service_inflation_ratio: f64,
    /// Offered in the measured part, per second.
    pub offered_per_s: f64,
    /// Right answers in the measured part, per second.
    pub achieved_per_s: f64,
    /// Requests sent again because their idle connection proved stale.
    pub retries: f64,
    /// Connections on which bytes came that belong to no answer.
    pub surplus_answers: f64,
    /// Requests that found no file descriptor.
    pub no_descriptors: f64,
    /// Requests that found no local port.
    pub no_ports: f64,
}

impl Evidence {
    /// The figures by name.
    pub fn figures(&self) -> [(&'static str, f64); 13] {
        [
            ("client_cpu_ratio", self.client_cpu_ratio),
            ("client_wait_ratio", self.client_wait_ratio),
            ("lateness_p99_s", self.lateness_p99_s),
            ("busy_connections", self.busy_connections),
            ("waited_requests", self.waited_requests),
            ("late_requests", self.late_requests),
            ("service_inflation_ratio", self.service_inflation_ratio),
            ("offered_per_s", self.offered_per_s),
            ("achieved_per_s", self.achieved_per_s),
            ("retries", self.retries),
            ("surplus_answers", self.surplus_answers),
            ("no_descriptors", self.no_descriptors),
            ("no_ports", self.no_ports),
        ]
    }

    pub(crate) fn of(tally: &Tally, measured_s: f64) -> Self {
        let per_s = |count: u64| if measured_s > 0.0 { count as f64 / measured_s } else { 0.0 };
        let service = tally.service_time.distribution();
        let smallest_ns = service.buckets.first().map_or(0, |bucket| bucket.0);
        let inflation = if smallest_ns == 0 {
            0.0
        } else {
            service.sum_ns as f64 / service.count as f64 / smallest_ns as f64
        };
        Self {
            client_cpu_ratio: tally.sending.load_ratio(),
            client_wait_ratio: tally.sending.wait_ratio(),
            lateness_p99_s: tally.lateness.distribution().quantile_ns(0.99) as f64 / 1e9,
            busy_connections: per_s(1) * tally.busy_ns as f64 / 1e9,
            waited_requests: tally.waited as f64,
            late_requests: tally.late as f64,
            service_inflation_ratio: inflation,
            offered_per_s: per_s(tally.measured_offered),
            achieved_per_s: per_s(tally.measured_completed),
            retries: tally.retries as f64,
            surplus_answers: tally.surplus as f64,
            no_descriptors: tally.errors.of(ErrorKind::NoDescriptors) as f64,
            no_ports: tally.errors.of(ErrorKind::NoPorts) as f64,
        }
    }
}

/// Apply the rule.
pub(crate) fn verdict(plan: &Plan, tally: &Tally, evidence: &Evidence) -> LimitedBy {
    let is_cpu_short = evidence.client_cpu_ratio >= CPU_SHORT;
    if evidence.no_descriptors > 0.0 {
        return LimitedBy::Descriptors;
    }
    if evidence.no_ports > 0.0 {
        return LimitedBy::Ports;
    }
    if !plan.is_open_loop() {
        return if is_cpu_short { LimitedBy::ClientCpu } else { LimitedBy::Server };
    }
    let few = SHORT * tally.offered as f64;
    let has_timeouts = tally.errors.of(ErrorKind::Timeout) > 0;
    let unsent = tally.errors.of(ErrorKind::Unsent) as f64;
    if evidence.waited_requests + unsent > few {
        return if is_cpu_short {
            LimitedBy::ClientCpu
        } else if has_timeouts || evidence.service_inflation_ratio >= QUEUEING {
            LimitedBy::Server
        } else {
            LimitedBy::Connections
        };
    }
    if evidence.late_requests > few {
        return if is_cpu_short { LimitedBy::ClientCpu } else { LimitedBy::ClientSchedule };
    }
    if tally.errors.total() as f64 > few { LimitedBy::Server } else { LimitedBy::Rate }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::Model;

    fn limit(rate_per_s: f64, change: impl Fn(&mut Tally, &mut Evidence)) -> LimitedBy {
        let model = if rate_per_s > 0.0 { Model::Open } else { Model::Closed };
        let plan = Plan { model, ..crate::window::Progress::none().plan };
        let (mut tally, mut evidence) =
            (Tally::new(&crate::tally::Room::default()), Evidence::default());
        tally.offered = 1000;
        change(&mut tally, &mut evidence);
        verdict(&plan, &tally, &evidence)
    }

    #[test]
    fn in_a_closed_loop_it_is_the_server_unless_the_client_ran_out_of_something() {
        assert_eq!(limit(0.0, |_, _| ()), LimitedBy::Server);
        assert_eq!(limit(0.0, |_, e| e.client_cpu_ratio = 0.95), LimitedBy::ClientCpu);
        assert_eq!(limit(0.0, |_, e| e.no_ports = 1.0), LimitedBy::Ports);
        assert_eq!(limit(0.0, |_, e| e.no_descriptors = 1.0), LimitedBy::Descriptors);
    }

    #[test]
    fn in_an_open_loop_it_is_the_rate_unless_somebody_was_short() {
        assert_eq!(limit(9.0, |_, _| ()), LimitedBy::Rate);
        assert_eq!(limit(9.0, |_, e| e.client_cpu_ratio = 1.0), LimitedBy::Rate);
        assert_eq!(limit(9.0, |_, e| e.late_requests = 11.0), LimitedBy::ClientSchedule);
        assert_eq!(limit(9.0, |_, e| e.waited_requests = 11.0), LimitedBy::Connections);
        assert_eq!(limit(9.0, |t, _| t.errors.add(ErrorKind::Unfinished, 11)), LimitedBy::Server);
        assert_eq!(limit(9.0, |t, _| t.errors.add(ErrorKind::Unsent, 11)), LimitedBy::Connections);
        let queueing = |_: &mut Tally, evidence: &mut Evidence| {
            (evidence.waited_requests, evidence.service_inflation_ratio) = (11.0, 4.0);
        };
        assert_eq!(limit(9.0, queueing), LimitedBy::Server);
        let cpu = |_: &mut Tally, evidence: &mut Evidence| {
            (evidence.late_requests, evidence.client_cpu_ratio) = (11.0, 1.0);
        };
        assert_eq!(limit(9.0, cpu), LimitedBy::ClientCpu);
    }
}
