"""What is offered to the target."""

from typing import Annotated, Literal, get_args

import msgspec

from httpdyno.model.arrival import Arrival, Closed, Constant, Poisson, is_open
from httpdyno.model.base import Record
from httpdyno.model.users import SlowUsers, Users
from httpdyno.model.written import DERIVED, Duration, Memory, Ratio

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
