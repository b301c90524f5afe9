//! Sockets: TCP or Unix, with or without TLS.

mod endpoint;
mod link;
mod tcp_or_unix;
mod tickets;
mod tls;
mod tls_buffers;
mod tls_reason;
mod tls_session;
#[cfg(test)]
mod transport_rig;

pub(crate) use endpoint::Endpoint;
pub(crate) use link::{Link, is_backlog_full};
pub(crate) use tls::{TlsClient, is_tls_failure};
pub(crate) use tls_reason::tls_reason;
pub(crate) use tls_session::Handshake;
#[cfg(test)]
pub(crate) use transport_rig::deaf_port;
