"""How long `httpdyno inspect` takes, from the shell and back."""

import json
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
            took_s = [_inspected(server.pid, n, Path(folder) / "seen.json") for _ in range(n_runs)]
        yield wall(f"inspect, {what}, {n} workers", took_s, most_s=MOST_S)


def _inspected(pid: int, n_workers: int, file: Path) -> float:
    """Return the seconds that it takes to print all and write it as JSON, too."""
    command = [sys.executable, "-m", "httpdyno", "inspect", f"pid:{pid}", "--json", str(file)]
    began_s = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    took_s = time.monotonic() - began_s
    (server,) = json.loads(file.read_bytes())["servers"]
    pool = server["pool"]
    if pool["n_workers"] != n_workers or pool["pss_bytes"] is None:
        raise HttpdynoError(f"inspect saw {pool['n_workers']} of {n_workers} workers, or no sizes")
    return took_s
