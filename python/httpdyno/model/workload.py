"""What is offered to the target."""

from httpdyno.model.base import Record


class RequestSpec(Record, frozen=True):
    """One request, and what a right answer to it looks like."""

    path: str = "/"
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    expect_status: int | None = 200
    """None accepts any 2xx or 3xx."""
    expect_length: int | None = None
    """Bytes of the decoded body."""


class Workload(Record, frozen=True):
    """Requests sent in turn over some connections, closed loop or at a constant rate."""

    requests: tuple[RequestSpec, ...] = (RequestSpec(),)
    connections: int = 8
    keep_alive: bool = True
    rate_per_s: float | None = None
    """None is closed loop: each connection sends again as soon as it was answered."""
    timeout_s: float = 10.0
    """The client's patience: at this age a request counts as timed out, and as this old."""


class Objective(Record, frozen=True):
    """What decides a comparison, and what must hold besides."""

    metric: str = "throughput_per_s"
    """`throughput_per_s` (more is better), `latency_pNN_s` or `cpu_s_per_request` (less is)."""
    tie_breaker: str = ""
    """Another metric, which decides where the first shows no difference; empty for none."""
    max_error_ratio: float = 0.001
    max_p99_s: float | None = None
    margin_ratio: float = 0.01
    """Differences within ±this are `equivalent`: too small to matter."""
    confidence: float = 0.95
    """That a verdict is not a wrong `better` or `worse`, however often one looks."""

    @property
    def deciding_confidence(self) -> float:
        """Confidence of each interval: two metrics that may decide share the risk (Bonferroni)."""
        return 1 - (1 - self.confidence) / 2 if self.tie_breaker else self.confidence
