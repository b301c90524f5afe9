"""nginx's workers as the kernel shows them: their number, their limits, their generation."""

import re
from pathlib import Path

from httpdyno.servers.run.live_process import child_pids

_TITLE = b"nginx: worker process"
_LEAVING = b"is shutting down"
_OPEN_FILES = re.compile(r"^Max open files +(\d+)", re.MULTILINE)


def workers(master: int) -> tuple[int, ...]:
    """Return the workers that take connections, those that are leaving left out.

    They are the generation of a master: after a reload that was taken up, all of them are others.
    """
    return tuple(pid for pid in child_pids(master) if _is_worker(pid))


def open_files_limit(pid: int) -> int | None:
    """Return how many files a process may have open; None where it is not told."""
    try:
        text = Path(f"/proc/{pid}/limits").read_text(encoding="ascii")
    except OSError:
        return None
    match = _OPEN_FILES.search(text)
    return int(match[1]) if match else None


def _is_worker(pid: int) -> bool:
    try:
        title = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return title.startswith(_TITLE) and _LEAVING not in title
