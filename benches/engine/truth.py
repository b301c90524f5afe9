"""Figure 5: whether percentiles tell the truth while the server stalls.

Each request has a path by which the oracle's log tells it from the others, so the true latency of
each is known: from when the schedule had it due to when the oracle answered it.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from benches.engine import engine
from benches.engine.figure import Figure, Part, exactly
from benches.engine.origin import Log, Oracle
from benches.engine.pacing import quantile_s
from benches.engine.process import BenchError
from benches.engine.quiet import Quiet
from benches.engine.setting import Setting
from numpy.typing import NDArray

RATE_PER_S = 1_000
POOLS = (8, 64, 1024)
QUANTILES = (0.5, 0.95, 0.99, 0.999)
TOLERANCE_RATIO, TOLERANCE_S = 0.02, 0.001
_RUN_S = 10.0
N_REQUESTS = int(RATE_PER_S * _RUN_S)
_STRIKE_S = 4.0
"""After the engine was asked to start; it needs a moment for that itself."""
_FREEZE_S = 1.0
_RAMP_LEVELS, _RAMP_BLOCK, _RAMP_STEP_MS = 10, 500, 2

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


def _numbered() -> list[str]:
    return [f"/?k={k}" for k in range(N_REQUESTS)]


def _ramp() -> list[str]:
    """Return paths whose service time climbs in steps for 5 s, and is nothing thereafter."""
    service_ms = [k // _RAMP_BLOCK * _RAMP_STEP_MS for k in range(_RAMP_LEVELS * _RAMP_BLOCK)]
    climbing = [f"/?k={k}&service=fixed:{each}ms" for k, each in enumerate(service_ms)]
    return climbing + _numbered()[len(climbing) :]


PATHOLOGIES = (
    Pathology(name="1 s stall", targets=_numbered, strike=lambda oracle: oracle.stall(_FREEZE_S)),
    Pathology(name="100 ms pauses", options=("--stall-every", "1s:100ms"), targets=_numbered),
    Pathology(name="slow ramp-down", targets=_ramp),
    Pathology(name="bimodal", options=("--service", "bimodal:1ms:50ms:0.1"), targets=_numbered),
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
    quiet: Quiet[dict[str, Any]] = Quiet()
    cases = [
        (pathology, pool, quiet.run(partial(measured, setting, pathology, pool)))
        for pathology in PATHOLOGIES
        for pool in pools
    ]
    figure.raw = {f"{each.name}, {pool}": case for each, pool, case in cases}
    figure.raw["discarded"] = quiet.discarded
    figure.notes += quiet.notes()
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


def measured(setting: Setting, pathology: Pathology, pool: int) -> dict[str, Any]:
    """Run our engine once through a pathology, and judge what it says."""
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

    Args:
        log: What the oracle saw.
        targets: A path for each request, in the order of the schedule; (n_offered,).
        opened_ns: When the first was due.
        n_sent: How many were sent: the first so many.

    Returns:
        Both (n_sent,), in the order of the schedule, in seconds.

    Raises:
        BenchError: The log does not hold each of them once, answered.
    """
    places = {path: index for index, path in enumerate(log.path)}
    if len(places) != len(log.path) or places.keys() != set(targets[:n_sent]):
        raise BenchError(
            f"{n_sent} requests were sent; the oracle saw {len(log.path)}, "
            f"{len(places.keys() & set(targets[:n_sent]))} of them those"
        )
    order = [places[path] for path in targets[:n_sent]]
    answered_ns, arrived_ns = log.answered_ns[order], log.at_ns[order]
    if not answered_ns.all():
        raise BenchError(f"the oracle never answered {np.sum(answered_ns == 0)} requests")
    due_s = np.arange(n_sent) / RATE_PER_S
    return (answered_ns - opened_ns) / 1e9 - due_s, (arrived_ns - opened_ns) / 1e9 - due_s


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
