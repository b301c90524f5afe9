"""From a source to the servers that it means; nothing of theirs is executed or signalled."""

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from msgspec import structs

from httpdyno.errors import AdapterError, HttpdynoError, UsageError
from httpdyno.host.foreign_files import is_there, read_regular
from httpdyno.host.foreign_text import reason
from httpdyno.host.process_identity import has_gained_rights
from httpdyno.host.runnable import user_name
from httpdyno.model import Member
from httpdyno.reason import Reason, because
from httpdyno.servers.discover.command_line import (
    activated,
    is_handed,
    procfile_command,
    unwrapped,
    variables_in,
)
from httpdyno.servers.discover.contained import bounded, contained, foreseen
from httpdyno.servers.discover.machine import Machine, Tree
from httpdyno.servers.discover.process import (
    ProcessFacts,
    details,
    is_users_own,
    unit_group,
)
from httpdyno.servers.discover.program import KINDS, USUAL_FILES, own_command, plain_file
from httpdyno.servers.discover.source import (
    FORMS,
    AddressSource,
    CommandSource,
    FileSource,
    GroupSource,
    KindSource,
    ProcessSource,
    ProcfileSource,
    Source,
    UnitSource,
)
from httpdyno.servers.network.listening import ListeningSocket
from httpdyno.servers.stack.environment import is_setting, own_user, process_source
from httpdyno.servers.systemd import (
    UnitFacts,
    command_of,
    environment_file,
    service_of,
    unit,
    variables_of,
)

_LIMIT_BYTES = 1 << 20
_SERVICE = ".service"
_WITHOUT_FILE = frozenset({"command", "gunicorn", "node", "uvicorn"})
"""Kinds that a command line configures."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A server that a source means: how it is configured, and how it runs."""

    member: Member
    root: ProcessFacts | None = None
    """The process that it began as; None where it does not run."""
    below: tuple[ProcessFacts, ...] = ()
    """Its workers and all that they started, by pid."""
    beside: tuple[ProcessFacts, ...] = ()
    """Those of its unit that are not below it, by pid: daemons that it began and let go."""
    group: str = ""
    """The control group that was meant, all of it; empty where a process was, and those below."""
    listens: tuple[ListeningSocket, ...] = ()
    unit: UnitFacts | None = None
    open_files_limit: str = ""
    is_elsewhere: bool = False
    """It runs in a container: its paths and addresses are not those of this machine."""
    hidden: tuple[str, ...] = ()
    """What this user may not see of it."""
    trouble: Reason | None = None
    """Why no more is known of it."""

    @property
    def notes(self) -> tuple[Reason, ...]:
        """What who copies it should know."""
        sockets = self.unit.sockets if self.unit else ()
        if not sockets or activated(self.member, sockets):
            return ()
        return (because("discover.socket_is_handed", member=self.member.name, sockets=sockets),)

    def __str__(self) -> str:
        what = self.member.main or " ".join(self.member.command) or self.member.kind
        if self.root is None:
            return f"{self.member.kind} ({what}), not running"
        return f"pid:{self.root.pid} ({what})"


def find(source: Source, machine: Machine) -> tuple[Found, ...]:
    """Return the servers that a source means, at least one.

    Raises:
        UsageError: It means nothing here: no such kind, process or listener.
        AdapterError: What it means cannot be read, or is not there.
    """
    match source:
        case KindSource(kind):
            return _of_kind(kind, machine)
        case FileSource(path, otherwise):
            return _of_file(path, machine, otherwise)
        case UnitSource(name):
            return _of_unit(name, machine)
        case ProcessSource() | GroupSource():
            return _of_processes(source, machine)
        case AddressSource() as address:
            return _of_address(address, machine)
        case CommandSource() | ProcfileSource():
            return (_of_command(source, machine),)


def sole(found: Sequence[Found], words: str) -> Found:
    """Return the one that was found.

    Raises:
        UsageError: There are several; lists what was meant.
    """
    if len(found) > 1:
        meant = "; ".join(f"{each}" for each in found)
        raise UsageError(
            f"`{words}` means {len(found)} servers here: {meant}",
            hint="say one of them by its `pid:` or its configuration file",
        )
    return found[0]


def of_this_machine(found: Found) -> Found:
    """Return what was found, whose paths are those of this machine.

    Raises:
        AdapterError: It runs in a container: a file of the same name here may be another one; or
            it could not be looked at.
    """
    if found.trouble:
        raise AdapterError(
            why=[found.trouble], hint="name its configuration or its command instead"
        )
    if found.is_elsewhere:
        raise AdapterError(
            f"{found} runs in a container or chroot, with files, processes or a network of its "
            "own: files of the same name here may be others",
            hint="run httpdyno in there; a configuration of this machine is named by its file",
        )
    return found


def running(machine: Machine) -> tuple[Found, ...]:
    """Return all servers of known kinds that run here."""
    return tuple(_found(tree, machine) for tree in machine.trees)


def configured(machine: Machine) -> tuple[Found, ...]:
    """Return the servers that are configured at their usual places, as if none of them ran."""
    return tuple(_at_rest(each) for adapter in machine.adapters for each in adapter.usual())


def _of_kind(kind: str, machine: Machine) -> tuple[Found, ...]:
    known = sorted({*KINDS, *(adapter.name for adapter in machine.adapters)} - {"command"})
    if kind not in known:
        if is_there(Path(kind)):
            return _of_file(Path.cwd() / kind, machine)
        files: list[str] = []
        with suppress(OSError):
            files = os.listdir()  # noqa: PTH208 - names alone
        close = get_close_matches(kind, [*known, *files], n=1)
        raise UsageError(
            f"no file `{kind}` is there"
            if Path(kind).suffix
            else f"no kind of server is called `{kind}`, no file and no program",
            hints=[
                because("discover.did_you_mean", name=close[0])
                if close
                else because("discover.expected_of_kinds", forms=FORMS, kinds=known)
            ],
        )
    runs = [_found(tree, machine) for tree in machine.trees if tree.member.kind == kind]
    here = [each for each in runs if not each.is_elsewhere]
    mains = {os.path.realpath(each.member.main) for each in here}
    adapters = [each for each in machine.adapters if each.name == kind]
    usual = [member for each in adapters for member in each.usual()]
    if not adapters:
        usual = [
            member
            for member in map(plain_file, USUAL_FILES)
            if member is not None and member.kind == kind and os.path.isfile(member.main)  # noqa: PTH113
        ]
    at_rest = [
        _at_rest(member)
        for member in usual
        # Where one runs without its file being known, it is the usual one.
        if os.path.realpath(member.main) not in mains and not any(not r.member.main for r in here)
    ]
    if not runs and not at_rest:
        raise AdapterError(
            f"no {kind} runs here, and none is configured at its usual place",
            hints=_what_runs(machine),
        )
    return (*runs, *at_rest)


def _of_file(
    path: Path, machine: Machine, otherwise: CommandSource | None = None
) -> tuple[Found, ...]:
    if not is_there(path):
        if otherwise is not None:
            return (_of_command(otherwise, machine),)
        raise AdapterError(
            f"`{path}` does not exist", hints=[because("discover.expected", forms=FORMS)]
        )
    text = os.path.normpath(path)
    member = _known_file(text, machine)
    if member is None:
        if path.is_file() and os.access(path, os.X_OK):
            return (_of_command(CommandSource((text,), path.parent), machine),)
        known = {adapter.name for adapter in machine.adapters} | {"nginx", "apache"}
        kinds = sorted(known - _WITHOUT_FILE)
        raise UsageError(
            f"`{path}` is no main configuration file of a server that is known here",
            hint=f"name the main file of {', '.join(kinds)}, or the server itself: `pid:1234`",
        )
    runs = tuple(
        _found(tree, machine)
        for tree in machine.trees
        if tree.member.kind == member.kind
        and os.path.realpath(tree.member.main) == os.path.realpath(member.main)
        # In a container it is a file of the same name, and another one.
        and not machine.is_elsewhere(tree.root)
    )
    return runs or (_at_rest(member),)


def _known_file(path: str, machine: Machine) -> Member | None:
    for adapter in machine.adapters:
        with foreseen(path), bounded():
            member = adapter.at(path)
        if member is not None:
            return member
    return plain_file(path)


def _of_unit(name: str, machine: Machine) -> tuple[Found, ...]:
    name = service_of(name)
    facts = unit(name)
    inside = [
        each
        for each in machine.processes.values()
        if each.unit == name and not is_users_own(each.groups)
    ]
    if facts.main_pid in machine.processes:
        tree = machine.tree_of(facts.main_pid)
        group = unit_group(machine.processes[facts.main_pid].groups, name)
        return (_found(tree, machine, facts, group=group, beside=machine.beside(tree, group)),)
    pids = {each.pid for each in inside}
    tops = [each for each in inside if each.parent not in pids]
    if tops:
        trees = {t.root.pid: t for t in (machine.tree_of(each.pid) for each in tops)}
        # Whoever has left the first tree is one of the others.
        return tuple(
            _found(tree, machine, facts, group=unit_group(tree.root.groups, name), beside=())
            for tree in trees.values()
        )
    if not facts.command:
        raise AdapterError(
            f"`{name}` starts no program of its own", hint="name the service that it starts"
        )
    command, variables = command_of(facts), dict[str, str]()
    with suppress(AdapterError):  # what this user may not read, nothing is filled in from
        variables = variables_of(name)
    member = _member(command[0], command, facts.folder or "/", machine, variables)
    return (Found(member=_served_by(member, facts), unit=facts),)


def _of_processes(source: ProcessSource | GroupSource, machine: Machine) -> tuple[Found, ...]:
    if isinstance(source, ProcessSource):
        return (_of_process(source.pid, machine),)
    path = source.path
    trees = machine.trees_in(path)
    if not trees:
        raise AdapterError(
            f"no process is in the control group `{path}`",
            hint="/proc/PID/cgroup says in which one a process is, without `/sys/fs/cgroup`",
        )
    return tuple(_found(tree, machine, group=path, beside=()) for tree in trees)


def _of_process(pid: int, machine: Machine) -> Found:
    if pid not in machine.processes:
        raise UsageError(f"no process has the id {pid}", hints=_what_runs(machine))
    return _found(machine.tree_of(pid), machine)


def _of_address(address: AddressSource, machine: Machine) -> tuple[Found, ...]:
    sockets = [each for each in machine.sockets if each.answers_at(address.host, address.port)]
    if not sockets:
        raise UsageError(f"nothing listens at `{address}` here", hints=_what_runs(machine))
    trees = {tree.root.pid: tree for tree in map(machine.tree_of, machine.holders(sockets))}
    if not trees and os.geteuid() == 0:
        raise AdapterError(
            f"what listens at `{address}` is no process that can be seen from here",
            hint="it may be of another container, or of the kernel",
        )
    if not trees:
        users = ", ".join(sorted({each.user for each in sockets if each.user})) or "another user"
        raise AdapterError(
            f"what listens at `{address}` belongs to {users}, and this user may not see which "
            "process it is",
            hint="ask again with `sudo`, or name the server by its kind",
        )
    return tuple(_found(trees[pid], machine) for pid in sorted(trees))


def _of_procfile(source: ProcfileSource, machine: Machine) -> Found:
    text = _text(source.path)
    is_own = _is_own_word(source.path)
    # Whoever runs Procfiles reads it too, and what it says comes before what the shell has.
    beside = source.path.with_name(".env")
    is_told = is_own and beside.is_file() and _is_own_word(beside)
    own = environment_file(_text(beside)) if is_told else {}
    variables = {**os.environ, **own} if is_own else {}
    command = procfile_command(text, source.process, str(source.path), variables)
    found = _of_command(CommandSource(command, source.path.parent), machine)
    # What a shell is to fill in and the file lacks is asked for by name: it is not left out.
    names = [*own, *(name for name in variables_in(command) if name in variables.keys() - own)]
    member = structs.replace(
        found.member,
        environment_names=(*found.member.environment_names, *filter(is_setting, names)),
        environment_from=str(beside) if own else found.member.environment_from,
    )
    return replace(found, member=member)


def _is_own_word(path: Path) -> bool:
    """Whether nobody else may write a file: what another user names in it is not given to him."""
    try:
        return not own_user("", (), (), files=(str(path),), folder=str(path.parent))
    except HttpdynoError:
        return False


def _of_command(source: CommandSource | ProcfileSource, machine: Machine) -> Found:
    if isinstance(source, ProcfileSource):
        return _of_procfile(source, machine)
    command, folder = source.command, source.folder
    first = command[0]
    # As a shell finds it: a path is taken from the folder, a name from PATH.
    program = str(folder / first) if "/" in first else shutil.which(first)
    if program is None or not os.access(program, os.X_OK):
        raise AdapterError(
            f"`{first}` is no program that can be run here",
            hints=[because("discover.expected", forms=FORMS)],
        )
    return Found(member=_member(program, command, str(folder), machine, os.environ))


def _member(
    program: str,
    command: tuple[str, ...],
    folder: str,
    machine: Machine,
    variables: Mapping[str, str],
) -> Member:
    """Return the member that a command starts, whatever it is wrapped in."""
    if member := machine.recognised(program, command, folder):
        return member
    inner = unwrapped(command, variables)
    if inner.command and inner.command != command:
        first = inner.command[0]
        own = os.path.join(folder, first) if "/" in first else shutil.which(first)  # noqa: PTH118
        if own and (member := machine.recognised(own, inner.command, folder)):
            return structs.replace(member, environment={**member.environment, **inner.environment})
    return own_command(command, folder, program)


def _at_rest(member: Member) -> Found:
    return Found(member=member)


def _found(
    tree: Tree,
    machine: Machine,
    facts: UnitFacts | None = None,
    *,
    group: str = "",
    beside: tuple[ProcessFacts, ...] | None = None,
) -> Found:
    """Return what is known of a server that runs; what of it cannot be read is said."""
    name = f"{tree.member.kind} (pid {tree.root.pid})"
    found = contained(lambda: _seen(tree, machine, facts, group=group, beside=beside), name)
    if isinstance(found, Reason):
        member = structs.replace(tree.member, user=tree.root.user)
        return Found(member=member, root=tree.root, below=tree.below, trouble=found)
    return found


def _seen(
    tree: Tree,
    machine: Machine,
    facts: UnitFacts | None,
    *,
    group: str,
    beside: tuple[ProcessFacts, ...] | None,
) -> Found:
    root = tree.root
    if facts is None and root.unit.endswith(_SERVICE) and not is_users_own(root.groups):
        facts = _unit_or_none(root.unit)
    if beside is None:
        beside = machine.beside_in_unit(tree)
    seen = details(root.pid, machine.proc)
    if has_gained_rights(root.pid, machine.proc):
        raise AdapterError(
            "whoever called it chose its command line, and it has more rights than he: name what "
            "it starts, not this process"
        )
    whole = replace(tree, below=(*tree.below, *beside)) if group else tree
    listens, sees_all = machine.sockets_of(whole)
    hidden = [*seen.hidden, *(() if sees_all else ("sockets",))]
    if not root.program:
        hidden.append("program")
    member = tree.member
    if facts is not None:
        member = _served_by(member, facts)
    if is_handed(member):
        member = activated(member, [each.address for each in listens]) or member
    if root.user not in {"", "root"}:
        # A unit of that name may be another one: of users' own units anybody names them.
        member = structs.replace(member, user=root.user)
    units = facts.environment_names if facts else ()
    of_process = (*tree.member.environment_names, *seen.environment_names)
    is_whole = {name for name in seen.environment_names if is_setting(name)} <= {*units}
    is_own = root.user in {"", user_name(os.geteuid())}
    if not is_whole or not (units or is_own):
        # A wrapper set some, or a shell. What another user's process names it does not get from
        # httpdyno's environment.
        source = process_source(root.pid, root.start_ticks)
        member = structs.replace(member, environment_from=source)
    names = tuple(dict.fromkeys((*units, *of_process)))
    return Found(
        member=structs.replace(member, environment_names=names),
        root=root,
        below=tree.below,
        beside=beside,
        group=group,
        listens=listens,
        unit=facts,
        open_files_limit=seen.open_files_limit,
        is_elsewhere=machine.is_elsewhere(root),
        hidden=tuple(hidden),
    )


def _unit_or_none(name: str) -> UnitFacts | None:
    try:
        return unit(name)
    except AdapterError:  # a transient unit that is gone, or a container's
        return None


def _served_by(member: Member, facts: UnitFacts) -> Member:
    return structs.replace(
        (activated(member, facts.sockets) if facts.sockets else None) or member,
        unit=facts.name,
        user=facts.user or member.user,
        folder=facts.folder if facts.folder.startswith("/") else member.folder,
        environment_names=facts.environment_names,
        environment_from=f"unit:{facts.name}",
    )


def _what_runs(machine: Machine) -> tuple[Reason, ...]:
    names = [f"{tree.member.kind} (pid:{tree.root.pid})" for tree in machine.trees]
    if names:
        return (because("discover.what_runs", names=names),)
    return (because("discover.nothing_runs"),)


def _text(path: Path) -> str:
    try:
        return read_regular(path, limit_bytes=_LIMIT_BYTES).decode(errors="replace")
    except OSError as error:
        raise AdapterError(f"`{path}` cannot be read: {reason(error)}") from error
