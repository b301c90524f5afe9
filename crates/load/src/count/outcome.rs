//! How a request ends: in exactly one of these ways.

use serde::{Serialize, Serializer};

/// The ways in which a request fails. Each offered request that is not completed is one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ErrorKind {
    /// Nobody listens: `ECONNREFUSED`.
    Refused,
    /// The connection ended by a reset before the answer was whole, or was closed before the
    /// first byte of the answer.
    Reset,
    /// Not answered within the patience, sent or not.
    Timeout,
    /// The connection was closed inside the body.
    ShortBody,
    /// Not an HTTP/1 answer: bad status line, header, framing or chunk, a head above 300 KiB or
    /// cut off by the end of the connection.
    BadResponse,
    /// A whole answer with another status than expected.
    WrongStatus,
    /// A whole answer with the expected status and another length than expected.
    WrongLength,
    /// This process or host has no file descriptor left: `EMFILE`, `ENFILE`.
    NoDescriptors,
    /// No local port left: `EADDRNOTAVAIL`, `EADDRINUSE`.
    NoPorts,
    /// Any other failure to connect.
    Connect,
    /// Sent and not answered when the run was stopped or the drain ran out.
    Unfinished,
    /// Due and not sent when the window's sending ended or the run was stopped.
    Unsent,
    /// The patience ended before the connection was made, its TLS handshake included.
    ConnectTimeout,
    /// The TLS handshake failed, or the peer ended the session with an alert.
    Tls,
}

impl ErrorKind {
    /// All kinds, in the order of their discriminants.
    pub const ALL: [Self; 14] = [
        Self::Refused,
        Self::Reset,
        Self::Timeout,
        Self::ShortBody,
        Self::BadResponse,
        Self::WrongStatus,
        Self::WrongLength,
        Self::NoDescriptors,
        Self::NoPorts,
        Self::Connect,
        Self::Unfinished,
        Self::Unsent,
        Self::ConnectTimeout,
        Self::Tls,
    ];

    /// The name in results, such as `short_body`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::Timeout => "timeout",
            Self::ShortBody => "short_body",
            Self::BadResponse => "bad_response",
            Self::WrongStatus => "wrong_status",
            Self::WrongLength => "wrong_length",
            Self::NoDescriptors => "no_descriptors",
            Self::NoPorts => "no_ports",
            Self::Connect => "connect",
            Self::Unfinished => "unfinished",
            Self::Unsent => "unsent",
            Self::ConnectTimeout => "connect_timeout",
            Self::Tls => "tls",
        }
    }

    /// The kind that a failure to connect is.
    pub(crate) fn of_connect(error: &std::io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::ECONNREFUSED) => Self::Refused,
            Some(libc::ECONNRESET) => Self::Reset,
            Some(libc::EMFILE | libc::ENFILE) => Self::NoDescriptors,
            Some(libc::EADDRNOTAVAIL | libc::EADDRINUSE) => Self::NoPorts,
            _ => Self::Connect,
        }
    }

    /// Whether it says that no connection could be had: the closed loop backs off after these.
    pub(crate) const fn is_of_connecting(self) -> bool {
        matches!(
            self,
            Self::Refused | Self::NoDescriptors | Self::NoPorts | Self::Connect | Self::Tls
        )
    }

    /// Whether the client lost its patience.
    pub(crate) const fn is_timeout(self) -> bool {
        matches!(self, Self::Timeout | Self::ConnectTimeout)
    }

    /// Whether the answer might have come later: the request's age is a lower bound of its
    /// latency.
    pub(crate) const fn is_censored(self) -> bool {
        self.is_timeout() || self.is_cut_off()
    }

    /// Whether it was the window's end or a stop that ended the request.
    pub(super) const fn is_cut_off(self) -> bool {
        matches!(self, Self::Unfinished | Self::Unsent)
    }
}

/// How many requests ended in each kind of error.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ErrorCounts([u64; ErrorKind::ALL.len()]);

impl ErrorCounts {
    /// How many there were of one kind.
    pub const fn of(&self, kind: ErrorKind) -> u64 {
        self.0[kind as usize]
    }

    /// How many there were of all kinds.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The kinds that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (ErrorKind, u64)> + '_ {
        ErrorKind::ALL.into_iter().zip(self.0).filter(|&(_, count)| count > 0)
    }

    pub(super) const fn add(&mut self, kind: ErrorKind, count: u64) {
        self.0[kind as usize] += count;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }
}

impl Serialize for ErrorCounts {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.iter().map(|(kind, count)| (kind.name(), count)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_stands_at_its_discriminant_under_its_own_name() {
        for (index, kind) in ErrorKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
        }
        let mut names: Vec<_> = ErrorKind::ALL.iter().map(|kind| kind.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ErrorKind::ALL.len());
    }

    #[test]
    fn counts_list_only_what_occurred() {
        let mut counts = ErrorCounts::default();
        counts.add(ErrorKind::Timeout, 2);
        counts.merge(&counts.clone());
        assert_eq!(counts.iter().collect::<Vec<_>>(), [(ErrorKind::Timeout, 4)]);
        assert_eq!((counts.total(), counts.of(ErrorKind::Reset)), (4, 0));
    }
}
