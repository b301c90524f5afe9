//! A request's record at its end.

/// A request that ended: when it was due, sent and so on. All in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ended {
    /// Due (open loop) or taken up (closed loop): what its age counts from.
    pub(crate) base_ns: u64,
    /// Taken up by a connection; `None`: never.
    pub(crate) issued_ns: Option<u64>,
    /// This request opened the connection, and it was connected then.
    pub(crate) connected_ns: Option<u64>,
    /// The TLS handshake was done. Only with `connected_ns`.
    pub(crate) secured_ns: Option<u64>,
    /// Began to be written; `None`: never.
    pub(crate) written_ns: Option<u64>,
    /// The first byte of the answer came.
    pub(crate) first_byte_ns: Option<u64>,
    pub(crate) end_ns: u64,
    pub(crate) is_measured: bool,
    /// An object of a page: the page was due, not it.
    pub(crate) is_object: bool,
    /// The index in the arm's table of requests.
    pub(crate) request: u32,
    /// Of the slow population.
    pub(crate) is_slow: bool,
    /// The number of the request in the run.
    pub(crate) due_index: u64,
}
