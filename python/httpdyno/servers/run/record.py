"""Who owns a run folder, what he wrote down of his servers, and whether he is provably gone.

In each folder, on disk or in memory, is a file that its owner holds a lock on as long as it lives:
the kernel drops the lock however the process ends. Seen through an overlay or in a copy it is
another file, whose lock is free; so its first line says which file it is, and which process of
which boot and which pid namespace owns it. What does not prove that the owner is gone leaves a
doubt, and then nothing is ended or removed.

On disk that file is the run's record, of JSON lines: after the owner a line for each session that
was opened for a server, written *before* the server runs. It may be damaged, and it names processes
that will be ended: so only what this user alone can have written is read, and what cannot be read
names no process.

Source: flock(2); the kernel's Documentation/filesystems/overlayfs.rst, "Non-standard behavior".
"""

import errno
import fcntl
import json
import os
import socket
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import msgspec

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_text import reason
from httpdyno.host.own_files import opened_own, taken
from httpdyno.host.process_identity import (
    Life,
    ProcessIdentity,
    boot_id,
)
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import Place
from httpdyno.servers.run.live_process import Mark, process_info

_LINE_BYTES = 16 << 10
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """How it stands with an owner."""

    life: Life
    doubt: Reason | None = None
    """Why it cannot be known, where it cannot."""


def ownership(file: int) -> dict[str, Any]:
    """Return what this process writes into an open file of its own, in the first line."""
    info = os.fstat(file)
    return {
        "owner": msgspec.to_builtins(ProcessIdentity.me()),
        "file": [info.st_dev, info.st_ino],
    }


def owner_of(line: dict[str, Any]) -> ProcessIdentity | None:
    """Return the owner that the first line of such a file names; None where it names none."""
    with suppress(msgspec.ValidationError):
        return msgspec.convert(line.get("owner"), ProcessIdentity)
    return None


@contextmanager
def examined(path: Path) -> Iterator[Standing]:
    """Say how it stands with the owner of such a file; of one who is gone the lock is held."""
    try:
        file = opened_own(path, os.O_RDONLY)
    except OSError as error:
        if error.errno == errno.ENOENT:
            yield _doubt(because("run.record_not_there", file=path.name))
        else:
            yield _doubt(because("run.no_record", file=path.name, error=reason(error)))
        return
    try:
        yield _standing(file, path)
    finally:
        os.close(file)


def standing(path: Path) -> Standing:
    """Return how it stands with the owner of such a file, now."""
    with examined(path) as found:
        return found


def is_trusted(file: int) -> bool:
    """Return whether nobody but this user can have written an open file."""
    info = os.fstat(file)
    return info.st_uid == os.geteuid() and not info.st_mode & _OTHERS_MAY_WRITE


def _standing(file: int, path: Path) -> Standing:
    try:
        if not taken(file):
            return Standing(life=Life.ALIVE)
        line = _first_line(file)
    except OSError as error:
        return _doubt(because("run.record_unreadable", file=path.name, error=reason(error)))
    owner = owner_of(line)
    if owner is None:
        return _doubt(because("run.no_owner", file=path.name))
    info, life = os.fstat(file), owner.life()
    is_elsewhere = owner.boot != boot_id() and owner.host != socket.gethostname()
    reasons = (
        (not is_trusted(file), because("run.others_may_have_written", file=path.name)),
        (
            line.get("file") != [info.st_dev, info.st_ino],
            because("run.other_file", file=path.name),
        ),
        (is_elsewhere, because("run.other_machine", host=owner.host)),
        (life is Life.IN_DOUBT, because("run.cannot_be_seen", pid=owner.pid)),
    )
    doubt = next((why for is_so, why in reasons if is_so), None)
    return Standing(life=life) if doubt is None else _doubt(doubt)


def _doubt(why: Reason) -> Standing:
    return Standing(life=Life.IN_DOUBT, doubt=why)


def _first_line(file: int) -> dict[str, Any]:
    """Return the first line of a file as JSON; empty where it is none."""
    content = os.pread(file, _LINE_BYTES, 0)
    with suppress(ValueError, RecursionError):
        line = json.loads(content.splitlines()[0] if content else b"")
        if isinstance(line, dict):
            return line
    return {}


RECORD = "owner.jsonl"
_RECORD_BYTES = 16 << 20
"""More is no record: a start adds less than 300 bytes for each of its servers."""
_HEAD_BYTES = 16 << 10
_KEY_BYTES = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRecord:
    """What is written down of a run folder's owner and its servers."""

    owner: ProcessIdentity | None
    memory_folder: Path | None
    sessions: tuple[tuple[int, int], ...]
    """(leader, start time in ticks) of each."""
    keepers: tuple[tuple[int, int], ...]
    groups: tuple[Path, ...]
    key: str
    """What the marks of its servers end in; empty where there is none."""


def begin_record(folder: Path, memory_folder: Path) -> int:
    """Write down that this process owns a run folder; return the record, open and locked.

    Args:
        folder: The run folder, on disk.
        memory_folder: What belongs to it in memory.

    Raises:
        OSError: It cannot be written.
    """
    record = os.open(folder / RECORD, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    fcntl.flock(record, fcntl.LOCK_EX)
    key = os.urandom(_KEY_BYTES).hex()
    head = {**ownership(record), "memory_folder": str(memory_folder), "key": key}
    _append(record, head)
    return record


def mark_of(place: Place, log: Path) -> Mark:
    """Return what a server of a place is marked with.

    Args:
        place: Of a `RunRoot`.
        log: Its log, which no other server has.

    Raises:
        AdapterError: The place is in no run folder with a record.
    """
    record = _opened(place, os.O_RDONLY)
    try:
        head = _entries_of(os.pread(record, _HEAD_BYTES, 0))
    finally:
        os.close(record)
    return Mark(path=str(log), key=_key(head[0] if head else {}))


def record_session(
    place: Place, leader: int, *, keeper: int = 0, groups: Iterable[Path] = ()
) -> int:
    """Write down that a session was opened for the place; return its leader's start time.

    Args:
        place: Of a `RunRoot`.
        leader: The session's first process.
        keeper: The process that keeps it, if there is one.
        groups: The control groups that it is in, those that limit it included.

    Raises:
        AdapterError: The place is in no run folder with a record, or the leader is gone already.
    """
    info = process_info(leader)
    record = _opened(place, os.O_WRONLY | os.O_APPEND)
    try:
        if info is None:
            raise AdapterError(f"process {leader} was gone before it could be recorded")
        entry: dict[str, Any] = {"leader": leader, "started_ticks": info.started_ticks}
        if (kept := process_info(keeper)) is not None:
            entry |= {"keeper": keeper, "keeper_started_ticks": kept.started_ticks}
        if named := [str(each) for each in groups]:
            entry["groups"] = named
        _append(record, entry)
    except OSError as error:
        raise AdapterError(
            f"process {leader} cannot be recorded in `{place.folder.parent}`: {reason(error)}"
        ) from error
    finally:
        os.close(record)
    return info.started_ticks


def read_record(folder: Path) -> RunRecord:
    """Return what of a run folder's record can be read."""
    entries = _entries(folder / RECORD)
    # The first is the owner's; one that tells nothing is as good as none.
    head = entries[0] if entries else {}
    memory = head.get("memory_folder")
    return RunRecord(
        owner=owner_of(head),
        memory_folder=Path(memory) if isinstance(memory, str) and memory else None,
        sessions=_processes(entries, "leader", "started_ticks"),
        keepers=_processes(entries, "keeper", "keeper_started_ticks"),
        groups=tuple(Path(each) for entry in entries for each in _texts(entry.get("groups"))),
        key=_key(head),
    )


def _opened(place: Place, flags: int) -> int:
    try:
        return opened_own(place.folder.parent / RECORD, flags)
    except OSError as error:
        raise AdapterError(
            f"`{place.folder}` is in no run folder with a record: {error.strerror}"
        ) from error


def _key(head: dict[str, Any]) -> str:
    key = head.get("key")
    return key if isinstance(key, str) else ""


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _processes(entries: list[dict[str, Any]], pid: str, ticks: str) -> tuple[tuple[int, int], ...]:
    """Return processes with their start times, where both can be read."""
    return tuple(
        (each[pid], each[ticks])
        for each in entries
        if _is_number(each.get(pid)) and _is_number(each.get(ticks))
    )


def _entries(record: Path) -> list[dict[str, Any]]:
    """Return what of a record can be read: the last line may be cut short, any be garbled.

    What cannot be read names no process: one is let go only when its line was written whole.
    """
    try:
        handle = opened_own(record, os.O_RDONLY)
    except OSError:
        return []
    with os.fdopen(handle, "rb") as file:
        return _entries_of(file.read(_RECORD_BYTES)) if is_trusted(handle) else []


def _entries_of(content: bytes) -> list[dict[str, Any]]:
    entries = []
    for line in content.splitlines():
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict):
            entries.append(entry)
    return entries


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 63


def _append(record: int, entry: dict[str, Any]) -> None:
    os.write(record, json.dumps(entry).encode() + b"\n")
