//! What the tests of the transport share: certificates, servers in threads of their own, and a
//! client that treats a [`Link`] as the engine's loop does.

use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use socket2::{Domain, Socket, Type};

use super::endpoint::Endpoint;
use super::link::Link;
use super::tls::TlsClient;
use crate::input::{Tls, TlsVersions};
use crate::sys::{Epoll, Event};

/// Nothing here takes nearly as long: only a byte that was forgotten does.
const PATIENCE: Duration = Duration::from_secs(10);

/// A port that nobody listens on, and that no other test is given as long as the socket is held.
pub(crate) fn deaf_port() -> (Socket, SocketAddr) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    (socket, address)
}

/// An authority, and who it certifies.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, as PEM.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) chain: String,
    pub(crate) key: String,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> Vec<u8> {
        self.0.pem().into_bytes()
    }

    /// Certify a host, which may be an IP address.
    pub(crate) fn certify(&self, host: &str) -> Identity {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([host.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Identity { chain: certificate.pem(), key: key.serialize_pem() }
    }
}

impl Identity {
    /// What `openssl req -x509` makes: a certificate that is its own authority.
    pub(crate) fn of_itself(host: &str, until_year: i32) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([host.to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_after = rcgen::date_time_ymd(until_year, 1, 1);
        let certificate = params.self_signed(&key).unwrap();
        Self { chain: certificate.pem(), key: key.serialize_pem() }
    }

    fn der(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        let chain = CertificateDer::pem_slice_iter(self.chain.as_bytes());
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).unwrap();
        (chain.map(Result::unwrap).collect(), key)
    }
}

/// What a client asks for that trusts `authority`.
pub(crate) fn tls(authority: &Authority, server_name: &str) -> Tls {
    Tls {
        server_name: server_name.to_owned(),
        roots_pem: Some(authority.pem()),
        identity_pem: None,
        is_verified: true,
        versions: TlsVersions::Any,
        resumes: true,
    }
}

/// A client's half of it, with a memory for sessions.
pub(crate) fn client_of(tls: &Tls) -> TlsClient {
    TlsClient::new(tls, "tls").unwrap().for_thread(8)
}

/// A server's half: both versions; wants a certificate of `clients` if there is one.
pub(crate) fn server_config(identity: &Identity, clients: Option<&Authority>) -> ServerConfig {
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            roots.add(CertificateDer::from_pem_slice(&authority.pem()).unwrap()).unwrap();
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.unwrap())
        }
    };
    let (chain, key) = identity.der();
    builder.with_single_cert(chain, key).unwrap()
}

/// A server's end of a TLS connection.
pub(crate) type TlsStream = StreamOwned<ServerConnection, TcpStream>;

/// A server in a thread: takes one connection after the other. Dropping it waits for its end,
/// and passes on its panic.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Hand each of the next `n_connections` to `serve`.
    pub(crate) fn tcp(n_connections: usize, serve: impl FnMut(TcpStream) + Send + 'static) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").unwrap(), n_connections, serve)
    }

    /// The same behind a door that stands already.
    pub(crate) fn on(
        listener: TcpListener,
        n_connections: usize,
        mut serve: impl FnMut(TcpStream) + Send + 'static,
    ) -> Self {
        let address = listener.local_addr().unwrap();
        let thread = std::thread::spawn(move || {
            for _ in 0..n_connections {
                let (stream, _) = listener.accept().unwrap();
                stream.set_nodelay(true).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                serve(stream);
            }
        });
        Self { address, thread: Some(thread) }
    }

    /// The same with TLS on it; the handshake is not made yet.
    pub(crate) fn tls(
        config: ServerConfig,
        n_connections: usize,
        mut serve: impl FnMut(&mut TlsStream) + Send + 'static,
    ) -> Self {
        let config = Arc::new(config);
        Self::tcp(n_connections, move |stream| {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            serve(&mut StreamOwned::new(connection, stream));
        })
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::Tcp(self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let thread = self.thread.take().unwrap();
        // While the test itself fails the server may wait for ever: leave it.
        if !std::thread::panicking() {
            thread.join().unwrap();
        }
    }
}

/// Answer whatever comes with `answer` until the client sends `close_notify`, then send one too.
pub(crate) fn echo(stream: &mut TlsStream, answer: &[u8]) {
    let mut buffer = [0; 4096];
    while io::Read::read(stream, &mut buffer).is_ok_and(|count| count > 0) {
        stream.write_all(answer).unwrap();
    }
    stream.conn.send_close_notify();
    let _ = stream.flush();
}

/// A link in an edge-triggered loop: every wait must be ended by an event.
pub(crate) struct Client {
    pub(crate) link: Link,
    epoll: Epoll,
    /// How many bytes it offers room for.
    pub(crate) room: usize,
    /// Waits for events so far.
    pub(crate) n_waits: usize,
}

impl Client {
    pub(crate) fn open(endpoint: &Endpoint, tls: Option<&TlsClient>) -> io::Result<Self> {
        Self::watch(Link::open(endpoint, tls, 0)?)
    }

    pub(crate) fn watch(link: Link) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        epoll.add_stream(&link, 0)?;
        Ok(Self { link, epoll, room: 64 * 1024, n_waits: 0 })
    }

    /// Connected and secured.
    pub(crate) fn ready(endpoint: &Endpoint, tls: Option<&TlsClient>) -> io::Result<Self> {
        let mut client = Self::open(endpoint, tls)?;
        client.secure()?;
        Ok(client)
    }

    pub(crate) fn wait(&mut self) -> Event {
        self.n_waits += 1;
        let deadline = Instant::now() + PATIENCE;
        // A process that is stopped and goes on finds its wait over, with nothing.
        while self.epoll.wait(Some(PATIENCE)).unwrap() == 0 {
            assert!(Instant::now() < deadline, "waits for ever");
        }
        self.epoll.event(0)
    }

    /// Connect and handshake.
    pub(crate) fn secure(&mut self) -> io::Result<()> {
        loop {
            self.wait();
            if let Some(error) = self.link.take_error()? {
                return Err(error);
            }
            if self.link.handshake()? {
                return Ok(());
            }
        }
    }

    /// Write all of it, and have nothing left to flush.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut written = 0;
        while written < bytes.len() {
            match self.link.write(&bytes[written..]) {
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait();
                }
                Err(error) => return Err(error),
            }
        }
        while self.link.wants_flush() && !self.link.flush()? {
            self.wait();
        }
        Ok(())
    }

    /// Read so many bytes.
    pub(crate) fn receive(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let mut received = Vec::new();
        let mut room = vec![0; self.room];
        while received.len() < count {
            match self.link.read(&mut room) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => {
                    received.extend_from_slice(&room[..count]);
                    if count == room.len() || !self.link.is_drained_by_short_read() {
                        continue;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            if received.len() < count {
                self.wait();
            }
        }
        Ok(received)
    }

    /// Wait until a read says something else than that there is nothing.
    pub(crate) fn read_once(&mut self) -> io::Result<usize> {
        loop {
            match self.link.read(&mut [0; 4096]) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.wait(),
                end => return end,
            };
        }
    }
}

/// The versions there are.
pub(crate) const BOTH: [TlsVersions; 2] = [TlsVersions::Only12, TlsVersions::Only13];

/// A server with a certificate, and a client that trusts it.
pub(crate) fn server_and_client(versions: TlsVersions) -> (ServerConfig, Tls) {
    let authority = Authority::new("authority");
    let config = server_config(&authority.certify("localhost"), None);
    (config, Tls { versions, ..tls(&authority, "localhost") })
}

/// A client that is ready to send.
pub(crate) fn connect(server: &Server, tls: &TlsClient) -> Client {
    Client::ready(&server.endpoint(), Some(tls)).unwrap()
}

/// Send `close_notify`, and wait for the server's.
pub(crate) fn part(mut client: Client) {
    client.link.send_close_notify();
    client.send(b"").unwrap(); // the socket may be full
    assert_eq!(client.read_once().unwrap(), 0);
}

/// Bytes that tell where they stand.
pub(crate) fn pattern(count: usize) -> Vec<u8> {
    (0..count).map(|index| (index * 7 + index / 251) as u8).collect()
}
