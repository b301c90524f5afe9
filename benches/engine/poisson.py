"""Figure 8: whether Poisson arrivals are, judged by the gaps between arrivals at the oracle."""

from typing import Any

import numpy as np
from benches.engine import engine
from benches.engine.figure import Figure, Part, exactly
from benches.engine.gap import anderson_darling, lag_one
from benches.engine.origin import Oracle
from benches.engine.process import BenchError
from benches.engine.setting import Setting

RATE_PER_S = 1_000
N_ARRIVALS = 5_000
N_RUNS, N_RUNS_QUICK, ALLOWED_REJECTED = 40, 4, 2
LEVEL = 0.01
CONNECTIONS = 64
_FIRST = 500
"""Left out: while connections are opened."""
_PATIENCE_S = 60.0


def measure(setting: Setting) -> Figure:
    """Measure figure 8; the seeds are 1, 2, 3 and so on."""
    figure = Figure(number=8, name=f"Poisson arrivals at {RATE_PER_S:,}/s")
    n_runs = setting.sized(N_RUNS, N_RUNS_QUICK)
    runs = [_run(setting, seed) for seed in range(1, n_runs + 1)]
    figure.raw = {"runs": runs}
    is_kept = {
        name: [run[f"{name}_p"] >= LEVEL for run in runs]
        for name in ("anderson_darling", "lag_one")
    }
    both = sum(all(pair) for pair in zip(*is_kept.values(), strict=True))
    figure.parts = [
        Part(
            name=f"runs of {n_runs} not rejected at 1 %",
            estimate=exactly(both),
            at_least=max(0, n_runs - ALLOWED_REJECTED),
            note=f"by both tests, {N_ARRIVALS:,} arrivals each",
        ),
        Part(name="  by Anderson–Darling", estimate=exactly(sum(is_kept["anderson_darling"]))),
        Part(name="  by correlation with the next gap", estimate=exactly(sum(is_kept["lag_one"]))),
    ]
    figure.command = "httpdyno load URL --poisson 1000/s -c 64 -d 6s   # arrivals: URL/oracle/log"
    return figure


def _run(setting: Setting, seed: int) -> dict[str, Any]:
    with Oracle(setting) as oracle:
        what = engine.job(
            setting,
            oracle.address,
            connections=CONNECTIONS,
            arrival=engine.even(RATE_PER_S, is_poisson=True),
            n_requests=N_ARRIVALS + _FIRST,
            duration_s=_PATIENCE_S,
            seed=seed,
        )
        done = engine.run_engine(setting, what)
        log = oracle.log()
    engine.check_clean(done)
    if len(log.at_ns) != N_ARRIVALS + _FIRST:
        raise BenchError(f"{len(log.at_ns)} requests arrived, not {N_ARRIVALS + _FIRST}")
    gaps_s = np.diff(np.sort(log.at_ns)[_FIRST:]) / 1e9
    statistic, p = anderson_darling(np.maximum(gaps_s, 1e-9), RATE_PER_S)
    correlation, lag_p = lag_one(gaps_s)
    return {
        "seed": seed,
        "anderson_darling": statistic,
        "anderson_darling_p": p,
        "lag_one": correlation,
        "lag_one_p": lag_p,
        "gap_mean_s": float(gaps_s.mean()),
        "gap_min_s": float(gaps_s.min()),
        "run": done.record(),
    }
