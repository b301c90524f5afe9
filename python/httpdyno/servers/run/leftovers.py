"""Ending and removing what a run left: at its end, or after it was killed.

The next command tells a dead owner from a living one (`record.py`), ends what still runs of its
sessions, and removes its folders. Nothing is ended but what came from the owner's servers: the
descendants of recorded sessions and keepers, the members of its control groups, and sessions that
bear its mark. Whoever else looks into a run's folder, runs there or has a file of it open is let
be. Where it cannot be proved that the owner is dead, nothing is ended or removed.

A server may leave folders deeper than any path, closed ones, links that lead elsewhere, and its
user may go on writing. So `remove_tree` follows nothing and does not recurse: the top is closed to
everybody else, and each folder is closed, moved up to the top and emptied there. Only two are ever
open.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path

from httpdyno.host.interruption import cleaning
from httpdyno.host.own_files import (
    is_own_folder,
)
from httpdyno.host.process_identity import Life
from httpdyno.host.procfs import ProcessStat
from httpdyno.reason import Reason, because
from httpdyno.servers.limits.control_group import (
    end_group,
    group_members,
    groups_of,
    is_group_of,
    remove_group,
)
from httpdyno.servers.run.live_process import (
    Mark,
    await_end,
    end_all,
    is_live,
    marked_processes,
    members_of,
    send,
)
from httpdyno.servers.run.record import RECORD, RunRecord, examined, read_record, standing
from httpdyno.servers.run.root import (
    LOCK,
    disk_root,
    drop_if_empty,
    locked_root,
    own_disk_roots,
    own_memory_roots,
    own_runs,
    unfinished,
    unfinished_runs,
)

_HOLD = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def remove_tree(folder: Path, *, last: str = "") -> None:
    """Remove a folder with all that is in it; a link is removed, never followed.

    Args:
        folder: What to remove.
        last: A file in it that stays until all the rest is gone: the lock that says whose it is.

    Raises:
        FileNotFoundError: It is not there.
        OSError: Something in it cannot be removed.
    """
    top = _taken(folder)
    try:
        # Nobody else can put anything into it any more, so this ends.
        while names := os.listdir(top):  # noqa: PTH208 - by descriptor
            for name in [name for name in names if name != last] or names:
                if not _is_unlinked(name, top):
                    _remove_folder(name, top)
    finally:
        os.close(top)
    folder.rmdir()


def removal_complaint(folder: Path, *, last: str = "") -> Reason | None:
    """Remove the folder as `remove_tree`; return what was wrong, None when it is gone."""
    try:
        remove_tree(folder, last=last)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        return because("run.cannot_remove", folder=str(folder), error=str(error))
    return None


def _remove_folder(name: str, top: int) -> None:
    """Remove a folder of the top; those in it come up to the top instead."""
    handle = _taken(name, top)
    try:
        for each in os.listdir(handle):  # noqa: PTH208
            if not _is_unlinked(each, handle):
                # Without being root, moving a folder needs the right to write in it.
                os.close(_taken(each, handle))
                new = f".removed-{os.urandom(8).hex()}"
                os.rename(each, new, src_dir_fd=handle, dst_dir_fd=top)
    finally:
        os.close(handle)
    os.rmdir(name, dir_fd=top)


def _taken(name: str | Path, parent: int | None = None) -> int:
    """Open a folder, and close it to the server's user: he cannot put anything into it any more."""
    held = os.open(name, _HOLD, dir_fd=parent)
    try:
        # What is held cannot be replaced any more, and is reached by no other path than this.
        path = f"/proc/self/fd/{held}"
        if os.geteuid() == 0:
            os.chown(path, 0, 0)
        os.chmod(path, 0o700)  # noqa: PTH101
        return os.open(path, _READ)
    finally:
        os.close(held)


def _is_unlinked(name: str, parent: int) -> bool:
    """Remove what is no folder; return whether it was none."""
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return True
    except (IsADirectoryError, PermissionError):
        # Some file systems say the latter of a folder, so it is looked at which one it is.
        if _is_folder(name, parent):
            return False
        raise
    return True


def _is_folder(name: str, parent: int) -> bool:
    with suppress(OSError):
        os.close(os.open(name, _HOLD, dir_fd=parent))
        return True
    return False


_KEEPER_S = 2.0


def reap_leftovers() -> list[Reason]:
    """End and remove what httpdyno processes that are gone left; return what was done.

    Folders of living ones are not touched, so any number of httpdyno may run at once. Where
    there is nothing to do nothing is made, and nobody waits for anybody.
    """
    roots = own_disk_roots()
    memory_roots = own_memory_roots()
    if not _is_anything_left(roots, memory_roots):
        return []
    done: list[Reason] = []
    for root in roots:
        with locked_root(root):
            for folder in unfinished_runs(root):
                _remove_unfinished(folder)
            for folder in own_runs(root):
                with examined(folder / RECORD) as found:
                    if not _is_gone(folder) and found.life is Life.GONE:
                        with cleaning():
                            done += _reaped(folder)
    # In memory each folder's own lock says enough; the disk root's keeps new runs out meanwhile.
    with locked_root(disk_root()) if roots else nullcontext():
        for root in memory_roots:
            done += _remove_ownerless(root)
            drop_if_empty(root)
    return done


def doubtful_folders() -> dict[Path, Reason]:
    """Return the folders that are left alone because nobody can say whether their owners live.

    With the reason for each.
    """
    found = {file.parent: standing(file) for file in _files(own_disk_roots(), own_memory_roots())}
    return {
        folder: each.doubt
        for folder, each in found.items()
        if each.doubt is not None and folder.exists()
    }


def clear_run(folder: Path) -> tuple[int, list[Reason]]:
    """End the owner's processes and remove its folders; return how many ended, and complaints."""
    record = read_record(folder)
    n_ended, complaints = 0, list[Reason | None]()
    memory = record.memory_folder
    # Only what this owner can have made: a damaged record must not name anything else.
    if memory is not None and memory.name != folder.name and memory != folder / "memory":
        memory = None
    # After a reboot, and in another pid namespace, the same pids and ticks may be anybody's.
    if record.owner is not None and record.owner.is_of_these_processes():
        n_ended, left = _end_processes(record, folder)
        cannot = [because("run.cannot_end", pid=each.pid, folder=str(folder)) for each in left]
        if cannot:
            return n_ended, cannot
    if memory is not None:
        for each in (unfinished(memory), memory):  # the one of an owner killed as he made it
            if is_own_folder(each):
                complaints.append(removal_complaint(each, last=LOCK))
    complaints.append(removal_complaint(folder, last=RECORD))
    return n_ended, [complaint for complaint in complaints if complaint is not None]


def _reaped(folder: Path) -> list[Reason]:
    """End and remove what a dead owner left; return what was done."""
    owner = read_record(folder).owner
    whose = because("run.owner", pid=owner.pid) if owner else because("run.unknown_owner")
    ended, left = clear_run(folder)
    done = []
    if ended:
        done.append(because("run.ended_servers", n=ended, whose=whose))
    return [*done, *(left or [because("run.removed", folder=str(folder), whose=whose)])]


def _end_processes(record: RunRecord, folder: Path) -> tuple[int, list[ProcessStat]]:
    """End all that came from an owner's servers; return how many ended, and what is left."""
    keepers = dict(record.keepers)
    mark = Mark(path=str(folder), key=record.key)
    recorded = (group for group in record.groups if is_group_of(group, folder.name))
    groups = {*recorded, *groups_of(folder.name)}
    seen: set[int] = set()

    def members() -> list[ProcessStat]:
        found = members_of([*record.sessions, *record.keepers], mark)
        found += marked_processes(mark)
        found += (each for group in groups for each in group_members(group))
        servers = {p.pid: p for p in found if keepers.get(p.pid) != p.started_ticks}
        seen.update(servers)
        return list(servers.values())

    left = end_all(members)
    # Keepers last, since what has lost every other mark is still their child.
    kept = [p for p in members_of(record.keepers) if keepers.get(p.pid) == p.started_ticks]
    send(kept, signal.SIGKILL)
    await_end(kept, _KEEPER_S)
    left += [process for process in kept if is_live(process)]
    for group in groups:
        end_group(group)
        remove_group(group)
    return len(seen) - len({process.pid for process in left}), left


def _files(roots: list[Path], memory_roots: list[Path]) -> Iterator[Path]:
    """Yield the files that say whose the folders in some roots are."""
    yield from (folder / RECORD for root in roots for folder in own_runs(root))
    yield from (folder / LOCK for root in memory_roots for folder in own_runs(root))


def _is_anything_left(roots: list[Path], memory_roots: list[Path]) -> bool:
    """Whether there is work for a reaper, seen without a lock: it looks again with it."""
    return any(unfinished_runs(root) for root in roots) or any(
        standing(file).life is Life.GONE or _is_empty(file.parent)
        for file in _files(roots, memory_roots)
    )


def _remove_ownerless(memory_root: Path) -> list[Reason]:
    done = []
    for folder in own_runs(memory_root):
        # Held meanwhile, since a reaper with another root on disk looks here as well.
        with examined(folder / LOCK) as found:
            if not _is_gone(folder) and found.life is Life.GONE:
                complaint = removal_complaint(folder, last=LOCK)
                removed = because("run.removed_ownerless", folder=str(folder))
                done.append(complaint or removed)
    return done


def _remove_unfinished(folder: Path) -> None:
    """Remove what its maker left in which nothing was begun: one that lives holds the root's lock.

    A whole record may be in it, and that must not speak against it: through an overlay the root's
    lock is another one.
    """
    with examined(folder / RECORD) as found:
        if found.life is Life.GONE or read_record(folder).owner is None:
            removal_complaint(folder, last=RECORD)


def _is_empty(folder: Path) -> bool:
    with suppress(OSError):
        return not any(folder.iterdir())
    return False


def _is_gone(folder: Path) -> bool:
    """Whether nothing is left of it: who removes his own takes the lock last, then the folder."""
    with suppress(OSError):
        folder.rmdir()
    return not folder.exists()
