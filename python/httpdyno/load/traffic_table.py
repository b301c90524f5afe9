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
    keep_alive: bool = True
    requests_per_connection: int | None = None
    connection_rate: str | None = None
    rate: str | None = None
    poisson: bool = False
    stages: str | None = None
    sessions: str | None = None
    replay: str | None = None
    speed: str | None = None
    replay_methods: str | None = None
    replay_spread: LogSpread | None = None
    order: StepOrder | None = None
    visit: float | None = None
    visit_exactly: int | None = None
    think: str | None = None
    think_exactly: str | None = None
    cookies: bool = False
    new_users: str | None = None
    users: int | None = None
    slow: str | None = None
    slow_buffer: str | None = None
    page_connections: int | None = None
    timeout: str = "10s"


class FirstTable(Record, frozen=True):
    """`[[workload.first]]`: what each user asks for once, before its measured requests."""

    path: str = "/"
    method: str = ""
    """Empty is GET, or POST with a form."""
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    body: str = ""
    form: dict[str, str] = msgspec.field(default_factory=dict)
    """The fields of a form, in place of a body."""
    expect_status: int | Literal["ok"] = 200
    expect_length: int | None = None


class RequestTable(FirstTable, frozen=True):
    """`[[workload.requests]]`, one step of the mix: a request, or a page with its objects."""

    weight: float = 1.0
    objects: tuple[str, ...] = ()


class WorkloadTable(TrafficTable, frozen=True):
    """`[workload]`."""

    first: tuple[FirstTable, ...] = ()
    requests: tuple[RequestTable, ...] = (RequestTable(),)
