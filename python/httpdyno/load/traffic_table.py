"""A workload exactly as people write it, in a study file or on the command line.

The two say the same things with the same words; only how a setting is called differs (`--rate`
here, `workload.rate` there), so whoever asks brings the way to name one.
"""

from typing import Literal, Protocol

import msgspec

from httpdyno.model.arrival import LogSpread
from httpdyno.model.base import Record
from httpdyno.model.workload import StepOrder


class Naming(Protocol):
    """How settings are called where they were given."""

    def name(self, key: str, value: object = None) -> str:
        """Return the setting, with its value if there is one: "`--rate 0`"."""
        ...

    def complaint(self, key: str, value: object, expected: str) -> str:
        """Return that a value makes no sense, and what does."""
        ...


class TrafficTable(Record, frozen=True):
    """All of a workload but its requests, in the units that people type."""

    connections: int = 8
    """Users, each with a connection, who send again when they were answered; with `rate`, `stages`,
    `sessions` or `replay` the most connections at a time."""
    keep_alive: bool = True
    """Whether connections are used again; false makes a new one for each request."""
    requests_per_connection: int | None = None
    """Close a connection after so many."""
    connection_rate: str | None = None
    """Without a rate of requests: let users begin at this rate, such as `50/s`, not all at once."""
    rate: str | None = None
    """Send at this rate, such as `500/s`, however fast the answers come; latency then counts from
    when each request was due."""
    poisson: bool = False
    """With `rate` or `stages`: at random, as from independent users, instead of evenly spaced."""
    stages: str | None = None
    """Send at a rate that changes: `10s: 0/s..500/s, 30s: 500/s`."""
    sessions: str | None = None
    """Users come at random at this rate, each for one visit (`visit`, `think`)."""
    replay: str | None = None
    """An access log in the study's folder (common or combined format), sent with its gaps."""
    speed: str | None = None
    """Of a replay: `2x` halves the gaps."""
    replay_methods: str | None = None
    """Of a replay: which to send, such as `GET,HEAD`; others may change what the server keeps."""
    replay_spread: LogSpread | None = None
    """Of a replay: how requests lie in a second, where the log knows no more."""
    order: StepOrder | None = None
    """`given`: each visit asks for everything in the order given, from the first on."""
    visit: float | None = None
    """Requests or pages of a visit, on average (geometric)."""
    visit_exactly: int | None = None
    """As many in every visit."""
    think: str | None = None
    """Pause between an answer and the user's next request, on average (exponential)."""
    think_exactly: str | None = None
    """As long in every pause."""
    cookies: bool = False
    """Each user keeps its cookies and sends them back."""
    new_users: str | None = None
    """Visits by users without cookies yet, such as `20%`."""
    users: int | None = None
    """How many users come again, where they are not the connections."""
    slow: str | None = None
    """Some on slow lines, both ways: `28.8kbit:20%`."""
    slow_buffer: str | None = None
    """Their receive buffer: what a server can send ahead, such as `4KiB`."""
    page_connections: int | None = None
    """Connections of a user for a page's objects."""
    timeout: str = "10s"
    """Patience: a request this old counts as an error, and as this slow."""


class FirstTable(Record, frozen=True):
    """`[[workload.first]]`: what each user asks for once, before its measured requests."""

    path: str = "/"
    """What is asked for, from `/` on, with its query."""
    method: str = ""
    """Empty is GET, or POST with a form."""
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    """Headers that are sent too, by name."""
    body: str = ""
    """What is sent; `@FILE` is a file in the study's folder. `{n}` is the request's number,
    `{user}` the user's, `{random}` 16 random digits."""
    form: dict[str, str] = msgspec.field(default_factory=dict)
    """The fields of a form, in place of a body."""
    expect_status: int | Literal["ok"] = 200
    """The right answer's status; `ok` is any 2xx or 3xx. Any other is an error."""
    expect_length: int | None = None
    """The right answer's length in bytes, decoded: without chunks and gzip."""


class RequestTable(FirstTable, frozen=True):
    """`[[workload.requests]]`, one step of the mix: a request, or a page with its objects."""

    name: str = ""
    """A word by which `[objective]` may name it: `latency_p90_s of search`. Of a page it is the
    document, without its objects."""
    weight: float = 1.0
    """How often it is asked for, beside the others."""
    objects: tuple[str, ...] = ()
    """Paths that the page has: they are asked for with it, over further connections."""


class WorkloadTable(TrafficTable, frozen=True):
    """`[workload]`."""

    target: str = ""
    """Which server is loaded, where there are companions: the name of one, or a template of it;
    empty is the server itself."""
    first: tuple[FirstTable, ...] = ()
    """What each user asks for once, before its measured requests; its cookies stay."""
    tls_version: Literal["any", "1.2", "1.3"] | None = None
    """Of a server that speaks TLS: the version that clients speak."""
    tls_resumption: bool | None = None
    """Of a server that speaks TLS: whether later connections take up a former session."""
    requests: tuple[RequestTable, ...] = (RequestTable(),)
    """The mix, or the steps of a visit."""
    may_differ: tuple[str, ...] = ()
    """What may be another one in each body: patterns of Python's `re`, such as `[0-9]+ ms`. All
    else is compared with what the start answers, and whoever answers otherwise is refused."""
    count_header: str = ""
    """A header of the answers, such as `X-Cache`, whose first word is counted: `HIT`, `MISS`. In
    each start, after its windows, each server is asked the same again by as many users, over a
    connection for each request: some two hundred answers, or two seconds at the most. With phases
    that is one turn more, in one start of a comparison only. Nothing timed is in it. Not where
    clients speak TLS, nor of a replayed log, which would only come again."""
