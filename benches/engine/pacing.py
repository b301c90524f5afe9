"""Figure 4: whether a constant rate is constant, judged by the oracle's stamps of the arrivals."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
from benches.engine import client, engine
from benches.engine.arrival import Punctuality, lateness_s, punctuality, runs_unlike_the_rest
from benches.engine.figure import Figure, Part, exactly
from benches.engine.interval import median_of_runs
from benches.engine.origin import Log, Oracle
from benches.engine.process import BenchError, run
from benches.engine.quiet import Quiet
from benches.engine.setting import Setting

RATES_PER_S = (1_000, 8_000)
CONNECTIONS = 16
N_RUNS, N_RUNS_QUICK = 20, 5
_RUN_S, _RUN_QUICK_S = 6.0, 2.0
_N_COMPETITOR_RUNS = 5
_MIN_ARRIVED_RATIO = 0.5
"""A competitor that brought less than half of what was asked for has no schedule to judge."""

RATE_ERROR, P50_US, P99_US, BUNCHED, CPU_CORES = 0.05, 30, 300, 1.5, 0.15


def measure(setting: Setting) -> Figure:
    """Measure figure 4, both rates in turn, each run with an oracle of its own."""
    figure = Figure(number=4, name=f"constant rates over {CONNECTIONS} connections")
    n_runs = setting.sized(N_RUNS, N_RUNS_QUICK)
    runs: dict[int, list[dict[str, Any]]] = {rate: [] for rate in RATES_PER_S}
    quiet: Quiet[dict[str, Any]] = Quiet()
    for _ in range(n_runs):
        for rate in RATES_PER_S:
            runs[rate].append(quiet.run(partial(our_run, setting, rate)))
    for rate in RATES_PER_S:
        figure.parts += _parts(rate, runs[rate])
        figure.raw[f"{rate}/s"] = runs[rate]
    figure.raw["discarded"] = quiet.discarded
    if setting.has_competitors:
        _add_competitors(figure, setting)
    figure.command = (
        "httpdyno load URL --rate 1000/s -c 16 -d 6s --spin 60us   # arrivals: URL/oracle/log"
    )
    figure.notes.append(
        f"medians of {n_runs} runs; distance from the best-fitting schedule, first 10 % and last "
        "5 % of each run cut"
    )
    figure.notes += quiet.notes()
    return figure


def our_run(setting: Setting, rate: int) -> dict[str, Any]:
    """Run our engine once at a constant rate, and judge the oracle's stamps."""
    duration_s = setting.lasting(_RUN_S, _RUN_QUICK_S)
    with Oracle(setting) as oracle:
        what = engine.job(
            setting,
            oracle.address,
            connections=CONNECTIONS,
            arrival=engine.even(rate),
            duration_s=duration_s,
        )
        done = engine.run_engine(setting, what)
        log = oracle.log()
    window = done.window
    # What was due at the very end may find no time to be sent; the cut leaves that out.
    unsent = window["errors"].pop("unsent", 0)
    engine.check_clean(done)
    if len(log.at_ns) != window["offered"] - unsent:
        raise BenchError(f"{window['offered']} requests offered, {len(log.at_ns)} arrived")
    late_s = lateness_s(log.at_ns, window["opened_ns"], rate)
    return {
        "punctuality": asdict(punctuality(log.at_ns, rate)),
        "lateness_at_oracle_s": np.quantile(late_s, (0, 0.5, 0.99, 0.999, 1)).tolist(),
        "lateness_by_engine_s": [
            quantile_s(window["lateness"], q) for q in (0, 0.5, 0.99, 0.999, 1)
        ],
        "unsent": unsent,
        "cpu_cores": done.cpu_s / done.said["wall_s"],
        "run": done.record(),
    }


def _parts(rate: int, runs: list[dict[str, Any]]) -> list[Part]:
    seen = [Punctuality(**each["punctuality"]) for each in runs]
    unlike = runs_unlike_the_rest(seen)
    cpu = median_of_runs([each["cpu_cores"] for each in runs])
    late_s = [each["lateness_at_oracle_s"][1] for each in runs]
    says_s = [each["lateness_by_engine_s"][1] for each in runs]
    name = f"{rate:,}/s: "
    return [
        *_pattern(name, seen, is_judged=True),
        Part(
            name=f"{name}runs of {len(runs)} unlike the rest",
            estimate=exactly(len(unlike)),
            at_most=0,
            note=f"numbers {unlike}" if unlike else "",
        ),
        Part(
            name=f"{name}client CPU",
            estimate=cpu,
            unit=" core",
            at_most=CPU_CORES if rate == RATES_PER_S[0] else None,
        ),
        Part(
            name=f"{name}late at the origin, p50",
            estimate=median_of_runs([each * 1e6 for each in late_s]),
            unit=" µs",
            note=f"the engine itself says {np.median(says_s) * 1e6:.1f} µs when it sends",
        ),
    ]


def _pattern(name: str, seen: list[Punctuality], *, is_judged: bool) -> list[Part]:
    figures: list[tuple[str, str, Callable[[Punctuality], float], float | None]] = [
        ("rate error", " %", lambda run: run.rate_error_ratio * 100, RATE_ERROR),
        ("distance p50", " µs", lambda run: run.distance_p50_s * 1e6, P50_US),
        ("distance p99", " µs", lambda run: run.distance_p99_s * 1e6, P99_US),
        ("bunched gaps", " %", lambda run: run.bunched_ratio * 100, BUNCHED),
        ("gap CV", "", lambda run: run.gap_cv, None),
    ]
    return [
        Part(
            name=f"{name}{what}",
            estimate=median_of_runs([of(run) for run in seen]),
            unit=unit,
            at_most=target if is_judged else None,
        )
        for what, unit, of, target in figures
    ]


def quantile_s(histogram: dict[str, Any], q: float) -> float:
    """Return a quantile of the engine's histogram, as the upper bound of its bucket."""
    bounds, counts = np.array(histogram["bounds_ns"]), np.cumsum(histogram["counts"])
    if not len(bounds):
        return 0.0
    return float(bounds[np.searchsorted(counts, max(1.0, q * counts[-1] - 1e-9))]) / 1e9


def _add_competitors(figure: Figure, setting: Setting) -> None:
    rivals: dict[str, Callable[[str, int, float], list[str]]] = {
        "oha": lambda url, rate, s: [
            client.oha(), "--no-tui", "-q", str(rate), "--latency-correction",
            "-c", str(CONNECTIONS), "-z", f"{s:.0f}s", url,
        ],
        "vegeta": lambda url, rate, s: [
            "sh", "-c",
            f"echo GET {url} | {client.vegeta()} attack -rate={rate} -duration={s:.0f}s "
            f"-connections={CONNECTIONS} -workers={CONNECTIONS} | {client.vegeta()} report",
        ],
    }  # fmt: skip
    for name, command in rivals.items():
        for rate in RATES_PER_S:
            logs = [_their_run(setting, command, rate) for _ in range(_N_COMPETITOR_RUNS)]
            figure.raw[f"{name} {rate}/s"] = [
                {"n_arrived": len(log.at_ns), **asdict(punctuality(log.at_ns, rate))}
                for log in logs
            ]
            expected = rate * setting.lasting(_RUN_S, _RUN_QUICK_S)
            whole = [log for log in logs if len(log.at_ns) > _MIN_ARRIVED_RATIO * expected]
            seen = [punctuality(log.at_ns, rate) for log in whole]
            if seen:
                figure.parts += _pattern(f"{name} {rate:,}/s: ", seen, is_judged=False)
            if len(whole) < len(logs):
                figure.notes.append(f"{name} at {rate}/s broke down in {len(logs) - len(whole)}")


def _their_run(setting: Setting, command: Callable[[str, int, float], list[str]], rate: int) -> Log:
    duration_s = setting.lasting(_RUN_S, _RUN_QUICK_S)
    with Oracle(setting) as oracle:
        words = command(f"http://{oracle.address}/", rate, duration_s)
        run(words, cpu=setting.client_cpu, timeout_s=duration_s + 60).checked()
        return oracle.log()
