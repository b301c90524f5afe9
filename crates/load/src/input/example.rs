//! A spec for tests.

use super::spec::{Arm, LoadSpec, Request, Users, Window};
use super::traffic::Arrival;

/// One arm, one window of a second, a closed loop of two users.
pub(crate) fn example() -> LoadSpec {
    LoadSpec {
        arms: vec![Arm::new("127.0.0.1:80", vec![Request::get("h", "/")])],
        windows: vec![Window {
            arm: 0,
            lead_in_s: 0.0,
            measure_s: 1.0,
            n_requests: 0,
            credit: None,
        }],
        connections: 2,
        arrival: Arrival::Closed,
        users: Users::PLAIN,
        requests_per_connection: 0,
        connections_per_s: 0.0,
        slow: None,
        timeout_s: 1.0,
        drain_s: 1.0,
        threads: 1,
        cpus: Vec::new(),
        seed: 0,
        spin_s: 0.0,
        n_traced: 0,
    }
}
