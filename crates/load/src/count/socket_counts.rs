//! What went over the sockets.

use derive_more::AddAssign;
use serde::Serialize;

/// What went over the sockets in a window, lead-in included. Plain counts, which the loop keeps
/// itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, AddAssign, Serialize)]
pub struct SocketCounts {
    /// Connections that were tried to open.
    pub connects: u64,
    /// TLS handshakes that made a new session.
    pub handshakes_full: u64,
    /// TLS handshakes that took up an earlier session.
    pub handshakes_resumed: u64,
    /// Bytes of requests written.
    pub bytes_sent: u64,
    /// Bytes of answers read.
    pub bytes_received: u64,
}
