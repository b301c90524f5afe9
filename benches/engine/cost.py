"""Figure 1: the client's CPU time per request, next to wrk, oha and h2load.

Pairs of runs, ours and theirs, in the order ABBA, on the client's core; the origin has the other.
Requests are counted by the origin, CPU time by the kernel. Ours is the whole process from starting
the engine to having its results: Python's own start is not load. What it comes to with all of the
program around it is measured too, over runs long enough that the start does not decide.
"""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from statistics import median
from typing import Any

from benches.engine import engine
from benches.engine.client import Competitor, competitors
from benches.engine.figure import Figure, Part
from benches.engine.interval import Estimate, median_of_runs, ratio_of_pairs
from benches.engine.origin import Nginx, Oracle
from benches.engine.process import BenchError, run, shown
from benches.engine.setting import REPOSITORY, Setting

TARGETS = {"wrk": 0.85, "oha": 0.65, "h2load": 0.9}
CONNECTIONS = 64
COUNTS_MAY_DIFFER = 0.005
"""Between the origin and a client that finished: what was under way when it ended."""
_WARM_S = 1.0
_LONG_S = 10.0
_LONG_PAIRS = 4
_MOST_OF_WHOLE = 1.0
_MOST_FOR_ONE_S, _ONES = 0.25, 5

Run = dict[str, Any]


def measure(setting: Setting) -> Figure:
    """Measure figure 1 against the oracle, and against nginx unless it has to be quick."""
    figure = Figure(number=1, name="client CPU per request, 64 keep-alive connections")
    rivals = competitors()
    origins: list[tuple[str, Callable[[], AbstractContextManager[Oracle | Nginx]]]] = [
        ("oracle", lambda: Oracle(setting, "--log-capacity", "0"))
    ]
    if not setting.is_quick:
        origins.append(("nginx", lambda: Nginx(setting)))
    for name, started in origins:
        with started() as origin:
            _measure_at(figure, setting, name, origin, rivals)
    program = REPOSITORY / ".venv" / "bin" / "httpdyno"
    figure.command = (
        f"{shown([str(program)])} load URL -c 64 -d 3s --json -   # and: wrk -t1 -c64 -d3s URL"
    )
    return figure


def _measure_at(
    figure: Figure,
    setting: Setting,
    origin_name: str,
    origin: Oracle | Nginx,
    rivals: tuple[Competitor, ...] | list[Competitor] | Any,
) -> None:
    def ours() -> Run:
        return counted(origin, lambda: our_run(setting, origin.address))

    warm(setting, origin.address)
    runs: dict[str, Any] = {}
    for rival in rivals:

        def theirs(rival: Competitor = rival) -> Run:
            return counted(origin, lambda: their_run(setting, rival, origin.address))

        pairs = abba(ours, theirs, setting.pairs)
        runs[rival.name] = pairs
        figure.parts.append(
            Part(
                name=f"CPU per request at {origin_name}",
                estimate=ratio(pairs),
                unit=f" × {rival.name}",
                at_most=TARGETS[rival.name],
                by_bound=True,
                note=_absolute(pairs),
            )
        )
    all_ours = [pair[0] for pairs in runs.values() for pair in pairs]
    figure.parts.append(
        Part(
            name="  of it the engine's threads by themselves",
            estimate=median_of_runs([each["engine_ratio"] for each in all_ours]),
            note="the rest is Python, waiting",
        )
    )
    runs["whole program"] = _whole_program(figure, setting, origin_name, origin, rivals[0])
    runs["one request"] = _one_request(figure, setting, origin_name, origin)
    figure.raw[origin_name] = runs


def abba(ours: Callable[[], Run], theirs: Callable[[], Run], n_pairs: int) -> list[list[Run]]:
    """Run ours and theirs in the order ABBA; return (ours, theirs) of each pair."""
    pairs = []
    for index in range(n_pairs):
        if index % 2:
            second, first = theirs(), ours()
        else:
            first, second = ours(), theirs()
        pairs.append([first, second])
    return pairs


def counted(origin: Oracle | Nginx, measured: Callable[[], Run]) -> Run:
    """Add the origin's own count of requests, and CPU time by it."""
    before = origin.n_requests()
    done = measured()
    served = origin.n_requests() - before
    own = done.get("completed")
    if served <= 0 or (own is not None and abs(served - own) > COUNTS_MAY_DIFFER * served):
        raise BenchError(f"the origin served {served} requests, the client counted {own}")
    return {**done, "served": served, "cpu_us_per_request": done["cpu_s"] / served * 1e6}


def our_run(setting: Setting, address: str, **job: Any) -> Run:
    """Run our engine once in a closed loop."""
    what = engine.job(
        setting, address, **{"connections": CONNECTIONS, "duration_s": setting.run_s, **job}
    )
    done = engine.run_engine(setting, what)
    engine.check_clean(done)
    return {
        "cpu_s": done.cpu_s,
        "completed": done.window["completed"],
        "engine_ratio": done.window["client_cpu_s"] / done.cpu_s,
        "run": done.record(),
    }


def their_run(setting: Setting, rival: Competitor, address: str) -> Run:
    """Run a competitor once in a closed loop."""
    command = rival.command(address, CONNECTIONS, setting.run_s)
    ended = run(command, cpu=setting.client_cpu, timeout_s=setting.run_s + 60)
    rival.check_clean(ended)
    return {"cpu_s": ended.cpu_s, "run": ended.record()}


def warm(setting: Setting, address: str) -> None:
    """Load for a moment, so that the first pair finds what later ones find."""
    engine.run_engine(setting, engine.job(setting, address, duration_s=_WARM_S))


def ratio(pairs: list[list[Run]]) -> Estimate:
    """Return how CPU time per request compares within pairs."""
    ours, theirs = ([pair[side]["cpu_us_per_request"] for pair in pairs] for side in (0, 1))
    return ratio_of_pairs(ours, theirs)


def _absolute(pairs: list[list[Run]]) -> str:
    ours, theirs = (median(pair[side]["cpu_us_per_request"] for pair in pairs) for side in (0, 1))
    return f"{ours:.2f} against {theirs:.2f} µs, medians of {len(pairs)} pairs"


def _whole_program(
    figure: Figure, setting: Setting, origin_name: str, origin: Oracle | Nginx, rival: Competitor
) -> list[list[Run]]:
    """Measure the program as people run it, Python's start included, over long runs."""
    program = str(REPOSITORY / ".venv" / "bin" / "httpdyno")

    def ours() -> Run:
        words = ["load", f"http://{origin.address}/", "-c", str(CONNECTIONS)]
        # Who compares it with others asks it for no more than they do.
        command = [program, *words, "-d", f"{_LONG_S:g}s", "--json", "-"]
        ended = run(command, cpu=setting.client_cpu, timeout_s=_LONG_S + 60).checked()
        completed = json.loads(ended.stdout)["completed"]
        return {"cpu_s": ended.cpu_s, "completed": completed, "run": ended.record()}

    def theirs() -> Run:
        command = rival.command(origin.address, CONNECTIONS, _LONG_S)
        ended = run(command, cpu=setting.client_cpu, timeout_s=_LONG_S + 60)
        rival.check_clean(ended)
        return {"cpu_s": ended.cpu_s, "run": ended.record()}

    pairs = abba(lambda: counted(origin, ours), lambda: counted(origin, theirs), _LONG_PAIRS)
    figure.parts.append(
        Part(
            name=f"whole program, {_LONG_S:g} s, at {origin_name}",
            estimate=ratio(pairs),
            unit=f" × {rival.name}",
            at_most=_MOST_OF_WHOLE,
            by_bound=True,
            note=f"Python's start included; {_absolute(pairs)}",
        )
    )
    return pairs


def _one_request(
    figure: Figure, setting: Setting, origin_name: str, origin: Oracle | Nginx
) -> list[float]:
    """Measure what the program costs before and after any load."""
    program = str(REPOSITORY / ".venv" / "bin" / "httpdyno")
    command = [program, "load", f"http://{origin.address}/", "-n", "1"]
    costs_s = [run(command, cpu=setting.client_cpu).checked().cpu_s for _ in range(_ONES)]
    figure.parts.append(
        Part(
            name=f"whole program, one request, at {origin_name}",
            estimate=median_of_runs(costs_s),
            unit=" s",
            at_most=_MOST_FOR_ONE_S,
        )
    )
    return costs_s
