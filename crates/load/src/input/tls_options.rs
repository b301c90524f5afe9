//! How to speak TLS to an arm, as it is asked for.

use serde::Deserialize;
use serde_bytes::ByteBuf;

/// How to speak TLS to an arm.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Tls {
    /// The name that the server's certificate must be for, and that it is told (SNI), or the IP
    /// address that the certificate must be for.
    pub server_name: String,
    /// Certificates to trust, PEM: authorities, or the server's own. `None`: the system's.
    #[serde(with = "serde_bytes")]
    pub roots_pem: Option<Vec<u8>>,
    /// The client's certificate, with those above it, and its private key, PEM.
    pub identity_pem: Option<(ByteBuf, ByteBuf)>,
    /// When false the server may be anybody: any certificate is taken, for any name.
    pub is_verified: bool,
    /// What may be spoken.
    pub versions: TlsVersions,
    /// Whether a connection may resume the session of one before, as browsers do: no certificate
    /// and less arithmetic for both.
    pub resumes: bool,
}

/// Versions of TLS that may be spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum TlsVersions {
    /// 1.3, or 1.2 where the server knows no better.
    #[serde(rename = "any")]
    Any,
    /// 1.2.
    #[serde(rename = "1.2")]
    Only12,
    /// 1.3.
    #[serde(rename = "1.3")]
    Only13,
}
