"""How many system calls a request takes: what a census found."""

from httpdyno.model import Record
from httpdyno.telemetry.census.kind import Kind


class PerRequest(Record, frozen=True):
    """Calls in each of the requests."""

    mean: float = 0.0
    low: int = 0
    """The fewest that one request took."""
    high: int = 0

    @property
    def is_same(self) -> bool:
        """Whether all requests took as many."""
        return self.low == self.high


NONE = PerRequest()


class KindCalls(Record, frozen=True):
    """Calls of a kind."""

    kind: Kind
    calls: PerRequest
    names: tuple[str, ...] = ()
    """What the kernel calls them, the most frequent first."""


class LookedFor(Record, frozen=True):
    """A file that requests look for, by `stat`, `lstat`, `open`, `access` or `readlink`."""

    path: str
    calls: PerRequest
    kinds: tuple[Kind, ...]
    is_missing: bool
    """Whether none of these calls found it."""


class Connected(Record, frozen=True):
    """Somebody whom requests connect to."""

    address: str
    """`192.0.2.1:53`, or the path of a unix socket."""
    calls: PerRequest


class Census(Record, frozen=True):
    """System calls per request, of the processes that took part in it.

    What each connection costs is not among `kinds`, nor the time zone's file: see `count`.
    """

    n_requests: int
    n_traced: int
    """Processes that were traced from the beginning."""
    n_took_part: int
    """Processes that accepted a connection, or read or wrote a byte, and those that they began."""
    total: PerRequest
    kinds: tuple[KindCalls, ...]
    """Those that were seen, in the order of `KINDS`."""
    connection: PerRequest = NONE
    """What is left out of `kinds`: a connection accepted, set up and closed."""
    zone: PerRequest = NONE
    """What is left out of `kinds`: the time zone's file, looked at once a second, not a request."""
    missing_stats: PerRequest = NONE
    """Of `stat` and `lstat` those that found no file."""
    missing_opens: PerRequest = NONE
    htaccess_opens: PerRequest = NONE
    """Opens of a `.htaccess`, whether there is one or not."""
    name_servers: PerRequest = NONE
    """Connections to name servers: to port 53, nscd or systemd-resolved."""
    files: tuple[LookedFor, ...] = ()
    """The most frequent first, then in the order of the first request."""
    n_files: int = 0
    """So many there were; `files` has the first of them."""
    connected: tuple[Connected, ...] = ()
    n_connections: int = 0
    """Accepted while requests were under way."""
    rest_s: float = 0.0
    """For so long the server was watched before it was asked."""
    rest_calls: int = 0
    """So many calls it made meanwhile, all of its processes."""
    doubts: tuple[str, ...] = ()
    """Why the figures may not be those of one request, each a sentence without full stop."""

    def of(self, kind: Kind) -> PerRequest:
        """Return the calls of a kind."""
        return next((each.calls for each in self.kinds if each.kind == kind), NONE)

    @property
    def is_same(self) -> bool:
        """Whether all requests took as many calls of each kind."""
        return all(each.calls.is_same for each in self.kinds)
