//! How a connection is received, before any request of it was read.

use crate::answer::{Script, Step, send};
use crate::named::named;

named! {
    /// How a connection is received. On a Unix socket, which has no RST, one is a close; on a
    /// door without TLS, a wrong certificate is nothing at all.
    Reception:
    /// As it should be.
    Usual = "usual",
    /// RST at once.
    ResetAtAccept = "reset-at-accept",
    /// FIN at once.
    FinAtAccept = "fin-at-accept",
    /// Nothing is ever read or written.
    HangAtAccept = "hang-at-accept",
    /// TLS: a certificate of an authority that nobody knows.
    UnknownAuthority = "tls-unknown-authority",
    /// TLS: the certificate of another host.
    WrongName = "tls-wrong-name",
    /// TLS: a certificate that has expired.
    Expired = "tls-expired",
    /// RST after the first bytes: amid the handshake.
    ResetInHandshake = "reset-in-handshake",
    /// FIN after the first bytes.
    FinInHandshake = "fin-in-handshake",
    /// Nothing after the first bytes.
    HangInHandshake = "hang-in-handshake",
    /// The TLS alert `handshake_failure` after the first bytes, then FIN.
    TlsAlert = "tls-alert",
    /// Something that is not TLS after the first bytes, then FIN.
    TlsGarbage = "tls-garbage",
}

impl Reception {
    /// Whether it leaves no room for a handshake.
    pub(crate) fn is_script(self) -> bool {
        self == Self::HangAtAccept || self.at_once().is_some() || self.at_first_bytes().is_some()
    }

    /// What happens at once, without a byte from the client.
    pub(crate) fn at_once(self) -> Option<Script> {
        match self {
            Self::ResetAtAccept => Some([Step::Reset].into()),
            Self::FinAtAccept => Some([Step::Fin].into()),
            _ => None,
        }
    }

    /// What happens once the client has sent something.
    pub(crate) fn at_first_bytes(self) -> Option<Script> {
        // A record of type alert, TLS 1.2 as every version says on the wire, fatal, number 40.
        const HANDSHAKE_FAILURE: [u8; 7] = [21, 3, 3, 0, 2, 2, 40];
        match self {
            Self::ResetInHandshake => Some([Step::Reset].into()),
            Self::FinInHandshake => Some([Step::Fin].into()),
            Self::HangInHandshake => Some([Step::Hang].into()),
            Self::TlsAlert => Some([send(HANDSHAKE_FAILURE), Step::Fin].into()),
            Self::TlsGarbage => Some([send("this is not TLS\r\n"), Step::Fin].into()),
            _ => None,
        }
    }
}
