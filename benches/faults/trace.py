"""What of a command there is on the machine while it runs, and what of that is there afterwards."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

_END_S = 20.0
_LISTENS = "0A"
_GROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True, kw_only=True, slots=True)
class Trace:
    """A command with all that comes from it."""

    processes: tuple[psutil.Process, ...]
    """Below it, without itself."""
    sockets: frozenset[str]
    """Inodes of those that they listen on."""
    run: str
    """What the names of its run folders and control groups begin with."""

    @classmethod
    def of(cls, pid: int) -> "Trace":
        """Return that of a command which stands still."""
        below = tuple(psutil.Process(pid).children(recursive=True))
        stat = Path(f"/proc/{pid}/stat").read_text()
        ticks = stat.rpartition(")")[2].split()[19]
        sockets = {inode for each in (pid, *(p.pid for p in below)) for inode in _sockets(each)}
        return cls(
            processes=below,
            sockets=frozenset(sockets & _listening()),
            run=f"run-{_own_pid(pid)}-{ticks}-",
        )

    def left_processes(self) -> list[str]:
        """Wait for their end; return what is left, which is killed."""
        _, alive = psutil.wait_procs(self.processes, timeout=_END_S)
        left = []
        for each in alive:
            with suppress(psutil.NoSuchProcess):
                left.append(f"{each.pid} {' '.join(each.cmdline())}")
                each.kill()
        return left

    def left_sockets(self) -> list[str]:
        """Return those that are still listened on."""
        return sorted(self.sockets & _listening())

    def left_groups(self) -> list[str]:
        """Return its control groups, anywhere in the tree."""
        return sorted(
            folder
            for folder, _, _ in os.walk(_GROUPS)
            if Path(folder).name.startswith(f"httpdyno-{self.run}")
        )


def left_mounts(*folders: Path) -> list[str]:
    """Return the mounts of this mount namespace that have to do with some folders."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line for line in lines if any(str(folder) in line for folder in folders)]


def _own_pid(pid: int) -> str:
    """Return what a process takes for its number, in its own pid namespace."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line for line in lines if line.startswith("NSpid:")).split()[-1]


def _sockets(pid: int) -> Iterator[str]:
    with suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                name = str(link.readlink())
                if name.startswith("socket:["):
                    yield name[8:-1]


def _listening() -> set[str]:
    """Return the inodes of all TCP sockets of this network namespace that are listened on."""
    found = set()
    for name in ("tcp", "tcp6"):
        with suppress(FileNotFoundError):
            rows = [row.split() for row in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
            found |= {row[9] for row in rows if row[3] == _LISTENS}
    return found
