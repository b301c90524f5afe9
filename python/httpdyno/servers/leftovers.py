"""Ending and removing what a run left: at its end, or after it was killed.

The owner of a run folder holds a lock on its record as long as it lives (the kernel drops it
however the process ends), so the next command can tell a dead owner from a living one, end what
still runs of its sessions, and remove its folders.
"""

import signal
from contextlib import nullcontext, suppress
from pathlib import Path

from httpdyno.boot import boot_id
from httpdyno.interruption import cleaning
from httpdyno.private_file import is_locked, taken_over
from httpdyno.servers.control_group import end_group, groups_of, is_group_of, remove_group
from httpdyno.servers.live_process import (
    ProcessInfo,
    await_end,
    end_all,
    is_live,
    marked_processes,
    members_of,
    processes_in,
    send,
)
from httpdyno.servers.removal import removal_complaint
from httpdyno.servers.root_folder import (
    LOCK,
    disk_root,
    drop_if_empty,
    locked_root,
    own_disk_roots,
    own_memory_roots,
    own_runs,
)
from httpdyno.servers.run_record import RECORD, RunRecord, read_record

_KEEPER_S = 2.0


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
        with locked_root(root):
            for folder in own_runs(root):
                with taken_over(folder / RECORD) as is_ours:
                    if is_ours and not _is_gone(folder):
                        with cleaning():
                            done += _reaped(folder)
    # In memory each folder's own lock says enough; the disk root's keeps new runs out meanwhile.
    with locked_root(disk_root()) if roots else nullcontext():
        for root in memory_roots:
            done += _remove_ownerless(root)
            drop_if_empty(root)
    return done


def clear_run(folder: Path) -> tuple[int, list[str]]:
    """End the owner's processes and remove its folders; return how many ended, and complaints."""
    owner = read_record(folder)
    n_ended, complaints = 0, []
    memory = owner.memory_folder
    # Only what this owner can have made: a damaged record must not name anything else.
    if memory is not None and memory.name != folder.name and memory != folder / "memory":
        memory = None
    # After a reboot the same pids and ticks may be anybody's.
    if owner.boot == boot_id():
        n_ended, left = _end_processes(owner, [folder, memory] if memory else [folder])
        complaints += [f"process {process.pid} in `{folder}` cannot be ended" for process in left]
    if complaints:
        return n_ended, complaints
    if memory is not None:
        unfinished = memory.with_name(f".{memory.name}")  # of an owner killed as he made it
        complaints += [removal_complaint(each, last=LOCK) for each in (unfinished, memory)]
    complaints.append(removal_complaint(folder, last=RECORD))
    return n_ended, [complaint for complaint in complaints if complaint]


def _reaped(folder: Path) -> list[str]:
    """End and remove what a dead owner left; return what was done, in words."""
    pid = read_record(folder).pid
    whose = f"httpdyno process {pid}" if pid else "an httpdyno process"
    ended, left = clear_run(folder)
    done = []
    if ended:
        done.append(f"ended {ended} server processes that {whose} had left running")
    done.append(f"removed `{folder}` of {whose}, which was killed" if not left else left[0])
    return done + left[1:]


def _end_processes(owner: RunRecord, folders: list[Path]) -> tuple[int, list[ProcessInfo]]:
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
    name = folders[0].name
    recorded = (group for group in owner.groups if is_group_of(group, name))
    for group in {*recorded, *groups_of(name)}:
        end_group(group)
        remove_group(group)
    return len(seen) - len({process.pid for process in left}), left


def _is_ownerless_anywhere(roots: list[Path], memory_roots: list[Path]) -> bool:
    """Whether there is work for a reaper, seen without a lock: it looks again with it."""
    records = [folder / RECORD for root in roots for folder in own_runs(root)]
    locks = [folder / LOCK for root in memory_roots for folder in own_runs(root)]
    return not all(is_locked(file) for file in (*records, *locks))


def _remove_ownerless(memory_root: Path) -> list[str]:
    done = []
    for folder in own_runs(memory_root):
        # Held meanwhile, since a reaper with another root on disk looks here as well.
        with taken_over(folder / LOCK) as is_ours:
            if is_ours and not _is_gone(folder):
                complaint = removal_complaint(folder, last=LOCK)
                done.append(complaint or f"removed `{folder}`, which no httpdyno owns")
    return done


def _is_gone(folder: Path) -> bool:
    """Whether nothing is left of it: who removes his own takes the lock last, then the folder."""
    with suppress(OSError):
        folder.rmdir()
    return not folder.exists()
