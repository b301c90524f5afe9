"""What is offered to the target: when requests come, who sends them, and what they are."""

from typing import Annotated, Literal, get_args

import msgspec

from httpdyno.errors import UsageError
from httpdyno.model.base import Record
from httpdyno.model.written import DERIVED, Duration, Memory, Ratio
from httpdyno.units import bandwidth_bytes_per_s, share_ratio

# When requests come: closed loop, or one of the open ones.
#
# In a *closed* loop a user sends again when it was answered, so a slow server is asked less. In an
# *open* loop requests come when they come, as from people who know nothing of each other; latency
# counts from when each was due. *Sessions* are in between: users come as they like, but each sends
# its next request only after the answer and some thought.

LogSpread = Literal["even", "random", "burst"]
LOG_SPREADS: tuple[LogSpread, ...] = get_args(LogSpread)


class Closed(Record, frozen=True, tag_field="kind", tag="closed"):
    """Each user sends again as soon as it was answered and has thought."""


class Constant(Record, frozen=True, tag_field="kind", tag="constant"):
    """Requests come evenly spaced."""

    rate_per_s: float


class Poisson(Record, frozen=True, tag_field="kind", tag="poisson"):
    """Requests come at random, as from independent users: exponential gaps."""

    rate_per_s: float


class RateStage(Record, frozen=True):
    """The rate goes evenly from one value to another."""

    from_per_s: float
    to_per_s: float
    duration_s: float | None = None
    """None has no end."""


class Stages(Record, frozen=True, tag_field="kind", tag="stages"):
    """Requests come at a rate that changes; afterwards there are none."""

    stages: tuple[RateStage, ...]
    is_poisson: bool = False


class Sessions(Record, frozen=True, tag_field="kind", tag="sessions"):
    """Users come at random (Poisson) at a rate, each for one visit."""

    stages: tuple[RateStage, ...]


class Replay(Record, frozen=True, tag_field="kind", tag="replay"):
    """The requests of an access log come with the gaps they had."""

    log: str
    """Path of the file."""
    speed: float = 1.0
    """2 halves the gaps."""
    methods: tuple[str, ...] = ("GET", "HEAD")
    """Other requests of the log are left out: they may change what the server keeps."""
    spread: LogSpread = "even"
    """What is done with requests that the log puts into the same second: laid over it evenly or
    at random, or all sent at its beginning."""


Arrival = Closed | Constant | Poisson | Stages | Sessions | Replay


def is_open(arrival: Arrival) -> bool:
    """Whether latency counts from when a request was due, however fast the answers come."""
    return not isinstance(arrival, Closed)


def rate_at_most_per_s(arrival: Arrival) -> float | None:
    """Return the highest rate asked for, of requests or sessions; None where none is."""
    match arrival:
        case Constant() | Poisson():
            return arrival.rate_per_s
        case Stages() | Sessions():
            return max(max(each.from_per_s, each.to_per_s) for each in arrival.stages)
        case _:
            return None


def length_s(arrival: Arrival) -> float | None:
    """Return how long the stages take; None where the arrival has no end of its own."""
    if not isinstance(arrival, Stages | Sessions):
        return None
    lengths = [stage.duration_s for stage in arrival.stages]
    return None if None in lengths else sum(each for each in lengths if each is not None)


def n_expected(stages: tuple[RateStage, ...]) -> float:
    """Return how many arrivals the stages stand for; infinite where one has no end."""
    total = 0.0
    for stage in stages:
        mean_per_s = (stage.from_per_s + stage.to_per_s) / 2
        if mean_per_s > 0:
            total += float("inf") if stage.duration_s is None else mean_per_s * stage.duration_s
    return total


# Who sends: virtual users with their visits, thoughts and cookies, and those on slow lines.


class Visit(Record, frozen=True):
    """How many steps (requests or pages) a user takes before it leaves."""

    mean_steps: float = 1.0
    is_geometric: bool = False
    """Drawn anew for each visit, with that mean; else each visit has just so many."""


class Think(Record, frozen=True):
    """The pause between a user's steps, after the answer to the one and before the next."""

    mean_s: float = 0.0
    is_exponential: bool = False
    """Drawn anew for each pause, with that mean; else each pause is just so long."""


class Users(Record, frozen=True):
    """What the users are like."""

    has_cookies: bool = False
    """Each user keeps the cookies it gets, and sends them back."""
    new_ratio: float = 0.0
    """Of visits: by users that come for the first time, without cookies."""
    n_returning: int = 1
    """Open loop and sessions: how many users there are to come again."""
    visit: Visit = Visit()
    think: Think = Think()


class SlowUsers(Record, frozen=True):
    """Some of the connections, limited as by a slow line, both ways."""

    ratio: float
    """Of connections."""
    bytes_per_s: float
    receive_buffer_bytes: int = 4096
    """The socket's: what a server can send ahead of the reader."""


def slow_users(line: str) -> SlowUsers:
    """Return the users on a line such as `28.8kbit:20%`, which without a share are all of them.

    Raises:
        UsageError: It is no line with a share, or slows nobody.
    """
    bandwidth, colon, share = line.partition(":")
    slow = SlowUsers(
        ratio=share_ratio(share) if colon else 1.0,
        bytes_per_s=bandwidth_bytes_per_s(bandwidth),
    )
    if slow.bytes_per_s <= 0 or slow.ratio <= 0:  # for the engine: no limit, nobody
        raise UsageError(f"the line `{line}` slows nobody", hint="Such as `28.8kbit:20%`.")
    return slow


StepOrder = Literal["mixed", "given"]
ORDERS: tuple[StepOrder, ...] = get_args(StepOrder)

FORM_TYPE = ("Content-Type", "application/x-www-form-urlencoded")
"""The header of a body of which nobody says what it is: as browsers and curl send it."""


class RequestSpec(Record, frozen=True):
    """One request, and what a right answer to it looks like.

    Path, header values and body may hold `{n}` (the request's number in the run), `{user}` (the
    user's number) and `{random}` (16 hexadecimal digits).
    """

    path: str = "/"
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    body_file: str = ""
    """A file with the body, read when the load begins; not beside `body`."""
    expect_status: int | None = 200
    """None accepts any 2xx or 3xx."""
    expect_length: int | None = None
    """Bytes of the decoded body: without chunks and gzip. Of one coded otherwise nobody knows."""
    name: str = ""
    """By which an objective may name it; empty for none."""


class VisitStep(Record, frozen=True):
    """What a user asks for in one step: a request, or a page with what belongs to it."""

    request: int
    """Index in the workload's requests; of a page, its document."""
    objects: tuple[int, ...] = ()
    """Of a page: what is asked for once the document is there."""
    weight: float = 1.0


class TlsSpec(Record, frozen=True):
    """How connections are encrypted. Files are named, not kept: one of them is a secret."""

    server_name: str = ""
    """Sent as SNI, and checked in the certificate."""
    roots_file: str = ""
    """PEM, whom to trust; empty for whom the system trusts."""
    certificate_file: str = ""
    """PEM, the client's own chain; empty for none."""
    key_file: str = ""
    is_verified: bool = True
    """Whether the server's certificate is checked."""
    versions: Literal["any", "1.2", "1.3"] = "any"
    resumes: bool = True
    """Whether later connections take up a former session."""


class Workload(Record, frozen=True):
    """Requests, who sends them and when, and over which connections."""

    requests: tuple[RequestSpec, ...] = (RequestSpec(),)
    """All there are; of a replay they are in the log."""
    steps: tuple[VisitStep, ...] = ()
    """The mix: taken in turn when all weigh the same, else drawn. Empty: each request is one."""
    order: StepOrder = "mixed"
    """`given`: each visit takes the steps in their order, from the first one on."""
    first: tuple[RequestSpec, ...] = ()
    """Closed loop: what each user asks for once, in this order, before anything is measured, such
    as a login. The cookies stay."""
    arrival: Arrival = Closed()
    connections: int = 8
    """Closed loop: users, each with its connection; else the most connections at a time."""
    connections_per_s: float = 0.0
    """Closed loop: users begin at this rate; 0 is all at once."""
    requests_per_connection: int = 0
    """0 has no limit, 1 is no keep-alive."""
    connections_per_page: int = 6
    """A page's objects come over so many connections at a time."""
    users: Users = Users()
    slow: SlowUsers | None = None
    tls: TlsSpec | None = None
    timeout_s: float = 10.0
    """The client's patience: at this age a request counts as timed out, and as this old."""

    @property
    def keep_alive(self) -> bool:
        """Whether a connection takes more than one request."""
        return self.requests_per_connection != 1

    @property
    def is_open_loop(self) -> bool:
        """Whether requests have a due time, from which their latency counts."""
        return is_open(self.arrival)

    @property
    def mix(self) -> tuple[VisitStep, ...]:
        """The steps, also where there is just one for each request."""
        return self.steps or tuple(VisitStep(request=i) for i in range(len(self.requests)))

    @property
    def asked(self) -> tuple[RequestSpec, ...]:
        """The requests that some step asks for: of a page's objects a knob may leave some out."""
        places = {index for step in self.mix for index in (step.request, *step.objects)}
        return tuple(each for index, each in enumerate(self.requests) if index in places)

    @property
    def request_names(self) -> tuple[str, ...]:
        """The names of all requests; empty of those that have none."""
        return tuple(each.name for each in self.requests)

    @property
    def has_pages(self) -> bool:
        """Whether some step has objects."""
        return any(step.objects for step in self.steps)


SECOND_RISK = 0.2
"""The second metric's part of an objective's risk of a wrong word; the metric has the rest.

So at 95 % in all the metric has 96 %, which makes its interval 6 % wider at six starts (its
half-width is 2.04 standard deviations where it would be 1.93) and 3 % at twelve. The second one has
99 %, half as wide again at six starts: what it has to say is mostly clear, and decides nothing.
"""


class Objective(Record, frozen=True):
    """`[objective]`: what decides, and what must hold besides."""

    metric: str = "throughput_per_s"
    """What decides: `throughput_per_s`, `cpu_s_per_request`, `pss_bytes` (memory, shared pages
    counted once), `uss_bytes_per_process` (what a process has for itself alone, on average),
    `bytes_per_request`, or `latency_p50_s`, `latency_p90_s`, `latency_p95_s`, `latency_p99_s`,
    `latency_p999_s`; with `p50`, `p90`, `p95` and `p99` also `first_byte_p50_s` (until an answer
    begins), `page_p50_s` (pages with all their objects) and `usual_p50_s` (users who are not slow;
    their answers are `usual_throughput_per_s`; of those who are, `slow_p50_s` and
    `slow_throughput_per_s`). Of one request that has a `name` it is `latency_p90_s of NAME`, and so
    on. {metrics} With `[fragments]` it is `cpu_s_per_call`."""
    tie_breaker: str = ""
    """Another metric, which decides where the first is proven to lose little."""
    second_metric: Annotated[str, DERIVED] = ""
    """What has a claim of its own beside the metric, and decides nothing: fixed with the study,
    before there are data (`second_metric_of`). Where a tie breaker is named that is the second one.
    Empty for none."""
    also: tuple[str, ...] = ()
    """Further metrics that each have a claim of their own, and decide nothing."""
    max_error_ratio: float = 0.001
    """Requests that may fail, as a share of all: beyond it a change is not kept, and by more than
    luck may do it is refused. With `0` one failure refuses it."""
    max_memory_bytes: Memory | None = None
    """What the server's processes may take together, such as `512MiB`, shared pages counted once; a
    change that takes more is not kept."""
    max_p99_s: Duration | None = None
    """The p99 latency beyond which a change is not kept."""
    margin_ratio: Ratio = 0.01
    """Differences within ± this ratio are `equivalent`: too small to matter."""
    confidence: float = 0.95
    """That no verdict is a wrong `better` or `worse`, however often one looks."""

    @property
    def second(self) -> str:
        """The metric that has a claim of its own beside the first; empty where none has."""
        return self.tie_breaker or self.second_metric

    @property
    def named(self) -> frozenset[str]:
        """All metrics that have a claim."""
        return frozenset(filter(None, (self.metric, self.tie_breaker, *self.beside)))

    @property
    def beside(self) -> tuple[str, ...]:
        """The metrics with a claim of their own that decide nothing."""
        second = () if self.tie_breaker or not self.second_metric else (self.second_metric,)
        return (*second, *self.also)

    def confidence_of(self, metric: str) -> float:
        """Return the confidence of a metric's interval.

        Metrics that may speak share the risk (Bonferroni), so that all together keep the
        objective's confidence, whatever they have to do with each other. Those that may decide, the
        metric and a tie breaker, have equal parts of what `SECOND_RISK` leaves; those that are told
        beside have equal parts of that, or nothing of it is taken where there are none. All others
        claim nothing, and have the objective's confidence each for itself.
        """
        deciding = [each for each in (self.metric, self.tie_breaker) if each]
        beside = self.beside
        if metric not in {*deciding, *beside}:
            return self.confidence
        for_beside = SECOND_RISK if beside else 0.0
        is_deciding = metric in deciding
        share = (1 - for_beside) / len(deciding) if is_deciding else for_beside / len(beside)
        return 1 - (1 - self.confidence) * share


def at_rate(workload: Workload, rate_per_s: float | None) -> Workload:
    """Return the workload at another rate of requests; the same where there is none, or none asked.

    Args:
        workload: Of which only a rate that does not change can be another one.
        rate_per_s: None leaves it.
    """
    if rate_per_s is None or not isinstance(workload.arrival, Constant | Poisson):
        return workload
    arrival = msgspec.structs.replace(workload.arrival, rate_per_s=rate_per_s)
    return msgspec.structs.replace(workload, arrival=arrival)


def second_metric_of(metric: str, tie_breaker: str, *, is_open_loop: bool) -> str:
    """Return what has a claim of its own beside an objective's metric; empty where nothing has.

    The tie breaker where one is named. Else what a request costs, which is often proven when the
    metric is not; beside that the throughput, unless the schedule of an open loop decides it.
    """
    if tie_breaker:
        return tie_breaker
    if metric != "cpu_s_per_request":
        return "cpu_s_per_request"
    return "" if is_open_loop else "throughput_per_s"
