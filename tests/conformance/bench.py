"""A bench without servers: a model of throughput with known effects and known noise.

For tests of ladders, sweeps and verdicts, where the truth must be known and a whole run takes
milliseconds; also a place for plug-in authors to try a method.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np
from msgspec import structs

from httpdyno.experiment.trial.afterwards import LookCost, LooksToTake
from httpdyno.experiment.trial.bench import StartRequest
from httpdyno.experiment.trial.engine_loads import said
from httpdyno.model import (
    Configuration,
    HistogramData,
    HostFacts,
    Level,
    Look,
    Measurement,
    StartRecord,
    SystemCalls,
    Telemetry,
    TrialStatus,
    WindowRecord,
    level_text,
)

Effect = Callable[[Mapping[str, Level]], float]


_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_batches = itertools.count()
"""Of all benches: as on a machine, each batch begins later than all before it."""


@dataclass(kw_only=True)
class FakeBench:
    """Windows drawn from a known throughput, with noise of starts, of windows and slow drift."""

    throughput_per_s: Effect
    """The true throughput of a configuration's values, wrong answers included."""
    cpu_s_per_request: Effect = lambda _values: 0.001
    status: Callable[[Mapping[str, Level]], TrialStatus] = lambda _values: "complete"
    error_ratio: Effect = lambda _values: 0.0
    pss_bytes: Effect = lambda _values: 1 << 20
    uss_bytes: Effect = lambda _values: 1 << 19
    n_processes: Effect = lambda _values: 0
    start_sd: float = 0.005
    window_sd: float = 0.02
    drift_sd: float = 0.05
    """Of the machine's speed, shared by all arms, changing from block to block."""
    start_s: float = 0.5
    seed: int = 0
    starts_measured: int = 0
    interrupt_after: int | None = None
    """Raise KeyboardInterrupt in the middle of the start after this many."""
    requests: list[StartRequest] = field(default_factory=list)

    n_at_once: int = 1
    """Starts that may be up side by side."""
    look_s: float = 0.0
    """Of a look at a server, after its windows."""
    count_s: float = 0.0
    """Of counting its system calls besides."""
    system_calls: Callable[[Mapping[str, Level]], SystemCalls | None] = lambda _values: None
    """What each start counts of a configuration's values."""
    count_each_s: float = 0.0
    """What that takes of each server in each start."""

    def __post_init__(self) -> None:
        cost = LookCost(n_looks=1, looks_s=self.look_s, n_counts=1, counts_s=self.count_s)
        self._looks = LooksToTake(can_count=True, cost=cost)

    def n_side_by_side(self, arms: Sequence[Configuration]) -> int:
        """Return `n_at_once`."""
        del arms
        return self.n_at_once

    def looks_s(
        self, comparisons: Sequence[Sequence[Configuration]], *, is_alone: bool = False
    ) -> float:
        """Return what looking at servers takes, were these compared in this order."""
        return self._looks.expected_s(comparisons, is_alone=is_alone)

    def measure_starts(
        self, requests: Sequence[StartRequest], save: Callable[[WindowRecord], None]
    ) -> list[StartRecord]:
        """Draw each start's windows; those that are measured together begin together."""
        at = _EPOCH + timedelta(seconds=next(_batches))
        records = [self.measure_start(request, save) for request in requests]
        looked_s = self._looked_s(requests[0]) / len(requests)
        return [
            structs.replace(
                each,
                began_at=at.isoformat(),
                duration_s=each.duration_s + looked_s,
                looked_s=looked_s,
            )
            for each in records
        ]

    def _looked_s(self, request: StartRequest) -> float:
        """Look at what was not looked at yet; return what it takes."""
        wanted = self._looks.wanted(request)
        seen = Look(seconds=self.look_s, n_samples=1, calls={"read": 1.0}, n_traced=1)
        self._looks.took(request, dict.fromkeys(wanted, seen))
        return len(wanted) * self.look_s + sum(wanted.values()) * self.count_s

    def measure_start(
        self, request: StartRequest, save: Callable[[WindowRecord], None]
    ) -> StartRecord:
        """Draw a start's windows; the same seed, comparison and start give the same windows."""
        rng = np.random.default_rng([self.seed, request.comparison, request.start])
        self.requests.append(request)
        statuses: tuple[TrialStatus, ...] = tuple(
            "infeasible" if number in request.left_out else self.status(arm.values)
            for number, arm in enumerate(request.arms)
        )
        speeds = [math.exp(rng.normal(0, self.start_sd)) for _ in request.arms]
        windows: list[WindowRecord] = []
        for block, order in enumerate(request.order):
            drift = math.exp(rng.normal(0, self.drift_sd))
            for arm in order:
                noise = drift * speeds[arm] * math.exp(rng.normal(0, self.window_sd))
                if statuses[arm] == "complete":
                    window = self._window(request, block, arm, noise)
                    save(window)
                    windows.append(window)
                if self.interrupt_after == self.starts_measured and block > 0:
                    raise KeyboardInterrupt
        self.starts_measured += 1
        calls = tuple(
            self.system_calls(arm.values) if status == "complete" else None
            for arm, status in zip(request.arms, statuses, strict=True)
        )
        counted_s = self.count_each_s * sum(each is not None for each in calls)
        load_s = math.fsum(w.measurement.total_s for w in windows)
        return StartRecord(
            comparison=request.comparison,
            start=request.start,
            began_at="2026-01-01T00:00:00+00:00",
            duration_s=self.start_s + load_s + counted_s,
            system_calls=calls if any(calls) else (),
            counted_s=counted_s,
            statuses=statuses,
            details=tuple(() if s == "complete" else said(f"it {s}") for s in statuses),
            windows=tuple(windows),
        )

    def _window(self, request: StartRequest, block: int, arm: int, noise: float) -> WindowRecord:
        values = request.arms[arm].values
        rate = self.throughput_per_s(values) * noise
        total_s = request.window_s + request.lead_in_s
        offered, error_ratio = round(rate * total_s), self.error_ratio(values)
        failed = round(offered * error_ratio)
        measured = round(rate * request.window_s * (1 - error_ratio))
        latency_ns = max(1, round(8 / rate * 1e9))
        return WindowRecord(
            comparison=request.comparison,
            start=request.start,
            block=block,
            arm=arm,
            measurement=Measurement(
                opened_s=0.0,
                measured_s=request.window_s,
                total_s=total_s,
                offered=offered,
                completed=offered - failed,
                errors={"wrong_status": failed} if failed else {},
                statuses={"200": offered - failed} | ({"500": failed} if failed else {}),
                measured_offered=measured,
                measured_completed=measured,
                latency=HistogramData(
                    bounds_ns=(latency_ns,),
                    counts=(measured,),
                    sum_s=measured * latency_ns / 1e9,
                    max_s=latency_ns / 1e9,
                )
                if measured
                else HistogramData(),
            ),
            telemetry=Telemetry(
                cpu_s=self.cpu_s_per_request(values) * (offered - failed),
                pss_bytes=round(self.pss_bytes(values)),
                uss_bytes=round(self.uss_bytes(values)),
                n_processes=round(self.n_processes(values)),
            ),
        )

    def configuration_diff(self, start: Configuration, final: Configuration) -> str:
        """Return the changed knobs as a diff."""
        return "".join(
            f"-{name} {level_text(old)}\n+{name} {level_text(new)}\n"
            for name, (old, new) in start.changes(final).items()
        )

    def host(self) -> HostFacts:
        """Return the facts of no machine."""
        return HostFacts(
            httpdyno="0", python="3", kernel="fake", cpu="fake", n_cpus=2, memory_bytes=1 << 30
        )
