//! A TLS connection over a nonblocking socket, without an idle byte of buffer.
//!
//! rustls' unbuffered interface leaves the buffers to us: ciphertext is read into one that all
//! connections of a thread share, 64 KiB at a time, and written from another. A session only keeps
//! what is left over: the beginning of a record, plaintext that the reader had no room for,
//! ciphertext that the socket did not take.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, ErrorKind};

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::unbuffered::{ConnectionState, EncodeError, EncodeTlsData, UnbufferedStatus};
use rustls::{HandshakeKind, InvalidMessage};

use super::tcp_or_unix::TcpOrUnix;
use super::tls::{TlsClient, tls_failure};
use super::tls_buffers::{Leftover, Sink};

/// How a session came to its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handshake {
    /// With the certificate's key.
    Full,
    /// From a session before.
    Resumed,
}

/// Ciphertext read at a time, at most.
const READ_BYTES: usize = 64 * 1024;
/// Less is not worth a read; a reader with less room gets the rest later.
const MIN_READ_BYTES: usize = 512;
/// Reads in a row that bring no plaintext: a server has a few tickets to give, not an endless row.
const MAX_FILLS: usize = 16;
/// Plaintext encrypted at a time: four records.
const WRITE_BYTES: usize = 64 * 1024;
/// Its ciphertext: 22 bytes more for each record, and a message about keys at times.
const SEALED_BYTES: usize = WRITE_BYTES + 1024;
/// No server has so much to say in one message of a handshake; a hostile one would go on.
const MAX_HELD_BYTES: usize = 128 * 1024;
/// The type, the version, and the length in two bytes.
const RECORD_HEADER_BYTES: usize = 5;

/// What the connections of a thread share.
struct Scratch {
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> =
        const { RefCell::new(Scratch { incoming: Vec::new(), outgoing: Vec::new() }) };
}

/// The TLS of one connection.
pub(super) struct TlsSession {
    connection: UnbufferedClientConnection,
    /// Ciphertext that makes no whole record or message yet, as rustls left it.
    partial: Vec<u8>,
    /// Plaintext that the reader had no room for.
    plain: Leftover,
    /// Ciphertext that the socket did not take.
    sealed: Leftover,
    /// What TLS found wrong. Nothing goes on after it.
    failure: Option<rustls::Error>,
    is_secured: bool,
    /// The server sent its `close_notify`.
    is_over: bool,
    /// The last read from the socket came short.
    is_drained: bool,
}

impl TlsSession {
    /// Make the client hello.
    pub(super) fn new(client: &TlsClient) -> io::Result<Self> {
        let mut session = Self {
            connection: client.connect().map_err(tls_failure)?,
            partial: Vec::new(),
            plain: Leftover::default(),
            sealed: Leftover::default(),
            failure: None,
            is_secured: false,
            is_over: false,
            is_drained: false,
        };
        session.process(&mut [], &mut Sink::new(&mut []));
        Ok(session)
    }

    /// Go on with the handshake: `true` once it is done.
    pub(super) fn handshake(&mut self, socket: &mut TcpOrUnix) -> io::Result<bool> {
        loop {
            let flushed = self.flush(socket);
            self.check()?;
            if let Err(error) = flushed {
                return Err(self.reason(socket, error));
            }
            if self.is_secured {
                return Ok(true);
            }
            match self.fill(socket, &mut []) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Ok(_) if self.is_over && !self.is_secured => {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
                filled => filled?,
            };
        }
    }

    /// The better reason for a write that failed: a server that turns a client away says so
    /// before it closes.
    fn reason(&mut self, socket: &mut TcpOrUnix, error: io::Error) -> io::Error {
        while self.fill(socket, &mut []).is_ok() && self.failure.is_none() && !self.is_over {}
        self.check().err().unwrap_or(error)
    }

    fn check(&self) -> io::Result<()> {
        self.failure.clone().map_or(Ok(()), |failure| Err(tls_failure(failure)))
    }

    /// Plaintext into `room`: how much, or 0 after the server's `close_notify`. `Interrupted` after
    /// so many records without any that others must have their turn.
    pub(super) fn read(&mut self, socket: &mut TcpOrUnix, room: &mut [u8]) -> io::Result<usize> {
        for _ in 0..MAX_FILLS {
            if !self.plain.is_empty() {
                return Ok(self.plain.pour(room));
            }
            self.check()?;
            if self.is_over || room.is_empty() {
                return Ok(0);
            }
            // Only what is about the connection came, such as tickets: read on until the socket
            // has no more, or its end, which may have come with the same event, would be missed.
            let filled = self.fill(socket, room)?;
            if filled > 0 {
                return Ok(filled);
            }
        }
        Err(ErrorKind::Interrupted.into())
    }

    /// Read once from the socket, and work on it; returns how much plaintext is in `room`.
    fn fill(&mut self, socket: &mut TcpOrUnix, room: &mut [u8]) -> io::Result<usize> {
        SCRATCH.with_borrow_mut(|scratch| {
            let held = self.partial.len();
            let wanted = self.wanted_bytes(room.len());
            if scratch.incoming.len() < held + wanted {
                scratch.incoming.resize(held + wanted, 0);
            }
            let incoming = &mut scratch.incoming[..held + wanted];
            let count = receive(socket, &mut incoming[held..])?;
            self.is_drained = count < wanted;
            if count == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            incoming[..held].copy_from_slice(&self.partial);
            let incoming = &mut incoming[..held + count];
            let mut sink = Sink::new(room);
            let used = self.process(incoming, &mut sink);
            self.partial.clear();
            self.partial.extend_from_slice(&incoming[used..]);
            if self.partial.is_empty() {
                self.partial = Vec::new();
            } else if self.partial.len() > MAX_HELD_BYTES {
                self.failure = Some(InvalidMessage::HandshakePayloadTooLarge.into());
            }
            // An alert, say. If it cannot be sent, what was read is still true.
            let _ = self.flush(socket);
            Ok(sink.filled())
        })
    }

    /// How much ciphertext to read for a reader with this much room: no more than fits it as
    /// plaintext, where that makes a record.
    fn wanted_bytes(&self, room: usize) -> usize {
        if !self.is_secured {
            return READ_BYTES;
        }
        let held = self.partial.len();
        let record = match self.partial[..] {
            [_, _, _, high, low, ..] => {
                RECORD_HEADER_BYTES + usize::from(u16::from_be_bytes([high, low]))
            }
            _ => 0,
        };
        let rest = record.saturating_sub(held);
        room.saturating_sub(held).min(READ_BYTES).max(rest).max(MIN_READ_BYTES)
    }

    /// Have rustls work on `incoming`; what is to be sent goes behind what already waits.
    ///
    /// Returns how many bytes were used up. The rest it wants to see again with more behind it,
    /// exactly as it leaves it (it decrypts in place).
    fn process(&mut self, incoming: &mut [u8], sink: &mut Sink<'_>) -> usize {
        let mut used = 0;
        loop {
            let UnbufferedStatus { mut discard, state } =
                self.connection.process_tls_records(&mut incoming[used..]);
            let goes_on = match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(Ok(record)) = traffic.next_record() {
                        discard += record.discard;
                        self.plain.push(sink.put(record.payload));
                    }
                    true
                }
                Ok(ConnectionState::EncodeTlsData(data)) => {
                    encode(data, &mut self.sealed);
                    true
                }
                Ok(ConnectionState::TransmitTlsData(data)) => {
                    data.done();
                    true
                }
                Ok(ConnectionState::WriteTraffic(_)) => {
                    self.is_secured = true;
                    false
                }
                Ok(ConnectionState::PeerClosed) => {
                    self.is_over = true;
                    return incoming.len();
                }
                // Early data, the only state left, is for servers.
                Ok(_) => false,
                Err(error) => {
                    self.failure = Some(error);
                    self.encode_alert();
                    return incoming.len();
                }
            };
            used += discard;
            if !goes_on {
                return used;
            }
        }
    }

    /// What rustls wants the server to hear about a failure.
    fn encode_alert(&mut self) {
        while self.connection.wants_write() {
            match self.connection.process_tls_records(&mut []).state {
                Ok(ConnectionState::EncodeTlsData(data)) => encode(data, &mut self.sealed),
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while traffic.next_record().is_some() {}
                }
                _ => return,
            }
        }
    }

    /// Encrypt and send from the start of `bytes`; returns how many were taken.
    pub(super) fn write(&mut self, socket: &mut TcpOrUnix, bytes: &[u8]) -> io::Result<usize> {
        self.check()?;
        if !self.flush(socket)? {
            return Err(ErrorKind::WouldBlock.into());
        }
        let bytes = &bytes[..bytes.len().min(WRITE_BYTES)];
        SCRATCH.with_borrow_mut(|scratch| {
            scratch.outgoing.resize(SEALED_BYTES, 0);
            let count = self.seal(Some(bytes), &mut scratch.outgoing)?;
            self.send(socket, &scratch.outgoing[..count])
        })?;
        Ok(bytes.len())
    }

    /// Encrypt into `room` what is to be told the server, or our `close_notify`; returns how much.
    fn seal(&mut self, plain: Option<&[u8]>, room: &mut [u8]) -> io::Result<usize> {
        loop {
            // Nothing new comes in, but it wants to see the beginning of a message again.
            let UnbufferedStatus { discard, state } =
                self.connection.process_tls_records(&mut self.partial);
            let sealed = match state {
                Ok(ConnectionState::WriteTraffic(mut traffic)) => Some(match plain {
                    Some(plain) => traffic.encrypt(plain, room).map_err(io::Error::other),
                    None => traffic.queue_close_notify(room).map_err(io::Error::other),
                }),
                Ok(ConnectionState::EncodeTlsData(data)) => {
                    encode(data, &mut self.sealed);
                    None
                }
                Ok(ConnectionState::TransmitTlsData(data)) => {
                    data.done();
                    None
                }
                Ok(_) => Some(Err(ErrorKind::NotConnected.into())),
                Err(error) => Some(Err(tls_failure(error))),
            };
            self.partial.drain(..discard);
            if let Some(sealed) = sealed {
                return sealed;
            }
        }
    }

    /// Send ciphertext behind what waits; what the socket does not take waits too.
    fn send(&mut self, socket: &mut TcpOrUnix, ciphertext: &[u8]) -> io::Result<()> {
        if !self.sealed.is_empty() {
            self.sealed.push(ciphertext);
            return self.flush(socket).map(drop);
        }
        let mut sent = 0;
        while sent < ciphertext.len() {
            match socket.send(&ciphertext[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        self.sealed.push(&ciphertext[sent..]);
        Ok(())
    }

    /// Send on what waits; whether nothing is left.
    pub(super) fn flush(&mut self, socket: &mut TcpOrUnix) -> io::Result<bool> {
        while !self.sealed.is_empty() {
            match socket.send(self.sealed.rest()) {
                Ok(count) => self.sealed.advance(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    pub(super) fn wants_flush(&self) -> bool {
        !self.sealed.is_empty()
    }

    /// Whether the next byte of plaintext can only come with a new event of the socket.
    pub(super) fn is_drained(&self) -> bool {
        self.is_drained && self.plain.is_empty() && !self.is_over && self.failure.is_none()
    }

    /// Whether another request may go out, when an answer was read whole.
    pub(super) fn is_reusable(&self) -> bool {
        self.plain.is_empty() && self.sealed.is_empty() && !self.is_over && self.failure.is_none()
    }

    pub(super) fn resumption(&self) -> Option<Handshake> {
        match self.connection.handshake_kind() {
            _ if !self.is_secured => None,
            Some(HandshakeKind::Resumed) => Some(Handshake::Resumed),
            Some(HandshakeKind::Full | HandshakeKind::FullWithHelloRetryRequest) => {
                Some(Handshake::Full)
            }
            None => None,
        }
    }

    /// Tell the server that nothing more will come, if the socket takes it at once.
    pub(super) fn send_close_notify(&mut self, socket: &mut TcpOrUnix) {
        if !self.is_secured || self.failure.is_some() || !self.flush(socket).unwrap_or(false) {
            return;
        }
        let mut room = [0; 64];
        if let Ok(count) = self.seal(None, &mut room) {
            let _ = self.send(socket, &room[..count]); // the socket is closed next in any case
        }
    }
}

impl fmt::Debug for TlsSession {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TlsSession")
            .field("is_secured", &self.is_secured)
            .field("is_over", &self.is_over)
            .field("failure", &self.failure)
            .finish_non_exhaustive()
    }
}

/// Append a record that rustls has ready.
fn encode(mut data: EncodeTlsData<'_, ClientConnectionData>, sealed: &mut Leftover) {
    if let Err(EncodeError::InsufficientSize(size)) = data.encode(&mut []) {
        let encoded = data.encode(sealed.grow(size.required_size));
        debug_assert!(encoded.is_ok(), "it got the room it asked for");
    }
}

/// Read from the socket, again when a signal came between.
fn receive(socket: &TcpOrUnix, room: &mut [u8]) -> io::Result<usize> {
    loop {
        match socket.receive(room) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            received => return received,
        }
    }
}

#[cfg(test)]
#[path = "tls_handshake_tests.rs"]
mod handshake_tests;
#[cfg(test)]
#[path = "tls_session_tests.rs"]
mod tests;
