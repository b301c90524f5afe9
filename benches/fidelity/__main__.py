"""Whether a copy is the server: CPU time per request in a cell and behind a wall.

A small site (nginx, php-fpm) is started by hand, and again by hand with other files of the same
text, and as private copies of the first in a cell and behind a wall. The four take turns in random
order, window by window, under the same load; then all are started anew. Told are ratios to the
first one, with anytime-valid 95 % intervals over starts. The second one by hand must not differ
from the first: it shows what chance does. Figures are those of an idle machine only.

Example:
    .venv/bin/python -m benches.fidelity
    .venv/bin/python -m benches.fidelity --load php --isolation cell --rounds 6
    .venv/bin/python -m benches.fidelity --budget 30s --window 0.1 --rounds 4
"""

import argparse
import math
import os
import random
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benches.fidelity.site import PATHS, READY_S, by_hand, written_site
from tests.commands import exit_on_signals

from httpdyno.adopt.discover import gather
from httpdyno.errors import HttpdynoError
from httpdyno.load.engine import start_load
from httpdyno.load.message import WindowPlan
from httpdyno.load.plan import own_core_plan
from httpdyno.model import Configuration, RequestSpec, ServerSpec, Site, Workload
from httpdyno.report.shared.message import text
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.nginx import Nginx
from httpdyno.servers.php_fpm import PhpFpm
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.stack.copies import SITE, CopyStack
from httpdyno.servers.stack.seats import seat_maker
from httpdyno.servers.stack.snapshot import Snapshot
from httpdyno.stats.sequence import ratio_interval
from httpdyno.telemetry.account import ProcessTree
from httpdyno.telemetry.host import host_facts
from httpdyno.units import duration_s

CONFIDENCE = 0.95
AIMS = {"cell": 0.01, "wall": 0.03}
"""Isolation → how far from 1 its whole interval may reach."""
ADAPTERS = {"nginx": Nginx(), "php-fpm": PhpFpm()}
SPEC = ServerSpec(adapter=SITE, ready_path=PATHS["php"], ready_status=200)


@dataclass(frozen=True, kw_only=True)
class Arm:
    """One of those that take turns."""

    name: str
    address: str
    network: str
    pids: tuple[int, ...]


def main() -> int:
    """Measure and tell; 0 where each copy is as near as it is to be, 1 where that is not shown."""
    # What was started is ended, however this one is.
    exit_on_signals()
    arguments = parsed()
    makers = {}
    for kind in arguments.isolation:
        maker = seat_maker(kind)
        if isinstance(maker, str):
            print(f"cannot be measured here: {maker}", file=sys.stderr)
            return 3
        makers[kind] = maker
    draw = random.Random(arguments.seed)
    logs = {(load, name): [] for load in arguments.load for name in ("next", *makers)}
    began_s = time.monotonic()
    longest_s = 0.0
    with tempfile.TemporaryDirectory(prefix="fidelity-", dir=arguments.below) as folder:
        Path(folder).chmod(0o755)
        sites = [written_site(Path(folder) / name) for name in ("one", "two")]
        while time.monotonic() - began_s + longest_s <= arguments.budget:
            start_s = time.monotonic()
            for key, ratio in one_start(sites, makers, arguments, draw).items():
                logs[key].append(math.log(ratio))
            longest_s = max(longest_s, time.monotonic() - start_s)
    return told(logs, time.monotonic() - began_s)


def one_start(sites, makers, arguments, draw):
    """Start all, load them in turns; (load, arm) → CPU per request, to that of the first."""
    ratios = {}
    with ExitStack() as stack:
        arms = []
        root = stack.enter_context(new_run_root())
        for name, site in zip(("hand", "next"), sites, strict=True):
            pids = stack.enter_context(by_hand(site, root.new_place(name)))
            arms.append(Arm(name=name, address=f"127.0.0.1:{site.port}", network="", pids=pids))
        for kind, maker in makers.items():
            running = copied(sites[0], kind, maker, root)
            stack.callback(running.stop)
            ready = running.await_ready(READY_S)
            if isinstance(ready, NotRunning):
                raise HttpdynoError(f"{kind}: {text(ready.detail)}")
            (address,), (network,) = running.addresses, running.networks
            arms.append(Arm(name=kind, address=address, network=network, pids=running.root_pids))
        put_apart(arms)
        for load in arguments.load:
            costs = measured(arms, PATHS[load], arguments, draw)
            for arm, cost_s in zip(arms[1:], costs[1:], strict=True):
                ratios[load, arm.name] = cost_s / costs[0]
    return ratios


def put_apart(arms):
    """Keep the servers on cores that the load is not on, where there are two."""
    cores = own_core_plan(cores="apart")
    for arm in arms:
        for pid in arm.pids if cores.server else ():
            for each in (pid, *descendants(pid)):
                os.sched_setaffinity(each, cores.server)


def descendants(pid):
    """Return all processes below one."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [found for child in map(int, children) for found in (child, *descendants(child))]


def copied(site, kind, maker, root):
    """Start a private copy of a site."""
    gathered = gather([site.front, site.php], ADAPTERS, None)
    members = tuple(found.member for found in gathered.members)
    snapshot = Snapshot(members={found.member.name: found for found in gathered.members})
    server = CopyStack(
        Site(members=members, isolation=kind, writes=site.writes), snapshot, ADAPTERS, maker
    )
    running = server.spawn(SPEC, site.folder, Configuration(), root.new_place(kind))
    if isinstance(running, NotRunning):
        raise HttpdynoError(f"{kind}: {text(running.detail)}")
    return running


def measured(arms, path, arguments, draw):
    """Return the CPU seconds of a request of each arm; (n_arms,)."""
    order = [
        arm for _ in range(arguments.rounds) for arm in draw.sample(range(len(arms)), len(arms))
    ]
    # One window of each before any counts: caches fill, and PHP compiles.
    order = [*range(len(arms)), *order]
    plan = [WindowPlan(arm=arm, lead_in_s=0.0, measure_s=arguments.window) for arm in order]
    trees = [[ProcessTree(pid) for pid in arm.pids] for arm in arms]
    used_s = [0.0] * len(plan)

    def on_edge(window, is_opening):
        now_s = sum(tree.read().cpu_s for tree in trees[order[window]])
        used_s[window] += -now_s if is_opening else now_s

    handle = start_load(
        Workload(requests=(RequestSpec(path=path),), connections=arguments.connections),
        [arm.address for arm in arms],
        plan,
        networks=[arm.network for arm in arms],
        on_edge=on_edge,
        cpus=own_core_plan(cores="apart").client,
    )
    handle.wait()
    seen = handle.measurements()
    cpu_s, completed = [0.0] * len(arms), [0] * len(arms)
    for window in range(len(arms), len(plan)):
        if seen[window].errors:
            raise HttpdynoError(f"{arms[order[window]].name} {path}: {seen[window].errors}")
        cpu_s[order[window]] += used_s[window]
        completed[order[window]] += seen[window].completed
    return [used / n for used, n in zip(cpu_s, completed, strict=True)]


def told(logs, took_s):
    """Tell each ratio; return 1 where one of them is not shown to be near enough."""
    host = host_facts()
    n_starts = min(map(len, logs.values()))
    print(
        f"{n_starts} starts in {took_s:.0f} s, {host.n_cpus} × {host.cpu}, kernel {host.kernel}, "
        f"load average {host.load_average[0]:.2f}"
    )
    is_met = True
    for (load, name), values in logs.items():
        found = ratio_interval(values, confidence=CONFIDENCE) if values else None
        if found:
            shown = f"{found.ratio:.4f} × ({found.low:.4f} … {found.high:.4f}; {CONFIDENCE:.0%})"
        elif values:
            ratio = math.exp(math.fsum(values) / n_starts)
            shown = f"{ratio:.4f} × (so few starts bound nothing: it needs a longer --budget)"
        else:
            shown = "not one start fits into the budget"
        aim = AIMS.get(name)
        near = found is not None and aim is not None
        near = near and 1 - aim <= found.low and found.high <= 1 + aim
        is_met &= near or aim is None
        word = "" if aim is None else f"  within ±{aim:.0%}: {'shown' if near else 'not shown'}"
        print(f"CPU per request  {load:<7} {name:<6} {shown}{word}")
    return int(not is_met)


def parsed():
    """Return what was asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benches.fidelity",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--budget", type=duration_s, default=1200.0, metavar="TIME", help="[20m]")
    parser.add_argument("--rounds", type=int, default=20, metavar="N", help="of a start [20]")
    parser.add_argument("--window", type=float, default=0.25, metavar="S", help="[0.25]")
    parser.add_argument("--connections", type=int, default=4, metavar="N", help="[4]")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="[1]")
    parser.add_argument("--below", default="/srv", metavar="DIR", help="where the site lies [/srv]")
    parser.add_argument("--load", nargs="+", choices=tuple(PATHS), default=tuple(PATHS))
    parser.add_argument("--isolation", nargs="+", choices=tuple(AIMS), default=tuple(AIMS))
    return parser.parse_args()


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
