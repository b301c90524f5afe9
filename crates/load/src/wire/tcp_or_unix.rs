//! The socket under a link, with or without TLS between.

use std::io;

use socket2::Socket;

use crate::sys;

/// A nonblocking socket that knows what went into it.
#[derive(Debug)]
pub(super) struct TcpOrUnix {
    pub(super) inner: Socket,
    pub(super) is_unix: bool,
    pub(super) sent_bytes: u64,
}

impl TcpOrUnix {
    /// Read what the socket has; 0 at the end of the stream.
    #[inline]
    pub(super) fn receive(&self, room: &mut [u8]) -> io::Result<usize> {
        sys::receive(&self.inner, room)
    }

    /// Write what the socket takes. Never a signal.
    #[inline]
    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = sys::send(&self.inner, bytes)?;
        self.sent_bytes += count as u64;
        Ok(count)
    }
}
