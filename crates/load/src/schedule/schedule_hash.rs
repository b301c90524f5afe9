//! A number that tells one schedule from another.

use super::arrivals::schedule_hash;
use super::random;
use crate::input::{Arm, LoadSpec, Order};

impl LoadSpec {
    /// A number for the provenance of a run: the same for the same arrivals, users, seed
    /// and mix.
    pub fn schedule_hash(&self) -> u64 {
        let arrivals = schedule_hash(&self.arrival, self.seed, 0, N_HASHED);
        // Their text says all of the types' values; it is stable as long as they are.
        let steps = self.arms.iter().map(told);
        let users = [format!("{:?}", self.users), format!("{:?}", self.slow)];
        steps
            .chain(users)
            .flat_map(String::into_bytes)
            .fold(arrivals, |hash, byte| random::hash(hash, u64::from(byte), 1))
    }
}

/// What users do of an arm's steps. What most arms have not is left out: their hashes stay.
fn told(arm: &Arm) -> String {
    let is_mixed = arm.order == Order::Mixed;
    let order = if is_mixed { String::new() } else { format!("{:?}", arm.order) };
    let first = if arm.first.is_empty() { String::new() } else { format!("{:?}", arm.first) };
    [format!("{:?}", arm.steps), order, first].concat()
}

/// Arrivals that the hash of a schedule looks at: all of a short run's, and enough to tell two
/// others apart.
const N_HASHED: usize = 10_000;
