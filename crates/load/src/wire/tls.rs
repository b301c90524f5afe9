//! What TLS is asked for, checked before any load.

use std::error::Error as StdError;
use std::io;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{
    Resumption, UnbufferedClientConnection, WebPkiServerVerifier, verify_server_name,
};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, InconsistentKeys, RootCertStore,
    SignatureScheme, SupportedProtocolVersion,
};

use super::tickets::Tickets;
use crate::error::Error;
use crate::input::{Tls, TlsVersions};

/// Everything that the connections to an arm share. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct TlsClient(Arc<Shared>);

#[derive(Debug, Clone)]
struct Shared {
    config: Arc<ClientConfig>,
    server_name: ServerName<'static>,
    resumes: bool,
}

impl TlsClient {
    /// Check all that can be checked without the server; `field` is what messages call `tls`.
    ///
    /// The client made here resumes nothing: each thread makes its own
    /// [`for_thread`](Self::for_thread).
    pub(crate) fn new(tls: &Tls, field: &str) -> Result<Self, Error> {
        let server_name = ServerName::try_from(tls.server_name.clone()).map_err(|_| {
            let value = format!("{:?}", tls.server_name);
            Error::invalid(format!("{field}.server_name"), value, "a host name or an IP address")
        })?;
        let provider = Arc::new(ring::default_provider());
        let verifier = verifier(tls, field, &provider)?;
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions(tls.versions))
            .map_err(|error| Error::invalid(format!("{field}.versions"), error, "another one"))?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut config = match &tls.identity_pem {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => {
                let field = format!("{field}.identity_pem");
                let identity = identity(chain, key, &provider, &field)?;
                builder.with_client_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(
                    identity,
                )))
            }
        };
        config.resumption = Resumption::disabled();
        // What is spoken on top. A server that cannot, or knows nothing of this, just goes on.
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(Arc::new(Shared { config: Arc::new(config), server_name, resumes: tls.resumes })))
    }

    /// The same with a memory of its own for `n_sessions`: as many connections can be
    /// resumed at a time.
    pub(crate) fn for_thread(&self, n_sessions: usize) -> Self {
        if !self.0.resumes {
            return self.clone();
        }
        let mut config = ClientConfig::clone(&self.0.config);
        config.resumption = Resumption::store(Arc::new(Tickets::new(n_sessions)));
        Self(Arc::new(Shared { config: Arc::new(config), ..Shared::clone(&self.0) }))
    }

    /// Begin a connection.
    pub(super) fn connect(&self) -> Result<UnbufferedClientConnection, rustls::Error> {
        let Shared { config, server_name, .. } = &*self.0;
        UnbufferedClientConnection::new(Arc::clone(config), server_name.clone())
    }
}

impl Tls {
    /// Refuse what cannot work, such as a key of another certificate, without connecting.
    ///
    /// # Errors
    /// Says what is wrong, in one sentence.
    pub fn check(&self) -> Result<(), Error> {
        TlsClient::new(self, "tls").map(drop)
    }
}

/// What TLS found wrong, as an error of a connection.
pub(super) fn tls_failure(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Whether TLS itself failed: an alert from the server, a certificate that was not accepted,
/// bytes that are no TLS. A connection that broke or was closed is none of these.
pub(crate) fn is_tls_failure(error: &io::Error) -> bool {
    error.get_ref().is_some_and(<dyn StdError + Send + Sync>::is::<rustls::Error>)
}

fn versions(versions: TlsVersions) -> &'static [&'static SupportedProtocolVersion] {
    static OLD_AND_NEW: [&SupportedProtocolVersion; 2] = [&TLS12, &TLS13];
    match versions {
        TlsVersions::Any => &OLD_AND_NEW,
        TlsVersions::Only12 => &OLD_AND_NEW[..1],
        TlsVersions::Only13 => &OLD_AND_NEW[1..],
    }
}

fn verifier(
    tls: &Tls,
    field: &str,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, Error> {
    if !tls.is_verified {
        return Ok(Arc::new(DangerousAnybody(Arc::clone(provider))));
    }
    let field = format!("{field}.roots_pem");
    let (roots, trusted) = match &tls.roots_pem {
        Some(pem) => {
            let trusted = certificates(pem, &field)?;
            (roots(&trusted, &field)?, trusted)
        }
        None => (system_roots(&field)?, Vec::new()),
    };
    let authorities =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
            .build()
            .map_err(|error| Error::invalid(field, error, "certificates of authorities"))?;
    Ok(Arc::new(Trusted { authorities, certificates: trusted }))
}

/// The certificates in a PEM file; at least one.
fn certificates(pem: &[u8], field: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
    let expected = "certificates as PEM, from -----BEGIN CERTIFICATE----- on";
    let found: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Err(error) => Err(Error::invalid(field, format!("no readable PEM ({error})"), expected)),
        Ok(found) if found.is_empty() => {
            let value = format!("{} bytes without a certificate", pem.len());
            Err(Error::invalid(field, value, expected))
        }
        Ok(found) => Ok(found),
    }
}

fn roots(trusted: &[CertificateDer<'static>], field: &str) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    for (index, certificate) in trusted.iter().enumerate() {
        roots.add(certificate.clone()).map_err(|error| {
            let value = format!("not to be read in certificate {} ({error})", index + 1);
            Error::invalid(field, value, "X.509 certificates")
        })?;
    }
    Ok(roots)
}

fn system_roots(field: &str) -> Result<RootCertStore, Error> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if !roots.is_empty() {
        return Ok(roots);
    }
    let reason = found.errors.first().map_or(String::new(), |error| format!(" ({error})"));
    let value = format!("not given, and this system has no certificates to trust{reason}");
    let expected = "the certificate of the server's authority, or is_verified false";
    Err(Error::invalid(field, value, expected))
}

/// A certificate and its key; they belong together.
fn identity(
    chain: &[u8],
    key: &[u8],
    provider: &CryptoProvider,
    field: &str,
) -> Result<CertifiedKey, Error> {
    let chain = certificates(chain, field)?;
    let expected = "a private key as PEM, without a passphrase";
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| {
        let value = match error {
            pem::Error::NoItemsFound if is_encrypted(key) => "a key with a passphrase".to_owned(),
            pem::Error::NoItemsFound => format!("{} bytes without a private key", key.len()),
            error => format!("no readable PEM ({error})"),
        };
        Error::invalid(field, value, expected)
    })?;
    let key = provider.key_provider.load_private_key(key).map_err(|error| {
        Error::invalid(field, format!("a key that cannot be used ({error})"), expected)
    })?;
    let identity = CertifiedKey::new(chain, key);
    match identity.keys_match() {
        Ok(()) => Ok(identity),
        Err(rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => {
            let expected = "the private key of the first certificate";
            Err(Error::invalid(field, "the private key of another certificate", expected))
        }
        Err(error) => {
            let value = format!("a certificate that cannot be used ({error})");
            Err(Error::invalid(field, value, "an X.509 certificate, version 3"))
        }
    }
}

fn is_encrypted(key: &[u8]) -> bool {
    memchr::memmem::find(key, b"BEGIN ENCRYPTED PRIVATE KEY").is_some()
}

/// Trusts the authorities that were given, and every certificate that was given itself.
///
/// The verifier of rustls refuses a server that shows the certificate of an authority, but that
/// is what `openssl req -x509` makes, and who gives it to us means it. Only that objection is
/// overruled: validity was checked before it comes, and the name is checked here.
#[derive(Debug)]
struct Trusted {
    authorities: Arc<WebPkiServerVerifier>,
    certificates: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Trusted {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self.authorities.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verified {
            Err(rustls::Error::InvalidCertificate(CertificateError::Other(_)))
                if self.certificates.iter().any(|trusted| trusted == end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.authorities.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.authorities.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authorities.supported_verify_schemes()
    }
}

/// Takes any certificate for any name. The server must still have the key that belongs to it:
/// the handshake's signatures are checked, so the work is that of a real client.
#[derive(Debug)]
struct DangerousAnybody(Arc<CryptoProvider>);

impl ServerCertVerifier for DangerousAnybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
#[path = "tls_tests.rs"]
mod tests;
