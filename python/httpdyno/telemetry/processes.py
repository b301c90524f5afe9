"""The processes of a server: the one table that windows, watches, profiles and samples read.

`ProcessTable` looks for the processes of some trees and follows them from look to look;
`ThreadTable` has their threads as well, and who came and who went; `KeptFiles` are files of /proc
that stay open meanwhile, since opening takes most of the time; `ExitWatch` counts who ends.

**Order.** What a child used goes over to its parent when it is reaped. So a process that is known
is asked for its children first and read after that: whoever is missing in the list had been reaped
before, and is in what is read next. Parents are read before their children: a child that is gone
when its turn comes was reaped in between, and the look is not whole.

**Turns.** To look at each process anew costs as much as to look at what it does. So a `ThreadTable`
looks in each sample at those that have children, and at a few of the others in turn. Of a few
processes all are looked at, so that who has lost its children and gets others is seen to.

**Exits.** The kernel tells nobody but their parent that processes end, so they are looked for:
whoever was there and no longer is, or waits for its parent to ask how it ended, has ended. Who is
gone, all of it, between two samples is seen in none; so those that were there for a sample or two
say that there are more such, and then nothing is told. Who lives for a moment and waits long to be
asked is seen. A server whose parent replaces its dead by a clock, as Apache does once a second, has
them end in heaps: a watch is to hold several turns of that clock.
"""

import os
import resource
import time
import weakref
from collections import Counter
from collections.abc import (
    Callable,
    Collection,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from contextlib import suppress
from dataclasses import dataclass
from threading import Event, Thread

from httpdyno.host.procfs import (
    DEAD,
    KERNEL_LISTS_CHILDREN,
    ZOMBIE,
    ChildrenOf,
    ProcessStat,
    Read,
    children_now,
    of_process,
    readable,
    stat_of,
    thread_ids,
    walk,
)
from httpdyno.reason import Reason, because

BESIDE_A_LOAD = 0.1
"""Of the files that a process may open, where a load's connections are among them."""
_PIECE_BYTES = 4096
_MOST_KEPT = 4096
_NONE: dict[bytes, int] = {}


class KeptFiles:
    """Files of /proc that stay open from one reading to the next: opening takes most of the time.

    What is open is of one process: once that is gone, reading it says so, whoever has its number
    since. `smaps_rollup` is not for this: open, it holds on to a dead process's memory map. Closed
    with the object. Not for several threads at once.
    """

    def __init__(self, most: int) -> None:
        """Keep none open yet.

        Args:
            most: So many are kept; others are opened each time.
        """
        self._most = most
        self._n = 0
        self._handles: dict[int, dict[bytes, int]] = {}
        """By process and name."""
        weakref.finalize(self, _close_all, self._handles)

    def readable(self, pid: int, name: bytes) -> bytes:
        """Return the content of a file of a process.

        Args:
            pid: Its number.
            name: Below /proc/PID.

        Raises:
            OSError: The process is gone, or may not be read.
        """
        handle = self._handle(pid, name)
        if handle is None:
            return readable(b"/proc/%d/%s" % (pid, name))
        try:
            text = os.pread(handle, _PIECE_BYTES, 0)
        except ProcessLookupError:
            # Who has its number now, if anybody, is another one.
            self._forget(pid)
            return readable(b"/proc/%d/%s" % (pid, name))
        # A list may be cut where the next of it would not have fitted.
        is_whole = len(text) <= _PIECE_BYTES // 2
        return text if is_whole else readable(b"/proc/%d/%s" % (pid, name))

    def content(self, pid: int, name: bytes) -> bytes:
        """Return the content; empty when the process is gone, or may not be read."""
        try:
            return self.readable(pid, name)
        except OSError:
            return b""

    def keep_only(self, pids: Container[int]) -> None:
        """Close those of all other processes."""
        for pid in [each for each in self._handles if each not in pids]:
            self._forget(pid)

    def _handle(self, pid: int, name: bytes) -> int | None:
        """Return what it is read by; None where it is not to be kept."""
        handle = self._handles.get(pid, _NONE).get(name)
        if handle is None and self._n < self._most:
            handle = os.open(b"/proc/%d/%s" % (pid, name), os.O_RDONLY | os.O_CLOEXEC)
            self._handles.setdefault(pid, {})[name] = handle
            self._n += 1
        return handle

    def _forget(self, pid: int) -> None:
        handles = self._handles.pop(pid)
        self._n -= len(handles)
        _close_all({pid: handles})


def descriptors_to_keep(part: float) -> int:
    """Return how many files may be kept open, of a part of what this process may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(_MOST_KEPT, int(soft * part)) if soft != resource.RLIM_INFINITY else _MOST_KEPT


def _close_all(handles: dict[int, dict[bytes, int]]) -> None:
    for by_name in handles.values():
        for handle in by_name.values():
            with suppress(OSError):
                os.close(handle)


@dataclass(frozen=True, kw_only=True, slots=True)
class TableLook:
    """One look at a table's processes."""

    found: dict[int, ProcessStat]
    """Those that were looked at and are there, each after what it is below."""
    parents: Set[int]
    """Of these, who has children; empty where they were not asked for."""
    is_whole: bool
    """Whether nobody was reaped while they were looked for."""


class ProcessTable:
    """The processes of some trees. Not for several threads at once."""

    def __init__(
        self,
        root_pids: Sequence[int],
        *,
        others: Callable[[], Iterable[int]] = tuple,
        read: Read = of_process,
        is_exact: bool = False,
    ) -> None:
        """Follow some trees.

        Args:
            root_pids: Their first processes. One whose number another program has since is gone.
            others: Says at each look who belongs to them wherever its parent is.
            read: Reads files below /proc/PID.
            is_exact: Whether who is new is read again after it was asked for its children.
        """
        self.known: dict[int, ProcessStat] = {}
        """By number, as they were seen last."""
        self.roots: dict[int, int | None] = dict.fromkeys(root_pids)
        """When each started; None before it was seen."""
        self.others = others
        self.read = read
        self.is_exact = is_exact

    def look(
        self, due: Container[int] | None = None, *, asks_for_children: bool = True
    ) -> TableLook:
        """Look for who is there.

        Args:
            due: Of those that are known who is looked at; None for all. The others stay as they
                were.
            asks_for_children: Whether new ones are looked for.
        """
        known = self.known
        kept = {} if due is None else {pid: at for pid, at in known.items() if pid not in due}
        look = _Look(self, kept, children_now() if asks_for_children else None)
        met = walk(look.tops(), look.below)
        self.known = {**kept, **look.found} if kept else look.found
        return TableLook(
            found=look.found, parents=look.parents, is_whole=len(look.found) == len(met)
        )

    def stat(self, pid: int) -> ProcessStat | None:
        """Return what a process is now; None where it is gone, or being reaped.

        One that is being reaped is listed, but its parent's reaped time may have it already.
        """
        now = stat_of(pid, self.read)
        return None if now is None or now.state == DEAD else now


class _Look:
    """One under way."""

    def __init__(
        self, table: ProcessTable, kept: Mapping[int, ProcessStat], children_of: ChildrenOf | None
    ) -> None:
        self.found: dict[int, ProcessStat] = {}
        self.parents: set[int] = set()
        self._table = table
        self._kept = kept
        self._children_of = children_of
        self._others = tuple(table.others())
        self._told = set(self._others)
        """Who is the server's by the word of one of the server's."""

    def tops(self) -> Iterator[int]:
        """Yield those below which the server is; what was found by then grows meanwhile."""
        yield from (pid for pid in (*self._table.roots, *self._others) if pid not in self._kept)
        # Those whose parent died are no longer below a root.
        for pid, known in self._table.known.items():
            if pid not in self.found and pid not in self._kept:
                now = known if self._children_of is None else self._table.stat(pid)
                if now is not None and now.started_ticks == known.started_ticks:
                    yield pid

    def below(self, pid: int) -> list[int]:
        """Look at a process; return its children that are to be looked at."""
        table = self._table
        known = table.known.get(pid)
        now = known or table.stat(pid)
        if now is None:
            return []
        children: list[int] = []
        if self._children_of is not None:
            # If it began threads since, what those forked is seen at the next look.
            is_one = now.n_threads == 1
            children = self._children_of(pid, has_one_thread=is_one, read=table.read)
        if known is not None or table.is_exact:
            now = table.stat(pid)
        if now is None or not self._is_the_servers(pid, now, known):
            return []
        self.found[pid] = now
        if not children:
            return []
        self.parents.add(pid)
        self._told.update(children)
        return [each for each in children if each not in self._kept] if self._kept else children

    def _is_the_servers(self, pid: int, now: ProcessStat, known: ProcessStat | None) -> bool:
        """Whether its number has not gone to another program since."""
        if pid in self._table.roots:
            ticks = self._table.roots[pid]
            self._table.roots[pid] = now.started_ticks if ticks is None else ticks
            return self._table.roots[pid] == now.started_ticks
        return known is None or now.started_ticks == known.started_ticks or pid in self._told


def living_pids(root_pids: Sequence[int]) -> tuple[int, ...]:
    """Return the processes of some trees, without those that have ended: roots first."""
    found = ProcessTable(root_pids).look().found
    return tuple(pid for pid, each in found.items() if not each.has_ended)


TURNS = 8
"""In so many samples each process has its turn."""


@dataclass(slots=True)
class TrackedProcess:
    """A process of the server."""

    pid: int
    stat: ProcessStat
    """As it was at its last turn."""
    threads: tuple[int, ...]
    has_children: bool
    turn: int
    part: int = 0
    """Of the server: which of the trees that were told apart it is in."""

    @property
    def identity(self) -> tuple[int, int]:
        """What no other process has while the machine is up."""
        return self.pid, self.stat.started_ticks

    @property
    def is_zombie(self) -> bool:
        """Whether it has ended and its parent has not asked how."""
        return _is_zombie(self.stat)


class ThreadTable:
    """The processes of some trees with their threads. Not for several threads at once."""

    def __init__(self, root_pids: Sequence[int], parts: Mapping[int, int] | None = None) -> None:
        """Follow some trees.

        Args:
            root_pids: Their first processes.
            parts: By first process, which part of the server its tree is; 0 where nothing is said.
        """
        self.members: dict[int, TrackedProcess] = {}
        """By number, parents before their children."""
        self.births_of: Counter[int] = Counter()
        """By part, processes that came since `update` was called first; those that came and went
        between two samples are in none of these."""
        self.deaths_of: Counter[int] = Counter()
        """By part, likewise."""
        self.last: dict[tuple[int, int], ProcessStat] = {}
        """Of those that went, by identity: as they were seen last."""
        self.part_of: dict[int, int] = {}
        """Of all that were seen, those too that went."""
        self._table = ProcessTable(root_pids)
        self._parts = dict(parts or {})
        self._n_updates = 0

    @property
    def births(self) -> int:
        """Processes that came, of all parts."""
        return self.births_of.total()

    @property
    def deaths(self) -> int:
        """Processes that went, of all parts."""
        return self.deaths_of.total()

    def update(self, *, is_whole: bool = False) -> bool:
        """Look for who came and who went; return whether nobody was reaped meanwhile.

        Args:
            is_whole: Whether it is everybody's turn.
        """
        turn, self._n_updates = self._n_updates % TURNS, self._n_updates + 1
        asks = KERNEL_LISTS_CHILDREN or is_whole or turn == 0
        if is_whole or len(self.members) <= TURNS:
            due = list(self.members)
        else:
            due = [
                each.pid for each in self.members.values() if each.has_children or each.turn == turn
            ]
        return self._look(due, asks_for_children=asks)

    def look_at(self, pid: int) -> None:
        """Look at one process again."""
        self._look([pid], asks_for_children=False)

    def _look(self, due: Collection[int], *, asks_for_children: bool) -> bool:
        looked = self._table.look(frozenset(due), asks_for_children=asks_for_children)
        for pid in due:
            member, now = self.members[pid], looked.found.get(pid)
            if now is None or now.started_ticks != member.stat.started_ticks:
                self._gone(member)
        for pid, now in looked.found.items():
            threads = (pid,) if now.n_threads == 1 else thread_ids(pid)
            known = self.members.get(pid)
            if known is None:
                self._came(pid, now, threads)
            else:
                known.stat, known.threads = now, threads
            if asks_for_children:
                self.members[pid].has_children = pid in looked.parents
        return looked.is_whole

    def _came(self, pid: int, now: ProcessStat, threads: tuple[int, ...]) -> None:
        above = self.members.get(now.parent)
        part = self._parts.get(pid, above.part if above else 0)
        self.part_of[pid] = part
        self.members[pid] = TrackedProcess(
            pid=pid, stat=now, threads=threads, has_children=False, turn=pid % TURNS, part=part
        )
        if self._n_updates > 1:
            self.births_of[part] += 1

    def _gone(self, member: TrackedProcess) -> None:
        del self.members[member.pid]
        self.last[member.identity] = member.stat
        self.deaths_of[member.part] += 1


EVERY_S = 0.01
"""Between two samples at the least."""
_MOST_CPU_RATIO = 0.05
"""Of a core that sampling takes: a pool of hundreds is looked at less often."""
_BRIEF_SAMPLES = 2
"""Who was there for no more of them might as well have been seen in none."""
_MOST_BRIEF_RATIO = 0.05
_PATIENCE_S = 5.0

Identity = tuple[int, int]
"""A process's number and when it began."""


class ExitTally:
    """Counts ends from one sample to the next. Pure."""

    def __init__(self) -> None:
        self.n = 0
        self.n_brief = 0
        """Of those that are gone, who were there in hardly any sample, alive or ended."""
        self.n_samples = 0
        self._alive: frozenset[Identity] = frozenset()
        self._since: dict[Identity, int] = {}
        """Of who is there, alive or ended, from which sample on; in the first they were before."""

    def see(self, alive: Set[Identity], ended: Set[Identity] = frozenset()) -> None:
        """Take in a sample.

        Args:
            alive: Who is there and has not ended.
            ended: Who has, and is still told of.
        """
        now, self.n_samples = self.n_samples, self.n_samples + 1
        there = alive | ended
        # Between two samples somebody may come and end.
        new_ended = ended - self._since.keys() if now else frozenset()
        self.n += len(self._alive - alive) + len(new_ended)
        gone = [since for each, since in self._since.items() if each not in there]
        self.n_brief += sum(since > 0 and now - since <= _BRIEF_SAMPLES for since in gone)
        self._alive = frozenset(alive)
        self._since = {each: self._since.get(each, now) for each in there}

    @property
    def trouble(self) -> Reason | None:
        """Why the count is none; None where it is one."""
        if self.n_samples <= _BRIEF_SAMPLES:
            return because("telemetry.seen_too_seldom")
        if self.n_brief > _MOST_BRIEF_RATIO * self.n:
            return because("telemetry.too_brief", n_brief=self.n_brief, n=self.n)
        return None


class ExitWatch:
    """Watches for ends of processes in a thread of its own."""

    def __init__(self, root_pids: Sequence[int], every_s: float = EVERY_S) -> None:
        """Watch some trees.

        Args:
            root_pids: Their first processes.
            every_s: Between two samples at the least.
        """
        self._roots = tuple(root_pids)
        self._every_s = every_s
        self._tally = ExitTally()
        self._has_begun, self._is_over = Event(), Event()
        self._thread = Thread(target=self._run, name="exit watch", daemon=True)

    def start(self) -> None:
        """Begin to watch; who ends from when this returns is seen."""
        self._thread.start()
        self._has_begun.wait(_PATIENCE_S)

    def stop(self) -> ExitTally:
        """End it; return what was seen."""
        self._is_over.set()
        self._thread.join()
        return self._tally

    def _run(self) -> None:
        table = ProcessTable(self._roots)
        sample(table, self._tally)
        self._has_begun.set()
        pause_s = self._every_s
        while not self._is_over.wait(pause_s):
            began_s = time.thread_time()
            sample(table, self._tally)
            pause_s = max(self._every_s, (time.thread_time() - began_s) / _MOST_CPU_RATIO)


def sample(table: ProcessTable, tally: ExitTally) -> None:
    """Take in who is there now."""
    table.look()
    ended = {(pid, each.started_ticks) for pid, each in table.known.items() if _is_zombie(each)}
    there = {(pid, each.started_ticks) for pid, each in table.known.items()}
    tally.see(there - ended, ended)


def _is_zombie(stat: ProcessStat) -> bool:
    """Whether a process has ended, all of it, and its parent has not asked how."""
    return stat.state == ZOMBIE and stat.n_threads <= 1
