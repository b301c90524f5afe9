"""A server that is watched: one look after the other, and what came of it since the first one."""

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from httpdyno.model import LogLines
from httpdyno.telemetry.account import lone_group
from httpdyno.telemetry.answer_time import AnswerTime, StatusTally, tallied
from httpdyno.telemetry.disk import EACH_SECOND_RATIO as DISK_RATIO
from httpdyno.telemetry.disk import Disk, DiskTransfers
from httpdyno.telemetry.log_line import continued
from httpdyno.telemetry.log_tail import LogTail
from httpdyno.telemetry.pool import Pool, PoolChange, change, pool
from httpdyno.telemetry.proc_file import descriptors_to_keep
from httpdyno.telemetry.request_cost import DiskRequests, RequestCost
from httpdyno.telemetry.server_sockets import EACH_SECOND_RATIO, ServerSockets
from httpdyno.telemetry.status_text import Status, requests_per_s
from httpdyno.telemetry.surroundings import HostMemory, Sockets, host_memory
from httpdyno.telemetry.turnover import Turnover, turned, turnover
from httpdyno.telemetry.whole_group import WholeGroup
from httpdyno.telemetry.worker import Sample, WorkerSampler

_KEPT = 0.5
"""Of the files that this process may open: one who watches opens few others."""
_LOG_BYTES = 1 << 14
"""Of an error log that are read in a look: of lines that all differ some 3 ms."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
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
    no_status: str = ""
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

    now: Look
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
    def answer_time(self) -> AnswerTime | None:
        """How long an answer holds a worker, by its status page; None where that does not tell."""
        return self.tally.answer_time if self.tally else None

    @property
    def state_ratios(self) -> Mapping[str, float]:
        """Shares of the workers' time by state, as far as looks can tell."""
        total = sum(self.status_counts.values())
        return {name: n / total for name, n in self.status_counts.items()} if total else {}


def first_look(look: Look) -> Watched:
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


def next_look(before: Watched, look: Look) -> Watched:
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


def _cpu(before: Look, now: Look, happened: PoolChange, cost: Turnover) -> tuple[float, bool]:
    """Return CPU seconds per second, and whether a control group tells them."""
    if before.group_cpu_s is None or now.group_cpu_s is None:
        return happened.pool_cpu_ratio + cost.ended_ratio, False
    return max(0.0, now.group_cpu_s - before.group_cpu_s) / happened.elapsed_s, True


def _disk_at_s(look: Look) -> float | None:
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
        ask: Callable[[], Status | str] | None = None,
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

    def look(self, *, is_last: bool = False) -> Look | None:
        """Return the server now; None when it has ended.

        Args:
            is_last: Whether nobody looks again: then a line of its log is told without its end.
        """
        sample = self._sampler.read()
        living = [each for each in sample.workers if not each.is_zombie]
        if not living:
            return None
        said = self._ask() if self._ask else ""
        said_at_s = time.monotonic()
        # Its first process may be gone before the last of its workers.
        told = self._sockets.look(living[0].pid)
        new_lines = self._tail.lines if is_last else self._tail.next_lines
        return Look(
            sample=sample,
            pool=pool(sample),
            host=host_memory(),
            sockets=told,
            states_age_s=self._sockets.states_age_s if told.states else 0.0,
            status=None if isinstance(said, str) else said,
            status_at_s=None if isinstance(said, str) else said_at_s,
            no_status=said if isinstance(said, str) else "",
            group_cpu_s=self._group.cpu_s() if self._group else None,
            disk=self._disk.look(sample),
            log=new_lines(most_bytes=_LOG_BYTES),
        )
