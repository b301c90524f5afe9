//! A connection to a server as the engine's loop sees it: a nonblocking socket, with or without TLS
//! on it.
//!
//! What an edge-triggered loop has to know is the same for both. After an event it handshakes, or
//! reads until `WouldBlock`, or until a short read that
//! [took all there was](Link::is_drained_by_short_read); it writes until all is taken or
//! `WouldBlock`, and [flushes](Link::flush) when the socket is writable again.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use socket2::{Socket, Type};

use super::endpoint::Endpoint;
use super::tcp_or_unix::TcpOrUnix;
use super::tls::TlsClient;
use super::tls_session::{Handshake, TlsSession};
use crate::sys;

/// A connection that was begun. Dropping it ends it with a FIN.
#[derive(Debug)]
pub(crate) struct Link {
    socket: TcpOrUnix,
    layer: Layer,
}

/// What lies between the requests and the socket.
#[derive(Debug)]
enum Layer {
    Plain,
    /// Not begun yet: a client hello costs CPU time, which belongs to the handshake and not to
    /// the connecting.
    Ahead(TlsClient),
    Tls(Box<TlsSession>),
}

impl Link {
    /// Open a socket and begin to connect it; it is connected, or has failed, once it is writable.
    ///
    /// `receive_buffer_bytes` above 0 keeps the window that a TCP server sees to about this (the
    /// kernel has its own least, about 1 KiB). A Unix socket has no such thing: there the room
    /// is the sender's.
    ///
    /// The error is the kernel's own. A Unix socket whose server's backlog is full says `EAGAIN`
    /// and will never be connected by waiting for it: see [`is_backlog_full`].
    pub(crate) fn open(
        endpoint: &Endpoint,
        tls: Option<&TlsClient>,
        receive_buffer_bytes: usize,
    ) -> io::Result<Self> {
        let kind = Type::STREAM.nonblocking().cloexec();
        let socket = Socket::new_raw(endpoint.domain(), kind, None)?;
        let is_unix = matches!(endpoint, Endpoint::Unix(_));
        if !is_unix {
            // A body's last segment must not wait for the acknowledgement of the one before.
            socket.set_tcp_nodelay(true)?;
            if receive_buffer_bytes > 0 {
                socket.set_recv_buffer_size(receive_buffer_bytes)?;
                sys::clamp_window(socket.as_fd(), receive_buffer_bytes)?;
            }
        }
        match socket.connect(&endpoint.to_socket_address()?) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
            _ => {}
        }
        let layer = tls.map_or(Layer::Plain, |client| Layer::Ahead(client.clone()));
        Ok(Self { socket: TcpOrUnix { inner: socket, is_unix, sent_bytes: 0 }, layer })
    }

    /// Go on with what must come before requests. `true`: they may flow; `false`: call again at
    /// the next event of the socket.
    ///
    /// What can go wrong: what TLS itself finds ([`is_tls_failure`](super::tls::is_tls_failure)),
    /// the kernel's errors as they are, and `UnexpectedEof` when the server closed meanwhile.
    pub(crate) fn handshake(&mut self) -> io::Result<bool> {
        if let Layer::Ahead(client) = &self.layer {
            self.layer = Layer::Tls(Box::new(TlsSession::new(client)?));
        }
        match &mut self.layer {
            Layer::Tls(session) => session.handshake(&mut self.socket),
            Layer::Plain | Layer::Ahead(_) => Ok(true),
        }
    }

    /// Read into `room` what the server sent; 0 when it ended the stream.
    ///
    /// On TLS a stream that ends without the `close_notify` of TLS is `UnexpectedEof`: many servers
    /// leave it out, so it is for the answer's framing to say whether something is missing.
    #[inline]
    pub(crate) fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match &mut self.layer {
            Layer::Plain => self.socket.receive(room),
            Layer::Tls(session) => session.read(&mut self.socket, room),
            Layer::Ahead(_) => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Write from the start of `bytes` as many as are taken; `WouldBlock` when none are.
    ///
    /// On TLS what was taken may still wait to [be flushed](Self::wants_flush).
    #[inline]
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.layer {
            Layer::Plain => self.socket.send(bytes),
            Layer::Tls(session) => session.write(&mut self.socket, bytes),
            Layer::Ahead(_) => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Whether something that was taken waits for the socket to be writable. Never when plain.
    #[inline]
    pub(crate) fn wants_flush(&self) -> bool {
        matches!(&self.layer, Layer::Tls(session) if session.wants_flush())
    }

    /// Send on what was taken; whether nothing is left.
    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        match &mut self.layer {
            Layer::Tls(session) => session.flush(&mut self.socket),
            Layer::Plain | Layer::Ahead(_) => Ok(true),
        }
    }

    /// Whether a read that was just made and came short took all there was, so that the next
    /// byte brings a new event. Else read on until `WouldBlock`.
    #[inline]
    pub(crate) fn is_drained_by_short_read(&self) -> bool {
        match &self.layer {
            Layer::Plain => true,
            Layer::Tls(session) => session.is_drained(),
            Layer::Ahead(_) => false,
        }
    }

    /// Whether the link has nothing against another request, after the answer to one was read.
    /// On TLS that is no surplus inside, no `close_notify` from the server and nothing unsent; a
    /// plain link knows nothing that the caller does not.
    #[inline]
    pub(crate) fn is_reusable(&self) -> bool {
        match &self.layer {
            Layer::Plain => true,
            Layer::Tls(session) => session.is_reusable(),
            Layer::Ahead(_) => false,
        }
    }

    /// What kind of handshake was made; `None` before its end, and without TLS.
    pub(crate) fn resumption(&self) -> Option<Handshake> {
        match &self.layer {
            Layer::Tls(session) => session.resumption(),
            Layer::Plain | Layer::Ahead(_) => None,
        }
    }

    /// Tell the server, if there is TLS, that nothing more will come: an orderly end begins so.
    /// Nobody waits for it to arrive.
    pub(crate) fn send_close_notify(&mut self) {
        if let Layer::Tls(session) = &mut self.layer {
            session.send_close_notify(&mut self.socket);
        }
    }

    /// How many bytes were given to the socket, those of TLS included.
    pub(crate) const fn sent_bytes(&self) -> u64 {
        self.socket.sent_bytes
    }

    /// How many of [`sent_bytes`](Self::sent_bytes) the server's kernel has taken; `None` if not
    /// known. Those of a Unix socket are in the server's hands at once.
    pub(crate) fn acknowledged_bytes(&self) -> Option<u64> {
        let TcpOrUnix { inner, is_unix, sent_bytes } = &self.socket;
        if *is_unix { Some(*sent_bytes) } else { sys::acknowledged_bytes(inner) }
    }

    /// What the kernel holds against the socket, such as why it could not be connected.
    pub(crate) fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.socket.inner.take_error()
    }

    /// Have the end come as a RST, which leaves no `TIME_WAIT` to hold on to a port.
    pub(crate) fn set_linger_zero(&self) -> io::Result<()> {
        self.socket.inner.set_linger(Some(Duration::ZERO))
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.inner.as_fd()
    }
}

/// Whether a failure to [open](Link::open) says that a Unix socket's server has as many waiting
/// connections as it takes. There is no event to wait for: try again after a pause, until the
/// patience of the request ends. That is what TCP does by itself, and what a blocking client
/// of a Unix socket sees.
pub(crate) fn is_backlog_full(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EAGAIN)
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
