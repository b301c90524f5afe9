//! The sessions that connections of a thread can resume.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

/// Sessions with one server, which is why no name is looked at.
///
/// rustls has a memory of its own, for eight tickets of each server; a ticket of TLS 1.3 is good
/// for one connection, so when more connections are opened at a time the others would be full
/// handshakes. Here the newest ticket is taken first: it is the surest to be known still.
#[derive(Debug)]
pub(super) struct Tickets {
    /// Only a thread that loads comes here, so it never waits.
    memory: Mutex<Memory>,
    n_tickets: usize,
}

#[derive(Debug, Default)]
struct Memory {
    group: Option<NamedGroup>,
    tls12: Option<Tls12ClientSessionValue>,
    /// Oldest first.
    tls13: VecDeque<Tls13ClientSessionValue>,
}

impl Tickets {
    /// Room for so many tickets; one at least.
    pub(super) fn new(n_tickets: usize) -> Self {
        Self { memory: Mutex::default(), n_tickets: n_tickets.max(1) }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        // A thread that panicked left nothing half done here.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _server: ServerName<'static>, group: NamedGroup) {
        self.memory().group = Some(group);
    }

    fn kx_hint(&self, _server: &ServerName<'_>) -> Option<NamedGroup> {
        self.memory().group
    }

    fn set_tls12_session(&self, _server: ServerName<'static>, session: Tls12ClientSessionValue) {
        self.memory().tls12 = Some(session);
    }

    fn tls12_session(&self, _server: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.memory().tls12.clone()
    }

    fn remove_tls12_session(&self, _server: &ServerName<'static>) {
        self.memory().tls12 = None;
    }

    fn insert_tls13_ticket(&self, _server: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        let mut memory = self.memory();
        if memory.tls13.len() == self.n_tickets {
            memory.tls13.pop_front();
        }
        memory.tls13.push_back(ticket);
    }

    fn take_tls13_ticket(&self, _server: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.memory().tls13.pop_back()
    }
}
