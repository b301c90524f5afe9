"""What a workload as people write it means: from `TrafficTable` to `Workload`."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TypeVar

from msgspec import structs

from httpdyno.errors import UsageError
from httpdyno.load.check import OutOfRange, out_of_range
from httpdyno.load.setting import (
    AT_LEAST_ONE,
    SHARE_EXPECTED,
    SLOW_EXPECTED,
    Naming,
    TrafficTable,
    settings,
)
from httpdyno.model.workload import (
    Arrival,
    Closed,
    Constant,
    Poisson,
    RateStage,
    Replay,
    RequestSpec,
    Sessions,
    SlowUsers,
    Stages,
    StepOrder,
    Think,
    TlsSpec,
    Users,
    Visit,
    VisitStep,
    Workload,
    n_expected,
    slow_users,
)
from httpdyno.units import (
    duration_s,
    factor,
    rate_or_zero_per_s,
    rate_per_s,
    share_ratio,
    size_bytes,
)

# Rates that change, as people write them: `10s: 0/s..500/s, 30s: 500/s`.

_STAGES_HINT = "give times and rates: `10s: 0/s..500/s, 30s: 500/s`"


def stages_from(text: str) -> tuple[RateStage, ...]:
    """Return the stages in `10s: 0/s..500/s, 30s: 500/s, 10s: 500/s..0/s`.

    Raises:
        UsageError: Not stages, or a stage without a length.
    """
    return tuple(_stage(part.strip()) for part in text.split(","))


def _stage(text: str) -> RateStage:
    length, colon, rates = text.partition(":")
    if not colon:
        raise UsageError(f"the stage `{text}` is not a time and a rate", hint=_STAGES_HINT)
    first, dots, last = (part.strip() for part in rates.partition(".."))
    try:
        stage = RateStage(
            duration_s=duration_s(length),
            from_per_s=rate_or_zero_per_s(first),
            to_per_s=rate_or_zero_per_s(last if dots else first),
        )
    except UsageError as error:
        raise UsageError(f"in the stage `{text}` {error}", hint=_STAGES_HINT) from error
    if stage.duration_s == 0:
        raise UsageError(f"the stage `{text}` takes no time", hint=_STAGES_HINT)
    return stage


# What each user does first, and in which order it does the rest: what makes sense of both.


def check_first(table: TrafficTable, naming: Naming, arrival: Arrival) -> None:
    """Refuse first steps where users do not stay.

    Raises:
        UsageError: With what they cannot be beside.
    """
    first = naming.name("first")
    if not isinstance(arrival, Closed):
        given = next(_given(table, naming, key) for key in _ARRIVALS if getattr(table, key))
        raise UsageError(
            f"{first} is for a closed loop, whose users stay; with {given} they come and go",
            hint=f"leave out {given}, or ask for it among the others",
        )
    if table.new_users is not None:
        raise UsageError(
            f"{first} and {_given(table, naming, 'new_users')} contradict each other: who is new "
            "has not done it",
            hint="keep one of them",
        )


def step_order(
    table: TrafficTable, naming: Naming, arrival: Arrival, steps: Sequence[VisitStep]
) -> StepOrder:
    """Return in which order visits take the steps.

    Raises:
        UsageError: There are no visits, or weights say otherwise.
    """
    if table.order != "given":
        return "mixed"
    order = _given(table, naming, "order")
    if not isinstance(arrival, Closed | Sessions):
        raise UsageError(
            f"{order} does nothing where requests come by themselves",
            hint=f"visits are in a closed loop, or in {naming.name('sessions', '20/s')}",
        )
    if len({step.weight for step in steps}) > 1:
        raise UsageError(
            f"{order} and weights contradict each other",
            hint="leave the weights out: each visit takes every step",
        )
    return "given"


def _given(table: TrafficTable, naming: Naming, key: str) -> str:
    return naming.name(key, getattr(table, key))


T = TypeVar("T")
N = TypeVar("N", int, float)

_RATE_EXPECTED = "a rate above zero, such as `500/s`"
_TIME_EXPECTED = "a time above zero, such as `10s`"
_PAUSE_EXPECTED = "a time of zero or more, such as `2s`"
_ARRIVALS = ("rate", "stages", "sessions", "replay")
_OF_REPLAY = ("speed", "replay_methods", "replay_spread")
_OF_USERS = ("visit", "visit_exactly", "think", "think_exactly")
_USUAL = Workload()


_STAGE = re.compile(r"arrival\.stages\[(\d+)\]")


def workload_from(  # noqa: PLR0913 - all that a workload is made of
    table: TrafficTable,
    naming: Naming,
    *,
    requests: tuple[RequestSpec, ...],
    steps: tuple[VisitStep, ...],
    first: tuple[RequestSpec, ...] = (),
    tls: TlsSpec | None = None,
) -> Workload:
    """Return what the words mean.

    Raises:
        UsageError: One of them makes no sense, or not beside the others.
    """
    words = _Words(table, naming)
    arrival = words.arrival()
    if first:
        check_first(table, naming, arrival)
    order = step_order(table, naming, arrival, steps)
    workload = Workload(
        requests=requests,
        steps=steps,
        order=order,
        first=first,
        arrival=arrival,
        connections=table.connections,
        connections_per_s=words.connections_per_s(arrival),
        requests_per_connection=words.requests_per_connection(),
        connections_per_page=words.connections_per_page(any(step.objects for step in steps)),
        users=words.users(
            arrival,
            has_first=bool(first),
            n_in_order=len(steps or requests) if order == "given" else 1,
        ),
        slow=words.slow(),
        tls=tls,
        timeout_s=words.parsed("timeout", duration_s, _TIME_EXPECTED) or 0.0,
    )
    words.check_ranges(workload)
    return workload


class _Words:
    """Reads one setting after the other, and says of a wrong one how it was given."""

    def __init__(self, table: TrafficTable, naming: Naming) -> None:
        self._table = table
        self._naming = naming

    def arrival(self) -> Arrival:
        table = self._table
        given = [key for key in _ARRIVALS if getattr(table, key) is not None]
        if len(given) > 1:
            first, second = (self._as_given(key) for key in given[:2])
            raise UsageError(
                f"{first} and {second} both say when requests are sent", hint="keep one of them"
            )
        self._check_poisson()
        for key in _OF_REPLAY:
            self._needs(key, "replay", "access.log")
        match given:
            case ["rate"]:
                per_s = self.parsed("rate", rate_per_s, _RATE_EXPECTED) or 0.0
                return Poisson(rate_per_s=per_s) if table.poisson else Constant(rate_per_s=per_s)
            case ["stages"]:
                return Stages(stages=self._stages("stages"), is_poisson=table.poisson)
            case ["sessions"]:
                return Sessions(stages=self._sessions())
            case ["replay"]:
                return self._replay()
            case _:
                return Closed()

    def _check_poisson(self) -> None:
        table = self._table
        if not table.poisson or table.rate is not None or table.stages is not None:
            return
        poisson = self._naming.name("poisson")
        if table.sessions is not None:
            raise UsageError(
                f"{poisson} changes nothing beside {self._as_given('sessions')}",
                hint="leave it out: sessions come at random anyway",
            )
        if table.replay is not None:
            raise UsageError(
                f"{poisson} cannot be beside {self._as_given('replay')}: the log has its own gaps",
                hint="keep one of them",
            )
        raise UsageError(
            f"{poisson} needs a rate",
            hint=f"add {self._naming.name('rate', '500/s')}, or leave it out",
        )

    def _stages(self, key: str) -> tuple[RateStage, ...]:
        try:
            stages = stages_from(getattr(self._table, key))
        except UsageError as error:
            raise UsageError(f"{self._as_given(key)}: {error}", hint=error.hint) from error
        n = n_expected(stages)
        if n < 1:
            raise UsageError(
                f"{self._as_given(key)} never sends: together the stages come to {n:.2g} requests",
                hint="give a rate above 0 to one of them, such as `10s: 0/s..500/s`",
            )
        return stages

    def _sessions(self) -> tuple[RateStage, ...]:
        if ":" in (self._table.sessions or ""):
            return self._stages("sessions")
        per_s = (
            self.parsed("sessions", rate_per_s, expected="users per second, such as `20/s`") or 0.0
        )
        return (RateStage(from_per_s=per_s, to_per_s=per_s),)

    def _replay(self) -> Replay:
        table = self._table
        methods = Replay(log="").methods
        if table.replay_methods is not None:
            named = [each.strip().upper() for each in table.replay_methods.split(",")]
            methods = tuple(dict.fromkeys(each for each in named if each))
            if not methods or not all(each.isalpha() for each in methods):
                raise self._wrong("replay_methods", "methods with commas, such as `GET,HEAD,POST`")
        speed = (
            self.parsed("speed", _some(factor), expected="a factor above zero, such as `2x`") or 1.0
        )
        if not table.replay:
            raise self._wrong("replay", "the path of an access log")
        return Replay(
            log=table.replay, speed=speed, methods=methods, spread=table.replay_spread or "even"
        )

    def connections_per_s(self, arrival: Arrival) -> float:
        if self._table.connection_rate is not None and not isinstance(arrival, Closed):
            raise UsageError(
                f"{self._as_given('connection_rate')} is for a closed loop; here connections are "
                "opened when requests need them",
                hint="leave it out",
            )
        return (
            self.parsed(
                "connection_rate", rate_per_s, expected="a rate above zero, such as `100/s`"
            )
            or 0.0
        )

    def requests_per_connection(self) -> int:
        table = self._table
        if table.requests_per_connection is None:
            return 0 if table.keep_alive else 1
        n = table.requests_per_connection
        if n == 0:  # for the engine: without a limit
            raise self._wrong("requests_per_connection", AT_LEAST_ONE)
        if not table.keep_alive and n != 1:
            raise _contradiction(
                self._naming.name("keep_alive"), self._as_given("requests_per_connection")
            )
        return n

    def connections_per_page(self, has_pages: bool) -> int:
        n = self._table.page_connections
        if n is None:
            return _USUAL.connections_per_page
        if not has_pages:
            raise UsageError(
                f"{self._as_given('page_connections')} does nothing without a page",
                hint="a page is a document with its objects",
            )
        return n

    def users(self, arrival: Arrival, *, has_first: bool, n_in_order: int) -> Users:
        table = self._table
        self._either("visit", "visit_exactly")
        self._either("think", "think_exactly")
        if not isinstance(arrival, Closed | Sessions):
            self._refuse_users_of_open_loop()
        if not table.cookies:
            for key in ("new_users", "users"):
                self._needs(key, "cookies", None)
        if isinstance(arrival, Closed) and table.users is not None:
            raise UsageError(
                f"{self._as_given('users')} is for an open loop: in a closed one each connection "
                "is a user",
                hint=f"say {self._naming.name('connections', table.users)}",
            )
        # A session is by default a person that was never here; any other request that goes with
        # cookies is one by somebody who has some.
        usual = 1.0 if isinstance(arrival, Sessions) else 0.0
        new_ratio = self.parsed("new_users", share_ratio, SHARE_EXPECTED)
        n = table.connections if table.users is None else table.users
        return Users(
            has_cookies=table.cookies or has_first,
            new_ratio=usual if new_ratio is None else new_ratio,
            n_returning=n,
            visit=self._visit(n_in_order),
            think=self._think(),
        )

    def _refuse_users_of_open_loop(self) -> None:
        for key in _OF_USERS:
            if getattr(self._table, key) is not None:
                raise UsageError(
                    f"{self._as_given(key)} does nothing where requests come by themselves",
                    hint=f"visits with pauses are {self._naming.name('sessions', '20/s')}",
                )

    def _visit(self, n_in_order: int) -> Visit:
        table = self._table
        if table.visit_exactly is not None:
            return Visit(mean_steps=table.visit_exactly)
        if table.visit is not None:
            return Visit(mean_steps=table.visit, is_geometric=True)
        return Visit(mean_steps=n_in_order)

    def _think(self) -> Think:
        exact_s = self.parsed("think_exactly", duration_s, _PAUSE_EXPECTED)
        mean_s = self.parsed("think", duration_s, _PAUSE_EXPECTED)
        if exact_s is not None:
            return Think(mean_s=exact_s)
        return Think(mean_s=mean_s or 0.0, is_exponential=bool(mean_s))

    def slow(self) -> SlowUsers | None:
        self._needs("slow_buffer", "slow", "28.8kbit:20%")
        if self._table.slow is None:
            return None
        try:
            slow = slow_users(self._table.slow)
        except UsageError as error:
            raise self._wrong("slow", SLOW_EXPECTED) from error
        size = self.parsed(
            "slow_buffer", _some(size_bytes), expected="a size above zero, such as `4KiB`"
        )
        return slow if size is None else structs.replace(slow, receive_buffer_bytes=size)

    def parsed(self, key: str, read: Callable[[str], T], expected: str) -> T | None:
        """Return what a setting says; None where it was not given."""
        text = getattr(self._table, key)
        if text is None:
            return None
        try:
            return read(text)
        except UsageError as error:
            raise self._wrong(key, expected) from error

    def check_ranges(self, workload: Workload) -> None:
        """Say of what the engine refuses how it was given."""
        refused = out_of_range(workload)
        if refused is None:
            return
        for place, names in _by_place().items():
            given = [name for name in names if getattr(self._table, name) is not None]
            if given and re.match(rf"{re.escape(place)}(?![a-z_])", refused.place):
                self._check_stage(given[0], refused)
                expected = settings()[given[0]].expected(place, refused.place, refused.expected)
                raise self._wrong(given[0], expected)
        raise UsageError(refused.sentence)

    def _check_stage(self, key: str, refused: OutOfRange) -> None:
        """Refuse one of the stages of a setting, if it was one, as it was written."""
        text, stage = str(getattr(self._table, key)), _STAGE.match(refused.place)
        if ":" in text and stage is not None:
            wrong = text.split(",")[int(stage[1])].strip()
            raise UsageError(
                f"{self._as_given(key)}: the stage `{wrong}` makes no sense; "
                f"expected {refused.expected}"
            )

    def _either(self, first: str, second: str) -> None:
        if getattr(self._table, first) is not None and getattr(self._table, second) is not None:
            raise _contradiction(self._as_given(first), self._as_given(second))

    def _needs(self, key: str, other: str, example: str | None) -> None:
        if getattr(self._table, key) is None or getattr(self._table, other):
            return
        raise UsageError(
            f"{self._as_given(key)} does nothing without {self._naming.name(other)}",
            hint=f"add {self._naming.name(other, example)}",
        )

    def _as_given(self, key: str) -> str:
        return self._naming.name(key, getattr(self._table, key))

    def _wrong(self, key: str, expected: str) -> UsageError:
        value = getattr(self._table, key)
        return UsageError(self._naming.complaint(key, value, expected))


@cache
def _by_place() -> Mapping[str, list[str]]:
    """Return by what the engine calls them which settings it may refuse, the narrowest first."""
    found: dict[str, list[str]] = {}
    for name, each in settings().items():
        for place in each.engine:
            found.setdefault(place, []).append(name)
    return dict(sorted(found.items(), key=lambda item: -len(item[0])))


def _contradiction(first: str, second: str) -> UsageError:
    return UsageError(f"{first} and {second} contradict each other", hint="keep one of them")


def _some(read: Callable[[str], N]) -> Callable[[str], N]:
    """Return a reader that refuses what is not above zero."""

    def checked(text: str) -> N:
        value = read(text)
        if value <= 0:
            raise UsageError(f"`{text}` is not above zero")
        return value

    return checked
