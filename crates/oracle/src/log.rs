//! What the log tells: arrivals, connections, and the requests that were kept whole.

use std::fmt::Write as _;

use crate::Behaviour;
use crate::json::{optional, quoted};

/// The name of a path that came after too many others.
pub const OTHER_PATH: &str = "(other)";

/// One request, as the server saw it. Every instant is of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// When its last byte was read: by a clock that is read after each read of the connection,
    /// not once for all that were ready together.
    ///
    /// Of a request that was answered before it was read whole: when its header was. Of one that
    /// came before the answer to the one before it (pipelining): no earlier than the last read
    /// when its turn came, though it may have come with an earlier one.
    pub at_ns: u64,
    /// When the write began that handed the last byte of the answer to the kernel, or the
    /// connection was broken on purpose; `None` while neither happened.
    ///
    /// The kernel takes a byte of a long answer only when the client has made room for it.
    pub answered_ns: Option<u64>,
    /// The connection it came on, from 0 in order of acceptance.
    pub connection: u32,
    /// Its number on that connection, from 0.
    pub request: u32,
    /// What was asked for, with the query.
    pub path: String,
    /// What the path made the server do.
    pub behaviour: Behaviour,
    /// When the connection was accepted.
    pub accepted_ns: u64,
    /// When its first byte was read; `at_ns` when one read brought it all.
    pub first_byte_ns: u64,
    /// When the write began that handed the first byte of the answer to the kernel; `None`
    /// while that has not happened.
    pub first_written_ns: Option<u64>,
    /// How long it was, header and body, without what TLS adds.
    pub bytes: u64,
}

impl Arrival {
    /// Whether it is the first one of its connection.
    pub fn is_on_new_connection(&self) -> bool {
        self.request == 0
    }

    /// How long its bytes took to come: from the read of the first to that of the last.
    pub fn transfer_ns(&self) -> u64 {
        self.at_ns.saturating_sub(self.first_byte_ns)
    }
}

/// The arrivals in order, and how many more there were than the log could hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    /// In order of arrival; pipelined requests in order of service.
    pub arrivals: Vec<Arrival>,
    /// Arrivals that found the log full.
    pub dropped: u64,
    /// When the server was made to stall, from and until; `CLOCK_MONOTONIC`.
    pub stalls_ns: Vec<(u64, u64)>,
}

/// One connection. Every instant is of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionRecord {
    /// When it was taken from the queue of those that wait to be accepted. The kernel has
    /// answered the client before that, and without asking the server.
    pub accepted_ns: u64,
    /// When the TLS handshake was done; `None` without one.
    pub secured_ns: Option<u64>,
    /// When the server closed it, or saw that the client had; `None` while it is open.
    pub closed_ns: Option<u64>,
    /// How many requests came on it, as counted when it was closed; 0 while it is open.
    pub requests: u32,
    /// The door it came through: 0 is [`OracleConfig::listen`](crate::OracleConfig::listen), then
    /// [`OracleConfig::doors`](crate::OracleConfig::doors) in order.
    pub door: u32,
}

/// The connections in order of acceptance, and how many there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConnectionLog {
    /// Open now.
    pub open: u64,
    /// Opened since the start.
    pub opened: u64,
    /// The most that were open at a time.
    pub most_open: u64,
    /// The first ones, as many as the log holds.
    pub connections: Vec<ConnectionRecord>,
}

/// A request that was kept whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptRequest {
    /// The connection it came on, from 0 in order of acceptance.
    pub connection: u32,
    /// Its number on that connection, from 0.
    pub request: u32,
    /// The header, its blank line included.
    pub head: Vec<u8>,
    /// The body: all of it up to [`MAX_KEPT_BODY_BYTES`], of a longer one nothing.
    pub body: Vec<u8>,
    /// How long the body is.
    pub body_bytes: usize,
}

/// The longest body that is kept or echoed.
pub const MAX_KEPT_BODY_BYTES: usize = 8 << 20;

impl KeptRequest {
    /// Take in more of the body.
    pub(crate) fn take_in(&mut self, bytes: &[u8]) {
        if self.body_bytes <= MAX_KEPT_BODY_BYTES {
            self.body.extend(bytes);
        }
    }

    /// The value of the first header field of this name, whatever its case.
    pub fn field(&self, name: &str) -> Option<String> {
        let head = String::from_utf8_lossy(&self.head);
        let fields = head.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
        let mut named = fields.filter(|(field, _)| field.eq_ignore_ascii_case(name));
        named.next().map(|(_, value)| value.trim().to_owned())
    }
}

impl Log {
    /// Render as a JSON object.
    pub fn to_json(&self) -> String {
        let mut json = String::with_capacity(100 + 300 * self.arrivals.len());
        json.push_str("{\"arrivals\":[");
        for (index, arrival) in self.arrivals.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            // Writing to a string cannot fail.
            let _ = write!(
                json,
                "{comma}{{\"at_ns\":{},\"answered_ns\":{},\"connection\":{},\
                 \"request\":{},\"path\":{},\"behaviour\":\"{}\",\"accepted_ns\":{},\
                 \"is_new\":{},\"first_byte_ns\":{},\"first_written_ns\":{},\"bytes\":{}}}",
                arrival.at_ns,
                optional(arrival.answered_ns),
                arrival.connection,
                arrival.request,
                quoted(&arrival.path),
                arrival.behaviour.name(),
                arrival.accepted_ns,
                arrival.is_on_new_connection(),
                arrival.first_byte_ns,
                optional(arrival.first_written_ns),
                arrival.bytes,
            );
        }
        let stalls: Vec<String> =
            self.stalls_ns.iter().map(|(from, until)| format!("[{from},{until}]")).collect();
        let _ =
            write!(json, "],\"dropped\":{},\"stalls_ns\":[{}]}}", self.dropped, stalls.join(","));
        json
    }
}

impl ConnectionLog {
    /// Render as a JSON object.
    pub fn to_json(&self) -> String {
        let connections: Vec<String> = self
            .connections
            .iter()
            .map(|connection| {
                format!(
                    "{{\"accepted_ns\":{},\"secured_ns\":{},\"closed_ns\":{},\"requests\":{},\
                     \"door\":{}}}",
                    connection.accepted_ns,
                    optional(connection.secured_ns),
                    optional(connection.closed_ns),
                    connection.requests,
                    connection.door,
                )
            })
            .collect();
        format!(
            "{{\"open\":{},\"opened\":{},\"most_open\":{},\"connections\":[{}]}}",
            self.open,
            self.opened,
            self.most_open,
            connections.join(",")
        )
    }
}

/// Render requests as a JSON object; what is not UTF-8 in them is replaced.
pub(crate) fn kept_to_json(requests: &[KeptRequest]) -> String {
    let requests: Vec<String> = requests
        .iter()
        .map(|request| {
            format!(
                "{{\"connection\":{},\"request\":{},\"body_bytes\":{},\"head\":{},\"body\":{}}}",
                request.connection,
                request.request,
                request.body_bytes,
                quoted(&String::from_utf8_lossy(&request.head)),
                quoted(&String::from_utf8_lossy(&request.body)),
            )
        })
        .collect();
    format!("{{\"requests\":[{}]}}", requests.join(","))
}
