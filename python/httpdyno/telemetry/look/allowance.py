"""What a server may have of this machine: how many CPUs, and whether its memory's limit was met."""

import math
import os
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import PurePosixPath

from httpdyno.host.group_folder import group_folders
from httpdyno.telemetry.kernel_text import counters
from httpdyno.telemetry.surroundings import _text


def cpus(pids: Collection[int]) -> float:
    """Return how many CPUs some processes may use together; 0 where all of them are gone."""
    allowed: set[int] = set()
    for pid in pids:
        with suppress(OSError):
            allowed |= os.sched_getaffinity(pid)
    return min(len(allowed), quota_of(groups_of(pids, "cpu")))


def quota_of(groups: Iterable[Sequence[tuple[str, int]]]) -> float:
    """Return how many CPUs the quotas of some control groups leave to all of them together.

    A group has no more than each of those above it; of two that are side by side each has its own.

    Args:
        groups: Each with those above it, as `quotas` takes them.
    """
    own, version_of = set[str](), dict[str, int]()
    for group in groups:
        above = {_above(folder) for folder, _ in group}
        own |= {folder for folder, _ in group if folder not in above}
        version_of |= group
    below: dict[str, float] = {}
    left = math.inf
    for folder in sorted(version_of, key=lambda each: -len(PurePosixPath(each).parts)):
        inside = math.inf if folder in own else below[folder]
        quota = min([inside, *quotas([(folder, version_of[folder])])])
        if (above_it := _above(folder)) in version_of:
            below[above_it] = below.get(above_it, 0.0) + quota
        else:
            left = min(left, quota)
    return left


def _above(folder: str) -> str:
    return str(PurePosixPath(folder).parent)


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
    return hits(dict.fromkeys(each for group in groups_of(pids, "memory") for each in group))


def hits(folders: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return how often some control groups met their memory's limit, by folder.

    Args:
        folders: Theirs, each with its version.
    """
    found: dict[str, int] = {}
    for folder, version in folders:
        if version == 1:
            # Where memory and swap together may not be more than memory alone, that is met first.
            names = ("memory.failcnt", "memory.memsw.failcnt")
            told = [_text(f"{folder}/{name}").strip() for name in names]
            if told[0].isdigit():
                found[folder] = sum(int(each) for each in told if each.isdigit())
        else:
            # The other file counts what groups below met of limits of their own, too.
            own = _text(f"{folder}/memory.events.local")
            events = counters(own or _text(f"{folder}/memory.events"))
            if "max" in events:
                found[folder] = events["max"]
    return found


def groups_of(pids: Collection[int], controller: str) -> list[list[tuple[str, int]]]:
    """Return the folders of each of their groups with those above it."""
    mounts = _text("/proc/self/mountinfo")
    groups = {_text(f"/proc/{pid}/cgroup") for pid in pids}
    return [list(group_folders(mounts, text, controller)) for text in groups]
