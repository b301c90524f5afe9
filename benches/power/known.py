"""What part of a request is planted work, as servers tell that are asked for two amounts of it.

Two processes of one configuration differ, and what `httpdyno` says of two is what is to be judged.
So one process is asked for both amounts in turn (`work/truth.py`): what differs is the work. It is
measured as comparisons are, in a closed loop with nothing pinned; CPU is what the kernel counts.
As a program this measures some servers, and prints a line of JSON for each.
"""

import json
import math
import random
import sys
from functools import cache
from pathlib import Path
from statistics import fmean, stdev
from typing import Literal

import msgspec
from benches.engine.process import BenchError
from benches.engine.setting import REPOSITORY
from benches.power.figure import SPREAD, Setting
from benches.power.program import run
from benches.power.work.load import Cores
from benches.power.work.servers import BenchError as ServerError
from benches.power.work.servers import ServerKind
from benches.power.work.truth import server_truth
from benches.power.work.way import CIRCUMSTANCES

from httpdyno.errors import HttpdynoError
from httpdyno.host.interruption import take_signals
from httpdyno.servers.run.folder import new_run_root

CPU, THROUGHPUT = "cpu_s_per_request", "throughput_per_s"
Worker = Literal["gunicorn", "apache"]
"""A server of `benches.power.work` whose requests work as much as they are told."""
UNITS = 10_000
"""Of a request: about half a millisecond."""
MOST_UNITS = 2**15
"""The square of a number beyond takes Python two digits, and a unit costs more."""
BATCH, LEAST, MOST = 4, 8, 24
"""Servers: that are measured by one process, and in all."""
SERVER_S = 8.0
"""What one takes at most."""
LARGEST = 0.5 * (1 + SPREAD)
WANTED_LOG = 0.0075
"""What is to be the standard error of the truth of the largest difference: a quarter of the usual
half-width of an interval (3 %). Smaller differences are known better in proportion. On a noisy
machine it is not reached, nor are such intervals (`planted.Compared.held`)."""
COARSEST_RATIO = 0.1
"""What it may be of the difference itself: what is planted is still within what sizes are drawn
from."""
_WHERE = "closed-free"
_NAMES = {CPU: "cpu", THROUGHPUT: "throughput"}


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a request's cost that is planted work, by metric, and its standard error."""

    shares: dict[str, float]
    errors: dict[str, float]
    n_servers: int = 0
    of_what: str = ""

    @classmethod
    def of(cls, servers: list[dict[str, float]], of_what: str = "") -> "Known":
        """Return what some servers of a kind tell; at least 2."""
        root = math.sqrt(len(servers))
        return cls(
            of_what=of_what,
            shares={name: fmean(each[name] for each in servers) for name in _NAMES},
            errors={name: stdev(each[name] for each in servers) / root for name in _NAMES},
            n_servers=len(servers),
        )

    def units(self, size: float, metric: str) -> int:
        """Return the work of a request that costs so much more than one of `UNITS`.

        Raises:
            BenchError: It is more than what is known to cost in proportion.
        """
        units = round(UNITS * (1 + size / self.shares[metric]))
        if units > MOST_UNITS:
            raise BenchError(f"a difference of {size:+.0%} takes {units} units: too many")
        return units

    def cost(self, metric: str, units: int) -> float:
        """Return what a request costs, in requests of `UNITS`."""
        return 1 + self.shares[metric] * (units - UNITS) / UNITS

    def error_log(self, metric: str, a: int, b: int) -> float:
        """Return the standard error of the logarithm of the true ratio of two requests."""
        slopes = [(units - UNITS) / UNITS / self.cost(metric, units) for units in (a, b)]
        return abs(slopes[1] - slopes[0]) * self.errors[metric]

    @property
    def coarseness_ratio(self) -> float:
        """Return the standard error of a planted difference, as a part of it."""
        return max(self.errors[name] / self.shares[name] for name in _NAMES)

    @property
    def coarseness_log(self) -> float:
        """Return the standard error of the truth of the largest difference, as a logarithm."""
        return max(
            LARGEST / (1 + LARGEST) * self.errors[name] / self.shares[name] for name in _NAMES
        )

    def words(self) -> str:
        """Return it as it is printed."""
        told = ", ".join(
            f"{name} {share:.1%} (standard error {self.errors[name]:.1%})"
            for name, share in self.shares.items()
        )
        by = f"{self.n_servers} servers, {self.of_what}"
        return f"the part of a request that is planted work, by {by}: {told}"


SAME = Known(shares={CPU: 1.0, THROUGHPUT: 1.0}, errors={CPU: 0.0, THROUGHPUT: 0.0})
"""Of configurations that are the same, nothing has to be measured to be known."""


def known(setting: Setting, worker: Worker = "gunicorn") -> Known:
    """Return the part of a request's cost that is planted work; measured once for a bench.

    What was measured before something failed is kept: who asks again, goes on. What is as known as
    `MOST` servers tell is used so, and with its error.

    Raises:
        BenchError: It could not be measured, or is too coarse to judge by.
    """
    servers = _servers(setting.folder, worker)
    while len(servers) < LEAST or (len(servers) < MOST and _is_coarse(servers)):
        command = [sys.executable, "-m", "benches.power.known"]
        command += [worker, str(BATCH), str(setting.seed + len(servers))]
        ended = run(command, patience_s=2 * BATCH * SERVER_S, folder=REPOSITORY)
        found = told_by(ended.stdout)
        if not found:
            raise BenchError(f"what a request costs could not be measured: {ended.complaint}")
        servers += found
        if len(servers) >= LEAST:
            print(Known.of(servers, worker).words(), flush=True)
    told = Known.of(servers, worker)
    if told.coarseness_ratio > COARSEST_RATIO:
        raise BenchError(
            f"a difference of {worker} is known to {told.coarseness_ratio:.0%} of it, "
            f"not to {COARSEST_RATIO:.0%}"
        )
    return told


def told_by(lines: str) -> list[dict[str, float]]:
    """Return what servers told; a line that was cut off is left out."""
    whole = lines.split("\n")[:-1]
    return [json.loads(line) for line in whole if line.startswith("{")]


def _is_coarse(servers: list[dict[str, float]]) -> bool:
    return Known.of(servers).coarseness_log > WANTED_LOG


@cache
def _servers(_folder: Path, _worker: str) -> list[dict[str, float]]:
    """Return what was measured for a bench until now; it grows."""
    return []


def main() -> int:
    """Measure servers of a kind, so many, by a seed: the three arguments."""
    worker, n_servers, seed = sys.argv[1], *map(int, sys.argv[2:])
    take_signals()
    draw = random.Random(seed)
    try:
        with new_run_root() as root:
            kind = ServerKind(worker, root)
            for _ in range(n_servers):
                where = {_WHERE: CIRCUMSTANCES[_WHERE]}
                shares, _costs = server_truth(kind, Cores(), draw, where)
                told = {metric: shares[_WHERE][name] for metric, name in _NAMES.items()}
                print(json.dumps(told), flush=True)
    except (ServerError, HttpdynoError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
