"""What a server may have of this machine: how many CPUs, and whether its memory's limit was met."""

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from httpdyno.telemetry.kernel_text import counters, group_folders


def cpus(pids: Collection[int]) -> float:
    """Return how many CPUs some processes may use together; 0 where all of them are gone."""
    allowed: set[int] = set()
    for pid in pids:
        with suppress(OSError):
            allowed |= os.sched_getaffinity(pid)
    return min([len(allowed), *quotas(_folders(pids, "cpu"))])


def quotas(folders: Iterable[tuple[str, int]]) -> list[float]:
    """Return the quotas that some control groups have, in CPUs.

    Args:
        folders: Theirs, each with its version.
    """
    found = []
    for folder, version in folders:
        if version == 1:
            words = [_text(f"{folder}/cpu.cfs_quota_us"), _text(f"{folder}/cpu.cfs_period_us")]
        else:
            words = _text(f"{folder}/cpu.max").split()
        # Without one version 1 says −1 and version 2 `max`.
        if len(words) == 2 and all(each.strip().isdigit() for each in words):  # noqa: PLR2004
            quota, period = map(int, words)
            found.append(quota / period)
    return found


def limit_hits(pids: Collection[int]) -> dict[str, int]:
    """Return how often control groups of some processes met their memory's limit, by folder."""
    return hits(_folders(pids, "memory"))


def hits(folders: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return how often some control groups met their memory's limit, by folder.

    Args:
        folders: Theirs, each with its version.
    """
    found: dict[str, int] = {}
    for folder, version in folders:
        if version == 1:
            told = _text(f"{folder}/memory.failcnt").strip()
            if told.isdigit():
                found[folder] = int(told)
        else:
            events = counters(_text(f"{folder}/memory.events"))
            if "max" in events:
                found[folder] = events["max"]
    return found


def _folders(pids: Collection[int], controller: str) -> list[tuple[str, int]]:
    """Return the folders of their groups and those above, each once."""
    mounts = _text("/proc/self/mountinfo")
    groups = {_text(f"/proc/{pid}/cgroup") for pid in pids}
    return list(
        dict.fromkeys(each for text in groups for each in group_folders(mounts, text, controller))
    )


def _text(path: str) -> str:
    with suppress(OSError):  # not every kernel and not every container shows it
        return Path(path).read_text(encoding="utf-8", errors="replace")
    return ""
