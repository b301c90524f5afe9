//! Why TLS failed, in words that readers know.

use std::io;

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage, PeerIncompatible};

/// Why TLS failed: a word that readers put into a sentence, and what belongs into it.
pub(crate) fn tls_reason(error: &io::Error) -> (&'static str, String) {
    let reason = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    let word = match reason {
        Some(Error::InvalidCertificate(error)) => return of_certificate(error),
        Some(Error::AlertReceived(alert)) => return of_alert(*alert),
        Some(Error::NoApplicationProtocol) => "http2",
        Some(Error::InvalidMessage(InvalidMessage::InvalidContentType)) => "no_tls",
        Some(Error::PeerIncompatible(
            PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
            | PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::Tls12NotOfferedOrEnabled
            | PeerIncompatible::Tls12NotOffered,
        )) => "version",
        _ => return ("other", reason.map_or_else(|| error.to_string(), Error::to_string)),
    };
    (word, String::new())
}

fn of_certificate(error: &CertificateError) -> (&'static str, String) {
    let word = match error {
        CertificateError::UnknownIssuer => "unknown_issuer",
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => "not_yet",
        CertificateError::NotValidForName => "other_name",
        CertificateError::NotValidForNameContext { presented, .. } => {
            return (
                "other_name",
                presented.iter().map(|name| bare(name)).collect::<Vec<_>>().join(", "),
            );
        }
        // An authority's own, as `openssl req -x509` makes them.
        CertificateError::Other(error) if error.to_string().contains("CaUsedAsEndEntity") => {
            "unknown_issuer"
        }
        error => return ("other", error.to_string()),
    };
    (word, String::new())
}

/// The name in `DnsName("a.example")`.
fn bare(name: &str) -> String {
    let within = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    within.unwrap_or(name).trim_matches('"').to_owned()
}

fn of_alert(alert: AlertDescription) -> (&'static str, String) {
    let word = match alert {
        AlertDescription::CertificateRequired | AlertDescription::NoCertificate => "wants_identity",
        AlertDescription::UnknownCA
        | AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateUnknown => "refused_identity",
        AlertDescription::NoApplicationProtocol => "http2",
        AlertDescription::ProtocolVersion => "version",
        AlertDescription::UnrecognisedName => "unknown_name",
        alert => return ("alert", format!("{alert:?}")),
    };
    (word, String::new())
}
