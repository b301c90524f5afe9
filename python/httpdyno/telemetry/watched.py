"""Servers that are watched: one look after the other, and what came of it since the first one.

A **request's cost** is CPU time over the requests that the server counts. Both are of what lies
between looks, so what the server does besides, the answer to who asks for its status among it, is
in there; of few requests that is a large part, and nothing is said of them.

How long an **answer holds a worker** is Little's law: workers that are at answers, over answers a
second. Both are means, the former of as many moments as there were looks, so what is said holds of
all answers since the first status. Of Apache's states those count in which it makes an answer:
reading is also what a process does that waits for a client's first byte, and keep-alive and closing
hold it when the answer is made. Apache's own `Total Duration` is not taken: 2.4.71 has the time of
a CGI script in it twice.

Servers that **somebody else measures now** (`Follower`) are looked at so cheaply that it changes
little: how many processes they have and what CPU time they used, as a window's edges read it. Their
memory is not read: the kernel holds up a process whose page tables it walks, and that one is being
timed. Whoever measures reads it when windows are over, and stores it.

Source: Little, A Proof for the Queuing Formula L = λW, Operations Research 9, 1961.
"""

import math
import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from httpdyno.host.procfs import stat_of
from httpdyno.model import LogLines, RootProcess
from httpdyno.reason import Reason
from httpdyno.telemetry.account import WholeGroup, account_found, lone_group
from httpdyno.telemetry.kernel import HostMemory, Sockets, host_memory
from httpdyno.telemetry.log import LogTail, continued
from httpdyno.telemetry.pool import Pool, PoolChange, Turnover, change, pool, turned, turnover
from httpdyno.telemetry.processes import descriptors_to_keep
from httpdyno.telemetry.profile.counters import EACH_SECOND_RATIO as DISK_RATIO
from httpdyno.telemetry.profile.counters import Disk, DiskTransfers
from httpdyno.telemetry.server_sockets import EACH_SECOND_RATIO, ServerSockets
from httpdyno.telemetry.status import APACHE, NGINX, PHP_FPM, Status, requests_per_s
from httpdyno.telemetry.worker import Sample, WorkerSampler

LEAST_REQUESTS = 10
_LEAST_TICKS_S = 10 / os.sysconf("SC_CLK_TCK")
"""Of less CPU time that comes in ticks a ratio says nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestCost:
    """CPU time and requests of the same time."""

    cpu_s: float = 0.0
    n_requests: float = 0.0
    is_exact: bool = True
    """Whether CPU time is a control group's, and not in ticks."""

    def __add__(self, other: "RequestCost") -> "RequestCost":
        """Return both together."""
        return RequestCost(
            cpu_s=self.cpu_s + other.cpu_s,
            n_requests=self.n_requests + other.n_requests,
            is_exact=self.is_exact and other.is_exact,
        )

    @property
    def cpu_s_per_request(self) -> float | None:
        """CPU seconds of a request in the mean; None where there is too little of either."""
        is_enough = self.cpu_s > 0 if self.is_exact else self.cpu_s >= _LEAST_TICKS_S
        if self.n_requests < LEAST_REQUESTS or not is_enough:
            return None
        return self.cpu_s / self.n_requests


@dataclass(frozen=True, kw_only=True, slots=True)
class DiskRequests:
    """Requests of the time between two readings of disk transfers, which has several looks."""

    n: float | None = None
    """None where they are not counted, or there were no two readings yet."""
    since: float | None = 0.0
    """Those since the last reading."""

    def with_look(self, took: RequestCost | None, *, is_new: bool) -> "DiskRequests":
        """Return it with one look more.

        Args:
            took: Requests since the look before; None where they are not counted.
            is_new: Whether disk transfers were read at that look.
        """
        n = None if took is None or self.since is None else self.since + took.n_requests
        return DiskRequests(n=n) if is_new else DiskRequests(n=self.n, since=n)


_AT_ANSWERS = {
    APACHE: ("W answering", "D DNS lookup", "L logging"),
    # Also while it waits for what is behind it.
    NGINX: ("writing",),
    PHP_FPM: ("active",),
}
_SIGHTINGS = 10
"""Workers that were seen at answers: of fewer a mean says nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TimeAtAnswers:
    """What an answer takes of a worker, in the mean."""

    seconds: float
    n_looks: int
    n_seen: int
    """Workers that these looks saw at answers, added up."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StatusTally:
    """What a page said from the first time on."""

    first: Status
    first_at_s: float
    last: Status
    last_at_s: float
    """Of the same clock."""
    n_looks: int
    n_seen: int

    @property
    def answer_time(self) -> TimeAtAnswers | None:
        """What an answer took; None where too little was seen or the page does not tell it."""
        first, last = self.first.n_requests, self.last.n_requests
        seconds = self.last_at_s - self.first_at_s
        if first is None or last is None or seconds <= 0 or self.n_seen < _SIGHTINGS:
            return None
        n_own = self.n_looks - 1 if self.last.counts_itself else 0
        n_answers = last - first - n_own
        if n_answers <= 0:
            return None
        per_s = n_answers / seconds
        return TimeAtAnswers(
            seconds=self.n_seen / self.n_looks / per_s, n_looks=self.n_looks, n_seen=self.n_seen
        )


def tallied(tally: StatusTally | None, status: Status | None, at_s: float) -> StatusTally | None:
    """Return the tally with what a page says at one moment.

    Args:
        tally: Until then; None before the first status.
        status: None where it did not answer.
        at_s: When that was.
    """
    if status is None or status.server not in _AT_ANSWERS:
        return tally
    others = status.others
    n_seen = sum(others.get(name, 0) for name in _AT_ANSWERS[status.server])
    if tally is None or (status.n_requests or 0) < (tally.last.n_requests or 0):
        # A server that began anew counts anew.
        return StatusTally(
            first=status,
            first_at_s=at_s,
            last=status,
            last_at_s=at_s,
            n_looks=1,
            n_seen=n_seen,
        )
    return replace(
        tally,
        last=status,
        last_at_s=at_s,
        n_looks=tally.n_looks + 1,
        n_seen=tally.n_seen + n_seen,
    )


_KEPT = 0.5
"""Of the files that this process may open: one who watches opens few others."""
_LOG_BYTES = 1 << 14
"""Of an error log that are read in a look: of lines that all differ some 3 ms."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerSample:
    """A server at one moment."""

    sample: Sample
    pool: Pool
    host: HostMemory
    sockets: Sockets
    states_age_s: float = 0.0
    """How long ago its connections were read."""
    status: Status | None = None
    """What it says itself; None where it was not asked, or did not answer."""
    status_at_s: float | None = None
    """When it said so, by the monotonic clock; None where that is when the sample was taken."""
    no_status: Reason | None = None
    """Why it did not."""
    group_cpu_s: float | None = None
    """CPU time of all that ever ran in its control group; None where that is not told, and where
    others may be in it."""
    disk: Disk | None = None
    """As it was read last, which may be some looks ago."""
    log: LogLines | None = None
    """What came into its error logs since the look before; None where none can be read."""

    @property
    def said_at_s(self) -> float:
        """When it said its status: a full pool answers long after the sample was taken."""
        return self.sample.at_s if self.status_at_s is None else self.status_at_s


@dataclass(frozen=True, kw_only=True, slots=True)
class Watched:
    """The last look, and what happened between it and those before."""

    now: ServerSample
    n_looks: int = 1
    since_s: float = 0.0
    """How long ago the first look was."""
    change: PoolChange | None = None
    """Since the look before; None at the first."""
    cpu_ratio: float | None = None
    """CPU seconds per second since the look before: of its control group, or of all that are there
    and of those that ended and were waited for; None at the first."""
    swap_ins_per_s: float | None = None
    """Pages of the whole machine; since the look before, as the next one."""
    requests_per_s: float | None = None
    """As the server counts them; None where it was not asked twice, or does not."""
    n_births: int = 0
    """Since the first look, as all that follow."""
    n_deaths: int = 0
    overflows: int | None = None
    """Of all listen queues in its network namespace; None where they are not told."""
    n_statuses: int = 0
    """Looks at which it said what its workers do."""
    status_counts: Mapping[str, int] = field(default_factory=dict)
    """In how many of these some worker was in which state, added up over the workers."""
    first_overflows: int | None = None
    turnover: Turnover | None = None
    """What births and deaths cost."""
    tally: StatusTally | None = None
    """What its status page said until now."""
    log: LogLines | None = None
    """What came into its error logs; None where none can be read."""
    served: Mapping[int, int] = field(default_factory=dict)
    """Requests by process since it began, as its page said last; empty where it says none."""
    cost: RequestCost | None = None
    """Of requests since the look before; None where they are not counted."""
    whole_cost: RequestCost = field(default_factory=RequestCost)
    """Of those since the first look."""
    disk_requests: DiskRequests = field(default_factory=DiskRequests)
    """Those of the time that `now.disk` is of."""
    run_queue: float | None = None
    """Mean of all looks, of threads of the machine that ran or were ready; None: not told."""

    @property
    def answer_time(self) -> TimeAtAnswers | None:
        """How long an answer holds a worker, by its status page; None where that does not tell."""
        return self.tally.answer_time if self.tally else None

    @property
    def state_ratios(self) -> Mapping[str, float]:
        """Shares of the workers' time by state, as far as looks can tell."""
        total = sum(self.status_counts.values())
        return {name: n / total for name, n in self.status_counts.items()} if total else {}


def first_look(look: ServerSample) -> Watched:
    """Return what one look tells."""
    overflows = look.sockets.overflows
    return _with_status(
        Watched(
            now=look,
            first_overflows=overflows,
            overflows=None if overflows is None else 0,
            turnover=turnover(look.sample),
            run_queue=look.host.run_queue,
            log=look.log,
        )
    )


def next_look(before: Watched, look: ServerSample) -> Watched:
    """Return what is known with one look more."""
    happened = change(before.now.sample, look.sample)
    overflows = look.sockets.overflows
    asked = before.now.status, look.status
    cost = turned(before.turnover or turnover(before.now.sample), happened, look.sample)
    cpu_ratio, is_exact = _cpu(before.now, look, happened, cost)
    rate, took = None, None
    if asked[0] and asked[1]:
        rate = requests_per_s(asked[0], asked[1], look.said_at_s - before.now.said_at_s)
    if rate is not None:
        took = RequestCost(
            cpu_s=cpu_ratio * happened.elapsed_s,
            n_requests=rate * happened.elapsed_s,
            is_exact=is_exact,
        )
    return _with_status(
        Watched(
            now=look,
            n_looks=before.n_looks + 1,
            since_s=before.since_s + happened.elapsed_s,
            change=happened,
            cpu_ratio=cpu_ratio,
            swap_ins_per_s=(look.host.swap_ins - before.now.host.swap_ins) / happened.elapsed_s,
            requests_per_s=rate,
            n_births=before.n_births + happened.births,
            n_deaths=before.n_deaths + happened.deaths,
            overflows=(
                None
                if overflows is None or before.first_overflows is None
                else overflows - before.first_overflows
            ),
            n_statuses=before.n_statuses,
            status_counts=before.status_counts,
            first_overflows=before.first_overflows,
            turnover=cost,
            tally=before.tally,
            served=before.served,
            log=continued(before.log, look.log),
            cost=took,
            whole_cost=before.whole_cost + took if took else before.whole_cost,
            disk_requests=before.disk_requests.with_look(
                took, is_new=_disk_at_s(look) != _disk_at_s(before.now)
            ),
            run_queue=_mean(before.run_queue, look.host.run_queue, before.n_looks + 1),
        )
    )


def _cpu(
    before: ServerSample, now: ServerSample, happened: PoolChange, cost: Turnover
) -> tuple[float, bool]:
    """Return CPU seconds per second, and whether a control group tells them."""
    if before.group_cpu_s is None or now.group_cpu_s is None:
        return happened.pool_cpu_ratio + cost.ended_ratio, False
    return max(0.0, now.group_cpu_s - before.group_cpu_s) / happened.elapsed_s, True


def _disk_at_s(look: ServerSample) -> float | None:
    return look.disk.at_s if look.disk else None


def _mean(before: float | None, now: int | None, n: int) -> float | None:
    return None if before is None or now is None else before + (now - before) / n


def _with_status(watched: Watched) -> Watched:
    """Return it with what the server says now added to what it said before."""
    said = watched.now.status
    if said is None:
        return watched
    counts = Counter(watched.status_counts)
    counts.update(said.others)
    return replace(
        watched,
        n_statuses=watched.n_statuses + 1,
        status_counts=counts,
        tally=tallied(watched.tally, said, watched.now.said_at_s),
        served=said.served or watched.served,
    )


class Watcher:
    """Looks at a server again and again. Not for several threads at once."""

    def __init__(  # noqa: PLR0913 - what is known of a server
        self,
        root_pid: int,
        inodes: Collection[int],
        *,
        whole: WholeGroup | None = None,
        most_s: float = math.inf,
        ask: Callable[[], Status | Reason] | None = None,
        logs: Collection[Path] = (),
    ) -> None:
        """Watch a server.

        Args:
            root_pid: The process that it began as.
            inodes: Of the sockets that it listens at.
            whole: Its control group, where whoever is in there belongs to it, with the processes
                that it began as: they may be several.
            most_s: CPU time that reading processes is to take in a look; where there is a bound,
                connections are read in turn, too.
            ask: Has the server say its status, or returns why it does not; None not to ask.
            logs: Files that it writes its errors to.
        """
        roots = (whole.root_pids if whole else ()) or (root_pid,)
        self._sockets = ServerSockets(
            inodes, most_ratio=math.inf if most_s == math.inf else EACH_SECOND_RATIO
        )
        self._sampler = WorkerSampler(
            roots,
            most_s=most_s,
            keeps=descriptors_to_keep(_KEPT),
            others=tuple if whole is None else whole.pids,
        )
        self._disk = DiskTransfers(most_ratio=math.inf if most_s == math.inf else DISK_RATIO)
        self._ask = ask
        self._tail = LogTail(logs)
        if whole is None and (own := lone_group(root_pid)) is not None:
            whole = WholeGroup(own)
        self._group = whole

    def look(self, *, is_last: bool = False) -> ServerSample | None:
        """Return the server now; None when it has ended.

        Args:
            is_last: Whether nobody looks again: then a line of its log is told without its end.
        """
        sample = self._sampler.read()
        living = [each for each in sample.workers if not each.is_zombie]
        if not living:
            return None
        said = self._ask() if self._ask else None
        said_at_s = time.monotonic()
        # Its first process may be gone before the last of its workers.
        told = self._sockets.look(living[0].pid)
        new_lines = self._tail.lines if is_last else self._tail.next_lines
        return ServerSample(
            sample=sample,
            pool=pool(sample),
            host=host_memory(),
            sockets=told,
            states_age_s=self._sockets.states_age_s if told.states else 0.0,
            status=said if isinstance(said, Status) else None,
            status_at_s=said_at_s if isinstance(said, Status) else None,
            no_status=said if isinstance(said, Reason) else None,
            group_cpu_s=self._group.cpu_s() if self._group else None,
            disk=self._disk.look(sample),
            log=new_lines(most_bytes=_LOG_BYTES),
        )


Roots = tuple[RootProcess, ...]
"""What names a server: no other one began as the same processes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerSeen:
    """A server at one moment."""

    roots: tuple[tuple[int, str], ...]
    """The pid and the name of each process that it began as and that is there."""
    n_processes: int
    cpu_ratio: float | None = None
    """CPU seconds per second since the look before; None at the first."""
    misses_children: bool = False
    """Whether children that nobody waits for are not in that."""


class Follower:
    """Looks at servers again and again; they come and go. Not for several threads at once."""

    def __init__(self) -> None:
        self._eyes: dict[Roots, _Eyes] = {}

    def look(self, servers: Iterable[Roots]) -> Mapping[Roots, ServerSeen]:
        """Return those that are there and can be seen from here."""
        self._eyes = {roots: self._eyes.get(roots) or _Eyes(roots) for roots in servers if roots}
        seen = {roots: eyes.look() for roots, eyes in self._eyes.items()}
        return {roots: each for roots, each in seen.items() if each is not None}


class _Eyes:
    """On one server."""

    def __init__(self, roots: Sequence[RootProcess]) -> None:
        self._roots = tuple(roots)
        self._account = account_found([each.pid for each in roots])
        self._misses_children = self._account.misses_children()
        self._before: tuple[float, float] | None = None

    def look(self) -> ServerSeen | None:
        """Return it now; None where none of its roots is there."""
        names = ((each, _name(each)) for each in self._roots)
        there = tuple((each.pid, name) for each, name in names if name)
        if not there:
            return None
        at_s, usage = time.monotonic(), self._account.read()
        before, self._before = self._before, (at_s, usage.cpu_s)
        ratio = None
        if before is not None and at_s > before[0]:
            # Reaped time is cut to ticks, so a reading may be a little less than the one before.
            ratio = max(0.0, usage.cpu_s - before[1]) / (at_s - before[0])
        return ServerSeen(
            roots=there,
            n_processes=usage.n_processes,
            cpu_ratio=ratio,
            misses_children=self._misses_children,
        )


def _name(process: RootProcess) -> str:
    """Return what a process is called; empty where it has ended, and another may have its pid."""
    now = stat_of(process.pid)
    return now.name if now is not None and now.started_ticks == process.start_ticks else ""
