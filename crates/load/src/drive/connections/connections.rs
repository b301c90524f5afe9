//! All connections of a thread, and the requests on them. Who asks for what, and what comes after
//! an answer, is not decided here: an exchange that ends is put into a queue.

use std::io;
use std::ops::Range;
use std::time::Duration;

use crate::count::ErrorKind;
use crate::drive::{
    context::Context,
    ids::{ConnectionId, ExchangeId, Id, Table, UserId, VisitId},
    platform::{Net, Platform},
};
use crate::input::Slow;
use crate::request::Target;
use crate::sys::{Event, MAX_EVENTS};

use super::connection::{Close, Connection, Phase};
use super::exchange::{Exchange, Finished, Order};
use super::identities::Identities;
use super::lists::{Links, List};
use super::read_budget::ReadBudget;

/// A read's room: most answers take one read, and it fits the second-level cache.
const READ_BYTES: usize = 64 * 1024;

/// What holds for all connections of a run.
#[derive(Debug, Clone, Copy)]
pub(in crate::drive) struct Settings {
    pub(in crate::drive) has_cookies: bool,
    pub(in crate::drive) requests_per_connection: u64,
    pub(in crate::drive) timeout_ns: u64,
    pub(in crate::drive) slow: Option<Slow>,
}

/// The connections to an arm.
#[derive(Debug)]
pub(in crate::drive) struct Pool {
    pub(super) target: Target,
    /// Connections that could send at once, those of usual and of slow users. The one that was
    /// used last is taken first: that keeps as few connections busy as the load needs, and leaves
    /// the others for the server to close, as a client's pool does.
    open: [List<ConnectionId>; 2],
    /// Places without a socket.
    closed: List<ConnectionId>,
}

/// The connections of a thread, to all arms.
pub(in crate::drive) struct Connections<P: Platform> {
    pub(super) settings: Settings,
    /// By which the present window's requests draw.
    pub(super) seed: u64,
    pub(super) net: P::Net,
    pub(super) pools: Vec<Pool>,
    pub(super) table: Table<ConnectionId, Connection<P::Link>>,
    pub(super) exchanges: Table<ExchangeId, Exchange>,
    /// What requests show of the users that they are for.
    pub(super) identities: Identities,
    free: Links<ConnectionId>,
    under_way: Links<ExchangeId>,
    /// Exchanges in the order in which their patience ends: all requests have the same patience
    /// and are taken up nearly in the order of their due times, so no heap is needed.
    in_flight: List<ExchangeId>,
    /// Those that ended, and from which of them on nobody has taken note.
    finished: Vec<Finished>,
    n_noted: usize,
    pub(super) buffer: Box<[u8]>,
    pub(super) budget: ReadBudget,
    /// Connections on which bytes came that belong to no answer.
    pub(super) n_surplus: u64,
}

impl<P: Platform> Connections<P> {
    /// For each target so many places, and the users of these numbers.
    pub(in crate::drive) fn new(
        settings: Settings,
        net: P::Net,
        targets: impl IntoIterator<Item = (Target, usize)>,
        user_numbers: Range<u64>,
    ) -> Self {
        let (mut pools, mut connections) = (Vec::new(), Vec::new());
        for (target, n_places) in targets {
            let arm = pools.len();
            let first = connections.len();
            let places = first..first + n_places;
            connections.extend(places.map(|place| Connection::new(arm, ExchangeId::new(place))));
            pools.push(Pool { target, open: [List::new(); 2], closed: List::new() });
        }
        let n_connections = connections.len();
        let exchange = |place| Exchange::on(ConnectionId::new(place));
        let mut all = Self {
            settings,
            seed: 0,
            net,
            identities: Identities::new(pools.len(), &user_numbers),
            pools,
            table: Table::of(connections),
            exchanges: Table::of((0..n_connections).map(exchange)),
            free: Links::new(n_connections),
            under_way: Links::new(n_connections),
            in_flight: List::new(),
            finished: Vec::with_capacity(MAX_EVENTS),
            n_noted: 0,
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
            budget: ReadBudget::new(n_connections),
            n_surplus: 0,
        };
        for connection in all.table.ids() {
            all.park(connection);
        }
        all
    }

    /// Wait for events, at most `timeout`; how many came.
    #[inline]
    pub(in crate::drive) fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        self.net.wait(timeout)
    }

    /// The `index`-th event of the last wait.
    #[inline]
    pub(in crate::drive) fn event(&self, index: usize) -> Event {
        self.net.event(index)
    }

    /// Take a connection that is free out of its list: open if there is one, and of a line as
    /// slow as the user's.
    #[inline]
    pub(in crate::drive) fn take_idle(
        &mut self,
        arm: usize,
        is_slow: bool,
    ) -> Option<ConnectionId> {
        let Pool { open, closed, .. } = &mut self.pools[arm];
        let [same, other] = if is_slow { [1, 0] } else { [0, 1] };
        let free = self.free.pop_back(&mut open[same]).or_else(|| self.free.pop_back(closed));
        let id = free.or_else(|| {
            let id = self.free.pop_back(&mut open[other])?;
            self.table[id].close(Close::Reset);
            Some(id)
        })?;
        self.table[id].is_parked = false;
        Some(id)
    }

    /// Put a connection without a request into the list that it belongs to.
    #[inline]
    pub(in crate::drive) fn park(&mut self, id: ConnectionId) {
        let connection = &mut self.table[id];
        debug_assert!(!connection.is_parked);
        connection.is_parked = true;
        self.free.push_back(self.pools[connection.arm].list_of(connection), id);
    }

    /// Take a connection out of its list.
    pub(super) fn unpark(&mut self, id: ConnectionId) {
        let connection = &mut self.table[id];
        connection.is_parked = false;
        self.free.remove(self.pools[connection.arm].list_of(connection), id);
    }

    /// Close a connection that is open and has no request: its user takes it along.
    pub(in crate::drive) fn close_if_idle(&mut self, id: ConnectionId) {
        let connection = &mut self.table[id];
        if connection.phase == Phase::Idle {
            connection.close(Close::Reset);
        }
    }

    /// Send a request on a connection without one, which is in no list.
    #[inline]
    pub(in crate::drive) fn issue(
        &mut self,
        cx: &mut Context<P>,
        id: ConnectionId,
        order: Order,
    ) -> ExchangeId {
        let connection = &self.table[id];
        let exchange = connection.exchange;
        let is_idle = connection.phase == Phase::Idle;
        self.exchanges[exchange].take_up(order, cx.clock.now_ns);
        cx.tally.offer(order.is_measured, order.request, order.is_slow);
        cx.tally.take_up(cx.clock.now_ns, order.is_measured);
        self.add_in_flight(exchange, order.base_ns);
        if is_idle {
            self.begin(cx, id);
        } else {
            self.connect(cx, id);
        }
        exchange
    }

    /// The list is in the order in which patience ends. Requests are taken up nearly in that
    /// order, so the place is found at once or after a few steps.
    #[inline]
    fn add_in_flight(&mut self, exchange: ExchangeId, base_ns: u64) {
        let mut before = self.in_flight.last();
        while let Some(other) = before
            && self.exchanges[other].order.base_ns > base_ns
        {
            before = self.under_way.previous(other);
        }
        self.under_way.insert_after(&mut self.in_flight, before, exchange);
    }

    #[inline]
    pub(super) fn remove_in_flight(&mut self, exchange: ExchangeId) {
        self.under_way.remove(&mut self.in_flight, exchange);
    }

    /// No request is under way.
    #[inline]
    pub(in crate::drive) fn is_at_rest(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// The exchange whose patience ends first.
    #[inline]
    pub(in crate::drive) fn oldest(&self) -> Option<ExchangeId> {
        self.in_flight.first()
    }

    /// The patience of all requests.
    #[inline]
    pub(in crate::drive) const fn timeout_ns(&self) -> u64 {
        self.settings.timeout_ns
    }

    /// When the first patience ends.
    #[inline]
    pub(in crate::drive) fn patience_ends_ns(&self) -> Option<u64> {
        let oldest = &self.exchanges[self.in_flight.first()?];
        Some(oldest.order.base_ns.saturating_add(self.settings.timeout_ns))
    }

    /// An exchange has ended.
    #[inline]
    pub(super) fn note(&mut self, exchange: ExchangeId, outcome: Result<(), ErrorKind>) {
        self.finished.push(Finished { exchange, outcome });
    }

    /// An exchange that ended, each once, in their order.
    #[inline]
    pub(in crate::drive) fn next_finished(&mut self) -> Option<Finished> {
        let next = self.finished.get(self.n_noted).copied();
        if next.is_some() {
            self.n_noted += 1;
        } else if self.n_noted > 0 {
            self.finished.clear();
            self.n_noted = 0;
        }
        next
    }

    /// Which connection an exchange is on, and which visit it is for.
    #[inline]
    pub(in crate::drive) fn connection_and_visit(
        &self,
        exchange: ExchangeId,
    ) -> (ConnectionId, VisitId) {
        let exchange = &self.exchanges[exchange];
        (exchange.connection, exchange.order.visit)
    }

    /// Whether the last request on a connection never had a socket to go on.
    #[inline]
    pub(in crate::drive) fn is_unconnected(&self, id: ConnectionId) -> bool {
        self.exchanges[self.table[id].exchange].is_unconnected()
    }

    /// How long to wait before the next try to connect; doubles each time.
    pub(in crate::drive) fn next_backoff_ns(&mut self, id: ConnectionId) -> u64 {
        self.table[id].next_backoff_ns()
    }

    /// A new user takes this place: with another number, and without cookies.
    pub(in crate::drive) fn renew_user(&mut self, arm: usize, user: UserId, number: u64) {
        let identity = self.identities.of_mut(arm, user);
        identity.number = number;
        identity.jar.clear();
    }

    /// A window opens, whose requests draw by this seed.
    pub(in crate::drive) fn open_window(&mut self, seed: u64) {
        self.seed = seed;
    }

    /// The window is over. How many connections brought bytes that belong to no answer since the
    /// last one.
    pub(in crate::drive) fn close_window(&mut self) -> u64 {
        self.budget.clear();
        debug_assert!(self.table.iter().all(|each| each.is_parked), "none is in use");
        std::mem::take(&mut self.n_surplus)
    }

    /// The run is over.
    pub(in crate::drive) fn close_all(&mut self) {
        for connection in self.table.iter_mut() {
            connection.close(Close::Fin);
        }
    }
}

impl Pool {
    /// Where a connection without a request belongs.
    fn list_of<L>(&mut self, connection: &Connection<L>) -> &mut List<ConnectionId> {
        match connection.phase {
            Phase::Idle => &mut self.open[usize::from(connection.is_slow)],
            _ => &mut self.closed,
        }
    }
}
