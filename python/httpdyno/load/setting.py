"""Settings of a load, declared once: default, study key, option and help of each.

This is a workload exactly as people write it, in a study file or on the command line. The two say
the same things with the same words; only how a setting is called differs (`--rate` here,
`workload.rate` there), so whoever asks brings the way to name one.
"""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Literal, NamedTuple, Protocol, get_type_hints

import msgspec

from httpdyno.model.base import Record
from httpdyno.model.workload import (
    LogSpread,
    StepOrder,
    Workload,
)

SHARE_EXPECTED = "a share from `0%` to `100%`"

SLOW_EXPECTED = "a line and a share above 0 %, at most 100 %, such as `28.8kbit:20%`"

AT_LEAST_ONE = "at least 1"

_RATE_EXPECTED = "a rate above 0, at most 1e9 per second"
_OF_RATE = "per_s"
"""What the engine's names of rates end in."""


class Naming(Protocol):
    """How settings are called where they were given."""

    def name(self, key: str, value: object = None) -> str:
        """Return the setting, with its value if there is one: "`--rate 0`"."""
        ...

    def complaint(self, key: str, value: object, expected: str) -> str:
        """Return that a value makes no sense, and what does."""
        ...


class Setting(NamedTuple):
    """What is declared of a setting beside name, type and default: for file and options."""

    heading: str
    """Of its option's group in the help."""
    help: str
    """At most 15 words; `{rate}` is another setting, as it is called where this is read."""
    flag: str = ""
    """Its option where that is not `--NAME`, or a short one that it is called by."""
    metavar: str = ""
    """What its option takes; empty of a switch."""
    usual: str = ""
    """The option's default in words, where its value does not say it."""
    default: int | None = None
    """The option's default, where it is another one than the file's."""
    engine: Mapping[str, str] = {}
    """What the engine calls it, and what is expected in place of its own words; empty: those."""
    is_above_zero: bool = False
    """It refuses a 0 that the engine takes, where it has a meaning of its own."""
    in_file: str = ""
    """Its description in study files, where its option says the opposite."""

    def expected(self, place: str, refused: str, words: str) -> str:
        """Return what is expected.

        Args:
            place: What the engine calls the setting.
            refused: The part of it that it refuses: `arrival.stages[0].from_per_s`.
            words: Its own for what it takes.
        """
        if self.is_above_zero and refused.endswith(_OF_RATE):
            return _RATE_EXPECTED
        return self.engine.get(place) or words


def setting(  # noqa: PLR0913 - a setting has these parts
    heading: str,
    help: str,
    metavar: str = "",
    *,
    flag: str = "",
    usual: str = "",
    default: int | None = None,
    engine: Mapping[str, str] | None = None,
    is_above_zero: bool = False,
    in_file: str = "",
) -> msgspec.Meta:
    """Return what declares a field as a setting."""
    declared = Setting(
        heading, help, flag, metavar, usual, default, engine or {}, is_above_zero, in_file
    )
    return msgspec.Meta(extra={"setting": declared, "help": in_file or help})


class TrafficTable(Record, frozen=True):
    """All of a workload but its requests, in the units that people type.

    Each setting is declared here for study files, for options of `httpdyno load` and for what the
    engine refuses.
    """

    connections: Annotated[
        int,
        setting(
            "Traffic",
            "Concurrent users, one connection each. With {rate}, {stages}, {sessions} or {replay}: "
            "the maximum.",
            "N",
            flag="-c",
            default=50,
            engine={"connections": ""},
        ),
    ] = 8
    keep_alive: Annotated[
        bool,
        setting(
            "Connections",
            "Open a new connection for each request.",
            flag="--no-keepalive",
            in_file="Reuse connections; false opens a new one for each request.",
        ),
    ] = True
    requests_per_connection: Annotated[
        int | None,
        setting(
            "Connections",
            "Close a connection after this many requests.",
            "N",
            engine={"requests_per_connection": AT_LEAST_ONE},
        ),
    ] = None
    connection_rate: Annotated[
        str | None,
        setting(
            "Connections",
            "In a closed loop: start users at this rate, not all at once.",
            "RATE",
            engine={"connections_per_s": ""},
            is_above_zero=True,
        ),
    ] = None
    rate: Annotated[
        str | None,
        setting(
            "Traffic",
            "Send at this rate (open loop), such as `500/s`. Latency counts from due times.",
            "RATE",
            engine={"arrival.stages": ""},
            is_above_zero=True,
        ),
    ] = None
    poisson: Annotated[
        bool,
        setting(
            "Traffic",
            "With {rate} or {stages}: random (Poisson) arrivals instead of evenly spaced ones.",
        ),
    ] = False
    stages: Annotated[
        str | None,
        setting(
            "Traffic",
            "Change the rate over time: `10s: 0/s..500/s, 30s: 500/s`.",
            "STAGES",
            engine={"arrival.stages": ""},
            is_above_zero=True,
        ),
    ] = None
    sessions: Annotated[
        str | None,
        setting(
            "Traffic",
            "Start users at random at this rate, for one visit each ({visit}, {think}).",
            "RATE|STAGES",
            engine={"arrival.stages": ""},
            is_above_zero=True,
        ),
    ] = None
    replay: Annotated[
        str | None,
        setting(
            "Traffic", "Replay an access log (common or combined format) with its gaps.", "LOG"
        ),
    ] = None
    speed: Annotated[
        str | None,
        setting("Traffic", "With {replay}: speed factor. `2x` halves the gaps.", "FACTOR"),
    ] = None
    replay_methods: Annotated[
        str | None,
        setting(
            "Traffic",
            "With {replay}: methods to send. Others may change data on the server.",
            "METHODS",
            usual="GET,HEAD",
        ),
    ] = None
    replay_spread: Annotated[
        LogSpread | None,
        setting(
            "Traffic",
            "With {replay}: how to spread requests within a second of the log.",
            "even|random|burst",
            usual="even",
        ),
    ] = None
    order: Annotated[
        StepOrder | None,
        setting(
            "Users",
            "`given`: each visit starts with the first request and keeps the order.",
            "given|mixed",
            usual="mixed",
        ),
    ] = None
    visit: Annotated[
        float | None,
        setting(
            "Users",
            "Mean number of requests or pages per visit (geometric).",
            "N",
            usual="exactly 1",
            engine={"users.visit": ""},
        ),
    ] = None
    visit_exactly: Annotated[
        int | None,
        setting(
            "Users",
            "Exact number of requests or pages per visit.",
            "N",
            engine={"users.visit": ""},
        ),
    ] = None
    think: Annotated[
        str | None,
        setting(
            "Users",
            "Mean pause between a response and the user's next request (exponential).",
            "TIME",
            engine={"users.think": ""},
        ),
    ] = None
    think_exactly: Annotated[
        str | None,
        setting(
            "Users",
            "Exact pause between a response and the user's next request.",
            "TIME",
            engine={"users.think": ""},
        ),
    ] = None
    cookies: Annotated[bool, setting("Users", "Keep cookies per user and send them back.")] = False
    new_users: Annotated[
        str | None,
        setting(
            "Users",
            "Share of visits by users without cookies.",
            "PERCENT",
            usual="0%; 100% with {sessions}",
            engine={"users.new_ratio": SHARE_EXPECTED},
        ),
    ] = None
    users: Annotated[
        int | None,
        setting(
            "Users",
            "Number of users, if not one per connection.",
            "N",
            usual="as many as {connections}",
            engine={"users.n_returning": ""},
        ),
    ] = None
    slow: Annotated[
        str | None,
        setting(
            "Users",
            "Put a share of users on slow lines: `28.8kbit:20%`. Results list them separately.",
            "LINE:PERCENT",
            engine={"slow.ratio": SLOW_EXPECTED, "slow": ""},
        ),
    ] = None
    slow_buffer: Annotated[
        str | None,
        setting(
            "Users",
            "Receive buffer of slow users: how much a server can send ahead.",
            "SIZE",
            usual="4KiB",
            engine={"slow.receive_buffer_bytes": ""},
        ),
    ] = None
    page_connections: Annotated[
        int | None,
        setting(
            "Connections",
            "Connections per user for a page's objects.",
            "N",
            usual=f"{Workload().connections_per_page}",
            engine={"arms[0].connections_per_page": ""},
        ),
    ] = None
    timeout: Annotated[
        str,
        setting(
            "Requests",
            "Count a request as an error after this time.",
            "TIME",
            engine={"timeout_s": ""},
        ),
    ] = "10s"


@cache
def settings() -> Mapping[str, Setting]:
    """Return the settings by their names, in the order of their declaration."""
    hints = get_type_hints(TrafficTable, include_extras=True)
    return {
        name: hints[name].__metadata__[0].extra["setting"]
        for name in TrafficTable.__struct_fields__
    }


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
