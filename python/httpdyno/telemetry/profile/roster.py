"""Who belongs to a server: its processes and their threads, followed from sample to sample.

To look at each process anew costs as much as to look at what it does. So those that have children
are looked at in each sample, and of the others a few in turn; who has died is noticed at once. Of a
few all are, so that who has lost its children and gets others is seen to.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from httpdyno.host.procfs import (
    DEAD,
    KERNEL_LISTS_CHILDREN,
    ZOMBIE,
    ChildrenOf,
    ProcessStat,
    children_now,
    stat_of,
    thread_ids,
    walk,
)

TURNS = 8
"""In so many samples each process has its turn."""


@dataclass(slots=True)
class Member:
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
        return self.stat.state == ZOMBIE and self.stat.n_threads <= 1


class Roster:
    """The processes of some trees. Not for several threads at once."""

    def __init__(self, root_pids: Sequence[int], parts: Mapping[int, int] | None = None) -> None:
        """Follow some trees.

        Args:
            root_pids: Their first processes.
            parts: By first process, which part of the server its tree is; 0 where nothing is said.
        """
        self.members: dict[int, Member] = {}
        self.births_of: Counter[int] = Counter()
        """By part, processes that came since `update` was called first; those that came and went
        between two samples are in none of these."""
        self.deaths_of: Counter[int] = Counter()
        """By part, likewise."""
        self.last: dict[tuple[int, int], ProcessStat] = {}
        """Of those that went, by identity: as they were seen last."""
        self._roots: dict[int, int | None] = dict.fromkeys(root_pids)
        """When each started; None before it was seen."""
        self.part_of: dict[int, int] = {}
        """Of all that were seen, those too that went."""
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

    def update(self, *, is_whole: bool = False) -> None:
        """Look for who came and who went.

        Args:
            is_whole: Whether it is everybody's turn.
        """
        turn, self._n_updates = self._n_updates % TURNS, self._n_updates + 1
        is_told = KERNEL_LISTS_CHILDREN or is_whole or turn == 0
        children_of = children_now() if is_told else None
        before = set(self.members)
        is_whole = is_whole or len(before) <= TURNS
        due = [
            each.pid
            for each in self.members.values()
            if is_whole or each.has_children or each.turn == turn
        ]
        # Those whose parent died are no longer below a root, but are here.
        self.look_at([*due, *(pid for pid in self._roots if pid not in before)], children_of)
        if self._n_updates > 1:
            new = self.members.keys() - before
            self.births_of.update(self.members[pid].part for pid in new)

    def look_at(self, pids: Sequence[int], children_of: ChildrenOf | None = None) -> None:
        """Look at some processes, and at those below them that are new.

        Args:
            pids: Theirs.
            children_of: Tells them; None to leave them as known.
        """
        part_of: dict[int, int] = {}

        def below(pid: int) -> list[int]:
            known = self.members.get(pid)
            part = part_of.get(pid, self._parts.get(pid, 0)) if known is None else known.part
            new = [
                child for child in self._met(pid, part, children_of) if child not in self.members
            ]
            part_of.update(dict.fromkeys(new, part))
            return new

        walk(reversed(pids), below)

    def _met(self, pid: int, part: int, children_of: ChildrenOf | None) -> list[int]:
        now, before = _stat(pid), self.members.get(pid)
        if before is not None and (now is None or now.started_ticks != before.stat.started_ticks):
            self._gone(before)
            # Whoever has its number now is the server's only if one of the server's tells of it.
            return []
        if now is None or self._roots.get(pid) not in (None, now.started_ticks):
            return []
        if pid in self._roots:
            self._roots[pid] = now.started_ticks
        children = children_of(pid, has_one_thread=now.n_threads == 1) if children_of else []
        has_children = bool(children) if children_of else before is not None and before.has_children
        threads = (pid,) if now.n_threads == 1 else thread_ids(pid)
        self.part_of[pid] = part
        if before is None:
            self.members[pid] = Member(
                pid=pid,
                stat=now,
                threads=threads,
                has_children=has_children,
                turn=pid % TURNS,
                part=part,
            )
        else:
            before.stat, before.threads, before.has_children = now, threads, has_children
        return children

    def _gone(self, member: Member) -> None:
        del self.members[member.pid]
        self.last[member.identity] = member.stat
        self.deaths_of[member.part] += 1


def _stat(pid: int) -> ProcessStat | None:
    now = stat_of(pid)
    return None if now is None or now.state == DEAD else now
