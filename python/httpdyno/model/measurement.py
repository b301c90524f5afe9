"""What was measured of the load: windows as the load engine saw them."""

from collections.abc import Collection, Sequence

import msgspec
from msgspec import structs

from httpdyno.model.base import Record
from httpdyno.model.telemetry import WorkersSeen


class HistogramData(Record, frozen=True):
    """A latency distribution as sparse buckets; mergeable exactly."""

    bounds_ns: tuple[int, ...] = ()
    """Upper bound of each bucket that is not empty, ascending; (n_buckets,)."""
    counts: tuple[int, ...] = ()
    sum_s: float = 0.0
    max_s: float = 0.0


NO_VALUES = HistogramData()
"""Stands for every distribution without a value: what is this very one takes no room where it is
stored. So it is with the other ones called NO_… below."""


class Phases(Record, frozen=True, omit_defaults=True):
    """Where the time of completed measured requests went; the five sums add up to latency's."""

    client_queue: HistogramData = NO_VALUES
    """From where latency counts to where a connection took the request."""
    connect: HistogramData = NO_VALUES
    """Only of requests that opened a connection; so is `tls`."""
    tls: HistogramData = NO_VALUES
    first_byte: HistogramData = NO_VALUES
    """From the connection's being ready to the first byte of the answer."""
    transfer: HistogramData = NO_VALUES
    """From the first byte to the last."""


NO_PHASES = Phases()


class Portion(Record, frozen=True, omit_defaults=True):
    """What became of some of a window's measured requests: those to one URL, or of one kind."""

    offered: int = 0
    completed: int = 0
    errors: dict[str, int] = msgspec.field(default_factory=dict)
    latency: HistogramData | None = NO_VALUES
    """None where it is not kept: of requests beyond the 64th."""
    bytes_received: int = 0

    @property
    def n_errors(self) -> int:
        """Requests that did not get the right answer."""
        return sum(self.errors.values())


class Pages(Record, frozen=True, omit_defaults=True):
    """Documents with their objects; a page fails when any part of it does."""

    offered: int = 0
    completed: int = 0
    failed: int = 0
    time: HistogramData = NO_VALUES
    """From the page's base, as for latency, to the end of its last object; of pages that were given
    up at least as long."""
    censored: HistogramData = NO_VALUES
    """What is a lower bound in `time`."""


NO_PAGES = Pages()


class Visits(Record, frozen=True, omit_defaults=True):
    """What became of users' visits."""

    started: int = 0
    finished: int = 0
    left: int = 0
    """A request timed out: the user lost patience."""
    cut: int = 0
    """Under way when the window ended."""
    new_users: int = 0
    returning_users: int = 0


NO_VISITS = Visits()


class Batches(Record, frozen=True, omit_defaults=True):
    """The measured part in equal intervals, at most 256; its lists are (n_intervals,)."""

    interval_s: float = 0.0
    offered: tuple[int, ...] = ()
    completed: tuple[int, ...] = ()
    errors: tuple[int, ...] = ()
    latency: tuple[HistogramData, ...] = ()
    """Of the requests that ended in the interval, two significant digits."""


NO_BATCHES = Batches()


class Trace(Record, frozen=True, omit_defaults=True):
    """Instants of a window's first measured requests, for `numpy.frombuffer`; 0 is never."""

    due_ns: bytes = b""
    """uint64 each, CLOCK_MONOTONIC; (n_traced,) like the others."""
    issued_ns: bytes = b""
    written_ns: bytes = b""
    end_ns: bytes = b""
    request: bytes = b""
    """uint32: the index in the workload's requests."""
    outcome: bytes = b""
    """uint8: 0 is a right answer, else 1 + the kind of error."""


NO_TRACE = Trace()


class Cycles(Record, frozen=True, omit_defaults=True):
    """What the users of a closed loop got done, cycle by cycle, while the window was measured.

    A cycle goes from the beginning of a user's step to that of the next one, pause included.
    """

    credit: float
    """Right answers of the measured part; a cycle over one of its edges gives the share of its
    own that its time within is of its length."""
    n_users: int
    begun: int
    """Cycles that began in the measured part, followed to their ends."""
    begun_right: int
    """Their right answers."""
    begun_s: float
    """The sum of their lengths."""
    begun_s2: float
    """The sum of the squares of their lengths."""
    longest_s: float
    first_s: float = 0.0
    """The longest of the users' first cycles, connecting included, in the lead-in or after it; 0
    where users go on with connections that they have."""
    later_s: float = 0.0
    """The longest of all later ones, whenever it was; 0 likewise."""
    n_open: int = 0
    """Of those begun, how many did not end while the load went on."""
    n_starved: int = 0
    """Users whose cycle lasted from before the measured part until the load ended."""
    open_credit: float = 0.0
    """What the cycles that did not end would have added to `credit`, at most."""
    is_fresh: bool = False
    """The measured part began with the load: of a start from scratch, not of a steady loop."""


class Evidence(Record, frozen=True):
    """What the verdict on the limit rests on; times and ratios of the measured part."""

    client_cpu_ratio: float = 0.0
    """CPU time over wall time of the busiest thread, from the begin of the measured part to the
    end of sending."""
    client_wait_ratio: float = 0.0
    """The part of that time in which that thread was ready to run and had no CPU: what it lost
    to the server and others on the same cores."""
    client_ready_ratio: float = 0.0
    """Of the requests on connections, the part that had news when a thread came to look,
    averaged over time: near 1 where answers wait for the client, near 0 where the client waits
    for answers."""
    client_frozen_ratio: float = 0.0
    """The part of that time in which this process was suspended: by a CPU quota, a
    signal, a frozen machine."""
    client_throttled_ratio: float = 0.0
    """Time for which a CPU quota throttled this process's control group, summed over the CPUs
    that it was on, over that time; at most 1."""
    client_stolen_ratio: float = 0.0
    """The part of that time for which the host of this virtual machine ran others on a CPU that
    the client may use, the one that lost most; at most 1."""
    involuntary_switches: float = 0.0
    """How often a thread of the engine was taken off its CPU although it could have gone on."""
    lateness_p99_s: float = 0.0
    """99 % of the measured requests were sent at most this late; 0 in a closed loop."""
    busy_connections: float = 0.0
    """Mean of requests on connections over the measured part."""
    busy_ratio: float = 0.0
    """The part of the connections that they are."""
    due_requests: float = 0.0
    """Requests, pages and steps of visits that were due, each once: what waited or was late is a
    part of them. 0 in a closed loop."""
    waited_requests: float = 0.0
    """Requests that were due when no connection was idle."""
    late_requests: float = 0.0
    """Requests that were sent over a millisecond late, and not for want of a connection."""
    service_inflation_ratio: float = 0.0
    """Mean service time over that of the window's first requests, which met an idle server; 0
    where there were none, or no more than those."""
    unloaded_requests: float = 0.0
    """How many first requests those were."""
    service_spread_ratio: float = 0.0
    """Standard deviation over mean of the service times after those, of each request by itself."""
    service_likeness_ratio: float = 0.0
    """How alike those were that ended one after the other: their correlation. Requests that wait
    in one queue wait for the same."""
    loaded_requests: float = 0.0
    """Of how many requests."""
    answer_gap_spread_ratio: float = 0.0
    """Standard deviation over mean of the gaps between the ends of those on a thread: near 0 where
    a server answers one after the other."""
    others_cpu_ratio: float = 0.0
    """CPU time on this machine that was not this process's over the measured part: 1 is a core.
    The server's is in it, if it is on this machine."""
    others_risen_ratio: float = 0.0
    """How much more of it other programs ran than from this one's start to this window, when
    nothing had been sent; 0 where nobody knows, as of later windows."""
    idle_cpu_ratio: float = 0.0
    """What was left of this machine's CPUs: 1 is a core."""
    offered_per_s: float = 0.0
    """Offered in the measured part, per second."""
    achieved_per_s: float = 0.0
    """Right answers in the measured part, per second."""
    retries: float = 0.0
    """Requests sent again because their idle connection proved stale."""
    surplus_answers: float = 0.0
    """Connections on which bytes came that belong to no answer."""
    lost_cookies: float = 0.0
    """Cookies that a user's jar had no room for: what followed was not asked as a browser would."""
    uncoded_answers: float = 0.0
    """Answers that came as they are though they are compressed for who accepts that."""
    no_descriptors: float = 0.0
    """Requests that found no file descriptor."""
    no_ports: float = 0.0
    """Requests that found no local port."""
    unanswered_connect_ratio: float = 0.0
    """The part of the time on connections that went into connecting without an answer to the
    first `SYN`."""
    listen_overflows: float = 0.0
    """Connections that found a full accept queue, in the whole network namespace."""
    listen_drops: float = 0.0
    """All connections that a listener dropped, in the whole network namespace."""
    syn_retransmits: float = 0.0
    """SYN and SYN ACK segments sent again, in the whole network namespace."""
    tcp_retransmits: float = 0.0
    """All segments sent again, in the whole network namespace."""
    long_answers: float = 0.0
    """Measured requests whose service took as long as a segment that had to be sent again."""
    long_answer_ratio: float = 0.0
    """The part of the measured requests' service time that went into those."""
    little_residual_ratio: float = 0.0
    """How far the mean number of requests on connections, integrated as they came and went, is
    from rate times mean time on a connection by their records (Little's law), relative to it.
    Over 0.02 the engine's own counts are wrong."""


NO_EVIDENCE = Evidence()


class PhaseSeen(Record, frozen=True, omit_defaults=True):
    """What a phase of a turn saw that does not decide."""

    measured_s: float
    measured_completed: int
    """Right answers that ended in the measured part."""
    offered: int
    """In the whole window, as in the next two: `offered == completed + sum(errors)`."""
    completed: int
    errors: dict[str, int] = msgspec.field(default_factory=dict)
    latency: HistogramData = NO_VALUES
    cpu_s: float = 0.0
    credit: float | None = None
    """Right answers of the measured part by cycles, where those are known."""
    pss_bytes: int | None = None
    """As in `Telemetry`, at the window's end. So are the next two."""
    uss_bytes: int | None = None
    n_processes: int = 0
    workers: tuple[WorkersSeen, ...] = ()
    """As in `Telemetry`."""


def times_of_request(name: str) -> str:
    """Return what the distribution of a request's latencies is called."""
    return f"{_OF_REQUEST}{name}"


def request_of_times(times: str) -> str:
    """Return the request whose latencies are called so; empty where it is no request's."""
    return times.removeprefix(_OF_REQUEST) if times.startswith(_OF_REQUEST) else ""


_OF_REQUEST = "latency of "


class Measurement(Record, frozen=True, omit_defaults=True):
    """One window of load. `offered == completed + sum(errors)`."""

    opened_s: float
    """Monotonic clock."""
    measured_s: float
    """Length of the measured part."""
    total_s: float
    """Whole window: lead-in, measured part and drain."""
    offered: int
    completed: int
    """Right answers of the whole window."""
    errors: dict[str, int] = msgspec.field(default_factory=dict)
    reasons: dict[str, tuple[str, str]] = msgspec.field(default_factory=dict)
    """Of a kind of error why its first request failed, where more is known: a word, and what
    belongs into its sentence."""
    statuses: dict[str, int] = msgspec.field(default_factory=dict)
    measured_offered: int = 0
    measured_completed: int = 0
    measured_errors: int = 0
    connects: int = 0
    handshakes_full: int = 0
    handshakes_resumed: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    latency: HistogramData = NO_VALUES
    """Of measured requests: completed ones, and `censored`, which took at least that long."""
    service_time: HistogramData = NO_VALUES
    lateness: HistogramData = NO_VALUES
    censored: HistogramData = NO_VALUES
    """The ages of requests that never ended (timed out, unfinished, unsent): lower bounds."""
    phases: Phases = NO_PHASES
    by_request: tuple[Portion, ...] = ()
    """In the order of the requests that were sent; empty where there is only one."""
    of_request: dict[str, HistogramData] = msgspec.field(default_factory=dict)
    """Latencies of the requests that an objective names, by their names."""
    by_population: dict[str, Portion] = msgspec.field(default_factory=dict)
    """`usual` and `slow`; empty without slow clients."""
    pages: Pages = NO_PAGES
    visits: Visits = NO_VISITS
    series_interval_s: float = 0.1
    series_completed: tuple[int, ...] = ()
    series_errors: tuple[int, ...] = ()
    series_latency_max_s: tuple[float, ...] = ()
    batches: Batches = NO_BATCHES
    trace: Trace = NO_TRACE
    client_cpu_s: float = 0.0
    cycles: Cycles | None = None
    """Of a closed-loop window that was asked for them."""
    limited_by: str = ""
    evidence: Evidence = NO_EVIDENCE
    beside: dict[str, PhaseSeen] = msgspec.field(default_factory=dict)
    """The other phases of the same turn, by their names; empty where a study has none."""

    @property
    def throughput_per_s(self) -> float:
        """Right answers per second of the measured part."""
        return self.measured_right / self.measured_s if self.measured_s > 0 else 0.0

    @property
    def measured_right(self) -> float:
        """Right answers of the measured part: by cycles where those are known, else as ended."""
        return self.measured_completed if self.cycles is None else self.cycles.credit

    @property
    def n_errors(self) -> int:
        """Requests of the whole window that did not get the right answer."""
        return sum(self.errors.values())

    def lean(self, kept: Collection[str] = (), names: Sequence[str] = ()) -> "Measurement":
        """Return what a comparison of many windows needs and stores of it.

        Of each request only counts, and those only where some failed: which one must be said.

        Args:
            kept: Distributions that something is claimed of: `first_byte`, `latency of search`.
            names: Of the requests that were sent.
        """
        each = self.by_request or (Portion(latency=self.latency),)
        named = {
            n: p.latency for n, p in zip(names, each, strict=False) if times_of_request(n) in kept
        }
        parts = self.by_request if self.measured_errors else ()
        by_request = tuple(structs.replace(each, latency=None) for each in parts)
        return structs.replace(
            self,
            phases=Phases(first_byte=self.phases.first_byte) if "first_byte" in kept else NO_PHASES,
            by_request=by_request,
            of_request={name: latency for name, latency in named.items() if latency is not None},
            batches=NO_BATCHES,
            trace=NO_TRACE,
        )
