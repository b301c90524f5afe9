"""This machine's processes and sockets at one moment, and which of them are servers."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from httpdyno.host.runnable import user_name
from httpdyno.model import Member
from httpdyno.reason import Reason
from httpdyno.servers.discover.contained import Allowance, contained
from httpdyno.servers.discover.process import (
    ProcessFacts,
    all_processes,
    ancestry,
    descendants,
    details,
    is_in_group,
    pids,
    unit_group,
)
from httpdyno.servers.discover.program import own_command, plain_member
from httpdyno.servers.network.listening import (
    PROC,
    ListeningSocket,
    listening_sockets,
    network_of,
    socket_inodes,
)
from httpdyno.servers.process import KEEPER_PROGRAM
from httpdyno.servers.run.live_process import MARK
from httpdyno.servers.stack.adapter import ServerAdapter

_SERVICE = ".service"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree:
    """A server that runs: the process that it began as, and those below."""

    member: Member
    root: ProcessFacts
    below: tuple[ProcessFacts, ...] = ()
    is_known: bool = True
    """Whether its kind was recognised."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What was seen when it was made; sockets when they are first asked for."""

    processes: dict[int, ProcessFacts]
    adapters: Sequence[ServerAdapter] = ()
    proc: Path = PROC
    _inodes: dict[int, frozenset[int] | None] = field(default_factory=dict)
    _allowances: dict[str, Allowance] = field(default_factory=dict)

    def recognised(self, program: str, arguments: Sequence[str], folder: str) -> Member | None:
        """Return the member that a process is of: as an adapter knows it, else by its name."""
        for adapter in self.adapters:
            member = adapter.of_process(program, arguments, folder)
            if member is not None:
                return member
        return plain_member(program, arguments, folder)

    @cached_property
    def trees(self) -> tuple[Tree, ...]:
        """The servers of known kinds that run, by the pid of their root."""
        roots = {tree.root.pid: tree for tree in map(self.tree_of, self._members) if tree.is_known}
        return tuple(roots[pid] for pid in sorted(roots) if not self.is_copy(pid))

    def allowance(self, user: str) -> Allowance | None:
        """Return the time that is left for what a user runs; None where it is whoever looks."""
        if user in {"", user_name(os.geteuid())}:
            return None
        return self._allowances.setdefault(user, Allowance(user=user))

    @property
    def passed_over(self) -> tuple[tuple[str, int], ...]:
        """User → how many processes were not looked at, since that user's others took too long."""
        _ = self.trees
        found = ((user, each.n_passed_over) for user, each in self._allowances.items())
        return tuple(sorted((user, n) for user, n in found if n))

    def is_copy(self, pid: int) -> bool:
        """Whether it is a private copy that some httpdyno runs: those are nobody's servers."""
        if MARK in details(pid, self.proc).environment_names:
            return True
        # nginx and php-fpm write what they are called over their environment.
        return any(KEEPER_PROGRAM in each.arguments for each in ancestry(pid, self.processes)[1:])

    def tree_of(self, pid: int) -> Tree:
        """Return the server that a process belongs to; unknown ones are just their command."""
        chain = ancestry(pid, self.processes)
        known = [self._members.get(each.pid) for each in chain]
        first = next((k for k, member in enumerate(known) if member is not None), None)
        if first is None:
            return self._unknown(chain)
        top = first
        kind = _kind(known[first])
        while top + 1 < len(chain) and _kind(known[top + 1]) == kind:
            top += 1
        member = known[top]
        if member is None:
            raise AssertionError("the walk went on to a process of no kind")
        root = chain[top]
        return Tree(member=member, root=root, below=descendants(root.pid, self.processes))

    def trees_in(self, group: str) -> tuple[Tree, ...]:
        """Return the servers of a control group and of those below it, by the pids of their roots.

        A root is who has no parent in it: what began it from outside is no part of the server.
        """
        inside = self._pids_in(group)
        tops = sorted(pid for pid in inside if self.processes[pid].parent not in inside)
        return tuple(self._tree_from(self.processes[pid]) for pid in tops)

    def beside(self, tree: Tree, group: str) -> tuple[ProcessFacts, ...]:
        """Return who is in a control group and not below a server's root, by pid.

        Who began the server, and what else that began, is no part of it.
        """
        inside = self._pids_in(group) if group else frozenset()
        own = pids((tree.root, *tree.below))
        above = pids(ancestry(tree.root.pid, self.processes))
        found = []
        for pid in sorted(inside - own - above):
            if not above & inside & pids(ancestry(pid, self.processes)):
                found.append(self.processes[pid])
        return tuple(found)

    def beside_in_unit(self, tree: Tree) -> tuple[ProcessFacts, ...]:
        """Return who is of a server's service and not below its root; none where it is of none.

        A scope is a terminal's or a container's: what else is in there may have to do with nobody.
        """
        root = tree.root
        is_service = root.unit.endswith(_SERVICE)
        return self.beside(tree, unit_group(root.groups, root.unit) if is_service else "")

    def _pids_in(self, group: str) -> frozenset[int]:
        return pids(each for each in self.processes.values() if is_in_group(each, group))

    def _tree_from(self, root: ProcessFacts) -> Tree:
        member = self._members.get(root.pid)
        return Tree(
            member=member or own_command(root.arguments, root.folder, root.program),
            root=root,
            below=descendants(root.pid, self.processes),
            is_known=member is not None,
        )

    def sockets_of(self, tree: Tree) -> tuple[tuple[ListeningSocket, ...], bool]:
        """Return where a server listens, and whether this user may see all of that."""
        held = [self.inodes(each.pid) for each in (tree.root, *tree.below)]
        inodes = frozenset[int]().union(*(each for each in held if each is not None))
        found = self._sockets_seen_by(tree.root.pid)
        mine = tuple(each for each in found if each.inode in inodes)
        return mine, None not in held

    def holders(self, sockets: Iterable[ListeningSocket]) -> tuple[int, ...]:
        """Return the processes that hold one of these sockets; init only if it is the only one."""
        inodes = {each.inode for each in sockets}
        pids = [pid for pid in self.processes if (self.inodes(pid) or frozenset()) & inodes]
        return tuple(pid for pid in pids if pid != 1) or tuple(pids)

    def inodes(self, pid: int) -> frozenset[int] | None:
        """Return the sockets that a process holds; None where this user may not know."""
        if pid not in self._inodes:
            self._inodes[pid] = socket_inodes(pid, self.proc)
        return self._inodes[pid]

    @cached_property
    def sockets(self) -> tuple[ListeningSocket, ...]:
        """All that listens in this network namespace."""
        return listening_sockets(self.proc / "net")

    def is_elsewhere(self, process: ProcessFacts) -> bool:
        """Whether it runs in a container: sees other files, processes or another network."""
        if process.root != "/" or process.has_own_pids:
            return True
        network = network_of(process.pid, self.proc)
        if network and network != self._own_network:
            return True
        # Where a container has changed its root by pivot_root, the link of it reads `/` too.
        # A service with mounts of its own (PrivateTmp) has the same folder there.
        root = self._root_of(process.pid)
        return root is not None and root != self._root_of("self")

    def _root_of(self, pid: int | str) -> tuple[int, int] | None:
        """Return device and inode of what a process sees as `/`; None if it may not be known."""
        try:
            seen = os.stat(f"{self.proc}/{pid}/root")  # noqa: PTH116 - beside the links
        except OSError:
            return None
        return seen.st_dev, seen.st_ino

    @cached_property
    def _own_network(self) -> str:
        return network_of("self", self.proc)

    def _sockets_seen_by(self, pid: int) -> tuple[ListeningSocket, ...]:
        network = network_of(pid, self.proc)
        if network and network != self._own_network:
            return listening_sockets(self.proc / str(pid) / "net")
        return self.sockets

    @cached_property
    def _members(self) -> dict[int, Member]:
        found = {pid: self._member(each) for pid, each in self.processes.items()}
        return {pid: member for pid, member in found.items() if member is not None}

    def _member(self, process: ProcessFacts) -> Member | None:
        look = (process.program, process.arguments, process.folder)
        allowance = self.allowance(process.user)
        if allowance and allowance.left_s <= 0:
            allowance.n_passed_over += 1
            return None
        found = contained(
            lambda: self.recognised(*look),
            f"process {process.pid}",
            patience_s=2.0,
            allowance=allowance,
        )
        # By its name it is listed all the same, and then says what is wrong with it.
        return plain_member(*look) if isinstance(found, Reason) else found

    def _unknown(self, chain: Sequence[ProcessFacts]) -> Tree:
        root = chain[0]
        listening = {each.inode for each in self._sockets_seen_by(root.pid)}
        for above in (each for each in chain[1:] if each.pid != 1):
            # A worker inherits what its master listens at; a shell's child does not. Init may
            # hold it too, to start the server with the first connection.
            held = [self.inodes(each.pid) or frozenset() for each in (root, above)]
            if not held[0] & held[1] & listening:
                break
            root = above
        return Tree(
            member=own_command(root.arguments, root.folder, root.program),
            root=root,
            below=descendants(root.pid, self.processes),
            is_known=False,
        )


def this_machine(adapters: Sequence[ServerAdapter] = ()) -> Machine:
    """Return what runs here now."""
    return Machine(processes=all_processes(), adapters=adapters)


def _kind(member: Member | None) -> str:
    return member.kind if member is not None else ""
