"""A thread that looks at a server while others load it, and takes little to do so.

It looks some 20 times a second, at uneven distances, so that it is not in step with what the server
does. Its own CPU time decides: where a sample takes long, there are fewer.
"""

import os
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

from httpdyno.host.procfs import content
from httpdyno.model.look import CompanionSeen, Doing, Look, QueueSeen
from httpdyno.reason import because
from httpdyno.telemetry.account import Account, account_found, group_cpu_s
from httpdyno.telemetry.kernel import (
    MachineCounters,
    cpu_ticks_of,
    cpus,
    groups_of,
    pressed,
    quotas,
    running_threads,
)
from httpdyno.telemetry.processes import ThreadTable, TrackedProcess
from httpdyno.telemetry.profile.counters import Balance, Counters
from httpdyno.telemetry.profile.end import Ends
from httpdyno.telemetry.profile.sampler import Means, StateCounts, ThreadSampler


class Shared(NamedTuple):
    """How many CPUs are shared, and the mean number of them that ran anything; 0 for none."""

    cpus: float = 0.0
    busy: float = 0.0
    """By whomever; 0 where that is not told."""


class SharedCpus:
    """Counts what is used of them from when it is made."""

    def __init__(self, pids: Collection[int]) -> None:
        """Find what some processes share with this one.

        Args:
            pids: The server's.
        """
        n_cpus = os.sysconf("SC_NPROCESSORS_ONLN")
        self._cpus = _cpus_shared(pids)
        if len(self._cpus) >= n_cpus:
            self._cpus = frozenset()
        self._groups = [
            (folder, version, quota)
            for folder, version in _groups_shared(pids)
            for quota in quotas([(folder, version)])
            if quota < n_cpus
        ]
        self._began_s = time.monotonic()
        self._ticks = cpu_ticks_of(self._cpus)
        self._used_s = [used_s(folder, version) for folder, version, _ in self._groups]

    def seen(self) -> Shared:
        """Return those of which least was left, by what was used since."""
        each = list(self._each(time.monotonic() - self._began_s))
        told = [Shared(cpus, busy) for cpus, busy in each if busy is not None]
        if len(told) < len(each):
            return min((Shared(cpus, busy or 0.0) for cpus, busy in each), key=lambda it: it.cpus)
        return max(told, key=lambda it: (it.busy / it.cpus, -it.cpus), default=Shared())

    def _each(self, seconds: float) -> Iterator[tuple[float, float | None]]:
        if n := len(self._cpus):
            now, before = cpu_ticks_of(self._cpus), self._ticks
            if now is None or before is None or now[1] <= before[1]:
                yield n, None
            else:
                yield n, (1 - (now[0] - before[0]) / (now[1] - before[1])) * n
        for (folder, version, quota), before_s in zip(self._groups, self._used_s, strict=True):
            now_s = used_s(folder, version)
            is_told = now_s is not None and before_s is not None and seconds > 0
            yield quota, max(0.0, (now_s or 0.0) - (before_s or 0.0)) / seconds if is_told else None


def used_s(folder: str, version: int) -> float | None:
    """Return the CPU time of all that ever ran in a control group; None where it is not told."""
    if version != 1:
        return group_cpu_s(folder)
    # There only where both controllers are mounted as one, as systemd does.
    with suppress(OSError, ValueError):
        return int(Path(folder, "cpuacct.usage").read_text(encoding="ascii")) / 1e9
    return None


def _cpus_shared(pids: Collection[int]) -> frozenset[int]:
    """Return the CPUs that any of both may run on, where one may run where the other does."""
    own, theirs = os.sched_getaffinity(os.getpid()), set[int]()
    for pid in pids:
        with suppress(OSError):  # it has just ended
            theirs |= os.sched_getaffinity(pid)
    return frozenset(own | theirs if own & theirs else ())


def _groups_shared(pids: Collection[int]) -> list[tuple[str, int]]:
    theirs = {each for group in groups_of(pids, "cpu") for each in group}
    return [each for group in groups_of([os.getpid()], "cpu") for each in group if each in theirs]


_EVERY_S = 0.05
_SAMPLES_CPU_RATIO = 0.015
"""Of a core, at most; with the next less than 3 %."""
_COUNTERS_EVERY_S = 0.5
_COUNTERS_CPU_RATIO = 0.005
_ATTEMPTS = 3
_SMOOTHING = 0.2
_GOLDEN = 0.6180339887498949
_KEEPER_CPU_RATIO, _KEEPER_CPU_S = 0.01, 0.02
"""Who keeps children uses less of a core, or less than two ticks."""
_ALONE: frozenset[Doing] = frozenset({"sleep", "running"})
"""What a parent is at whose children have all ended: it begins others by a clock."""
_OWN_NETWORK = "/proc/self/ns/net"
_PATIENCE_S = 20.0
"""A sample takes milliseconds; but the kernel may be asked several things, for 5 s each."""
_MISSED = because("telemetry.missed_cpu")


@dataclass(frozen=True, kw_only=True, slots=True)
class DependencyTrees:
    """Trees of a server that answer none of the load: a companion, told apart from its workers."""

    name: str
    root_pids: Sequence[int]
    """Of those that the server has."""
    account: Account
    """What they used, for one profiler alone."""


class Profiler:
    """Looks at a server from `start` to `stop`; once."""

    def __init__(
        self,
        root_pids: Sequence[int],
        network: str = "",
        *,
        account: Account | None = None,
        companions: Sequence[DependencyTrees] = (),
        patience_s: float = _PATIENCE_S,
    ) -> None:
        """Look at some trees.

        Args:
            root_pids: The processes whose trees are the server.
            network: A network namespace that its sockets are in, such as `/proc/PID/ns/net`,
                beside those of these processes.
            account: What they used, for this profiler alone; None to open one.
            companions: Which of them answer none of the load.
            patience_s: How long its beginning and its end are waited for.
        """
        self._roots = tuple(root_pids)
        self._account = account or account_found(root_pids)
        self._companions = tuple(companions)
        self._network = network
        self._patience_s = patience_s
        self._has_begun, self._is_over = Event(), Event()
        self._look: Look | None = None
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, name="profiler", daemon=True)
        self.own_cpu_s = 0.0
        """CPU time that looking took."""

    def start(self) -> None:
        """Begin to look; what happens from when this returns is seen."""
        self._thread.start()
        self._has_begun.wait(self._patience_s)

    def stop(self) -> Look:
        """End it; return what was seen, without what only the client knows."""
        self._is_over.set()
        self._thread.join(self._patience_s)
        if self._thread.is_alive():
            # A file of /proc may wait for a process that holds its own memory's lock.
            late = because("telemetry.did_not_end", patience_s=self._patience_s)
            return Look(seconds=0.0, n_samples=0, hidden=(late,))
        if self._error is not None:
            raise self._error
        assert self._look is not None  # noqa: S101 - one of both is set
        return self._look

    def _run(self) -> None:
        try:
            networks = networks_of(self._roots, self._network)
            ends = Ends(networks)
            try:
                looking = _Looking(self._roots, networks, ends, self._account, self._companions)
                self._look = looking.until(self._is_over, self._has_begun)
            finally:
                ends.close()
        except BaseException as error:
            self._error = error
            self._has_begun.set()
        self.own_cpu_s = time.thread_time()


def networks_of(pids: Sequence[int], network: str = "") -> tuple[str, ...]:
    """Return the paths of the network namespaces of some processes; an empty one is this one's.

    Args:
        pids: Theirs.
        network: One more.
    """
    own = _name(_OWN_NETWORK)
    paths = [network or _OWN_NETWORK, *(f"/proc/{pid}/ns/net" for pid in pids)]
    by_name = {_name(path): path for path in reversed(paths)}
    by_name.pop("", None)  # it is gone, or may not be seen
    return tuple("" if name == own else path for name, path in by_name.items()) or ("",)


def _name(path: str) -> str:
    with suppress(OSError):
        status = os.stat(path)  # noqa: PTH116 - as the others
        return f"{status.st_dev}:{status.st_ino}"
    return ""


class _Looking:
    """All that is read from the first moment to the last."""

    def __init__(
        self,
        roots: Sequence[int],
        networks: Sequence[str],
        ends: Ends,
        account: Account,
        companions: Sequence[DependencyTrees],
    ) -> None:
        self._roots = roots
        self._networks = networks
        self._ends = ends
        self._companions = companions
        self._programs = [_program(each.root_pids) for each in companions]
        parts = {pid: n for n, each in enumerate(companions, 1) for pid in each.root_pids}
        self._table = ThreadTable(roots, parts)
        self._sampler = ThreadSampler(self._table, ends)
        self._tally = StateCounts()
        self._counters = Counters()
        self._account = account
        self._queues: dict[int, list[int]] = {}
        self._addresses: dict[int, tuple[int, str, int]] = {}
        """By inode: the part that listens there, where, and its backlog."""
        self._states: list[dict[str, int]] = []
        self._n_unread = 0
        self._known: set[int] = set()
        self._holds_clients: set[int] = set()
        self._keeps: set[int] = set()
        self._alone: set[int] = set()
        self._run_queue = 0
        self._cpus = 0.0
        self._shared = SharedCpus(())

    def until(self, is_over: Event, has_begun: Event) -> Look:
        """Look until it is over; say when it has begun."""
        self._table.update()
        self._ends.begin()
        self._shared = SharedCpus([*self._table.members])
        opened_s, cpu_s, before = time.monotonic(), self._cpu_s(), self._machine()
        companions_s = [each.account.read().cpu_s for each in self._companions]
        counters_cost_s = self._read_counters()
        self._counters.begin()
        has_begun.set()
        sample_at_s = time.monotonic()
        counters_at_s = sample_at_s + _counters_distance_s(counters_cost_s)
        sample_cost_s = 0.0
        while not is_over.is_set() or not self._tally.n_samples:
            cost_s = self._sample()
            sample_cost_s += (cost_s - sample_cost_s) * (_SMOOTHING if sample_cost_s else 1.0)
            if time.monotonic() >= counters_at_s:
                counters_cost_s = self._read_counters() + self._read_states()
                counters_at_s = time.monotonic() + _counters_distance_s(counters_cost_s)
            every_s = max(_EVERY_S, sample_cost_s / _SAMPLES_CPU_RATIO)
            # Evenly spread over from half of it to one and a half, in an order without a pattern.
            sample_at_s += every_s * (0.5 + self._tally.n_samples * _GOLDEN % 1.0)
            sample_at_s = max(sample_at_s, time.monotonic())
            is_over.wait(max(0.0, sample_at_s - time.monotonic()))
        self._read_counters()
        seconds = time.monotonic() - opened_s
        # Begun after the whole and read before it, or a part of it could come out as more.
        now_s = [each.account.read().cpu_s for each in self._companions]
        used_s, after = self._cpu_s() - cpu_s, self._machine()
        companions_s = [max(0.0, b - a) for a, b in zip(companions_s, now_s, strict=True)]
        self._read_states()
        return self._told(seconds, (used_s, companions_s), before, after)

    def _sample(self) -> float:
        """Look once; return the CPU time that it took, as the next two."""
        began_s = time.thread_time()
        self._tally.add(self._sampler.sample())
        self._keeps |= {each.pid for each in self._table.members.values() if each.has_children}
        self._look_for_lone_parents()
        for part, each in self._ends.queues():
            self._queues.setdefault(each.inode, []).append(each.waiting)
            self._addresses[each.inode] = (part, each.address, each.backlog)
        # This thread itself runs, too.
        self._run_queue += max(0, running_threads(content(b"/proc/loadavg")) - 1)
        return time.thread_time() - began_s

    def _look_for_lone_parents(self) -> None:
        """Find who has nobody below or beside it, and no client either.

        A pool whose workers have all ended, and that gets others by a clock, is one parent alone
        for most of the time, whatever began that. So is a server of one process, but while it has
        a request it has a client; where sockets are not told nobody can say so.
        """
        if self._ends.hidden:
            return
        by_part: dict[int, list[TrackedProcess]] = {}
        for each in self._table.members.values():
            by_part.setdefault(each.part, []).append(each)
        for line in by_part.values():
            leaves = [each.pid for each in line if not each.has_children]
            if len(leaves) != 1 or not self._tally.did_only(leaves[0], _ALONE):
                continue
            # Of whom it is below, too: who has a request may wait for what it began.
            clients = {each.pid for each in line if self._holds_client(each.pid)}
            self._holds_clients |= clients
            if not clients:
                self._alone.add(leaves[0])

    def _holds_client(self, pid: int) -> bool:
        return pid in self._holds_clients or self._ends.holds_any_client(pid)

    def _read_counters(self) -> float:
        began_s = time.thread_time()
        for _ in range(_ATTEMPTS):
            is_whole = self._table.update(is_whole=True)
            members = list(self._table.members.values())
            if self._counters.read(members) and is_whole:
                break
        due = [each.pid for each in members if each.pid not in self._known or each.has_children]
        self._known.update(due)
        self._holds_clients |= self._ends.learn({pid: self._table.part_of[pid] for pid in due})
        self._cpus = self._cpus or cpus([each.pid for each in members])
        return time.thread_time() - began_s

    def _read_states(self) -> float:
        began_s = time.thread_time()
        self._states.append(dict(self._ends.states()))
        self._n_unread += self._ends.unread()
        return time.thread_time() - began_s

    def _cpu_s(self) -> float:
        return self._account.read().cpu_s

    def _machine(self) -> MachineCounters:
        return MachineCounters(self._roots, self._networks)

    def _told(
        self,
        seconds: float,
        used_s: tuple[float, Sequence[float]],
        before: MachineCounters,
        after: MachineCounters,
    ) -> Look:
        balance = self._counters.balance(self._table.last)
        keepers = self._keepers(balance, seconds)
        means = self._means_of(0, keepers, balance)
        loops_asleep = self._tally.asleep(balance.alone, keepers | self._others_than(0))
        cpu_s, companions_s = used_s
        transfers = balance.transfers
        connections: Counter[str] = Counter()
        for each in self._states:
            connections.update(each)
        shared = self._shared.seen()
        idle, total = (now - past for now, past in zip(after.ticks, before.ticks, strict=True))
        return Look(
            seconds=seconds,
            n_samples=self._tally.n_samples,
            workers=means.workers,
            doing=dict(means.doing),
            unclear=means.unclear,
            backends=dict(means.backends),
            cpu_s=max(0.0, cpu_s),
            cpus=self._cpus,
            wait_s=balance.wait_s,
            switches_voluntary=balance.voluntary,
            switches_involuntary=balance.involuntary,
            births=self._table.births,
            deaths=self._table.deaths,
            spawn_cpu_s=balance.spawn_cpu_s,
            major_faults=balance.major_faults,
            read_bytes=transfers.read_bytes if transfers else None,
            written_bytes=transfers.written_bytes if transfers else None,
            read_calls=transfers.read_calls if transfers else None,
            write_calls=transfers.write_calls if transfers else None,
            queues=self._queues_seen(0),
            overflows=after.overflows_since(before),
            connections={each: n / len(self._states) for each, n in connections.items()},
            unread=self._n_unread / len(self._states),
            loops_asleep=loops_asleep,
            host_cpus=os.sysconf("SC_NPROCESSORS_ONLN"),
            host_busy=(1 - idle / total) * os.sysconf("SC_NPROCESSORS_ONLN") if total else 0.0,
            shared_cpus=shared.cpus,
            shared_busy=shared.busy,
            host_run_queue=self._run_queue / self._tally.n_samples,
            host_forks=after.forks_since(before),
            swap_ins=max(0, after.memory.swap_ins - before.memory.swap_ins),
            pressure=pressed(before.memory, after.memory, after.at_s - before.at_s),
            memory_limit_hits=after.hits_since(before),
            companions=tuple(
                self._companion(n, self._means_of(n, keepers, balance), used_s)
                for n, used_s in enumerate(companions_s, 1)
            ),
            hidden=(
                *self._sampler.hidden,
                *self._ends.hidden,
                *self._counters.hidden.values(),
                *([_MISSED] if self._account.misses_children() else ()),
            ),
        )

    def _means_of(self, part: int, keepers: set[int], balance: Balance) -> Means:
        """Return what was seen of the workers of a part."""
        return self._tally.means(keepers | self._others_than(part), balance.worked)

    def _others_than(self, part: int) -> set[int]:
        return {pid for pid, whose in self._table.part_of.items() if whose != part}

    def _companion(self, part: int, means: Means, cpu_s: float) -> CompanionSeen:
        queues = self._queues_seen(part)
        return CompanionSeen(
            name=self._companions[part - 1].name,
            program=self._programs[part - 1],
            addresses=tuple(each.address for each in queues),
            cpu_s=cpu_s,
            workers=means.workers,
            doing=dict(means.doing),
            waiting=sum(each.mean for each in queues),
            births=self._table.births_of[part],
            deaths=self._table.deaths_of[part],
        )

    def _keepers(self, balance: Balance, seconds: float) -> set[int]:
        """Return the processes that only keep children, though there may be none for a while."""
        busy = self._tally.served | self._holds_clients
        most_s = max(_KEEPER_CPU_S, _KEEPER_CPU_RATIO * seconds)
        alone = {pid for pid in self._alone if self._tally.did_only(pid, _ALONE)}
        keeps = self._keeps | alone
        return {pid for pid in keeps if pid not in busy and balance.own_s.get(pid, 0.0) < most_s}

    def _queues_seen(self, part: int) -> tuple[QueueSeen, ...]:
        return tuple(
            QueueSeen(
                address=address,
                backlog=backlog,
                mean=sum(waiting) / len(waiting),
                most=max(waiting),
            )
            for inode, waiting in self._queues.items()
            for whose, address, backlog in [self._addresses[inode]]
            if whose == part
        )


def _program(root_pids: Sequence[int]) -> str:
    """Return what the first of some processes calls itself; empty where it is gone."""
    return content(b"/proc/%d/comm" % root_pids[0]).decode(errors="replace").strip()


def _counters_distance_s(cost_s: float) -> float:
    return max(_COUNTERS_EVERY_S, cost_s / _COUNTERS_CPU_RATIO)
