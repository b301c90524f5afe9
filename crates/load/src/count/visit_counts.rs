//! What became of the users' visits.

use derive_more::AddAssign;
use serde::Serialize;

/// What became of the users' visits. Plain counts, which the loop keeps itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, AddAssign, Serialize)]
pub struct Visits {
    /// Visits that began.
    pub started: u64,
    /// Visits whose last step was answered, or failed but for lost patience.
    pub finished: u64,
    /// A request timed out: the user lost patience and left.
    pub left: u64,
    /// The window ended in the middle of it.
    pub cut: u64,
    /// Visits of users with an empty cookie jar.
    pub new_users: u64,
    /// Visits of users who came back with their jar.
    pub returning_users: u64,
}
