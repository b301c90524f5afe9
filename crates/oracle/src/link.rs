//! The sockets of connections and listeners, TCP and Unix, with TLS or without.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use crate::config::{Door, OracleConfig, Place};
use crate::sys;
use crate::tls::{Handshake, Session};

/// A nonblocking socket of a connection.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    fn shutdown_write(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Self::Unix(stream) => stream.shutdown(Shutdown::Write),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

impl Read for &Socket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => (&*stream).read(into),
            Socket::Unix(stream) => (&*stream).read(into),
        }
    }
}

impl Write for &Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => (&*stream).write(bytes),
            Socket::Unix(stream) => (&*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a connection reads from and writes to.
#[derive(Debug)]
pub(crate) struct Link {
    socket: Socket,
    tls: Option<Box<Session>>,
}

impl Link {
    pub(crate) fn new(socket: Socket) -> Self {
        Self { socket, tls: None }
    }

    /// Speak TLS from now on.
    pub(crate) fn secure(&mut self, session: Session) {
        self.tls = Some(Box::new(session));
    }

    /// Go on with the handshake of TLS; return what is known of it once it is done.
    pub(crate) fn handshake(&mut self) -> io::Result<Option<Handshake>> {
        let Some(tls) = &mut self.tls else {
            return Err(io::Error::other("a handshake without TLS"));
        };
        Ok(tls.handshake(&self.socket)?.then(|| tls.told()))
    }

    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => (&self.socket).read(into),
            Some(tls) => tls.read(&self.socket, into),
        }
    }

    /// Whether it speaks TLS: a short read then does not mean that the socket is empty.
    pub(crate) fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => (&self.socket).write(bytes),
            Some(tls) => tls.write(&self.socket, bytes),
        }
    }

    /// See to it that the kernel has all that was written.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            None => Ok(()),
            Some(tls) => tls.flush(&self.socket),
        }
    }

    /// Read what comes beneath TLS, to throw it away.
    pub(crate) fn read_beneath(&mut self, into: &mut [u8]) -> io::Result<usize> {
        (&self.socket).read(into)
    }

    /// Send what TLS says before FIN; without TLS, nothing.
    pub(crate) fn take_leave(&mut self) -> io::Result<()> {
        match &mut self.tls {
            None => Ok(()),
            Some(tls) => tls.finish(&self.socket),
        }
    }

    /// Send FIN, and what TLS says before it.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.take_leave()?;
        self.socket.shutdown_write()
    }

    /// Send FIN alone.
    pub(crate) fn cut(&mut self) -> io::Result<()> {
        self.socket.shutdown_write()
    }

    /// Close with RST.
    pub(crate) fn reset(self) {
        sys::reset_on_close(self.socket.as_fd());
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.socket.as_fd().as_raw_fd()
    }
}

#[derive(Debug)]
enum Ear {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// A door that is open.
#[derive(Debug)]
pub(crate) struct Listener {
    ear: Ear,
    /// As it was asked for, but for the port, which is the true one.
    pub(crate) door: Door,
    send_buffer_bytes: Option<usize>,
    receive_buffer_bytes: Option<usize>,
}

impl Listener {
    /// Open a door.
    ///
    /// # Errors
    /// `InvalidInput` when its address is not on loopback; else what the kernel says.
    pub(crate) fn open(mut door: Door, config: &OracleConfig) -> io::Result<Self> {
        let ear = match &mut door.place {
            Place::Tcp(addr) => {
                if !addr.ip().is_loopback() {
                    let reason = format!("{addr} is not a loopback address");
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
                }
                let listener = TcpListener::bind(*addr)?;
                listener.set_nonblocking(true)?;
                sys::set_nodelay(listener.as_fd())?;
                *addr = listener.local_addr()?;
                Ear::Tcp(listener)
            }
            Place::Unix(path) => {
                let listener = UnixListener::bind(&*path)?;
                listener.set_nonblocking(true)?;
                Ear::Unix(listener)
            }
        };
        let OracleConfig { send_buffer_bytes, receive_buffer_bytes, .. } = *config;
        let listener = Self { ear, door, send_buffer_bytes, receive_buffer_bytes };
        if let Some(backlog) = config.backlog {
            sys::set_backlog(listener.as_fd(), backlog)?;
        }
        // The receive buffer of TCP has to be known before a client asks for a connection: its
        // size is part of the answer. A Unix socket inherits nothing of its listener.
        if matches!(listener.ear, Ear::Tcp(_)) {
            listener.size_buffers(listener.as_fd())?;
        }
        Ok(listener)
    }

    fn size_buffers(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        if let Some(bytes) = self.send_buffer_bytes {
            sys::set_send_buffer(socket, bytes)?;
        }
        if let Some(bytes) = self.receive_buffer_bytes {
            sys::set_receive_buffer(socket, bytes)?;
        }
        Ok(())
    }

    pub(crate) fn accept(&self) -> io::Result<Socket> {
        let fd = sys::accept(self.as_fd())?;
        match &self.ear {
            Ear::Tcp(_) => Ok(Socket::Tcp(fd.into())),
            Ear::Unix(_) => {
                self.size_buffers(fd.as_fd())?;
                Ok(Socket::Unix(fd.into()))
            }
        }
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.ear {
            Ear::Tcp(listener) => listener.as_fd(),
            Ear::Unix(listener) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let (Ear::Unix(_), Place::Unix(path)) = (&self.ear, &self.door.place) {
            // Whoever took it away already has done what is wanted.
            let _ = std::fs::remove_file(Path::new(path));
        }
    }
}
