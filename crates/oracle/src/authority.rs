//! Certificates for the doors with TLS and their clients, made when the server starts.

use std::io;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// The hosts that the server's certificate is for.
const NAMES: [&str; 4] = ["localhost", "oracle.test", "127.0.0.1", "::1"];

/// An authority of its own, and what it has signed. Keys are ECDSA on P-256.
#[derive(Debug)]
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    client: Identity,
}

/// A certificate and its key, both as PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The certificate.
    pub chain_pem: String,
    /// Its private key, as PKCS #8.
    pub key_pem: String,
}

/// A certificate and its key as the server takes them.
pub(crate) type ServerIdentity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

impl Authority {
    /// Make an authority that nobody else has.
    ///
    /// # Errors
    /// When there is no randomness to make keys of.
    pub fn generate() -> io::Result<Self> {
        Self::try_generate().map_err(io::Error::other)
    }

    fn try_generate() -> Result<Self, rcgen::Error> {
        let key = KeyPair::generate()?;
        // A name of its own, so that two of them are never taken for one another.
        let digits: Vec<String> =
            key.public_key_raw().iter().rev().take(4).map(|byte| format!("{byte:02x}")).collect();
        let mut params = named(&format!("httpdyno-oracle authority {}", digits.concat()), &[])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer = CertifiedIssuer::self_signed(params, key)?;
        let mut params = named("httpdyno-oracle client", &[])?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate()?;
        let chain_pem = params.signed_by(&key, &issuer)?.pem();
        Ok(Self { issuer, client: Identity { chain_pem, key_pem: key.serialize_pem() } })
    }

    /// Its own certificate, as PEM: what a client has to trust.
    pub fn ca_pem(&self) -> String {
        self.issuer.pem()
    }

    /// What a client may show to a server that wants a certificate.
    pub fn client(&self) -> &Identity {
        &self.client
    }

    pub(crate) fn ca_der(&self) -> CertificateDer<'static> {
        self.issuer.der().clone()
    }

    /// A server's certificate as it should be.
    pub(crate) fn server(&self) -> io::Result<ServerIdentity> {
        self.sign(&NAMES, false)
    }

    /// A certificate of another host.
    pub(crate) fn elsewhere(&self) -> io::Result<ServerIdentity> {
        self.sign(&["elsewhere.test"], false)
    }

    /// A certificate whose time is over.
    pub(crate) fn expired(&self) -> io::Result<ServerIdentity> {
        self.sign(&NAMES, true)
    }

    fn sign(&self, names: &[&str], is_expired: bool) -> io::Result<ServerIdentity> {
        let sign = || -> Result<ServerIdentity, rcgen::Error> {
            let mut params = named("httpdyno-oracle server", names)?;
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
            if is_expired {
                params.not_after = date_time_ymd(2001, 1, 1);
            }
            let key = KeyPair::generate()?;
            let certificate = params.signed_by(&key, &self.issuer)?;
            let key = PrivatePkcs8KeyDer::from(key.serialize_der());
            Ok((vec![certificate.der().clone()], key.into()))
        };
        sign().map_err(io::Error::other)
    }
}

fn named(common_name: &str, hosts: &[&str]) -> Result<CertificateParams, rcgen::Error> {
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let mut params = CertificateParams::new(hosts)?;
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}
