//! The counters behind [`Stats`], written by the server's thread alone.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::behaviour::Behaviour;
use crate::reception::Reception;
use crate::stats::{Handshakes, Stats};
use crate::tls::Handshake;

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) connections: AtomicU64,
    pub(crate) open: AtomicU64,
    pub(crate) most_open: AtomicU64,
    pub(crate) control: AtomicU64,
    pub(crate) finished: AtomicU64,
    pub(crate) abandoned: AtomicU64,
    pub(crate) accept_errors: AtomicU64,
    pub(crate) log_dropped: AtomicU64,
    pub(crate) sessions_created: AtomicU64,
    pub(crate) session_requests: AtomicU64,
    pub(crate) handshakes_full: AtomicU64,
    pub(crate) handshakes_resumed: AtomicU64,
    pub(crate) handshakes_failed: AtomicU64,
    pub(crate) handshakes_tls12: AtomicU64,
    pub(crate) handshakes_tls13: AtomicU64,
    pub(crate) client_certificates: AtomicU64,
    pub(crate) by_behaviour: Each<{ Behaviour::ALL.len() }>,
    pub(crate) by_reception: Each<{ Reception::ALL.len() }>,
}

/// A counter for each variant of an enum.
#[derive(Debug)]
pub(crate) struct Each<const N: usize>(pub(crate) [AtomicU64; N]);

impl<const N: usize> Default for Each<N> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Counters {
    /// Count a connection that opens.
    pub(crate) fn open(&self) {
        let open = read(&self.open) + 1;
        self.open.store(open, Ordering::Relaxed);
        if open > read(&self.most_open) {
            self.most_open.store(open, Ordering::Relaxed);
        }
    }

    /// Count a handshake that is done.
    pub(crate) fn secured(&self, told: &Handshake) {
        count(if told.is_resumed { &self.handshakes_resumed } else { &self.handshakes_full });
        count(if told.is_tls13 { &self.handshakes_tls13 } else { &self.handshakes_tls12 });
        if told.has_client_certificate {
            count(&self.client_certificates);
        }
    }

    /// What they say, but for the names of servers.
    pub(crate) fn stats(&self) -> Stats {
        let by_behaviour = Behaviour::ALL.map(|b| (b, read(&self.by_behaviour.0[b as usize])));
        let by_reception = Reception::ALL.map(|r| (r, read(&self.by_reception.0[r as usize])));
        Stats {
            connections: read(&self.connections),
            open: read(&self.open),
            most_open: read(&self.most_open),
            requests: by_behaviour.iter().map(|(_, count)| count).sum(),
            control: read(&self.control),
            finished: read(&self.finished),
            abandoned: read(&self.abandoned),
            accept_errors: read(&self.accept_errors),
            log_dropped: read(&self.log_dropped),
            by_behaviour: by_behaviour.to_vec(),
            by_reception: by_reception.to_vec(),
            sessions_created: read(&self.sessions_created),
            session_requests: read(&self.session_requests),
            handshakes: Handshakes {
                full: read(&self.handshakes_full),
                resumed: read(&self.handshakes_resumed),
                failed: read(&self.handshakes_failed),
                tls12: read(&self.handshakes_tls12),
                tls13: read(&self.handshakes_tls13),
                with_client_certificate: read(&self.client_certificates),
                server_names: BTreeMap::new(),
            },
        }
    }
}

/// Add to a counter that one thread writes.
pub(crate) fn count(counter: &AtomicU64) {
    counter.store(read(counter) + 1, Ordering::Relaxed);
}

/// Take back from a counter that one thread writes.
pub(crate) fn uncount(counter: &AtomicU64) {
    counter.store(read(counter) - 1, Ordering::Relaxed);
}

pub(crate) fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
