"""What a httpdyno process writes down of itself and its servers, and how a later one reads it.

The record is a file of JSON lines: first who owns the run folder, then a line for each session
that was opened for a server, written *before* the server runs. The owner holds a lock on it as long
as it lives. It may be damaged: what cannot be read names no process.
"""

import fcntl
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from httpdyno.boot import boot_id
from httpdyno.errors import AdapterError
from httpdyno.foreign_text import reason
from httpdyno.private_file import opened_own
from httpdyno.servers.adapter import Place
from httpdyno.servers.live_process import process_info

RECORD = "owner.jsonl"
_RECORD_BYTES = 16 << 20
"""More is no record: a start adds less than 300 bytes for each of its servers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRecord:
    """What is written down of a run folder's owner and its servers."""

    pid: int
    boot: str
    memory_folder: Path | None
    sessions: tuple[tuple[int, int], ...]
    """(leader, start time in ticks) of each."""
    keepers: tuple[tuple[int, int], ...]
    groups: tuple[Path, ...]


def begin_record(folder: Path, memory_folder: Path, started_ticks: int) -> int:
    """Write down that this process owns a run folder; return the record, open and locked.

    Args:
        folder: The run folder, on disk.
        memory_folder: What belongs to it in memory.
        started_ticks: When this process started.

    Raises:
        OSError: It cannot be written.
    """
    record = os.open(folder / RECORD, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    fcntl.flock(record, fcntl.LOCK_EX)
    head = {
        "pid": os.getpid(),
        "started_ticks": started_ticks,
        "boot": boot_id(),
        "memory_folder": str(memory_folder),
    }
    _append(record, head)
    return record


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
    try:
        record = opened_own(place.folder.parent / RECORD, os.O_WRONLY | os.O_APPEND)
    except OSError as error:
        raise AdapterError(
            f"`{place.folder}` is in no run folder with a record: {error.strerror}"
        ) from error
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
    pid, memory = head.get("pid"), head.get("memory_folder")
    return RunRecord(
        pid=pid if _is_number(pid) else 0,
        boot=str(head.get("boot", "")),
        memory_folder=Path(memory) if isinstance(memory, str) and memory else None,
        sessions=_processes(entries, "leader", "started_ticks"),
        keepers=_processes(entries, "keeper", "keeper_started_ticks"),
        groups=tuple(Path(each) for entry in entries for each in _texts(entry.get("groups"))),
    )


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
        lines = file.read(_RECORD_BYTES).splitlines()
    entries = []
    for line in lines:
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
