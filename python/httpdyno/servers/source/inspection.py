"""A server looked at from outside: its configuration, and what differs from what it runs with.

Nothing is sent to it, and its own test is not run: what is known stands in its files, in /proc, and
in what the package manager wrote down.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from httpdyno.errors import UsageError
from httpdyno.model import Backend, KnobInfo, Survey
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.source.answering import own_hosts
from httpdyno.servers.source.contained import Allowance, contained
from httpdyno.servers.source.find import Found, find
from httpdyno.servers.source.machine import Machine
from httpdyno.servers.source.package import package_version, python_version
from httpdyno.servers.source.program import said_version
from httpdyno.servers.source.words import AddressSource, parse_source
from httpdyno.servers.stack.adapter import MemberFiles, ServerAdapter

_SLACK_S = 1.0
"""A server opens its files a moment after its process began; clocks are this exact, too."""
_VERSION = re.compile(r"\d+(?:\.\d+)+[\w.]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Inspected:
    """What can be said of a server without asking it anything."""

    found: Found
    version: str = ""
    """Its number; empty where nobody wrote it down."""
    survey: Survey | None = None
    """What its files say; None where they are not read."""
    n_files: int = 0
    """How many were read."""
    trouble: str = ""
    """Why its configuration is not read."""
    changed: tuple[str, ...] = ()
    """Files that were changed after it read them."""
    perhaps_changed: tuple[str, ...] = ()
    """Files that were changed since it began: whether it read them again is not known."""
    knobs: Mapping[str, KnobInfo] = field(default_factory=dict)
    """What can be set there, by `NAME` or `NAME@SCOPE`, with what is in force as default."""


def inspected(
    found: Found, adapters: Sequence[ServerAdapter], allowance: Allowance | None = None
) -> Inspected:
    """Return what can be said of a server; what of it is not understood is said, not raised.

    Args:
        found: Which one.
        adapters: That read configurations.
        allowance: Of its user (`Machine.allowance`).
    """
    if found.trouble:
        return Inspected(found=found, trouble=found.trouble)
    seen = contained(lambda: _inspected(found, adapters), name_of(found), allowance=allowance)
    return Inspected(found=found, trouble=seen) if isinstance(seen, str) else seen


def looked_at(found: Found, machine: Machine) -> Inspected:
    """Return what can be said of a server of this machine, in the time that its user has left."""
    allowance = machine.allowance(found.root.user) if found.root else None
    return inspected(found, machine.adapters, allowance)


def name_of(found: Found) -> str:
    """Return what one server is called among others: `nginx (pid 1234)`."""
    where = f"pid {found.root.pid}" if found.root else found.member.main
    return f"{found.member.kind} ({where})" if where else found.member.kind


def _inspected(found: Found, adapters: Sequence[ServerAdapter]) -> Inspected:
    adapter = next((each for each in adapters if each.name == found.member.kind), None)
    seen = Inspected(found=found, version=_version(found))
    if found.is_elsewhere:
        return replace(seen, trouble="it runs in a container, whose files are not read")
    if adapter is None:
        return seen
    read = contained(lambda: _read(seen, adapter), name_of(found))
    return replace(seen, trouble=read) if isinstance(read, str) else read


def _read(seen: Inspected, adapter: ServerAdapter) -> Inspected:
    found = seen.found
    files = adapter.read(found.member)
    survey = adapter.survey(found.member, files, None)
    if isinstance(survey, NotRunning):
        return replace(seen, trouble=survey.detail)
    changed, perhaps = changed_files(found, files)
    number = _VERSION.search(survey.version)
    return replace(
        seen,
        version=number[0] if number else seen.version,
        survey=survey,
        n_files=len(files.texts),
        knobs=adapter.knobs(survey),
        changed=changed,
        perhaps_changed=perhaps,
    )


def changed_files(found: Found, files: MemberFiles) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files that were changed after the server read them, and those that perhaps were.

    A server reads its files when it begins and when it is told to; then its workers are new. What
    was changed after the oldest of its workers began it has not read. Some servers also replace
    workers by themselves, so what was changed between its own beginning and theirs is not known.
    """
    if found.root is None:
        return (), ()
    began_s = found.root.started_at_s
    workers = [each for each in found.below if each.parent == found.root.pid]
    oldest_s = min((each.started_at_s for each in workers), default=began_s)
    when = {path: _changed_at_s(path, files) for path in files.texts}
    late = tuple(path for path, at_s in when.items() if at_s > oldest_s + _SLACK_S)
    between = (path for path, at_s in when.items() if at_s > began_s + _SLACK_S)
    return late, tuple(path for path in between if path not in late)


def with_backends(seen: Sequence[Inspected], machine: Machine) -> tuple[Inspected, ...]:
    """Return them, and the servers of this machine that their configured backends lead to."""
    whole = list(seen)
    pids = {each.found.root.pid for each in seen if each.found.root}
    for front in seen:
        for backend in front.survey.backends if front.survey else ():
            for found in serving(backend, machine):
                if found.root and found.root.pid not in pids:
                    pids.add(found.root.pid)
                    whole.append(looked_at(found, machine))
    return tuple(whole)


def serving(backend: Backend, machine: Machine) -> tuple[Found, ...]:
    """Return the servers of this machine that listen where a backend is; mostly one, or none."""
    # What a configuration calls a backend may be anything.
    found = contained(lambda: listening_at(backend, machine), backend.to)
    return () if isinstance(found, str) else found


def listening_at(backend: Backend, machine: Machine) -> tuple[Found, ...]:
    """Return the servers of this machine that listen where a backend is.

    Raises:
        UsageError: It is no address, or nobody listens there.
        AdapterError: This user may not see who it is.
    """
    source = parse_source([backend.to], Path("/"))
    if not isinstance(source, AddressSource):
        return ()
    if not source.port:
        return find(source, machine)
    for host in own_hosts(source.host):
        with suppress(UsageError):  # nobody listens there
            return find(AddressSource(host, source.port), machine)
    return ()


def _changed_at_s(path: str, files: MemberFiles) -> float:
    def times() -> Iterable[float]:
        for each in (path, files.real.get(path, path)):
            with suppress(OSError):
                # A link that leads elsewhere since is a change too.
                yield Path(each).lstat().st_mtime
            with suppress(OSError):
                yield Path(each).stat().st_mtime

    return max(times(), default=0.0)


def _version(found: Found) -> str:
    member, root = found.member, found.root
    arguments = root.arguments if root else member.command
    said = said_version(arguments)
    if said:
        return said
    if member.kind in {"gunicorn", "uvicorn"}:
        version = python_version(member.kind, arguments, member.folder)
        if version:
            return version
    program = (root.program if root else "") or member.program
    is_interpreter = member.kind in {"gunicorn", "uvicorn", "puma", "command"}
    # What is installed now is not what runs, once its file was replaced.
    if is_interpreter or (root is not None and root.is_replaced):
        return ""
    return package_version(program)
