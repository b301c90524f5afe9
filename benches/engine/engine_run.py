"""Run the engine once, as a process of its own: a job as JSON in, what it saw as JSON out.

What the process used is read right before the engine starts and right after it ended, so that
importing Python is not counted as load, and everything that loading needs is.
"""

import json
import resource
import sys
import time
from typing import Any

from httpdyno import _native  # noqa: TID251 - the engine itself, nothing around it

_LOOK_S = 0.1
_LEFT = {"batches", "by_request"}
"""Of a window's results: large, and no figure needs them."""


def main() -> int:
    """Read a job from standard input, run it, write what came of it."""
    job = json.load(sys.stdin)
    spec = _specification(job)
    before, began_s = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    run = _native.start(spec, None)
    while not run.wait(_LOOK_S):
        # As the program does to show how far it is: the engine then publishes as it goes.
        run.live()
    results = run.results()
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


def _specification(job: dict[str, Any]) -> _native.LoadSpec:
    """Return the engine's own form of a job."""
    slow = job["slow"]
    made = {
        "arms": [_arm(arm) for arm in job["arms"]],
        "windows": [_native.Window(**each, credit=None) for each in job["windows"]],
        "arrival": _arrival(job["arrival"]),
        "users": _native.Users(**job["users"]),
        "slow": None if slow is None else _native.Slow(**slow),
    }
    return _native.LoadSpec(**{**job, **made})


def _arrival(arrival: dict[str, Any] | None) -> _native.Arrival:
    if arrival is None:
        return _native.Arrival.closed()
    stages = [(length_s, first, last) for length_s, first, last in arrival["stages"]]
    return _native.Arrival.open(stages=stages, is_poisson=arrival["is_poisson"])


def _arm(arm: dict[str, Any]) -> _native.Arm:
    requests = [
        _native.Request(
            **{
                **each,
                "body": each["body"].encode(),
                "headers": [(name, value) for name, value in each["headers"]],
            }
        )
        for each in arm["requests"]
    ]
    steps = [(weight, request, objects) for weight, request, objects in arm["steps"]]
    return _native.Arm(**{**arm, "requests": requests, "steps": steps})


def _plain(value: Any) -> Any:
    """Return the engine's results in what JSON knows."""
    if isinstance(value, _native.Histogram):
        bounds, counts = value.buckets()
        return {"bounds_ns": bounds, "counts": counts, "sum_s": value.sum_s, "max_s": value.max_s}
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, int | float | str | None):
        return value
    names = [name for name in dir(type(value)) if not name.startswith("_") and name not in _LEFT]
    return {name: _plain(getattr(value, name)) for name in names}


if __name__ == "__main__":
    sys.exit(main())
