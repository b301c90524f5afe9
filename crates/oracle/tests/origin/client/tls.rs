//! A client that speaks TLS, and waits for everything it does.

use std::net::TcpStream;
use std::sync::Arc;

use httpdyno_oracle::{Authority, Identity, Oracle};
use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ClientConnection, HandshakeKind, RootCertStore, StreamOwned};

use crate::client::try_to_connect;

pub(crate) type Stream = StreamOwned<ClientConnection, TcpStream>;

/// What a client trusts and shows.
pub(crate) struct Client {
    config: Arc<ClientConfig>,
    server_name: &'static str,
}

impl Client {
    /// One that trusts this authority.
    pub(crate) fn of(authority: &Authority) -> Self {
        Self::with(authority, None)
    }

    /// One that trusts this authority, and shows a certificate.
    pub(crate) fn with(authority: &Authority, identity: Option<&Identity>) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.ca_pem().as_bytes()).unwrap()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let config = match identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let chain = CertificateDer::pem_slice_iter(identity.chain_pem.as_bytes());
                let chain: Vec<_> = chain.map(Result::unwrap).collect();
                let key = PrivateKeyDer::from_pem_slice(identity.key_pem.as_bytes()).unwrap();
                builder.with_client_auth_cert(chain, key).unwrap()
            }
        };
        Self { config: Arc::new(config), server_name: "oracle.test" }
    }

    /// The same one that asks for this server.
    pub(crate) fn named(mut self, server_name: &'static str) -> Self {
        self.server_name = server_name;
        self
    }

    /// The same one without memory of sessions.
    pub(crate) fn forgetful(mut self) -> Self {
        Arc::make_mut(&mut self.config).resumption = Resumption::disabled();
        self
    }

    /// Connect to the first door with TLS; nothing is written yet.
    pub(crate) fn connect(&self, oracle: &Oracle) -> Stream {
        self.try_to_connect(oracle).unwrap()
    }

    /// To where a reset may come before the call that connects has returned.
    pub(crate) fn try_to_connect(&self, oracle: &Oracle) -> std::io::Result<Stream> {
        let stream = try_to_connect(oracle.tls_addr().unwrap())?;
        Ok(StreamOwned::new(self.begin(), stream))
    }

    /// The client's side of a connection that is made elsewhere.
    pub(crate) fn begin(&self) -> ClientConnection {
        let name = self.server_name.try_into().unwrap();
        ClientConnection::new(Arc::clone(&self.config), name).unwrap()
    }
}

/// Shake hands.
pub(crate) fn secure(stream: &mut Stream) -> std::io::Result<HandshakeKind> {
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    Ok(stream.conn.handshake_kind().unwrap())
}
