//! For how much the counts of a thread have room.

/// For how much a tally has room.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Capacity {
    /// Requests in the table: of the arm that has most.
    pub(crate) n_requests: usize,
    /// There is a slow population.
    pub(crate) has_slow: bool,
    /// The instants of so many requests are kept.
    pub(crate) n_traced: usize,
    /// Users of the thread (closed loop), or connections.
    pub(crate) n_connections: usize,
}
