"""What a cell or a wall adds to a server's start and its end.

Each round starts the same small program on the host, in a cell and behind a wall, in random order,
and takes the time until it is up, and the CPU time until all of it has ended. A cell has the
folders that every cell may write in, and one of a made configuration with files put in. Differences
are within rounds, so that what disturbs a round disturbs all three of it.

Example:
    .venv/bin/python -m benches.cell
    .venv/bin/python -m benches.cell --rounds 10
"""

import argparse
import math
import os
import random
import resource
import select
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from tests.commands import exit_on_signals
from tests.isolation import no_cell, no_wall

from httpdyno.errors import HttpdynoError
from httpdyno.report.shared.message import text
from httpdyno.servers.adapter import NotRunning, Place
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.run.folder import RunRoot, new_run_root
from httpdyno.servers.sandbox.landlock import WallSeat, open_wall
from httpdyno.servers.sandbox.namespace import CellSeat, open_cell
from httpdyno.servers.sandbox.sandbox import CellWish
from httpdyno.telemetry.host import host_facts

COMMAND = ("sh", "-c", "echo up > up; exec sleep 600")
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
AIM_S = 0.05
CONFIDENCE = 0.95
DEADLINE_S = 20.0
FILES = 40
"""Of a configuration, as a Debian web server has."""


def main() -> int:
    """Measure and tell; return 1 where a cell adds more than it is to."""
    # What was started is ended, however this one is.
    exit_on_signals()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=50, help="starts of each (50)")
    parser.add_argument("--seed", type=int, default=1, help="of the order in a round (1)")
    arguments = parser.parse_args()
    for complaint in (no_cell(), no_wall()):
        if complaint:
            print(f"cannot be measured here: {complaint}", file=sys.stderr)
            return 3
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder, new_run_root() as root:
        configuration = made(Path(folder))
        times: dict[str, list[float]] = {"host": [], "cell": [], "wall": []}
        cpu: dict[str, list[float]] = {kind: [] for kind in times}
        for _ in range(arguments.rounds):
            for kind in rng.sample(list(times), len(times)):
                before_s = cpu_s()
                times[kind].append(start_s(kind, root, configuration))
                cpu[kind].append(cpu_s() - before_s)
    host = host_facts()
    print(
        f"{arguments.rounds} rounds, {host.n_cpus} × {host.cpu}, kernel {host.kernel}, load "
        f"average {host.load_average[0]:.2f}"
    )
    print(f"on the host   up after {median(times['host']) * 1e3:6.1f} ms")
    for kind in ("cell", "wall"):
        for what, found in (("time", times), ("CPU time", cpu)):
            added = [a - b for a, b in zip(found[kind], found["host"], strict=True)]
            low, high = median_interval(added)
            print(
                f"a {kind} adds  {median(added) * 1e3:6.1f} ms of {what} "
                f"({low * 1e3:.1f} … {high * 1e3:.1f}; {CONFIDENCE:.0%})"
            )
    added = [a - b for a, b in zip(times["cell"], times["host"], strict=True)]
    is_met = median(added) <= AIM_S
    print(
        f"a cell is to add at most {AIM_S * 1e3:.0f} ms: {'it does' if is_met else 'it adds more'}"
    )
    return int(not is_met)


def made(folder: Path) -> dict[str, bytes]:
    """Make a configuration; return what a cell is to show in its place."""
    (folder / "conf.d").mkdir()
    files = {}
    for number in range(FILES):
        path = folder / "conf.d" / f"{number:02}.conf"
        path.write_text("as found\n")
        files[str(path)] = b"edited\n"
    return files


def start_s(kind: str, root: RunRoot, files: dict[str, bytes]) -> float:
    """Return how long a program takes to be up, from before its seat is made."""
    place = root.new_place(kind)
    began_s = time.perf_counter()
    spawn, seat = seated(kind, place, files)
    process = spawn()
    up = (place.folder if seat is None else seat.folder) / "up"
    deadline_s = time.monotonic() + DEADLINE_S
    while not up.exists():
        if time.monotonic() > deadline_s or not process.is_alive():
            raise HttpdynoError(f"{kind}: the program did not come up: {process.last_words()}")
        select.select([], [], [], 0.0005)
    took_s = time.perf_counter() - began_s
    process.stop()
    if seat is not None:
        seat.close()
    return took_s


def seated(
    kind: str, place: Place, files: dict[str, bytes]
) -> tuple[Callable[[], ServerProcess], CellSeat | WallSeat | None]:
    """Make a seat; return how a program is started in it."""
    log = place.folder / "log"
    if kind == "host":
        return (
            lambda: ServerProcess.spawn(COMMAND, place=place, environment=ENVIRONMENT, log=log)
        ), None
    wish = CellWish(files=files)
    seat = open_cell(place, wish) if kind == "cell" else open_wall(place, wish)
    if isinstance(seat, NotRunning):
        raise HttpdynoError(text(seat.detail))
    folder = str(seat.folder)
    return (lambda: seat.spawn(COMMAND, environment=ENVIRONMENT, folder=folder, log=log)), seat


def cpu_s() -> float:
    """Return the CPU time of this process and of all that it started and has ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def median_interval(values: list[float]) -> tuple[float, float]:
    """Return an interval of the median from order statistics; of few values, all that there is.

    Source:
        David and Nagaraja, Order Statistics, 3rd edition (2003), section 7.1.
    """
    n, tail, rank = len(values), 0.0, 0
    while rank < n // 2:
        tail += math.comb(n, rank) / 2**n
        if 1 - 2 * tail < CONFIDENCE:
            break
        rank += 1
    in_order = sorted(values)
    return in_order[max(rank - 1, 0)], in_order[-max(rank, 1)]


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
