//! A number that tells one schedule from another.

use super::arrivals::schedule_hash;
use super::random;
use crate::input::LoadSpec;

impl LoadSpec {
    /// A number for the provenance of a run: the same for the same arrivals, users, seed
    /// and mix.
    pub fn schedule_hash(&self) -> u64 {
        let arrivals = schedule_hash(&self.arrival, self.seed, 0, N_HASHED);
        // Their text says all of the types' values; it is stable as long as they are.
        let steps = self.arms.iter().map(|arm| format!("{:?}", arm.steps));
        let users = [format!("{:?}", self.users), format!("{:?}", self.slow)];
        steps
            .chain(users)
            .flat_map(String::into_bytes)
            .fold(arrivals, |hash, byte| random::hash(hash, u64::from(byte), 1))
    }
}

/// Arrivals that the hash of a schedule looks at: all of a short run's, and enough to tell two
/// others apart.
const N_HASHED: usize = 10_000;
