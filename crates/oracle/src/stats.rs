//! What the server counts.

use std::collections::BTreeMap;

use crate::behaviour::Behaviour;
use crate::json::quoted;
use crate::reception::Reception;

/// What the server counted since it started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Connections accepted.
    pub connections: u64,
    /// Connections open now.
    pub open: u64,
    /// The most connections that were open at a time.
    pub most_open: u64,
    /// Requests read to their last byte, but for those to `/oracle/`.
    pub requests: u64,
    /// Requests to `/oracle/`.
    pub control: u64,
    /// Answers (or misbehaviours) carried out to the end.
    pub finished: u64,
    /// Connections that the client left while a request of it was being served.
    pub abandoned: u64,
    /// Accepts that failed, for want of descriptors say.
    pub accept_errors: u64,
    /// Arrivals that the log had no room for.
    pub log_dropped: u64,
    /// Requests by what they made the server do, in the order of [`Behaviour::ALL`].
    pub by_behaviour: Vec<(Behaviour, u64)>,
    /// Connections by how they were received, in the order of [`Reception::ALL`].
    pub by_reception: Vec<(Reception, u64)>,
    /// Sessions that `/session` began.
    pub sessions_created: u64,
    /// Requests that belonged to a session: those that began one, and those that brought one.
    pub session_requests: u64,
    /// Handshakes of TLS.
    pub handshakes: Handshakes,
}

/// Handshakes of TLS since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Handshakes {
    /// Full ones.
    pub full: u64,
    /// Those that resumed a session.
    pub resumed: u64,
    /// Those that never came to an end: refused by either side, or left by the client.
    pub failed: u64,
    /// Of the full and resumed ones, those of TLS 1.2.
    pub tls12: u64,
    /// Of the full and resumed ones, those of TLS 1.3.
    pub tls13: u64,
    /// Of the full and resumed ones, those whose client had a certificate.
    pub with_client_certificate: u64,
    /// Of the full and resumed ones, how many named the server so (SNI); the first thousand
    /// different names. A client that asked for an address names nothing.
    pub server_names: BTreeMap<String, u64>,
}

/// One session of `/session`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The value of its cookie.
    pub id: String,
    /// The requests that belong to it: the one that began it, and those that brought its cookie.
    pub requests: u64,
}

impl Stats {
    /// Return how many requests made the server do this.
    pub fn count(&self, behaviour: Behaviour) -> u64 {
        self.by_behaviour.iter().find(|(b, _)| *b == behaviour).map_or(0, |(_, count)| *count)
    }

    /// Return how many connections were received so.
    pub fn received(&self, reception: Reception) -> u64 {
        self.by_reception.iter().find(|(r, _)| *r == reception).map_or(0, |(_, count)| *count)
    }

    /// Render as a JSON object.
    pub fn to_json(&self) -> String {
        let behaviours = self.by_behaviour.iter().map(|(b, count)| (b.name(), *count));
        let receptions = self.by_reception.iter().map(|(r, count)| (r.name(), *count));
        format!(
            "{{\"connections\":{},\"open\":{},\"requests\":{},\"control\":{},\"finished\":{},\
             \"abandoned\":{},\"accept_errors\":{},\"log_dropped\":{},\"by_behaviour\":{},\
             \"most_open\":{},\"by_reception\":{},\"sessions_created\":{},\
             \"session_requests\":{},\"handshakes\":{}}}",
            self.connections,
            self.open,
            self.requests,
            self.control,
            self.finished,
            self.abandoned,
            self.accept_errors,
            self.log_dropped,
            counts(behaviours),
            self.most_open,
            counts(receptions),
            self.sessions_created,
            self.session_requests,
            self.handshakes.to_json(),
        )
    }
}

impl Handshakes {
    fn to_json(&self) -> String {
        let names: Vec<String> = self
            .server_names
            .iter()
            .map(|(name, count)| format!("{}:{count}", quoted(name)))
            .collect();
        format!(
            "{{\"full\":{},\"resumed\":{},\"failed\":{},\"tls12\":{},\"tls13\":{},\
             \"with_client_certificate\":{},\"server_names\":{{{}}}}}",
            self.full,
            self.resumed,
            self.failed,
            self.tls12,
            self.tls13,
            self.with_client_certificate,
            names.join(","),
        )
    }
}

/// Render those that are not zero as a JSON object.
fn counts(counts: impl Iterator<Item = (&'static str, u64)>) -> String {
    let counts: Vec<String> = counts
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("\"{name}\":{count}"))
        .collect();
    format!("{{{}}}", counts.join(","))
}

/// Render sessions as a JSON object.
pub(crate) fn sessions_to_json(sessions: &[Session]) -> String {
    let sessions: Vec<String> = sessions
        .iter()
        .map(|session| {
            format!("{{\"id\":{},\"requests\":{}}}", quoted(&session.id), session.requests)
        })
        .collect();
    format!("{{\"sessions\":[{}]}}", sessions.join(","))
}
