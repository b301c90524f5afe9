"""Run the engine once, as a process of its own: a job as JSON in, what it saw as JSON out.

What the process used is read right before the engine starts and right after it ended, so that
importing Python is not counted as load, and everything that loading needs is.
"""

import json
import math
import resource
import sys
import time
from typing import Any

import msgspec

from httpdyno import _native  # noqa: TID251 - the engine itself, nothing around it

_LOOK_S = 0.1
_QUIET_S = 0.2
"""Before the engine starts: at least that long the program reads its options and imports."""
_LEFT = {"batches", "by_request"}
"""Of a window's results: large, and no figure needs them."""


def main() -> int:
    """Read a job from standard input, run it, write what came of it."""
    job = json.load(sys.stdin)
    spec = message(job)
    time.sleep(_QUIET_S)
    before, began_s = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    run = _native.start(spec, None)
    while not run.wait(_LOOK_S):
        # As the program does to show how far it is: the engine then publishes as it goes.
        run.live()
    results = run.results(0)
    after, ended_s = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    said = {
        "user_s": after.ru_utime - before.ru_utime,
        "system_s": after.ru_stime - before.ru_stime,
        "wall_s": ended_s - began_s,
        "windows": [_plain(each) for each in results],
    }
    # In one piece: many small writes would be counted among the engine's system calls.
    sys.stdout.write(json.dumps(said))
    return 0


def message(job: dict[str, Any]) -> bytes:
    """Return a job as the engine of this checkout takes it."""
    users = job["users"]
    made = {
        "arms": [_arm(arm) for arm in job["arms"]],
        "windows": [{**each, "spread_s": 0.0, "tail_s": 0.0} for each in job["windows"]],
        "arrival": _arrival(job["arrival"]),
        "users": {
            **users,
            "visit": {
                "mean_steps": users["visit_steps"],
                "is_geometric": users["is_visit_geometric"],
            },
            "think": {
                "mean_s": users["think_s"],
                "is_exponential": users["is_think_exponential"],
            },
        },
    }
    return msgspec.msgpack.encode({**job, **made})


def _arrival(arrival: dict[str, Any] | None) -> dict[str, Any]:
    if arrival is None:
        return {"kind": "closed"}
    stages = [
        {
            "duration_s": None if math.isinf(length_s) else length_s,
            "from_per_s": first,
            "to_per_s": last,
        }
        for length_s, first, last in arrival["stages"]
    ]
    return {"kind": "stages", "stages": stages, "is_poisson": arrival["is_poisson"]}


def _arm(arm: dict[str, Any]) -> dict[str, Any]:
    requests = [
        {**each, "path": each["target"], "body": each["body"].encode()} for each in arm["requests"]
    ]
    names = ("weight", "request", "objects")
    steps = [dict(zip(names, step, strict=True)) for step in arm["steps"]]
    own = {"stream": 0, "network": "", "order": "mixed", "first": []}
    return {**arm, **own, "requests": requests, "steps": steps}


def _plain(message: bytes) -> dict[str, Any]:
    """Return a window's results in what JSON knows."""
    window = msgspec.msgpack.decode(message)
    window["opened_ns"] = round(window["opened_s"] * 1e9)
    trace = window.get("trace", {})
    kept = {name: value for name, value in window.items() if name not in _LEFT}
    return {**kept, "trace": {name: column.hex() for name, column in trace.items()}}


if __name__ == "__main__":
    sys.exit(main())
