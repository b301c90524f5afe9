"""How long `httpdyno inspect` takes, from the shell and back."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benches.eyes.server import STOCK_WORKERS, apache
from benches.eyes.told import Line, wall

from httpdyno.errors import HttpdynoError

MOST_S = 3.0


def inspecting(n_runs: int, n_workers: int) -> Iterator[Line]:
    """Inspect the stock server and a pool, so often each; nothing loads them."""
    for size, what in ((None, "stock Debian"), (n_workers, "pool")):
        with apache(size) as server, TemporaryDirectory(prefix="httpdyno-eyes-") as folder:
            n = size or STOCK_WORKERS
            file = Path(folder) / "seen.json"
            took = [_inspected(server.pid, n, file) for _ in range(n_runs)]
        yield wall(f"inspect, {what}, {n} workers", *zip(*took, strict=True), most_s=MOST_S)


def _inspected(pid: int, n_workers: int, file: Path) -> tuple[float, float]:
    """Return the seconds, and those of CPU, to print all and write it as JSON, too."""
    command = [sys.executable, "-m", "httpdyno", "inspect", f"pid:{pid}", "--json", str(file)]
    began_s, used_s = time.monotonic(), _cpu_s()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    took_s, cpu_s = time.monotonic() - began_s, _cpu_s() - used_s
    (server,) = json.loads(file.read_bytes())["servers"]
    pool = server["pool"]
    if pool["n_workers"] != n_workers or pool["pss_bytes"] is None:
        raise HttpdynoError(f"inspect saw {pool['n_workers']} of {n_workers} workers, or no sizes")
    return took_s, cpu_s


def _cpu_s() -> float:
    """Return the CPU time of those that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
