"""Whether the number of workers that memory has room for is right, and whether leaks are found.

A pool of four workers is brought to its age (each has served so many requests) and read: P, the
pool's proportional set size less what its workers have of their own; u, the largest worker's own
and what the kernel keeps for it. For a limit T, floor((T − P) / u) is predicted, by the same code
as `httpdyno inspect`, whose reserve is given back. Then pools of more or fewer workers are started
in a memory control group with that limit and brought to the same age: the largest number of which
the kernel kills none for memory is what is true. Beside it stand what apache2buddy would say (T
over the largest sum of writable private mappings) and T over the largest resident size. A
prediction is right within 10 %, never above. The kernel takes pages of files away before it kills,
so P is too large by those: of workers that have little of their own that is several.

With `--leaks`: `httpdyno inspect --load` on pools that leak 1 KiB (1,024 bytes) a request, and on
pools that do not, as fresh servers each.

With `--starts N`: u of so many starts of each pool, with one order of hashes and with one drawn at
each start.

Example:
    .venv/bin/python -m benches.memory
    .venv/bin/python -m benches.memory --only apache:leaking
    .venv/bin/python -m benches.memory --leaks --runs 20 --leaking 10
    .venv/bin/python -m benches.memory --starts 8 --only apache:preloaded
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benches.memory.group import memory_group
from benches.memory.judged import is_right, mapped_bytes, most_that_fit, predicted, ratio
from benches.memory.site import KINDS, LEAK_BYTES, ORDER, SERVERS, aged, asked, has, pool

from httpdyno.telemetry.pool import pool as sums
from httpdyno.telemetry.worker import WorkerSampler

KIB, MIB = 1 << 10, 1 << 20
PILOT_WORKERS = 4
LEAST_ROOM = 30.0
"""Workers' own memory that a limit has room for at least, so that one of them is about 3 %."""
LEAST_LIMIT = {"leaking": 128 * MIB}
"""Of those that take many requests to age; else `USUAL_LIMIT`."""
USUAL_LIMIT = 256 * MIB
AGE = {"plain": 50, "preloaded": 100, "unsharing": 400, "leaking": 500}
"""Requests of a worker's life."""
MOST = 400
_PATIENCE_S = 60.0
_SLOWEST_PER_S = 300.0
"""Requests that all workers together answer at least."""
_LEAK_FREE = ("preloaded", "unsharing", "plain")


def main():
    # What was started is ended, however this one is.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    arguments = parsed()
    cases = [
        (server, kind)
        for server in SERVERS
        for kind in KINDS
        if not arguments.only or f"{server}:{kind}" in arguments.only or server in arguments.only
    ]
    absent = {server for server, _ in cases if not has(server)}
    for server in sorted(absent):
        print(f"{server}: not installed here, left out")
    cases = [each for each in cases if each[0] not in absent]
    if not cases:
        return 2
    print(f"order of hashes: {ORDER}")
    if arguments.starts:
        return starts(arguments.starts, cases)
    return leaks(arguments, cases) if arguments.leaks else bounds(arguments, cases)


def starts(n, cases):
    """Tell what the largest worker of each start has of its own, smallest first."""
    for server, kind in cases:
        for order, is_drawn in (("one", False), ("drawn", True)):
            each = sorted(
                pilot(server, kind, is_drawn=is_drawn)[0].largest_uss_bytes for _ in range(n)
            )
            print(
                f"{server} {kind}, {order} order of hashes, KiB: "
                f"{' '.join(str(found // KIB) for found in each)}",
                flush=True,
            )
    return 0


def bounds(arguments, cases):
    n_right = 0
    for server, kind in cases:
        began_s = time.monotonic()
        n_right += bound(server, kind, arguments)
        print(f"  {time.monotonic() - began_s:.0f} s", flush=True)
    print(f"{n_right} of {len(cases)} predictions at most what fits, and within 10 % of it")
    return 0 if n_right == len(cases) else 1


def bound(server, kind, arguments):
    """Tell one pool's prediction and what is true; return whether it is right."""
    seen, mapped = pilot(server, kind)
    once, each = seen.pss_bytes - seen.workers_uss_bytes, seen.largest_uss_bytes
    limit = (
        arguments.limit * MIB
        if arguments.limit
        else max(LEAST_LIMIT.get(kind, USUAL_LIMIT), once + round(LEAST_ROOM * each))
    )
    guess = predicted(limit, seen, mapped)
    criterion, true = measured(server, kind, limit, guess.httpdyno)
    print(
        f"{server} {kind}: limit {limit / MIB:.1f} MiB, once {once / MIB:.1f} MiB "
        f"({seen.file_pss_bytes / MIB:.1f} of them pages of files), each "
        f"{each / MIB:.2f} MiB after {AGE[kind]} requests\n"
        f"  fit                 {true:>5}  ({criterion})"
    )
    for name, n in (
        ("(T − P) / u", guess.httpdyno),
        ("without kernel's", guess.plain),
        ("T / RSS", guess.rss),
        ("apache2buddy", guess.apache2buddy),
    ):
        word = "right" if is_right(n, true) else "over" if n > true else "below"
        print(f"  {name:<18} {n:>6}  {ratio(n, true):5.2f} ×  {word}")
    return is_right(guess.httpdyno, true)


def pilot(server, kind, *, is_drawn=False):
    """Return what a small pool at its age is like, and the most that is mapped in a worker."""
    with tempfile.TemporaryDirectory(prefix="httpdyno-memory-") as folder:
        Path(folder).chmod(0o755)
        small = pool(server, kind, PILOT_WORKERS, folder, most=AGE[kind], is_drawn=is_drawn)
        with small as (process, port):
            came = aged(
                process,
                port,
                PILOT_WORKERS,
                AGE[kind],
                is_over=lambda: False,
                patience_s=_PATIENCE_S,
            )
            if not came:
                raise SystemExit(f"{server} {kind}: the pilot did not come to its age")
            sample = WorkerSampler([process.pid]).read()
            together = sums(sample)
            workers = [each for each in sample.workers if each.pid != process.pid]
            mapped = max(
                mapped_bytes(Path(f"/proc/{each.pid}/maps").read_text()) for each in workers
            )
            return together, mapped


def measured(server, kind, limit, guess):
    """Return by what it was judged, and the largest number of workers that fit."""

    def fits(n):
        with (
            memory_group() as group,
            tempfile.TemporaryDirectory(prefix="httpdyno-memory-") as folder,
        ):
            Path(folder).chmod(0o755)
            if group is not None:
                group.limit(limit)
            with pool(server, kind, n, folder, most=AGE[kind], group=group) as (process, port):
                came = aged(
                    process,
                    port,
                    n,
                    AGE[kind],
                    is_over=lambda: group is not None and group.n_killed() > 0,
                    patience_s=_PATIENCE_S + n * AGE[kind] / _SLOWEST_PER_S,
                )
                if not came and process.poll() is None and not (group and group.n_killed()):
                    raise SystemExit(f"{server} {kind}: {n} workers did not come to their age")
                if group is None:
                    pss = sums(WorkerSampler([process.pid]).read()).pss_bytes
                    return came and pss is not None and pss <= limit
                return came and group.n_killed() == 0 and process.poll() is None

    with memory_group() as probe:
        by = (
            "the kernel killed for memory in a control group"
            if probe
            else "no control group could be made: where the pool's PSS crosses the limit"
        )
    return by, most_that_fit(fits, guess, most=MOST)


def leaks(arguments, cases):
    """Tell what is said of pools that leak, and of those that do not."""
    servers = list(dict.fromkeys(server for server, _ in cases))
    free = [
        (servers[k % len(servers)], _LEAK_FREE[k // len(servers) % len(_LEAK_FREE)])
        for k in range(arguments.runs)
    ]
    leaky = [(servers[k % len(servers)], "leaking") for k in range(arguments.leaking)]
    n_false = sum(looked(*each, arguments.duration)["verdict"] == "leak" for each in free)
    found = [looked(*each, arguments.duration) for each in leaky]
    claimed = [each for each in found if each["verdict"] == "leak"]
    held = sum(each["late_low_bytes"] <= LEAK_BYTES <= each["late_high_bytes"] for each in claimed)
    print(f"leak-free: {n_false} of {len(free)} runs claim a leak")
    print(
        f"leaking {LEAK_BYTES} bytes a request: {len(claimed)} of {len(leaky)} runs find it, "
        f"{held} of these with an interval that holds it"
    )
    return 0 if not n_false and len(claimed) == len(leaky) and held >= 0.9 * len(leaky) else 1


def looked(server, kind, duration):
    """Return what `httpdyno inspect --load` says of a fresh pool's growth."""
    with tempfile.TemporaryDirectory(prefix="httpdyno-memory-") as folder:
        Path(folder).chmod(0o755)
        with pool(server, kind, PILOT_WORKERS, folder) as (process, port):
            wait_for(port)
            url = f"http://127.0.0.1:{port}/"
            words = [f"pid:{process.pid}", "--load", url, "--for", duration, "--json", "-"]
            command = [sys.executable, "-m", "httpdyno", "inspect", *words]
            seen = subprocess.run(command, capture_output=True, text=True, check=True)
    growth = json.loads(seen.stdout)["servers"][0]["load"]["growth"]
    print(f"{server} {kind}: {growth['verdict']}, {growth['reason']}", flush=True)
    return growth


def wait_for(port):
    deadline_s = time.monotonic() + _PATIENCE_S
    while asked(port) is None:
        if time.monotonic() > deadline_s:
            raise SystemExit("a pool does not answer")
        time.sleep(0.1)


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="SERVER[:KIND]")
    parser.add_argument(
        "--limit", type=int, metavar="MIB", help="of all pools; else 256 or more, leaking ones 128"
    )
    parser.add_argument("--leaks", action="store_true")
    parser.add_argument("--starts", type=int, metavar="N", help="of each pool: what u is in each")
    parser.add_argument("--runs", type=int, default=20, help="of pools that do not leak")
    parser.add_argument("--leaking", type=int, default=10, help="of pools that do")
    parser.add_argument("--for", dest="duration", default="5s", metavar="TIME")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
