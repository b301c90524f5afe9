"""Where the links of a path lead in the mounts of another process."""

import os
import posixpath
from pathlib import Path

_MOST_LINKS = 40


def led(path: str, root: str) -> str:
    """Return where the links of a path lead within a root; itself where there are none.

    The kernel would follow an absolute link from our own root.
    """
    if not root:
        return os.path.realpath(path)
    reached, rest, n_links = "", path.split("/")[::-1], 0
    while rest:
        part = rest.pop()
        if part in {"", "."}:
            continue
        if part == "..":
            reached = posixpath.dirname(reached).rstrip("/")
            continue
        try:
            target = str(Path(f"{root}{reached}/{part}").readlink())
        except OSError:
            reached = f"{reached}/{part}"
            continue
        n_links += 1
        if n_links > _MOST_LINKS:
            break
        reached = "" if target.startswith("/") else reached
        rest += target.split("/")[::-1]
    return reached or "/"


def seen_file(path: str, pid: int) -> Path:
    """Return a file of a process's own mounts, to be opened from here by `ForeignFolder`.

    That leads the links of its folder; what it writes through a link is left out, since a link may
    lead to what is each process's own: `/var/log/nginx/error.log` is `/dev/stderr` in containers.
    """
    return Path(f"/proc/{pid}/root{path}")


def is_device(path: str) -> bool:
    """Whether a path is of a device or of a process, such as `/dev/stderr`."""
    return posixpath.normpath(path).startswith(("/dev/", "/proc/"))


def is_kernels(path: str) -> bool:
    """Whether a path is of what the kernel shows, where nobody keeps files."""
    is_memory = path.startswith("/dev/shm/")  # noqa: S108 - which is like any other
    return path.startswith(("/dev/", "/proc/", "/sys/")) and not is_memory
