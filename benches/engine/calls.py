"""Figure 2: system calls and heap allocations per request.

`strace -c -f` over the whole process, twice, with few and with many requests: the difference is
what the requests cost, without Python's start. strace makes the client slow, so that it finds more
answers at a time than it would; where the kernel's tracepoints may be used, `perf stat` counts
again at full speed.
"""

import json
import re
import shutil
from typing import Any

from benches.engine import client, engine
from benches.engine.cost import CONNECTIONS
from benches.engine.figure import Figure, Part, exactly
from benches.engine.interval import median_of_runs
from benches.engine.origin import Oracle
from benches.engine.process import BenchError, run
from benches.engine.setting import Setting

CALLS_TARGET = 2.3
_FEW, _MANY = 10_000, 60_000
N_RUNS, N_RUNS_QUICK = 5, 1
_TOTAL = re.compile(r"^\s*[\d.]+\s+[\d.]+\s+\d*\s+(\d+)(?:\s+\d+)?\s+(\S+)$", re.MULTILINE)
_PATIENCE_S = 300.0
_ALLOCATION_TEST = (
    "cargo",
    "test",
    "--quiet",
    "--locked",
    "-p",
    "httpdyno-load",
    "--test",
    "alloc",
)
_PASSED = re.compile(r"test result: ok\. (\d+) passed")
_FAILED = re.compile(r"(\d[\d,]*) allocations for 1,000 requests, (\d[\d,]*) for 10,000")


def measure(setting: Setting) -> Figure:
    """Measure figure 2."""
    figure = Figure(number=2, name="system calls and allocations per request")
    n_runs = setting.sized(N_RUNS, N_RUNS_QUICK)
    with Oracle(setting, "--log-capacity", "0") as oracle:
        runs = [traced(setting, oracle.address) for _ in range(n_runs)]
        counted = [_counted(setting, oracle) for _ in range(n_runs)]
        theirs = [_their_calls(setting, oracle) for _ in range(n_runs)]
    figure.raw = {"strace": runs, "perf": counted, "wrk": theirs}
    figure.parts = [
        Part(
            name="system calls per request, strace -c -f",
            estimate=median_of_runs([each["per_request"] for each in runs]),
            at_most=CALLS_TARGET,
            note=_listed(runs[-1]["calls"]),
        ),
        Part(
            name="  wrk, the same way",
            estimate=median_of_runs([each["per_request"] for each in theirs]),
        ),
        *_parts_at_speed(counted),
        _allocations(figure),
    ]
    figure.command = (
        f"strace -c -f httpdyno load URL -c {CONNECTIONS} -n {_MANY}   # less the same, -n {_FEW}"
    )
    return figure


def traced(setting: Setting, address: str) -> dict[str, Any]:
    """Return the engine's system calls per request, by name."""
    few, many = (_calls_of(setting, address, n) for n in (_FEW, _MANY))
    names = sorted(set(few) | set(many))
    calls = {
        name: (many.get(name, 0) - few.get(name, 0)) / (_MANY - _FEW)
        for name in names
        if name != "total"
    }
    per_request = sum(calls.values())
    return {"few": few, "many": many, "calls": calls, "per_request": per_request}


def _calls_of(setting: Setting, address: str, n_requests: int) -> dict[str, int]:
    file = setting.scratch / "strace"
    what = engine.job(
        setting,
        address,
        connections=CONNECTIONS,
        n_requests=n_requests,
        duration_s=_PATIENCE_S,
    )
    before = ("strace", "-c", "-f", "-o", str(file))
    done = engine.run_engine(setting, what, before=before, timeout_s=_PATIENCE_S)
    engine.check_clean(done)
    if done.window["completed"] != n_requests:
        raise BenchError(f"{done.window['completed']} of {n_requests} requests completed")
    return _summary(file.read_text())


def _summary(text: str) -> dict[str, int]:
    """Return what `strace -c` wrote: calls by name."""
    found = {name: int(calls) for calls, name in _TOTAL.findall(text)}
    total = found.pop("total", None)
    if total is None or total != sum(found.values()):
        raise BenchError(f"the table of strace is not understood: {text[:300]}")
    return found


def _their_calls(setting: Setting, oracle: Oracle) -> dict[str, Any]:
    wrk = next(each for each in client.competitors() if each.name == "wrk")
    file, before = setting.scratch / "strace", oracle.n_requests()
    command = wrk.command(oracle.address, CONNECTIONS, 2)
    run(["strace", "-c", "-f", "-o", str(file), *command], cpu=setting.client_cpu).checked()
    calls, served = _summary(file.read_text()), oracle.n_requests() - before
    return {"calls": calls, "served": served, "per_request": sum(calls.values()) / served}


def _counted(setting: Setting, oracle: Oracle) -> dict[str, Any] | None:
    """Return system calls per request at full speed; None where perf may not count."""
    if shutil.which("perf") is None:
        return None
    counts = [_entries(setting, oracle, n) for n in (1, 0)]
    if None in counts:
        return None
    (base, one), (calls, many) = [each for each in counts if each is not None]
    return {"counts": counts, "per_request": (calls - base) / (many - one)}


def _entries(setting: Setting, oracle: Oracle, n_requests: int) -> tuple[int, int] | None:
    """Return system calls and completed requests of a run, 0 requests for one of 3 s."""
    words = ("perf", "stat", "-x,", "-e", "raw_syscalls:sys_enter", "-o", "/dev/stderr")
    what = engine.job(
        setting, oracle.address, connections=CONNECTIONS, n_requests=n_requests, duration_s=3.0
    )
    ended = run(
        [*words, *engine.RUN],
        cpu=setting.client_cpu,
        stdin=json.dumps(what),
        timeout_s=60,
        environment=engine.environment(setting.engine),
    )
    found = re.search(r"^(\d+),.*raw_syscalls", ended.stderr, re.MULTILINE)
    if ended.status or not found:
        return None
    return int(found.group(1)), json.loads(ended.stdout)["windows"][0]["completed"]


def _parts_at_speed(counted: list[dict[str, Any] | None]) -> list[Part]:
    values = [each["per_request"] for each in counted if each is not None]
    if not values:
        return []
    return [
        Part(
            name="  at full speed, perf stat",
            estimate=median_of_runs(values),
            note="without strace's delay fewer answers are found at a time",
        )
    ]


def _allocations(figure: Figure) -> Part:
    """Return what the test with the counting allocator says: it allows 50 in 9,000 requests."""
    ended = run(_ALLOCATION_TEST, timeout_s=1800)
    figure.raw["allocation_test"] = {"stdout": ended.stdout[-4000:], **ended.record()}
    passed, failed = _PASSED.search(ended.stdout), _FAILED.findall(ended.stdout)
    estimate = None
    if ended.status == 0 and passed and int(passed.group(1)) > 0:
        estimate = exactly(0)
    elif failed:
        few, many = (int(each.replace(",", "")) for each in failed[-1])
        estimate = exactly((many - few) / 9_000)
    return Part(
        name="heap allocations per request",
        estimate=estimate,
        at_most=0,
        note="by `cargo test -p httpdyno-load --test alloc`"
        + ("" if estimate else f": {ended.stderr.strip()[-200:]}"),
    )


def _listed(calls: dict[str, float]) -> str:
    shown = sorted(calls.items(), key=lambda each: -each[1])
    return ", ".join(f"{name} {count:.2f}" for name, count in shown if count > 0.01)  # noqa: PLR2004
