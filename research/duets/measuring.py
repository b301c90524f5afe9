"""A start: two servers that differ by known work, measured in all ways in random order."""

import random
import time
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
from benches.power.work.load import (
    BLOCKS,
    LEAD_IN_S,
    WINDOW_S,
    Cores,
    Job,
    Loaded,
    loaded,
)
from benches.power.work.record import Window
from benches.power.work.servers import Server, ServerKind
from benches.power.work.truth import ROUNDS as TRUTH_ROUNDS
from benches.power.work.way import CIRCUMSTANCES, SIZES, SPREAD, WAYS, Way
from research.duets.disturber import Disturber
from research.duets.record import Head, Part, Start
from research.duets.truth import truths

from httpdyno.model import HistogramData
from httpdyno.stats.histogram import merge, quantile_s
from httpdyno.telemetry.host import steal_s

ROUNDS = 2
"""In each all ways get a part of their windows: what drifts meets all of them."""
_AROUND_S = 0.03
"""What a window takes beside its lead-in and its measured part."""
_START_S = 2.5
"""Two servers to come up and end."""

Key = tuple[str, bool]
"""A way, and whether it is disturbed."""


def expected_s(n_starts: int, n_keys: int, n_truths: int) -> float:
    """Return about how long so many starts take, with that of the truth before them."""
    window_s = WINDOW_S + LEAD_IN_S + _AROUND_S
    start_s = _START_S + ROUNDS * n_keys * 2 * (BLOCKS + 1) * window_s
    truth_s = _START_S + TRUTH_ROUNDS * len(CIRCUMSTANCES) * 2 * (BLOCKS + 1) * window_s
    return n_starts * start_s + n_truths * truth_s


def planted(size: str, units: int, draw: random.Random) -> tuple[int, int]:
    """Return the work of both arms: of a size drawn anew, on a side drawn anew."""
    more = round(units * (1 + SIZES[size] * draw.uniform(1 - SPREAD, 1 + SPREAD)))
    return (units, more) if draw.random() < 1 / 2 else (more, units)


class Measuring:
    """Measures starts of one kind of server."""

    def __init__(
        self,
        kind: ServerKind,
        head: Head,
        cores: Cores,
        draw: random.Random,
        disturber: Disturber,
    ) -> None:
        self._kind, self._head, self._cores = kind, head, cores
        self._draw, self._disturber = draw, disturber

    def start(self, size: str, keys: Sequence[Key]) -> Start:
        """Bring up two servers, measure them in these ways, end them."""
        units = planted(size, self._head.units, self._draw)
        began_at, began_s, stolen_s = datetime.now(UTC), time.monotonic(), steal_s()
        gathered = {key: _Gathered() for key in keys}
        with self._kind.running(units) as servers:
            self._load(WAYS["duet-closed"], units, servers, is_swapped=False)
            ready_s = time.monotonic() - began_s
            try:
                for number in range(ROUNDS):
                    for key in self._draw.sample(list(keys), len(keys)):
                        name, is_disturbed = key
                        self._disturber.set(is_on=is_disturbed)
                        part_s = time.monotonic()
                        done = self._load(WAYS[name], units, servers, is_swapped=number % 2 == 1)
                        gathered[key].add(done, time.monotonic() - part_s)
            finally:
                self._disturber.set(is_on=False)
        return Start(
            began_at=began_at.isoformat(timespec="seconds"),
            size=size,
            units=units,
            parts=tuple(each.part(*key) for key, each in gathered.items()),
            truths=truths(self._head, units),
            ready_s=ready_s,
            steal_cores=(steal_s() - stolen_s) / (time.monotonic() - began_s),
        )

    def _load(
        self, way: Way, units: tuple[int, int], servers: Sequence[Server], *, is_swapped: bool
    ) -> Loaded:
        once_s, share = (
            self._head.costs_s["closed-apart"],
            self._head.shares["closed-apart"]["cpu"],
        )
        job = Job(
            way=way,
            workload=self._kind.study.workload,
            cost_s=once_s * (1 + share * (max(units) / self._head.units - 1)),
            cores=self._cores,
            draw=self._draw,
            is_swapped=is_swapped,
        )
        return loaded(job, servers)


class _Gathered:
    """What a way has shown of a start so far."""

    def __init__(self) -> None:
        self._windows: list[Window] = []
        self._latencies: tuple[list[HistogramData], list[HistogramData]] = ([], [])
        self._took_s = 0.0

    def add(self, done: Loaded, took_s: float) -> None:
        n_before = 1 + max((w.block for w in self._windows), default=-1)
        self._windows += [
            msgspec.structs.replace(each, block=each.block + n_before) for each in done.windows
        ]
        for arm, latency in done.latencies:
            self._latencies[arm].append(latency)
        self._took_s += took_s

    def part(self, way: str, is_disturbed: bool) -> Part:
        whole = [merge(each) for each in self._latencies]
        p50_s, p90_s = (tuple(_known_s(each, q) for each in whole) for q in (0.5, 0.9))
        return Part(
            way=way,
            is_disturbed=is_disturbed,
            took_s=self._took_s,
            windows=tuple(self._windows),
            p50_s=p50_s,
            p90_s=p90_s,
        )


def _known_s(latency: HistogramData, q: float) -> float:
    return quantile_s(latency, q) if latency.counts else 0.0
