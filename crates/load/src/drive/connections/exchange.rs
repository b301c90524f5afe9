//! A request and its answer, apart from the connection that carries them.

use crate::count::{Ended, ErrorKind};
use crate::drive::ids::{ConnectionId, ExchangeId, UserId, VisitId};
use crate::http::Scanner;

/// What is to be asked, for whom.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::drive) struct Order {
    /// The visit that asks.
    pub(in crate::drive) visit: VisitId,
    /// The user whose visit it is.
    pub(in crate::drive) user: UserId,
    /// Whether that user has a slow line.
    pub(in crate::drive) is_slow: bool,
    /// The index in the arm's table of requests.
    pub(in crate::drive) request: u32,
    /// The number in the run of the step that it belongs to.
    pub(in crate::drive) number: u64,
    /// When it was due (open loop) or taken up (closed loop): the patience counts from then.
    pub(in crate::drive) base_ns: u64,
    pub(in crate::drive) is_measured: bool,
    /// An object of a page.
    pub(in crate::drive) is_object: bool,
}

/// An exchange that ended: its request was answered, or failed.
#[derive(Debug, Clone, Copy)]
pub(in crate::drive) struct Finished {
    pub(in crate::drive) exchange: ExchangeId,
    pub(in crate::drive) outcome: Result<(), ErrorKind>,
}

/// A request, from when a connection takes it up to the end of its answer.
#[derive(Debug)]
pub(super) struct Exchange {
    /// The one that carries it.
    pub(super) connection: ConnectionId,
    pub(super) order: Order,
    issued_ns: u64,
    pub(super) connected_ns: Option<u64>,
    pub(super) secured_ns: Option<u64>,
    written_ns: Option<u64>,
    first_byte_ns: Option<u64>,
    /// The request's bytes are those of the table, not `outgoing`.
    pub(super) is_fixed: bool,
    /// A request that was rendered for this once.
    pub(super) outgoing: Vec<u8>,
    /// Bytes of the request written.
    pub(super) written: usize,
    /// All of them.
    pub(super) is_written: bool,
    /// Bytes that the link had sent before the request.
    pub(super) sent_before: u64,
    pub(super) has_retried: bool,
    pub(super) scanner: Scanner,
}

impl Exchange {
    pub(super) fn on(connection: ConnectionId) -> Self {
        Self {
            connection,
            order: Order::default(),
            issued_ns: 0,
            connected_ns: None,
            secured_ns: None,
            written_ns: None,
            first_byte_ns: None,
            is_fixed: true,
            outgoing: Vec::new(),
            written: 0,
            is_written: false,
            sent_before: 0,
            has_retried: false,
            scanner: Scanner::new(),
        }
    }

    /// Take up a request.
    #[inline]
    pub(super) fn take_up(&mut self, order: Order, now_ns: u64) {
        self.order = order;
        self.issued_ns = now_ns;
        self.connected_ns = None;
        self.secured_ns = None;
        self.written_ns = None;
        self.first_byte_ns = None;
        self.has_retried = false;
    }

    /// Wait for a new socket.
    pub(super) fn wait_for_socket(&mut self) {
        self.written = 0;
        self.written_ns = None;
    }

    /// Begin to write the request, on a link that has sent so many bytes before.
    #[inline]
    pub(super) fn begin(&mut self, now_ns: u64, sent_before: u64, is_head: bool) {
        self.sent_before = sent_before;
        self.written = 0;
        self.is_written = false;
        self.written_ns = Some(now_ns);
        self.scanner.expect(is_head);
    }

    /// A byte of the answer came.
    #[inline]
    pub(super) const fn has_answer(&self) -> bool {
        self.first_byte_ns.is_some()
    }

    /// Bytes of the answer came.
    #[inline]
    pub(super) fn received(&mut self, now_ns: u64) {
        self.first_byte_ns.get_or_insert(now_ns);
    }

    /// Whether the request never had a connection to go on, TLS included.
    pub(super) const fn is_unconnected(&self) -> bool {
        self.written_ns.is_none()
    }

    /// Its record, ended now.
    #[inline]
    pub(super) const fn ended(&self, end_ns: u64, is_slow: bool) -> Ended {
        Ended {
            base_ns: self.order.base_ns,
            issued_ns: Some(self.issued_ns),
            connected_ns: self.connected_ns,
            secured_ns: self.secured_ns,
            written_ns: self.written_ns,
            first_byte_ns: self.first_byte_ns,
            end_ns,
            is_measured: self.order.is_measured,
            is_object: self.order.is_object,
            request: self.order.request,
            is_slow,
            due_index: self.order.number,
        }
    }
}
