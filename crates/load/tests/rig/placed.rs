//! A client and a server whose places are known, each on a core of its own, and who was the limit.

use std::num::NonZeroUsize;
use std::thread;

use httpdyno_load::{LimitedBy, LoadSpec, WindowResult};
use httpdyno_oracle::{Oracle, OracleConfig, Service};

use super::{Witness, arm, arrival, brief, ensure, skipped, timed, unless_disturbed};

/// The core of the client, and that of the server.
pub(crate) const CLIENT_CPU: usize = 0;
pub(crate) const SERVER_CPU: usize = 1;

pub(crate) fn has_two_cpus() -> bool {
    let has = thread::available_parallelism().is_ok_and(|n| n.get() >= 2);
    if !has {
        skipped("client and server need a core each");
    }
    has
}

/// A server on its own core.
pub(crate) fn server(service: &str, workers: Option<usize>) -> Oracle {
    let config = OracleConfig {
        service: Service::parse(service).unwrap(),
        workers: workers.and_then(NonZeroUsize::new),
        cpu: Some(SERVER_CPU),
        ..OracleConfig::default()
    };
    Oracle::start(config).unwrap()
}

/// Sixteen connections of a client on its own core for a second; a closed loop, if not `rate`.
pub(crate) fn load(oracle: &Oracle, rate_per_s: f64) -> LoadSpec {
    let spec = timed(arm(oracle, &["/"]), 1.0);
    LoadSpec {
        connections: 16,
        arrival: arrival(rate_per_s),
        cpus: vec![CLIENT_CPU],
        timeout_s: 5.0,
        drain_s: 1.0,
        ..spec
    }
}

/// The verdict is the expected one, or where other programs used this machine's CPUs, what can be
/// told there. That the server is blamed for the client is once too often, disturbed or not.
#[track_caller]
pub(crate) fn is_limited_by(expected: LimitedBy, attempt: impl Fn() -> WindowResult) {
    unless_disturbed(|| {
        let witness = Witness::start();
        let result = attempt();
        let is_crowded = witness.seen().is_crowded();
        let told = result.limited_by;
        let is_clients = matches!(expected, LimitedBy::ClientCpu | LimitedBy::ClientSchedule);
        let is_servers = matches!(told, LimitedBy::Server | LimitedBy::ServerOrConnections);
        let is_blamed = is_clients && is_servers;
        assert!(!is_blamed, "the server was blamed for the client: {}", brief(&result));
        let is_right = told == expected || is_crowded && beside_others(expected).contains(&told);
        ensure(is_right, || format!("{told}: {}", brief(&result)))
    });
}

/// What is as true of that case where other programs use the CPUs that everybody is to have.
fn beside_others(expected: LimitedBy) -> &'static [LimitedBy] {
    match expected {
        LimitedBy::Connections | LimitedBy::Server => {
            &[LimitedBy::ServerOrConnections, LimitedBy::MachineCpu]
        }
        LimitedBy::ClientCpu | LimitedBy::ClientSchedule | LimitedBy::Rate => {
            &[LimitedBy::MachineCpu]
        }
        _ => &[],
    }
}
