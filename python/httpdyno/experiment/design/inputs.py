"""What a run reads besides its plan: digests of its files, and the machine's card.

What a run read besides its plan, and whether it still is what it was.

A server is rendered and started anew for each start, from the study's files as they are then, on
the machine as it is then. Evidence from before and after a change of those is of two questions, not
of one; so a plan keeps digests of all that is read, and a run that goes on compares.
"""

import hashlib
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from httpdyno.errors import EngineError
from httpdyno.host.foreign_files import folders_below, opened_regular
from httpdyno.host.foreign_text import reason
from httpdyno.load.loopback import loopback_requests_per_s
from httpdyno.model import HostFacts, Plan, Replay, Study
from httpdyno.reason import Reason, because
from httpdyno.servers.own_network.network import SERVICES, services_here
from httpdyno.servers.run.root import MEMORY_VARIABLE, ROOT_VARIABLE
from httpdyno.servers.staging import INHERITED
from httpdyno.telemetry.host import KeptCard, card_of_boot, fresh_card

_CHUNK_BYTES = 1 << 20
_GONE = "not there"
_NOT_OURS = frozenset({"__pycache__"})
"""Folders that Python writes as it reads; what is in them follows from the files beside them."""
_NOT_READ = _NOT_OURS | {".git", ".hg", ".svn"}

_HOST_FACTS = (
    "httpdyno",
    "python",
    "kernel",
    "cpu",
    "n_cpus",
    "memory_bytes",
    "limits",
    "server",
    "client_cpus",
    "server_cpus",
    "limits_by",
)
"""What measurements depend on; not the load average, which is never the same."""


def input_digests(study: Study) -> dict[str, str]:
    """Return a digest of each file that a run of this study reads, and of what it inherits.

    Names are as the study has them; `$PATH` and the like are variables that servers get, or that
    say where they live. What is neither a file nor a folder is not opened. Of the machine's own
    files it has what servers in a network of their own read.
    """
    folder = Path(study.folder)
    digests: dict[str, str] = {}
    servers = (study.server, *study.server.companions)
    for name in dict.fromkeys(filter(None, _sources(study))):
        # What one server leaves out another one may have.
        left_out = {e.exclude for each in servers for e in each.files if e.source == name}
        for part in _files(folder / name, left_out.pop() if len(left_out) == 1 else ()):
            is_ours = part.is_relative_to(folder)
            digests[str(part.relative_to(folder) if is_ours else part)] = _digest(part)
    for in_place in (each.folder for each in servers if each.folder):
        digests[f"{in_place}/"] = _folder_digest(folder / in_place)
    if study.server.network is not None:
        digests[SERVICES] = _services_digest()
    # Where servers live is on some disk, and so many folders deep: that is measured with them.
    for variable in (*INHERITED, ROOT_VARIABLE, MEMORY_VARIABLE):
        if variable in os.environ:
            text = os.environ[variable].encode(errors="surrogateescape")
            digests[f"${variable}"] = hashlib.sha256(text).hexdigest()
    for variable in (name for each in servers for name in each.pass_environment):
        if variable in os.environ:
            digests[f"${variable}"] = _secret_digest(study.name, variable)
    return digests


def changed_names(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Return the names whose digests differ, with those that came or went, sorted."""
    return sorted(
        name for name in {*before, *after} if before.get(name, _GONE) != after.get(name, _GONE)
    )


def changes_since(plan: Plan, before: HostFacts, now: HostFacts) -> list[Reason]:
    """Return what is not as it was when the run began; empty where all is.

    A plan of a version that kept no digests says nothing of its files.
    """
    changes = list(_host_changes(before, now))
    if plan.inputs:
        names = changed_names(plan.inputs, input_digests(plan.study))
        changes += [because("experiment.file_changed", name=name) for name in names]
    return changes


def _host_changes(before: HostFacts, now: HostFacts) -> Iterator[Reason]:
    for name in _HOST_FACTS:
        was, now_is = getattr(before, name), getattr(now, name)
        if was != now_is:
            was, now_is = _written(was), _written(now_is)
            yield because("experiment.host_changed", fact=name, was=was, now=now_is)


def _written(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {each}" for key, each in value.items()) or "none"
    if isinstance(value, tuple):
        return ", ".join(str(each) for each in value) or "none"
    return str(value) or "unknown"


def _sources(study: Study) -> Iterator[str]:
    """Return what the study names, relative to its folder or absolute."""
    server, workload = study.server, study.workload
    yield study.file
    for each in (server, *server.companions):
        yield each.base
        yield from (entry.source for entry in each.files)
        yield from (template.source for template in each.templates)
        if isinstance(config := each.settings.get("config"), str):
            yield str(Path(each.folder) / config.removeprefix("file:"))
    if study.site is not None:
        yield study.site.snapshot
    yield from (request.body_file for request in (*workload.first, *workload.requests))
    if isinstance(workload.arrival, Replay):
        yield workload.arrival.log
    if workload.tls is not None:
        yield from (
            workload.tls.roots_file,
            workload.tls.certificate_file,
            workload.tls.key_file,
        )


def _files(path: Path, excluded: tuple[str, ...] = ()) -> Iterator[Path]:
    """Return the file itself, or all files in a folder, through links as they are copied."""
    left_out = shutil.ignore_patterns(*excluded)
    if not path.is_dir():
        yield path
        return
    seen: set[Path] = set()
    for folder, folders, names in folders_below(path, follow=True):
        # A link that leads back up is gone into once.
        is_new = (real := Path(folder).resolve()) not in seen
        seen.add(real)
        out = _NOT_OURS | left_out(folder, [*folders, *names])
        folders[:] = sorted(set(folders) - out) if is_new else []
        yield from (Path(folder) / name for name in sorted(names) if name not in out)


def _services_digest() -> str:
    """Return a digest of what is left of the machine's own file: not where hosts are looked up."""
    try:
        text = services_here()
    except OSError as error:
        return f"unreadable: {error.strerror}"
    return hashlib.sha256(text.encode()).hexdigest() if text else _GONE


def _secret_digest(study: str, variable: str) -> str:
    """Return a digest of a variable's value from which not even a short one can be guessed soon.

    It has no random salt, or nobody could compare it when the run goes on; so it is a slow one.
    """
    value = os.environ[variable].encode(errors="surrogateescape")
    salt = f"{study}:{variable}".encode()
    return hashlib.scrypt(value, salt=salt, n=1 << 14, r=8, p=1, dklen=16).hex()


def _folder_digest(folder: Path) -> str:
    """Return a digest of names, sizes and times: a program's own folder may hold gigabytes."""
    digest = hashlib.sha256()
    for parent, folders, names in folders_below(folder):
        folders[:] = sorted(set(folders) - _NOT_READ)
        for name in sorted(names):
            path = Path(parent) / name
            with suppress(OSError):
                info = path.lstat()
                what = f"{path.relative_to(folder)}\0{info.st_size}\0{info.st_mtime_ns}\0"
                digest.update(os.fsencode(what))
    return digest.hexdigest()


def _digest(path: Path) -> str:
    if not path.is_file():
        return _GONE if not path.exists() else "no file"
    digest = hashlib.sha256()
    try:
        with opened_regular(path) as file:
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
    except OSError as error:
        return f"unreadable: {reason(error)}"
    return digest.hexdigest()


logger = logging.getLogger(__name__)


def taken_anew() -> KeptCard:
    """Take a card and keep it; forks, so no other thread of this process may be at work."""
    return fresh_card(_requests_per_s)


def taken_in_boot() -> KeptCard:
    """Return the card that was taken last in this boot, or take one; forks as `taken_anew`."""
    return card_of_boot(_requests_per_s)


def _requests_per_s() -> float | None:
    try:
        return loopback_requests_per_s() or None
    except (EngineError, OSError) as error:
        # A card without one of its figures is no reason not to run a study.
        logger.info("loopback_requests_per_s: %s", error)
        return None
