//! Counters of the host's TCP, over a window.
//!
//! They are those of the whole network namespace: of every process in it, and of both ends of each
//! connection over loopback. So they can only confirm what the engine saw on its own connections,
//! never accuse by themselves.

use std::fs;

use crate::sys::Network;

/// TCP's counters, or what they grew by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct NetworkCounters {
    /// Connections that found a full accept queue (`ListenOverflows`).
    pub(super) listen_overflows: u64,
    /// All connections that a listener dropped (`ListenDrops`).
    pub(super) listen_drops: u64,
    /// `SYN` and `SYN ACK` sent again (`TCPSynRetrans`).
    pub(super) syn_retransmits: u64,
    /// Segments sent again, those included (`RetransSegs`).
    pub(super) retransmits: u64,
}

impl NetworkCounters {
    /// Read those of a network, or of the one that the thread is in; all 0 where they cannot be.
    pub(super) fn of(network: Option<&Network>) -> Self {
        network.map_or_else(Self::read, |other| other.visit(Self::read).unwrap_or_default())
    }

    fn read() -> Self {
        // Of the calling thread: a process may have threads in several namespaces.
        let extended = fs::read_to_string("/proc/thread-self/net/netstat").unwrap_or_default();
        let basic = fs::read_to_string("/proc/thread-self/net/snmp").unwrap_or_default();
        Self::parse(&extended, &basic)
    }

    fn parse(extended: &str, basic: &str) -> Self {
        let of = |text, table, name| counter(text, table, name).unwrap_or(0);
        Self {
            listen_overflows: of(extended, "TcpExt:", "ListenOverflows"),
            listen_drops: of(extended, "TcpExt:", "ListenDrops"),
            syn_retransmits: of(extended, "TcpExt:", "TCPSynRetrans"),
            retransmits: of(basic, "Tcp:", "RetransSegs"),
        }
    }

    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self {
            listen_overflows: self.listen_overflows.saturating_sub(earlier.listen_overflows),
            listen_drops: self.listen_drops.saturating_sub(earlier.listen_drops),
            syn_retransmits: self.syn_retransmits.saturating_sub(earlier.syn_retransmits),
            retransmits: self.retransmits.saturating_sub(earlier.retransmits),
        }
    }
}

/// A figure of a table that is a line of names and then a line of figures.
fn counter(text: &str, table: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(table));
    let position = lines.next()?.split_ascii_whitespace().position(|each| each == name)?;
    lines.next()?.split_ascii_whitespace().nth(position)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name() {
        let extended = "TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPSynRetrans\n\
                        TcpExt: 1 22 333 4444\nIpExt: InNoRoutes\nIpExt: 7\n";
        let basic = "Ip: Forwarding\nIp: 2\nTcp: MaxConn RetransSegs\nTcp: -1 55555\n";
        let counters = NetworkCounters::parse(extended, basic);
        let expected = NetworkCounters {
            listen_overflows: 22,
            listen_drops: 333,
            syn_retransmits: 4444,
            retransmits: 55555,
        };
        assert_eq!(counters, expected);
        assert_eq!(NetworkCounters::parse("", "Tcp: MaxConn\n"), NetworkCounters::default());
        assert_eq!(counters.since(&counters), NetworkCounters::default());
    }

    #[test]
    fn this_host_has_them() {
        let text = fs::read_to_string("/proc/thread-self/net/netstat").unwrap();
        assert!(counter(&text, "TcpExt:", "ListenOverflows").is_some());
        assert!(counter(&text, "TcpExt:", "TCPSynRetrans").is_some());
        let text = fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
        assert!(counter(&text, "Tcp:", "RetransSegs").is_some());
    }
}
