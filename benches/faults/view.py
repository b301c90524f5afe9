"""Ways to see a run's folders otherwise than its owner does, each a shell script around a command.

The command runs in a mount namespace of its own, so nothing of a view is left. Needs root.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_COMMAND_S = 120.0
_LAYERS = """
mount -t tmpfs none "$BASE"
mkdir "$BASE/upper" "$BASE/work" "$BASE/shm" "$BASE/shm-work" "$BASE/root"
"""
_OVERLAY = """
mount -t overlay overlay -o "lowerdir=$DISK,upperdir=$BASE/upper,workdir=$BASE/work" "$DISK"
mount -t overlay overlay -o "lowerdir=$SHM,upperdir=$BASE/shm,workdir=$BASE/shm-work" "$SHM"
"""
_OVERLAY_OF_ALL = """
mount -t overlay overlay -o "lowerdir=/,upperdir=$BASE/upper,workdir=$BASE/work" "$BASE/root"
for each in proc dev sys; do mount --rbind "/$each" "$BASE/root/$each"; done
"""
_IN_ROOT = 'exec chroot "$BASE/root" "$@"'
_MOUNTS = ("unshare", "--mount")
_PIDS = (*_MOUNTS, "--pid", "--fork")
VIEWS: dict[str, tuple[tuple[str, ...], str]] = {
    "overlay": (_MOUNTS, f'{_LAYERS}{_OVERLAY}exec "$@"'),
    "overlay of all, in a chroot": (_MOUNTS, f"{_LAYERS}{_OVERLAY_OF_ALL}{_IN_ROOT}"),
    "overlay in a pid namespace": ((*_PIDS, "--mount-proc"), f'{_LAYERS}{_OVERLAY}exec "$@"'),
    "overlay with foreign pids": (_PIDS, f'{_LAYERS}{_OVERLAY}exec "$@"'),
    "chroot": (_MOUNTS, f'{_LAYERS}mount --rbind / "$BASE/root"\n{_IN_ROOT}'),
    "chroot without /proc": (_MOUNTS, f'{_LAYERS}mount --bind / "$BASE/root"\n{_IN_ROOT}'),
    "mount namespace": (_MOUNTS, 'exec "$@"'),
    "mount and pid namespace": ((*_PIDS, "--mount-proc"), 'exec "$@"'),
}
"""What makes the namespaces, and the script in them.

`DISK` and `SHM` are what a view covers, `BASE` a folder of its own, `$@` the command.
"""


@contextmanager
def base_of_views() -> Iterator[Path]:
    """Give a folder that views are mounted in."""
    with tempfile.TemporaryDirectory(prefix="view-", dir="/var/tmp") as name:
        yield Path(name)


def words_of(view: str, *, covers: tuple[Path, Path], base: Path) -> tuple[str, ...]:
    """Return the program that runs a command in a view, as `seen_by`."""
    programs, script = VIEWS[view]
    disk, memory = covers
    folders = (f"DISK={disk}", f"SHM={memory}", f"BASE={base}")
    return (*programs, "env", *folders, "sh", "-euc", script, "sh")


def is_forked(view: str) -> bool:
    """Return whether a command is a child of the program that runs it, rather than the same."""
    return "--fork" in VIEWS[view][0]


def seen_by(
    view: str, command: Sequence[str], *, covers: tuple[Path, Path], base: Path
) -> subprocess.CompletedProcess[str]:
    """Run a command in a view.

    Args:
        view: Of `VIEWS`.
        command: What is run there.
        covers: The folders, on disk and in memory, that an overlay is put over.
        base: An empty folder.
    """
    return subprocess.run(
        [*words_of(view, covers=covers, base=base), *command],
        capture_output=True,
        text=True,
        timeout=_COMMAND_S,
        check=False,
    )


def views_complaint() -> str:
    """Return in words why no view can be made here; empty where they can."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return "needs root and `unshare`"
    with base_of_views() as base:
        (base / "disk").mkdir()
        (base / "view").mkdir()
        tried = seen_by("overlay", ["true"], covers=(base / "disk",) * 2, base=base / "view")
    return tried.stderr.strip() if tried.returncode else ""
