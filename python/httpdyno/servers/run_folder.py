"""Where instances live, and how what a killed httpdyno left behind is found again.

Each httpdyno process claims one owner folder under a root of its user, on disk and in memory. The
folder's record is written *before* anything is started: who owns it, and every session that was
opened for a server. The owner holds a lock on the record as long as it lives (the kernel drops it
however the process ends), so the next command can tell a dead owner from a living one, end what
still runs of its sessions, and remove its folders.
"""

import atexit
import fcntl
import itertools
import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeGuard

from httpdyno.errors import AdapterError, RevertError
from httpdyno.foreign import reason
from httpdyno.interruption import cleaning
from httpdyno.own_file import HeldError, is_locked, locked, opened_own
from httpdyno.servers.adapter import Place
from httpdyno.servers.control_group import end_group, groups_of, is_group, remove_group
from httpdyno.servers.removal import remove_tree
from httpdyno.servers.root_folder import (
    ROOT_VARIABLE,
    disk_root,
    is_own_folder,
    memory_root_or,
    own_disk_roots,
    own_memory_roots,
    safe_root,
)
from httpdyno.servers.session import (
    ProcessInfo,
    await_end,
    end_all,
    is_live,
    marked_processes,
    members_of,
    process_info,
    processes_in,
    send,
)

_RECORD = "owner.jsonl"
_LOCK = "lock"
_LOCK_PATIENCE_S = 30.0
_ATTEMPTS = 10
_KEEPER_S = 2.0
_RECORD_BYTES = 16 << 20
"""More is no record: a start adds less than 300 bytes for each of its servers."""


class RunRoot:
    """The folders of this process; all places are made in here."""

    def __init__(self, folder: Path, memory_folder: Path, locks: tuple[int, ...]) -> None:
        self.folder = folder
        self.memory_folder = memory_folder
        self._locks = locks
        self._numbers = itertools.count(1)
        self._is_released = False
        self._pid = os.getpid()
        # Where a signal comes between whoever releases and its first statement.
        atexit.register(self._release_at_exit)

    def new_place(self, label: str, *, cpus: tuple[int, ...] = ()) -> Place:
        """Return a new place for one instance, on some cores; the label is for people who look."""
        name = f"{next(self._numbers):04d}-{re.sub(r'[^a-zA-Z0-9]+', '-', label)[:40].strip('-')}"
        place = Place(folder=self.folder / name, memory_folder=self.memory_folder / name, cpus=cpus)
        for folder in (place.folder, place.memory_folder):
            try:
                # Adapters hand them over to the server's user when that is another one.
                folder.mkdir(mode=0o700)
            except OSError as error:
                raise _cannot_be_made(folder, error) from error
        return place

    def release(self) -> None:
        """End what still runs in here and remove everything; idempotent.

        Raises:
            RevertError: A process could not be ended, or a file not be removed.
        """
        if self._is_released or os.getpid() != self._pid:
            return
        with cleaning():
            _, left = _clear(self.folder)
            if left:
                hint = "End it by hand, then run any command again."
                raise RevertError("; ".join(left), hint=hint)
            self._is_released = True
            atexit.unregister(self._release_at_exit)
            for lock in self._locks:
                os.close(lock)
            _drop_if_empty(self.memory_folder.parent)

    def _release_at_exit(self) -> None:
        with suppress(RevertError):  # said already, by whoever released before
            self.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Owner:
    """What an owner's record says."""

    pid: int
    boot: str
    memory_folder: Path | None
    sessions: tuple[tuple[int, int], ...]
    """(leader, start time in ticks) of each."""
    keepers: tuple[tuple[int, int], ...]
    groups: tuple[Path, ...]


def claim() -> RunRoot:
    """Make this process's folders.

    Raises:
        AdapterError: They cannot be made, or would not be safe.
    """
    root, memory_root = disk_root(), memory_root_or(disk_root())
    info = process_info(os.getpid())
    started_ticks = info.started_ticks if info else 0
    name = f"run-{os.getpid()}-{started_ticks}-{os.urandom(4).hex()}"
    folder = root / name
    memory_folder = memory_root / (name if memory_root != root else f"{name}/memory")
    head = {
        "pid": os.getpid(),
        "started_ticks": started_ticks,
        "boot": _boot_id(),
        "memory_folder": str(memory_folder),
    }
    with _locked(root):
        try:
            folder.mkdir(mode=0o755)
            folder.chmod(0o755)  # whatever the umask
            record = os.open(folder / _RECORD, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            fcntl.flock(record, fcntl.LOCK_EX)
            _append(record, head)
            memory_lock = _make_in_memory(memory_folder)
        except OSError as error:
            _removed(memory_folder.with_name(f".{name}"))
            _removed(folder)
            raise _cannot_be_made(folder, error) from error
    return RunRoot(folder, memory_folder, (record, memory_lock))


def record_session(place: Place, leader: int, *, keeper: int = 0, group: Path | None = None) -> int:
    """Write down that a session was opened for the place; return its leader's start time.

    Args:
        place: Of a claimed root.
        leader: The session's first process.
        keeper: The process that keeps it, if there is one.
        group: The control group that it is in, if there is one.

    Raises:
        AdapterError: The place is not one of a claimed root, or the leader is gone already.
    """
    info = process_info(leader)
    try:
        record = opened_own(place.folder.parent / _RECORD, os.O_WRONLY | os.O_APPEND)
    except OSError as error:
        raise AdapterError(
            f"`{place.folder}` is not in a claimed run folder: {error.strerror}"
        ) from error
    try:
        if info is None:
            raise AdapterError(f"process {leader} was gone before it could be recorded")
        entry: dict[str, Any] = {"leader": leader, "started_ticks": info.started_ticks}
        if (kept := process_info(keeper)) is not None:
            entry |= {"keeper": keeper, "keeper_started_ticks": kept.started_ticks}
        if group is not None:
            entry["group"] = str(group)
        _append(record, entry)
    except OSError as error:
        raise AdapterError(
            f"process {leader} cannot be recorded in `{place.folder.parent}`: {reason(error)}"
        ) from error
    finally:
        os.close(record)
    return info.started_ticks


def remove_place(place: Place) -> None:
    """Remove all that an instance wrote.

    Raises:
        RevertError: Something could not be removed.
    """
    for folder in (place.folder, place.memory_folder):
        complaint = _removed(folder)
        if complaint:
            raise RevertError(complaint)


def reap_leftovers() -> list[str]:
    """End and remove what httpdyno processes that are gone left; return what was done, in words.

    Folders of living ones are not touched, so any number of httpdyno may run at once. Where
    there is nothing to do nothing is made, and nobody waits for anybody.
    """
    roots = own_disk_roots()
    memory_roots = own_memory_roots()
    if not _is_ownerless_anywhere(roots, memory_roots):
        return []
    done: list[str] = []
    for root in roots:
        with _locked(root):
            for folder in _own_runs(root):
                if not is_locked(folder / _RECORD):
                    with cleaning():
                        done += _reaped(folder)
    # In memory each folder's own lock says enough; the disk root's keeps claims out meanwhile.
    with _locked(disk_root()) if roots else nullcontext():
        for root in memory_roots:
            done += _remove_ownerless(root)
            _drop_if_empty(root)
    return done


def _reaped(folder: Path) -> list[str]:
    """End and remove what a dead owner left; return what was done, in words."""
    pid = _owner(folder).pid
    whose = f"httpdyno process {pid}" if pid else "an httpdyno process"
    ended, left = _clear(folder)
    done = []
    if ended:
        done.append(f"ended {ended} server processes that {whose} had left running")
    done.append(f"removed `{folder}` of {whose}, which was killed" if not left else left[0])
    return done + left[1:]


def _own_runs(root: Path) -> list[Path]:
    """Return the owners' folders in a root; what is not this user's is not looked into."""
    return [folder for folder in sorted(root.glob("run-*")) if is_own_folder(folder)]


def _is_ownerless_anywhere(roots: list[Path], memory_roots: list[Path]) -> bool:
    """Whether there is work for a reaper, seen without a lock: it looks again with it."""
    records = [folder / _RECORD for root in roots for folder in _own_runs(root)]
    locks = [folder / _LOCK for root in memory_roots for folder in _own_runs(root)]
    return not all(is_locked(file) for file in (*records, *locks))


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Hold the root's lock, so that claiming and reaping never see each other half done."""
    try:
        with locked(root / _LOCK, patience_s=_LOCK_PATIENCE_S):
            yield
    except HeldError as error:
        raise AdapterError(
            f"the run folder is in use: {error}",
            hint=f"Wait for it or end it, or set {ROOT_VARIABLE} to another folder.",
        ) from error
    except OSError as error:
        if error.filename != str(root / _LOCK):
            raise
        raise AdapterError(
            f"the lock `{root / _LOCK}` cannot be used: {reason(error)}",
            hint="Remove it.",
        ) from error


def _cannot_be_made(folder: Path, error: OSError) -> AdapterError:
    return AdapterError(
        f"`{folder}` cannot be made: {reason(error)}",
        hint=f"Make room there, or set {ROOT_VARIABLE} to a folder of your own.",
    )


def _make_in_memory(folder: Path) -> int:
    """Make it with a lock of its own; return the lock.

    Its record may be removed by hand, or be under another root: then the lock alone says whether
    somebody needs it. It comes to its name only with the lock held.
    """
    unfinished = folder.with_name(f".{folder.name}")
    for _ in range(_ATTEMPTS):
        try:
            unfinished.mkdir(mode=0o755)
            break
        except FileNotFoundError:  # another httpdyno just removed the empty root
            safe_root(folder.parent)
    unfinished.chmod(0o755)
    lock = os.open(unfinished / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    unfinished.rename(folder)
    return lock


def _remove_ownerless(memory_root: Path) -> list[str]:
    done = []
    for folder in _own_runs(memory_root):
        if not is_locked(folder / _LOCK):
            complaint = _removed(folder)
            done.append(complaint or f"removed `{folder}`, which no httpdyno owns")
    return done


def _drop_if_empty(folder: Path) -> None:
    with suppress(OSError):  # others' folders are in it, or it is gone with ours
        folder.rmdir()


def _owner(folder: Path) -> _Owner:
    entries = _entries(folder / _RECORD)
    # The first is the owner's; one that tells nothing is as good as none.
    head = entries[0] if entries else {}
    pid, memory = head.get("pid"), head.get("memory_folder")
    return _Owner(
        pid=pid if _is_number(pid) else 0,
        boot=str(head.get("boot", "")),
        memory_folder=Path(memory) if isinstance(memory, str) and memory else None,
        sessions=_processes(entries, "leader", "started_ticks"),
        keepers=_processes(entries, "keeper", "keeper_started_ticks"),
        groups=tuple(Path(e["group"]) for e in entries if isinstance(e.get("group"), str)),
    )


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


def _clear(folder: Path) -> tuple[int, list[str]]:
    """End the owner's processes and remove its folders; return how many ended, and complaints."""
    owner = _owner(folder)
    n_ended, complaints = 0, []
    memory = owner.memory_folder
    # Only what this owner can have made: a damaged record must not name anything else.
    if memory is not None and folder.name not in {memory.name, memory.parent.name}:
        memory = None
    # After a reboot the same pids and ticks may be anybody's.
    if owner.boot == _boot_id():
        n_ended, left = _end_processes(owner, [folder, memory] if memory else [folder])
        complaints += [f"process {process.pid} in `{folder}` cannot be ended" for process in left]
    if complaints:
        return n_ended, complaints
    if memory is not None:
        complaints += [complaint] if (complaint := _removed(memory)) else []
    complaints += [complaint] if (complaint := _removed(folder)) else []
    return n_ended, complaints


def _end_processes(owner: _Owner, folders: list[Path]) -> tuple[int, list[ProcessInfo]]:
    """End all that came from an owner's servers; return how many ended, and what is left."""
    keepers = dict(owner.keepers)
    seen: set[int] = set()

    def members() -> list[ProcessInfo]:
        found = members_of([*owner.sessions, *owner.keepers])
        found += marked_processes(str(folders[0]))
        found += processes_in(folders)
        servers = {p.pid: p for p in found if keepers.get(p.pid) != p.started_ticks}
        seen.update(servers)
        return list(servers.values())

    left = end_all(members)
    # Keepers last, since what has lost every other mark is still their child.
    kept = [p for p in members_of(owner.keepers) if keepers.get(p.pid) == p.started_ticks]
    send(kept, signal.SIGKILL)
    await_end(kept, _KEEPER_S)
    left += [process for process in kept if is_live(process)]
    for group in {*filter(is_group, owner.groups), *groups_of(folders[0].name)}:
        end_group(group)
        remove_group(group)
    return len(seen) - len({process.pid for process in left}), left


def _removed(folder: Path) -> str:
    """Remove the folder; return what was wrong, empty when it is gone."""
    try:
        remove_tree(folder)
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        return f"`{folder}` cannot be removed: {error}"
    return ""


def _append(record: int, entry: dict[str, Any]) -> None:
    os.write(record, json.dumps(entry).encode() + b"\n")


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
