"""What is left when httpdyno is killed by `kill -9` amid a run: processes, files, a broken store.

Each time all processes below it are listed while it is stopped, then it is killed. They must end
by themselves within the keepers' bounds; the next command must remove the files, and say nothing
that looks like a bug.
"""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
from benches.faults.family import Count
from benches.faults.small_study import Arena, arena

from httpdyno.servers.control_group import parent_group
from httpdyno.servers.root_folder import memory_root_or

_END_S = 10.0
_COMMAND_S = 60.0
_LATEST_S = 4.0
"""By then starts are measured, and those before end in the background."""


def measure(n: int, seed: int) -> Iterator[Count]:
    """Kill n runs, each at a random moment."""
    moments = random.Random(seed)
    processes, files, unwell = [], [], []
    with arena() as place:
        folder, environment = place.folder, place.environment
        for _ in range(n):
            after_s = moments.uniform(0.2, _LATEST_S)
            below = _killed_run(place, after_s)
            names = [path.name for path in (folder / "run").glob("run-*")]
            processes += [f"after {after_s:.2f} s: {each}" for each in _left_of(below)]
            said = _next_command(environment)
            unwell += [said] if said else []
            files += [str(path) for path in _run_folders(folder, names)]
    yield Count(name="processes left by themselves", value=len(processes), n=n, note=_of(processes))
    yield Count(name="folders left after the next command", value=len(files), n=n, note=_of(files))
    yield Count(name="next commands that failed", value=len(unwell), n=n, note=_of(unwell))


def _killed_run(place: Arena, after_s: float) -> list[psutil.Process]:
    """Kill a run; return the processes that were below it."""
    process = place.start("tune", str(place.folder))
    time.sleep(after_s)
    process.send_signal(signal.SIGSTOP)
    below = psutil.Process(process.pid).children(recursive=True)
    place.kill(process)
    return below


def _left_of(processes: list[psutil.Process]) -> list[str]:
    _, alive = psutil.wait_procs(processes, timeout=_END_S)
    left = [f"{each.pid} {' '.join(each.cmdline())}" for each in alive if each.is_running()]
    for each in alive:
        each.kill()
    return left


def _next_command(environment: dict[str, str]) -> str:
    """Run a command; return what was wrong with it."""
    done = subprocess.run(
        [str(Path(sys.executable).with_name("httpdyno")), "history"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=_COMMAND_S,
        check=False,
    )
    is_well = done.returncode == 0 and "Traceback" not in done.stderr
    return "" if is_well else done.stderr.strip()[-200:]


def _run_folders(folder: Path, names: list[str]) -> list[Path]:
    in_memory = [memory_root_or(folder / "run") / name for name in names]
    on_disk = [*(folder / "run").glob("run-*"), *(folder / "run").glob(".run-*")]
    parent = parent_group()
    groups = [group for name in names for group in parent.glob(f"*{name}*")] if parent else []
    return [*on_disk, *groups, *(path for path in in_memory if path.exists())]


def _of(left: list[str]) -> str:
    return left[0] if left else ""
