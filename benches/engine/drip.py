"""Figure 9: what a thousand clients cost that read and write ten bytes a second.

A hundred fast users are beside them. The oracle's log tells how long a slow one's cycle takes: its
requests arrive as far apart as the bytes of answer and next request last, and the thought between.
"""

from collections import defaultdict
from statistics import median
from typing import Any

import numpy as np
from benches.engine import engine
from benches.engine.cost import Run, abba
from benches.engine.figure import Figure, Part
from benches.engine.interval import median_of_runs
from benches.engine.origin import Log, Oracle
from benches.engine.process import BenchError
from benches.engine.setting import Setting

N_DRIP, N_FAST = 1_000, 100
BYTES_PER_S = 10.0
CPU_TARGET, ERROR_TARGET = 5.0, 5.0
_THINK_S = 1.0
_USERS_PER_S = 200.0
_RECEIVE_BUFFER_BYTES = 1_024
_PAIRS, _PAIRS_QUICK = 3, 1
_RUN_S, _RUN_QUICK_S = 60.0, 45.0
_TIMEOUT_S = 60.0


def measure(setting: Setting) -> Figure:
    """Measure figure 9: with and without the slow ones, in the order ABBA."""
    figure = Figure(number=9, name=f"{N_DRIP:,} clients at {BYTES_PER_S:g} B/s beside {N_FAST}")
    n_pairs = setting.sized(_PAIRS, _PAIRS_QUICK)
    pairs = abba(lambda: _run(setting, N_DRIP), lambda: _run(setting, 0), n_pairs)
    figure.raw = {"pairs": pairs}
    figure.parts = [
        Part(
            name="CPU of the slow ones",
            estimate=median_of_runs(
                [100 * (with_drip["cores"] - without["cores"]) for with_drip, without in pairs]
            ),
            unit=" % of a core",
            at_most=CPU_TARGET,
            note=f"{100 * median(pair[0]['cores'] for pair in pairs):.2f} % in all",
        ),
        Part(
            name="error of their cycles' length, median",
            estimate=median_of_runs([100 * pair[0]["error_p50"] for pair in pairs]),
            unit=" %",
            at_most=ERROR_TARGET,
            note=f"{pairs[0][0]['n_cycles']:,} cycles of {pairs[0][0]['cycle_s']:.2f} s a run",
        ),
        Part(
            name="error of their cycles' length, p99",
            estimate=median_of_runs([100 * pair[0]["error_p99"] for pair in pairs]),
            unit=" %",
            at_most=ERROR_TARGET,
        ),
    ]
    figure.command = "httpdyno load URL -c 1100 --slow 80bit:90.9% --think-exactly 1s -d 60s"
    return figure


def _run(setting: Setting, n_drip: int) -> Run:
    n_users = N_FAST + n_drip
    slow = {
        "ratio": n_drip / n_users,
        "bytes_per_s": BYTES_PER_S,
        "receive_buffer_bytes": _RECEIVE_BUFFER_BYTES,
    }
    with Oracle(setting) as oracle:
        what = engine.job(
            setting,
            oracle.address,
            connections=n_users,
            connections_per_s=_USERS_PER_S,
            who=engine.users(think_s=_THINK_S),
            slow=slow if n_drip else None,
            duration_s=setting.lasting(_RUN_S, _RUN_QUICK_S),
            timeout_s=_TIMEOUT_S,
        )
        done = engine.run_engine(setting, what)
        log = oracle.log()
    engine.check_clean(done)
    run = {"cores": done.cpu_s / done.said["wall_s"], "run": done.record()}
    return run | _timing(log, done.window) if n_drip else run


def _timing(log: Log, window: dict[str, Any]) -> Run:
    """Compare the cycles of slow connections with what their bytes should take."""
    if not window["completed"]:
        raise BenchError("no request was answered")
    bytes_each = (window["bytes_sent"] + window["bytes_received"]) / window["completed"]
    expected_s = bytes_each / BYTES_PER_S + _THINK_S
    by_connection: dict[int, list[int]] = defaultdict(list)
    for connection, at_ns in zip(log.connection.tolist(), log.at_ns.tolist(), strict=True):
        by_connection[connection].append(at_ns)
    cycles_s = [np.diff(sorted(each)) / 1e9 for each in by_connection.values()]
    # A fast one's take little more than the thought.
    slow_s = [each for each in cycles_s if len(each) and np.median(each) > 3 * _THINK_S]
    if not slow_s:
        raise BenchError("no slow connection sent twice")
    errors = np.abs(np.concatenate(slow_s) / expected_s - 1)
    return {
        "n_slow_connections": len(slow_s),
        "n_cycles": len(errors),
        "cycle_s": expected_s,
        "error_p50": float(np.quantile(errors, 0.5)),
        "error_p99": float(np.quantile(errors, 0.99)),
    }
