"""Figure 8: whether Poisson arrivals are, judged by the gaps between arrivals at the oracle."""

from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
from benches.engine import engine
from benches.engine.figure import Figure, Part, exactly
from benches.engine.gap import anderson_darling, lag_one
from benches.engine.interval import Estimate, median_of_runs
from benches.engine.origin import Oracle
from benches.engine.process import BenchError
from benches.engine.quiet import Quiet
from benches.engine.setting import Setting
from benches.engine.wire import Wire
from numpy.typing import NDArray

RATE_PER_S = 1_000
N_ARRIVALS = 5_000
N_RUNS, N_RUNS_QUICK, ALLOWED_REJECTED = 40, 4, 2
LEVEL = 0.01
CONNECTIONS = 64
_FIRST = 500
"""Left out: while connections are opened."""
_PATIENCE_S = 60.0
_SPIN_S = 0.02
_TESTS = {
    "anderson_darling_p": "Anderson–Darling",
    "lag_one_p": "correlation with the next gap",
}
_ELSEWHERE = {
    "wire": "as the kernel stamped the packets",
    "written": "as the engine says that it wrote",
    "due": "as the schedule had them due",
}
"""For information: where between schedule and oracle gaps are bent, when they are."""
_SHORT_S, _LONG_S = 0.0002, 0.002
"""Gaps after which the way to the oracle is still warm, and is not."""


def measure(setting: Setting) -> Figure:
    """Measure figure 8; the seeds are 1, 2, 3 and so on."""
    figure = Figure(number=8, name=f"Poisson arrivals at {RATE_PER_S:,}/s")
    n_runs = setting.sized(N_RUNS, N_RUNS_QUICK)
    quiet: Quiet[dict[str, Any]] = Quiet()
    runs = [quiet.run(partial(_run, setting, seed)) for seed in range(1, n_runs + 1)]
    figure.raw = {"runs": runs, "discarded": quiet.discarded}

    def n_kept(where: str, *tests: str) -> Estimate:
        return exactly(sum(_is_kept(run, where, *tests) for run in runs))

    figure.parts = [
        Part(
            name=f"runs of {n_runs} not rejected at 1 %",
            estimate=n_kept("oracle", *_TESTS),
            at_least=max(0, n_runs - ALLOWED_REJECTED),
            note=f"at the oracle, by both tests, {N_ARRIVALS:,} arrivals each",
        ),
        *(
            Part(name=f"  by {name} alone", estimate=n_kept("oracle", test))
            for test, name in _TESTS.items()
        ),
        *(
            Part(name=f"  by both, {name}", estimate=n_kept(where, *_TESTS))
            for where, name in _ELSEWHERE.items()
            if all(where in run for run in runs)
        ),
        Part(
            name="  by both, of those that were disturbed and repeated",
            estimate=exactly(sum(_is_kept(run, "oracle", *_TESTS) for run in quiet.discarded)),
            note=f"{len(quiet.discarded)} runs",
        ),
        *(
            Part(
                name=f"  from writing to the oracle, after {words} {bound_s * 1e3:g} ms",
                estimate=median_of_runs([run["way_us"][words] for run in runs]),
                unit=" µs",
            )
            for words, bound_s in (("less than", _SHORT_S), ("more than", _LONG_S))
        ),
    ]
    figure.notes += quiet.notes()
    figure.command = (
        "httpdyno load URL --rate 1000/s --poisson -n 5500 --spin 20ms   # arrivals: URL/oracle/log"
    )
    return figure


def _is_kept(run: dict[str, Any], where: str, *tests: str) -> bool:
    return all(run[where][test] >= LEVEL for test in tests)


def _run(setting: Setting, seed: int) -> dict[str, Any]:
    n = N_ARRIVALS + _FIRST
    # Nobody sleeps: a wake-up comes after a long gap only, and would be a part of the gaps.
    with Oracle(setting, "--spin", "on") as oracle, ExitStack() as stack:
        wire = _wire(oracle, stack)
        what = engine.job(
            setting,
            oracle.address,
            connections=CONNECTIONS,
            arrival=engine.even(RATE_PER_S, is_poisson=True),
            n_requests=n,
            duration_s=_PATIENCE_S,
            seed=seed,
            n_traced=n,
            spin_s=_SPIN_S,
        )
        done = engine.run_engine(setting, what)
        # Before the oracle is asked for its log: that is a packet too.
        seen = {} if wire is None else {"wire": wire.arrivals_ns()}
        seen["oracle"] = oracle.log().at_ns
    seen |= {name: done.instants_ns(f"{name}_ns") for name in ("written", "due")}
    engine.check_clean(done)
    if any(len(each) != n for each in seen.values()):
        counts = {where: len(each) for where, each in seen.items()}
        raise BenchError(f"not {n} arrivals everywhere, but {counts}")
    judged = {where: _judged(each) for where, each in seen.items()}
    way = _way_us(seen["written"], seen["oracle"])
    return {"seed": seed, **judged, "way_us": way, "run": done.record()}


def _way_us(written_ns: NDArray[np.int64], at_ns: NDArray[np.int64]) -> dict[str, float]:
    """Return the median from writing to arrival, by how long nothing had been sent before."""
    written_ns, at_ns = np.sort(written_ns)[_FIRST:], np.sort(at_ns)[_FIRST:]
    gaps_s = np.diff(written_ns) / 1e9
    way_us = (at_ns - written_ns)[1:] / 1e3
    return {
        "less than": float(np.median(way_us[gaps_s < _SHORT_S])),
        "more than": float(np.median(way_us[gaps_s > _LONG_S])),
    }


def _wire(oracle: Oracle, stack: ExitStack) -> Wire | None:
    try:
        return stack.enter_context(Wire(oracle.port))
    except PermissionError:
        return None


def _judged(at_ns: NDArray[np.int64]) -> dict[str, float]:
    gaps_s = np.diff(np.sort(at_ns)[_FIRST:]) / 1e9
    # Two stamps may be the same nanosecond; no gap is nothing.
    statistic, p = anderson_darling(np.maximum(gaps_s, 1e-9), RATE_PER_S)
    correlation, lag_p = lag_one(gaps_s)
    return {
        "anderson_darling": statistic,
        "anderson_darling_p": p,
        "lag_one": correlation,
        "lag_one_p": lag_p,
        "gap_mean_s": float(gaps_s.mean()),
        "gap_min_s": float(gaps_s.min()),
    }
