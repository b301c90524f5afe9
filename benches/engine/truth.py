"""Figure 5: whether percentiles tell the truth while the server stalls.

Each request has a path by which the oracle's log tells it from the others, so the true latency of
each is known: from when the schedule had it due to when the oracle answered it.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from benches.engine import engine
from benches.engine.figure import Figure, Part, exactly
from benches.engine.origin import Log, Oracle
from benches.engine.pacing import quantile_s
from benches.engine.process import BenchError
from benches.engine.setting import Setting
from numpy.typing import NDArray

RATE_PER_S = 1_000
POOLS = (8, 64, 1024)
QUANTILES = (0.5, 0.95, 0.99, 0.999)
TOLERANCE_RATIO, TOLERANCE_S = 0.02, 0.001
_RUN_S = 10.0
_STRIKE_S = 4.0
"""After the engine was asked to start; it needs a moment for that itself."""
_N_PATHS = 4_000
"""The oracle keeps 4,096 names. After so many requests, four seconds, paths come again."""
_FREEZE_S = 1.0
_RAMP_LEVELS, _RAMP_BLOCK, _RAMP_STEP_MS, _RAMP_PATHS = 10, 500, 2, 200

Latencies = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Pathology:
    """A way in which a server goes bad."""

    name: str
    options: tuple[str, ...] = ()
    """Of the oracle."""
    targets: Callable[[], list[str]]
    strike: Callable[[Oracle], None] | None = None
    """Done to the oracle in the midst of the run."""
    requests_per_connection: int = 0


def _numbered(query: str = "") -> list[str]:
    return [f"/?k={number}{query}" for number in range(_N_PATHS)]


def _ramp() -> list[str]:
    """Return paths whose service time climbs in steps for 5 s, and is nothing thereafter."""
    climbing = [
        f"/?k={k % _RAMP_PATHS}&service=fixed:{k // _RAMP_BLOCK * _RAMP_STEP_MS}ms"
        for k in range(_RAMP_LEVELS * _RAMP_BLOCK)
    ]
    left = int(_RUN_S * RATE_PER_S) - len(climbing)
    return climbing + [f"/?k={k % _RAMP_PATHS}&after" for k in range(left)]


PATHOLOGIES = (
    Pathology(name="1 s stall", targets=_numbered, strike=lambda oracle: oracle.stall(_FREEZE_S)),
    Pathology(name="100 ms pauses", options=("--stall-every", "1s:100ms"), targets=_numbered),
    Pathology(name="slow ramp-down", targets=_ramp),
    Pathology(name="bimodal", options=("--service", "bimodal:1ms:50ms:0.05"), targets=_numbered),
    Pathology(
        name="accept freeze",
        options=("--backlog", "4096"),
        targets=_numbered,
        strike=lambda oracle: oracle.stall_accept(_FREEZE_S),
        requests_per_connection=1,
    ),
)


def measure(setting: Setting) -> Figure:
    """Measure figure 5."""
    figure = Figure(number=5, name=f"percentiles in a stall at {RATE_PER_S:,}/s")
    pools = POOLS[1:2] if setting.is_quick else POOLS
    cases = [
        (pathology, pool, _case(setting, pathology, pool))
        for pathology in PATHOLOGIES
        for pool in pools
    ]
    figure.raw = {f"{each.name}, {pool}": case for each, pool, case in cases}
    n_right = sum(case["is_right"] for _, _, case in cases)
    figure.parts = [
        Part(
            name=f"cases of {len(cases)} within ±2 % or ±1 ms",
            estimate=exactly(n_right),
            at_least=len(cases),
        ),
        *(
            Part(
                name=f"  {pathology.name}, pool {pool}: worst",
                estimate=exactly(case["worst"]),
                unit=" × tolerance",
                note=_told(case),
            )
            for pathology, pool, case in cases
        ),
    ]
    figure.command = (
        "httpdyno load URL --rate 1000/s -c 64 -d 10s   # and meanwhile: curl URL/oracle/stall/1s"
    )
    return figure


def _case(setting: Setting, pathology: Pathology, pool: int) -> dict[str, Any]:
    targets = pathology.targets()
    with Oracle(setting, *pathology.options) as oracle:
        what = engine.job(
            setting,
            oracle.address,
            requests=[engine.request(target) for target in targets],
            connections=pool,
            arrival=engine.even(RATE_PER_S),
            duration_s=_RUN_S,
            requests_per_connection=pathology.requests_per_connection,
        )
        failures: list[BenchError] = []
        striking = threading.Timer(_STRIKE_S, _strike, (oracle, pathology.strike, failures))
        striking.start()
        try:
            done = engine.run_engine(setting, what)
        finally:
            striking.cancel()
            striking.join()
        log = oracle.log()
    if failures:
        raise failures[0]
    window = done.window
    unsent = window["errors"].pop("unsent", 0)
    engine.check_clean(done)
    true_s, late_s = true_latencies(log, targets, window["opened_ns"], window["offered"] - unsent)
    return {
        **judged(true_s, window["latency"]),
        "n": len(true_s),
        "unsent": unsent,
        "due_to_arrival_p50_s": float(np.median(late_s)),
        "stalls_ns": log.stalls_ns,
        "run": done.record(),
    }


def true_latencies(
    log: Log, targets: Sequence[str], opened_ns: int, n_sent: int
) -> tuple[Latencies, Latencies]:
    """Return the time from due to answered, and from due to arrived, of each request.

    The requests of one path are told apart by their order: they are so far apart in the schedule
    that they cannot overtake each other.

    Args:
        log: What the oracle saw.
        targets: The paths in the order of the schedule, again and again; (n_targets,).
        opened_ns: When the first was due.
        n_sent: How many were sent.

    Returns:
        Both (n_sent,), in the order of the schedule, in seconds.

    Raises:
        BenchError: The log does not hold each request once, answered.
    """
    by_path: dict[str, list[int]] = defaultdict(list)
    for index in np.argsort(log.at_ns, kind="stable").tolist():
        by_path[log.path[index]].append(index)
    for indices in by_path.values():
        indices.reverse()
    answered_ns, arrived_ns = np.empty(n_sent), np.empty(n_sent)
    for k in range(n_sent):
        waiting = by_path[targets[k % len(targets)]]
        if not waiting:
            raise BenchError(f"request {k} of {n_sent} is not in the oracle's log")
        index = waiting.pop()
        if not log.answered_ns[index]:
            raise BenchError(f"the oracle never answered request {k}")
        answered_ns[k], arrived_ns[k] = (
            log.answered_ns[index] - opened_ns,
            log.at_ns[index] - opened_ns,
        )
    if any(by_path.values()):
        raise BenchError("the oracle saw requests that the engine does not know of")
    due_s = np.arange(n_sent) / RATE_PER_S
    return answered_ns / 1e9 - due_s, arrived_ns / 1e9 - due_s


def judged(true_s: Latencies, histogram: dict[str, Any]) -> dict[str, Any]:
    """Return true and reported quantiles, and whether each is near enough."""
    ordered = np.sort(true_s)
    ranks = [max(0, int(np.ceil(q * len(ordered) - 1e-9)) - 1) for q in QUANTILES]
    truth = ordered[ranks]
    told = np.array([quantile_s(histogram, q) for q in QUANTILES])
    off = np.abs(told - truth) / np.maximum(TOLERANCE_RATIO * truth, TOLERANCE_S)
    return {
        "true_s": truth.tolist(),
        "told_s": told.tolist(),
        "worst": float(off.max()),
        "is_right": bool(off.max() <= 1),
    }


def _strike(
    oracle: Oracle, strike: Callable[[Oracle], None] | None, failures: list[BenchError]
) -> None:
    try:
        if strike is not None:
            strike(oracle)
    except BenchError as error:
        failures.append(error)


def _told(case: dict[str, Any]) -> str:
    pairs = zip(case["told_s"], case["true_s"], strict=True)
    shown = ", ".join(f"{told * 1e3:.4g}/{true * 1e3:.4g}" for told, true in pairs)
    return f"told/true p50, p95, p99, p99.9 in ms: {shown}"
