"""Figures 1 to 5 beside another checkout's engine: what changed between the two.

Runs alternate between the engines in the order ABBA, on the same cores and with the same origin.
Ratios are this engine over the other one, less is better: that it got worse is proven where the
whole interval lies above 1.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benches.engine import calls, cost, engine, mix, pacing, truth
from benches.engine.figure import Figure, Part
from benches.engine.interval import ratio_of_pairs
from benches.engine.origin import Nginx, Oracle
from benches.engine.process import BenchError, run
from benches.engine.quiet import Quiet
from benches.engine.setting import Setting

LEAST_OFF = 0.01
"""Of the tolerance. How far percentiles are off below this is nothing to compare."""
_WHERE = ("-c", "from httpdyno import _native; print(_native.__file__)")

Run = dict[str, Any]
Pairs = list[list[Run]]


def checked(checkout: Path) -> Path:
    """Return the whole path of a checkout that has an engine of its own.

    Raises:
        BenchError: With the command that builds it.
    """
    whole = checkout.resolve()
    python, *_ = engine.RUN
    said = run([python, "-P", *_WHERE], environment=engine.environment(whole))
    if said.status or not Path(said.stdout.strip()).is_relative_to(whole / "python"):
        raise BenchError(f"{checkout} has no engine of its own: `make setup` there")
    return whole


def compared(name: str, pairs: Pairs, of: Callable[[Run], float], unit: str = "") -> Part:
    """Return the ratio of a figure, ours over the other engine's, over interleaved pairs.

    Raises:
        BenchError: The figure has no ratio, because it is 0 somewhere.
    """
    ours, theirs = ([of(pair[side]) for pair in pairs] for side in (0, 1))
    if min(*ours, *theirs) <= 0:
        raise BenchError(f"{name}: 0 in a run, which has no ratio")
    return Part(
        name=name,
        estimate=ratio_of_pairs(ours, theirs),
        unit=" × the other",
        at_most=1,
        by_proof=True,
        note=f"{median(ours):.4g} against {median(theirs):.4g}{unit}, medians of "
        f"{len(pairs)} pairs",
    )


def _figure(number: int, name: str, checkout: Path) -> Figure:
    command = f"python -m benches.engine --beside {checkout} --only {number}"
    return Figure(number=number, name=f"{name}, beside {checkout}", command=command)


def _sides(setting: Setting, checkout: Path) -> tuple[Setting, Setting]:
    return setting, replace(setting, engine=checkout)


def _cost(checkout: Path, setting: Setting) -> Figure:
    figure = _figure(1, "client CPU per request", checkout)
    origins = (
        ("oracle", partial(Oracle, setting, "--log-capacity", "0")),
        ("nginx", partial(Nginx, setting)),
    )
    for name, started in origins:
        with started() as origin:
            cost.warm(setting, origin.address)
            ours, theirs = (
                partial(cost.counted, origin, partial(cost.our_run, side, origin.address))
                for side in _sides(setting, checkout)
            )
            pairs = cost.abba(ours, theirs, setting.pairs)
        figure.raw[name] = pairs
        figure.parts.append(
            compared(
                f"CPU per request at {name}", pairs, lambda run: run["cpu_us_per_request"], " µs"
            )
        )
    return figure


def _calls(checkout: Path, setting: Setting) -> Figure:
    figure = _figure(2, "system calls per request", checkout)
    with Oracle(setting, "--log-capacity", "0") as oracle:
        ours, theirs = (
            partial(calls.traced, side, oracle.address) for side in _sides(setting, checkout)
        )
        pairs = cost.abba(ours, theirs, setting.sized(calls.N_RUNS, calls.N_RUNS_QUICK))
    figure.raw["strace"] = pairs
    figure.parts = [
        compared("system calls per request, strace -c -f", pairs, lambda run: run["per_request"])
    ]
    return figure


def _mix(checkout: Path, setting: Setting) -> Figure:
    """Compare what the mix costs over one GET of the same engine."""
    figure = _figure(3, "cost of a mix", checkout)

    def over_one_get(nginx: Nginx, side: Setting) -> Run:
        whole, one = (
            cost.counted(nginx, partial(cost.our_run, side, nginx.address, **job))
            for job in (mix.whole(), {})
        )
        ratio = whole["cpu_us_per_request"] / one["cpu_us_per_request"]
        return {"mix": whole, "one": one, "ratio": ratio}

    with Nginx(setting) as nginx:
        cost.warm(setting, nginx.address)
        ours, theirs = (partial(over_one_get, nginx, side) for side in _sides(setting, checkout))
        pairs = cost.abba(ours, theirs, setting.pairs)
    figure.raw["pairs"] = pairs
    figure.parts = [
        compared("CPU per request, mix over one GET", pairs, lambda run: run["ratio"], " × one GET")
    ]
    return figure


def _pacing(checkout: Path, setting: Setting) -> Figure:
    figure = _figure(4, "constant rates", checkout)
    n_runs = setting.sized(pacing.N_RUNS, pacing.N_RUNS_QUICK)
    quiet: Quiet[Run] = Quiet()
    for rate in pacing.RATES_PER_S:
        ours, theirs = (
            partial(quiet.run, partial(pacing.our_run, side, rate))
            for side in _sides(setting, checkout)
        )
        pairs = cost.abba(ours, theirs, n_runs)
        figure.raw[f"{rate}/s"] = pairs
        figure.parts += [
            compared(f"{rate:,}/s: late at the origin, p50", pairs, partial(_late_us, 1), " µs"),
            compared(f"{rate:,}/s: late at the origin, p99", pairs, partial(_late_us, 2), " µs"),
            compared(f"{rate:,}/s: client CPU", pairs, lambda run: run["cpu_cores"], " core"),
        ]
    figure.raw["discarded"] = quiet.discarded
    figure.notes += quiet.notes()
    return figure


def _late_us(place: int, run: Run) -> float:
    late_s: float = run["lateness_at_oracle_s"][place]
    return late_s * 1e6


def _truth(checkout: Path, setting: Setting) -> Figure:
    """Compare how far percentiles are off; each case is a pair."""
    figure = _figure(5, "percentiles in a stall", checkout)
    pools = truth.POOLS[1:2] if setting.is_quick else truth.POOLS
    quiet: Quiet[Run] = Quiet()
    pairs: Pairs = []
    for pathology in truth.PATHOLOGIES:
        for pool in pools:
            ours, theirs = (
                partial(quiet.run, partial(truth.measured, side, pathology, pool))
                for side in _sides(setting, checkout)
            )
            if len(pairs) % 2:
                second, first = theirs(), ours()
            else:
                first, second = ours(), theirs()
            pairs.append([first, second])
            figure.raw[f"{pathology.name}, {pool}"] = pairs[-1]
    n_right = [sum(pair[side]["is_right"] for pair in pairs) for side in (0, 1)]
    figure.parts = [
        compared(
            f"worst of p50 to p99.9 in {len(pairs)} cases",
            pairs,
            lambda run: max(run["worst"], LEAST_OFF),
            " × tolerance",
        )
    ]
    figure.raw["discarded"] = quiet.discarded
    figure.notes += [f"right: {n_right[0]} against {n_right[1]} of {len(pairs)}", *quiet.notes()]
    return figure


MEASURES: dict[int, Callable[[Path, Setting], Figure]] = {
    1: _cost,
    2: _calls,
    3: _mix,
    4: _pacing,
    5: _truth,
}
