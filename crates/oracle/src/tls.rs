//! TLS beneath a connection: handshakes, and bytes in and out of records.

use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{
    HandshakeKind, ProtocolVersion, RootCertStore, ServerConfig, ServerConnection,
    SupportedProtocolVersion, version,
};

use crate::authority::{Authority, ServerIdentity};
use crate::config::{TlsOptions, TlsVersions};
use crate::link::Socket;
use crate::reception::Reception;

/// What the doors with TLS show to whom.
pub(crate) struct Tls {
    usual: Arc<ServerConfig>,
    unknown_authority: Arc<ServerConfig>,
    wrong_name: Arc<ServerConfig>,
    expired: Arc<ServerConfig>,
}

impl Tls {
    pub(crate) fn new(options: TlsOptions, authority: &Authority) -> io::Result<Self> {
        let with = |identity: ServerIdentity| {
            let config = server_config(options, authority, identity).map_err(io::Error::other)?;
            Ok::<_, io::Error>(Arc::new(config))
        };
        Ok(Self {
            usual: with(authority.server()?)?,
            unknown_authority: with(Authority::generate()?.server()?)?,
            wrong_name: with(authority.elsewhere()?)?,
            expired: with(authority.expired()?)?,
        })
    }

    /// Begin with a client.
    pub(crate) fn session(&self, reception: Reception) -> io::Result<Session> {
        let config = match reception {
            Reception::UnknownAuthority => &self.unknown_authority,
            Reception::WrongName => &self.wrong_name,
            Reception::Expired => &self.expired,
            _ => &self.usual,
        };
        let connection = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
        Ok(Session { connection, is_closing: false })
    }
}

fn server_config(
    options: TlsOptions,
    authority: &Authority,
    (chain, key): ServerIdentity,
) -> Result<ServerConfig, Box<dyn std::error::Error + Send + Sync>> {
    const TLS12: &[&SupportedProtocolVersion] = &[&version::TLS12];
    const TLS13: &[&SupportedProtocolVersion] = &[&version::TLS13];
    let provider = Arc::new(ring::default_provider());
    let versions = match options.versions {
        TlsVersions::Any => rustls::ALL_VERSIONS,
        TlsVersions::Only12 => TLS12,
        TlsVersions::Only13 => TLS13,
    };
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)?;
    let builder = if options.needs_client_certificate {
        let mut roots = RootCertStore::empty();
        roots.add(authority.ca_der())?;
        let roots = Arc::new(roots);
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build()?;
        builder.with_client_cert_verifier(verifier)
    } else {
        builder.with_no_client_auth()
    };
    let mut config = builder.with_single_cert(chain, key)?;
    if options.resumes {
        // Without state, so that no number of clients is too many.
        config.ticketer = ring::Ticketer::new()?;
    } else {
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    }
    Ok(config)
}

/// What is known of a handshake that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Handshake {
    pub(crate) is_resumed: bool,
    pub(crate) is_tls13: bool,
    pub(crate) has_client_certificate: bool,
    /// What the client called the server.
    pub(crate) server_name: Option<String>,
}

/// One connection's TLS.
#[derive(Debug)]
pub(crate) struct Session {
    connection: ServerConnection,
    /// Whether `close_notify` was written.
    is_closing: bool,
}

impl Session {
    /// Go on with the handshake; return whether it is done.
    ///
    /// # Errors
    /// When the client has left, or when it cannot be agreed with: it has been told why.
    pub(crate) fn handshake(&mut self, socket: &Socket) -> io::Result<bool> {
        loop {
            match self.flush(socket) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                other => other?,
            }
            if !self.connection.is_handshaking() {
                return Ok(true);
            }
            match self.read_records(socket) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                other => other?,
            };
        }
    }

    pub(crate) fn told(&self) -> Handshake {
        Handshake {
            is_resumed: self.connection.handshake_kind() == Some(HandshakeKind::Resumed),
            is_tls13: self.connection.protocol_version() == Some(ProtocolVersion::TLSv1_3),
            has_client_certificate: self.connection.peer_certificates().is_some(),
            server_name: self.connection.server_name().map(str::to_owned),
        }
    }

    /// Read what the client has sent; 0 when it has ended, with or without `close_notify`.
    pub(crate) fn read(&mut self, socket: &Socket, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                other => return other,
            }
            self.read_records(socket)?;
            // The answer to a change of keys; what has no room goes with the next bytes.
            let _ = self.flush(socket);
        }
    }

    fn read_records(&mut self, socket: &Socket) -> io::Result<usize> {
        let got = self.connection.read_tls(&mut &*socket)?;
        if let Err(error) = self.connection.process_new_packets() {
            // An alert for the client, if it still listens.
            let _ = self.flush(socket);
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        Ok(got)
    }

    /// Take bytes, as many as there is room for, and send as much of them as the socket takes.
    pub(crate) fn write(&mut self, socket: &Socket, bytes: &[u8]) -> io::Result<usize> {
        // Whatever was taken before has to be out before more is.
        self.flush(socket)?;
        let taken = self.connection.writer().write(bytes)?;
        match self.flush(socket) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(taken),
        }
    }

    /// Send what was taken.
    ///
    /// # Errors
    /// `WouldBlock` when the socket has no room for all of it.
    pub(crate) fn flush(&mut self, socket: &Socket) -> io::Result<()> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut &*socket) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => {
                    other?;
                }
            }
        }
        Ok(())
    }

    /// Send `close_notify` behind all that was taken.
    pub(crate) fn finish(&mut self, socket: &Socket) -> io::Result<()> {
        if !self.is_closing {
            self.is_closing = true;
            self.connection.send_close_notify();
        }
        self.flush(socket)
    }
}
