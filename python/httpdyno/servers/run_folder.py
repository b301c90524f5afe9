"""Where instances live, and how what a killed httpdyno left behind is found again.

Each httpdyno process claims one owner folder under a root of its user, on disk and in memory. The
folder's record is written *before* anything is started: who owns it, and every session that was
opened for a server. The owner holds a lock on the record as long as it lives (the kernel drops it
however the process ends), so the next command can tell a dead owner from a living one, end what
still runs of its sessions, and remove its folders.
"""

import fcntl
import itertools
import json
import os
import re
import signal
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from httpdyno.errors import AdapterError, RevertError
from httpdyno.servers.adapter import Place
from httpdyno.servers.control_group import end_group, is_group, remove_group
from httpdyno.servers.removal import remove_tree
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

ROOT_VARIABLE = "HTTPDYNO_RUN_DIR"
_RECORD = "owner.jsonl"
_LOCK = "lock"
_LOCK_PATIENCE_S = 30.0
_ATTEMPTS = 10
_KEEPER_S = 2.0
_MEMORY = Path("/dev/shm")  # noqa: S108 - roots are made in it with care, in `_safe_root`
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


class RunRoot:
    """The folders of this process; all places are made in here."""

    def __init__(self, folder: Path, memory_folder: Path, locks: tuple[int, ...]) -> None:
        self.folder = folder
        self.memory_folder = memory_folder
        self._locks = locks
        self._numbers = itertools.count(1)
        self._is_released = False

    def new_place(self, label: str, *, cpus: tuple[int, ...] = ()) -> Place:
        """Return a new place for one instance, on some cores; the label is for people who look."""
        name = f"{next(self._numbers):04d}-{re.sub(r'[^a-zA-Z0-9]+', '-', label)[:40].strip('-')}"
        place = Place(folder=self.folder / name, memory_folder=self.memory_folder / name, cpus=cpus)
        for folder in (place.folder, place.memory_folder):
            # Adapters hand them over to the server's user when that is another one.
            folder.mkdir(mode=0o700)
        return place

    def release(self) -> None:
        """End what still runs in here and remove everything; idempotent.

        Raises:
            RevertError: A process could not be ended, or a file not be removed.
        """
        if self._is_released:
            return
        _, left = _clear(self.folder)
        if left:
            raise RevertError("; ".join(left), hint="End it by hand, then run any command again.")
        self._is_released = True
        for lock in self._locks:
            os.close(lock)
        _drop_if_empty(self.memory_folder.parent)

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
    with _locked(root):
        folder.mkdir(mode=0o755)
        folder.chmod(0o755)  # whatever the umask
        record = os.open(folder / _RECORD, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        fcntl.flock(record, fcntl.LOCK_EX)
        _append(
            record,
            {
                "pid": os.getpid(),
                "started_ticks": started_ticks,
                "boot": _boot_id(),
                "memory_folder": str(memory_folder),
            },
        )
        memory_lock = _make_in_memory(memory_folder)
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
        record = os.open(place.folder.parent / _RECORD, os.O_WRONLY | os.O_APPEND)
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
    root = _chosen_root()
    if not _is_ownerless_anywhere(root, _MEMORY / _root_name()):
        return []
    done: list[str] = []
    # In memory each folder's own lock says enough, so that a root need not be made for it.
    with _locked(disk_root()) if root.is_dir() else nullcontext():
        for folder in sorted(root.glob("run-*")):
            if _is_held(folder / _RECORD):
                continue
            pid = _owner(folder).pid
            whose = f"httpdyno process {pid}" if pid else "an httpdyno process"
            ended, left = _clear(folder)
            if ended:
                done.append(f"ended {ended} server processes that {whose} had left running")
            done.append(f"removed `{folder}` of {whose}, which was killed" if not left else left[0])
            done.extend(left[1:])
        memory_root = memory_root_or(root)
        if memory_root != root:
            done += _remove_ownerless(memory_root)
            _drop_if_empty(memory_root)
    return done


def disk_root() -> Path:
    """Return this user's root for runs on disk, made if need be.

    Raises:
        AdapterError: It cannot be made, belongs to somebody else, or Apache's user cannot reach it.
    """
    return _safe_root(_chosen_root())


def memory_root_or(otherwise: Path) -> Path:
    """Return this user's RAM-backed root; the other one where this machine has none."""
    if not (_MEMORY.is_dir() and os.access(_MEMORY, os.W_OK | os.X_OK)):
        return otherwise
    return _safe_root(_MEMORY / _root_name())


def _chosen_root() -> Path:
    chosen = os.environ.get(ROOT_VARIABLE, "")
    return (Path(chosen) if chosen else Path("/var/tmp") / _root_name()).absolute()  # noqa: S108


def _root_name() -> str:
    return f"httpdyno-{os.geteuid()}"


def _is_ownerless_anywhere(root: Path, memory_root: Path) -> bool:
    """Whether there is work for a reaper, seen without a lock: it looks again with it."""
    records = [folder / _RECORD for folder in root.glob("run-*")]
    locks = [folder / _LOCK for folder in memory_root.glob("run-*")]
    return not all(_is_held(file) for file in (*records, *locks))


def _safe_root(root: Path) -> Path:
    try:
        root.mkdir(mode=0o755, parents=True, exist_ok=True)
        info = root.lstat()
        # Others can write where our roots are made: theirs must not pass for ours.
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid():
            raise AdapterError(
                f"`{root}` is not a folder of this user",
                hint=f"Remove it, or set {ROOT_VARIABLE} to a folder of your own.",
            )
        if info.st_mode & _OTHERS_MAY_WRITE or info.st_mode & 0o755 != 0o755:  # noqa: PLR2004
            root.chmod(0o755)
        above = {parent: parent.stat() for parent in root.parents}
        closed = [p for p, info in above.items() if not info.st_mode & stat.S_IXOTH]
        theirs = [p for p, info in above.items() if _is_open_to_all(info)]
    except OSError as error:
        raise AdapterError(
            f"`{root}` cannot be used for runs: {error}",
            hint=f"Set {ROOT_VARIABLE} to a folder of your own.",
        ) from error
    if closed and os.geteuid() == 0:
        raise AdapterError(
            f"`{root}` cannot be reached by servers' users: `{closed[0]}` is closed to them",
            hint=f"Set {ROOT_VARIABLE} to a folder below one that all can enter.",
        )
    if theirs:
        raise AdapterError(
            f"`{root}` cannot be used for runs: others can replace what is in `{theirs[0]}`",
            hint=f"Set {ROOT_VARIABLE} to a folder below ones that only you or root can change.",
        )
    return root


def _is_open_to_all(folder: os.stat_result) -> bool:
    """Whether all can rename what is in a folder, as they cannot where it is sticky."""
    return bool(folder.st_mode & stat.S_IWOTH) and not folder.st_mode & stat.S_ISVTX


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Hold the root's lock, so that claiming and reaping never see each other half done."""
    handle = os.open(root / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + _LOCK_PATIENCE_S
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > deadline:
                    raise AdapterError(
                        f"another httpdyno holds `{root / _LOCK}` for {_LOCK_PATIENCE_S:.0f} s"
                    ) from error
                time.sleep(0.01)
        yield
    finally:
        os.close(handle)


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
            _safe_root(folder.parent)
    unfinished.chmod(0o755)
    lock = os.open(unfinished / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    unfinished.rename(folder)
    return lock


def _remove_ownerless(memory_root: Path) -> list[str]:
    done = []
    for folder in sorted(memory_root.glob("run-*")):
        if not _is_held(folder / _LOCK):
            complaint = _removed(folder)
            done.append(complaint or f"removed `{folder}`, which no httpdyno owns")
    return done


def _drop_if_empty(folder: Path) -> None:
    with suppress(OSError):  # others' folders are in it, or it is gone with ours
        folder.rmdir()


def _is_held(file: Path) -> bool:
    """Whether a living process holds the lock on it; not if there is no such file."""
    try:
        handle = os.open(file, os.O_RDONLY)
    except OSError:
        return False  # its maker was killed before it could start anything
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _owner(folder: Path) -> _Owner:
    try:
        lines = (folder / _RECORD).read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    entries = []
    for line in lines:
        try:
            entries.append(json.loads(line))
        except ValueError:
            continue  # the last one, cut short by the kill: its process was never let go
    head: dict[str, Any] = entries[0] if entries else {}
    memory = head.get("memory_folder", "")
    return _Owner(
        pid=int(head.get("pid", 0)),
        boot=str(head.get("boot", "")),
        memory_folder=Path(memory) if memory else None,
        sessions=tuple((e["leader"], e["started_ticks"]) for e in entries if "leader" in e),
        keepers=tuple((e["keeper"], e["keeper_started_ticks"]) for e in entries if "keeper" in e),
        groups=tuple(Path(e["group"]) for e in entries if "group" in e),
    )


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
    for group in owner.groups:
        if is_group(group):
            end_group(group)
            remove_group(group)
    return len(seen) - len({process.pid for process in left}), left


def _removed(folder: Path) -> str:
    """Remove the folder; return what was wrong, empty when it is gone."""
    try:
        remove_tree(folder)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"`{folder}` cannot be removed: {error}"
    return ""


def _append(record: int, entry: dict[str, Any]) -> None:
    os.write(record, json.dumps(entry).encode() + b"\n")


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
