"""A disk that is full, at ten sizes, below the store and below the run folders.

Each disk is a small tmpfs in a mount namespace of its own, which ends with the process that is in
it. What the process finds is one line of JSON.

    unshare --mount python -m benches.faults.full_disks data|run KIB
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benches.faults.family import Count
from benches.faults.small_study import COMMAND_S, Arena, arena

SIZES_KIB = (12, 48, 96, 144, 192, 224, 256, 320, 384, 512)
_BUDGET = "20s"
_DONE = (0, 1)
_FAILED = 3
_REPOSITORY = Path(__file__).parents[2]


def measure(n: int, seed: int) -> Iterator[Count]:
    """Try the first n sizes, spread over all of them, for the store and for the run folders."""
    del seed
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        yield Count(name="disks tried", value=0, n=0, note="skipped: needs root and `unshare`")
        return
    sizes = SIZES_KIB[:: max(1, len(SIZES_KIB) // n)]
    for what in ("data", "run"):
        found = [_tried(what, size) for size in sizes]
        n_full = sum(each["code"] not in _DONE for each in found)
        for name in ("unclear", "unreadable", "lost", "left"):
            said = [f"{each['kib']} KiB: {each[name]}" for each in found if each[name]]
            note = said[0] if said else f"{n_full} were full"
            yield Count(name=f"{what}: {name}", value=len(said), n=len(sizes), note=note)


def _tried(what: str, size_kib: int) -> dict[str, object]:
    words = [sys.executable, "-m", "benches.faults.full_disks", what, str(size_kib)]
    done = subprocess.run(
        ["unshare", "--mount", *words],
        cwd=_REPOSITORY,
        capture_output=True,
        text=True,
        timeout=4 * COMMAND_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-500:])
    found: dict[str, object] = json.loads(done.stdout)
    return found


def _inside(what: str, size_kib: int) -> dict[str, object]:
    """Fill a disk; must be called in a mount namespace of its own."""
    with arena() as place:
        disk = getattr(place, what)
        disk.mkdir(mode=0o700)
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size_kib}k,mode=0755", "tmpfs", disk], check=True
        )
        try:
            said = place.said("tune", str(place.folder), "--budget", _BUDGET)
            before = _stored(place)
            full = place.said("history")
            subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
            is_whole = place.is_whole()
            roomy = place.said("history")
            after = place.stored()
            left = [str(path) for path in place.run.glob("*run-*")]
        finally:
            subprocess.run(["umount", "--lazy", disk], check=True)
    is_told = said.code in _DONE or (said.code == _FAILED and said.is_one_sentence)
    # With nothing stored yet, a full disk has no room for an empty store either.
    is_readable = full.code == 0 or (
        full.code == _FAILED and full.is_one_sentence and not before["windows"]
    )
    return {
        "kib": size_kib,
        "code": said.code,
        "unclear": "" if is_told else f"code {said.code}: {said.error}",
        "unreadable": "" if is_readable else f"code {full.code}: {full.error}",
        "lost": ""
        if is_whole and roomy.code == 0 and before == after
        else f"code {roomy.code}, whole {is_whole}: {roomy.error}",
        "left": " ".join(left),
        "said": said.error,
    }


def _stored(place: Arena) -> dict[str, set[tuple[object, ...]]]:
    """Return what is in the store, nothing where there is no room to open even an empty one.

    Whatever could not be read then is found when there is room, and differs.
    """
    try:
        return place.stored()
    except sqlite3.OperationalError:
        return {"starts": set(), "windows": set()}


if __name__ == "__main__":
    print(json.dumps(_inside(sys.argv[1], int(sys.argv[2]))))
