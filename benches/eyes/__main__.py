"""What it costs to look at a server.

Three parts, each on a server of its own: Debian's stock Apache, as prefork with mod_perl. A line
with a bound says whether that is shown: of what has an interval (anytime-valid, 95 %) all of that
has to be within.

`inspect`: how long `httpdyno inspect`, which loads nothing, takes from the shell and back: of the
server as its package has it, and of a pool of 64 workers. The longest run counts; beside it is told
what CPU time a run takes. That its numbers are the kernel's is held by tests: each figure of a
process by `tests/telemetry/test_worker.py` (`test_each_figure_is_that_of_psutil`), the sums of a
pool by `tests/real/test_inspect_pool.py`.

`sampling`: what CPU time it takes to look at 256 workers, which rest. The looks of `httpdyno
watch`, once a second; besides, without a bound, all that the command takes for them, printing lines
and with a view on a terminal; and a `Profiler`, which chooses itself how often it looks, and apart
from that what it does at its begin and its end.

`disturbance`: what a server of 16 workers has less of while it is watched once a second, by a
process that no core is kept for. Windows with a watcher and without one take turns, in an order
that is drawn. Told are ratios, with over without, one from each batch of windows; it ends where
each bound is shown, or its budget is used up. Nobody has that in
`tune` or `compare`: there nothing looks while a window is timed, looks come after the windows of a
start (`experiment/trial/look.py`). So the same is told of windows right before which a `Profiler`
looked in a second of load, beside windows with such a second in which nobody did.

Figures are those of an idle machine only.

Example:
    .venv/bin/python -m benches.eyes
    .venv/bin/python -m benches.eyes --only disturbance --budget 5m --cores apart
    .venv/bin/python -m benches.eyes --only disturbance --kinds watched --pairs 60 --window 0.1
    .venv/bin/python -m benches.eyes --only disturbance --kinds before --pairs 20 --before 0.2
    .venv/bin/python -m benches.eyes --quick
"""

import argparse
import os
import random
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benches.bottlenecks.place import NotBuiltError
from benches.eyes.disturbance import Logs, Shape, looked_before, put_apart, watched
from benches.eyes.inspecting import inspecting
from benches.eyes.sampling import sampling
from benches.eyes.server import apache, missing
from benches.eyes.told import Line, ratio
from benches.eyes.watcher import watcher_beside

from httpdyno.errors import HttpdynoError
from httpdyno.experiment.trial.look import LOOK_S
from httpdyno.load.plan import own_core_plan
from httpdyno.telemetry.host import host_facts
from httpdyno.units import duration_s

WITHIN = 0.005
N_WORKERS = 16
KINDS = {"watched": "watched once a second", "before": "looked at right before"}
FIGURES: Mapping[str, Callable[[Logs], float]] = {
    "throughput": lambda logs: logs.throughput,
    "CPU per request": lambda logs: logs.cost,
}
QUICK = {"runs": 2, "looks": 3, "budget": 12.0, "pairs": 2, "window": 0.1}


def main() -> int:
    """Measure and tell; 0 where each bound is shown, 1 where one is not, 3 where nothing is."""
    # What was started is ended, however this one is.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    arguments = parsed()
    if lacks := missing():
        print(f"cannot be measured here without {lacks}", file=sys.stderr)
        return 3
    host = host_facts()
    print(f"{host.n_cpus} × {host.cpu}, kernel {host.kernel}, {load()}", flush=True)
    is_met = True
    try:
        for name in arguments.only:
            for line in PARTS[name](arguments):
                print(line, flush=True)
                is_met &= line.is_met
    except (HttpdynoError, NotBuiltError) as error:
        print(f"cannot be measured here: {error}", file=sys.stderr)
        return 3
    return int(not is_met)


def disturbance(arguments: argparse.Namespace) -> Iterator[Line]:
    """Repeat batches of each kind until each bound is shown, as many as the budget holds.

    To stop then is sound: the intervals hold however often they are looked at.
    """
    draw = random.Random(arguments.seed)
    cores = own_core_plan(cores=arguments.cores)
    shape = Shape(
        n_pairs=arguments.pairs,
        window_s=arguments.window,
        connections=arguments.connections,
        cores=cores,
        before_s=arguments.before,
    )
    began_s, longest_s = time.monotonic(), 0.0
    batches: dict[str, list[Logs]] = {name: [] for name in arguments.kinds}
    with apache(N_WORKERS) as server:
        put_apart(server, cores)
        with watcher_beside(server.pid, first_s=draw.random()) as watcher:
            while time.monotonic() - began_s + longest_s <= arguments.budget:
                batch_s = time.monotonic()
                for name, logs in batches.items():
                    if name == "watched":
                        logs.append(watched(server, watcher, shape, draw))
                    else:
                        logs.append(looked_before(server, shape, draw))
                longest_s = max(longest_s, time.monotonic() - batch_s)
                if all(line.is_met for line in told(batches)):
                    break
    yield Line(
        text=f"{min(map(len, batches.values()))} batches of {shape.n_pairs} pairs each way in "
        f"{time.monotonic() - began_s:.0f} s, cores {arguments.cores}, {load()}; "
        f"{watcher.n_looks} looks of {watcher.cpu_s / max(1, watcher.n_looks) * 1e3:.1f} ms of CPU"
    )
    yield from told(batches)


def told(batches: Mapping[str, Sequence[Logs]]) -> list[Line]:
    """Return the ratios of each kind."""
    return [
        ratio(f"{figure}, {KINDS[kind]}", [each_of(one) for one in logs], within=WITHIN)
        for kind, logs in batches.items()
        for figure, each_of in FIGURES.items()
    ]


PARTS = {
    "inspect": lambda arguments: inspecting(arguments.runs, arguments.pool),
    "sampling": lambda arguments: sampling(arguments.looks, arguments.workers),
    "disturbance": disturbance,
}


def load() -> str:
    """Return what else runs here, as the kernel sums it up; `inspect` reads all connections."""
    told = re.search(r"^TCP:.* tw (\d+)", Path("/proc/net/sockstat").read_text(), re.MULTILINE)
    waiting = f", {int(told[1]):,} TCP connections in TIME-WAIT" if told else ""
    return f"load average {os.getloadavg()[0]:.2f}{waiting}"


def parsed() -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benches.eyes",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", choices=tuple(PARTS), default=tuple(PARTS))
    parser.add_argument("--runs", type=int, default=10, metavar="N", help="of inspect [10]")
    parser.add_argument("--pool", type=int, default=64, metavar="N", help="workers of it [64]")
    parser.add_argument("--looks", type=int, default=20, metavar="N", help="each way [20]")
    parser.add_argument("--workers", type=int, default=256, metavar="N", help="sampled [256]")
    parser.add_argument("--budget", type=duration_s, default=1200.0, metavar="TIME", help="[20m]")
    parser.add_argument("--kinds", nargs="+", choices=tuple(KINDS), default=tuple(KINDS))
    parser.add_argument("--pairs", type=int, default=8, metavar="N", help="of a batch [8]")
    parser.add_argument("--window", type=float, default=0.5, metavar="S", help="[0.5]")
    parser.add_argument(
        "--before", type=float, default=LOOK_S, metavar="S", help=f"looked at [{LOOK_S:g}]"
    )
    parser.add_argument("--connections", type=int, default=8, metavar="N", help="[8]")
    parser.add_argument("--cores", choices=("auto", "apart", "shared"), default="auto")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="[1]")
    parser.add_argument("--quick", action="store_true", help="a few of each, which show little")
    arguments = parser.parse_args()
    if arguments.quick:
        vars(arguments).update(QUICK)
    return arguments


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
