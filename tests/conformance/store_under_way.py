"""What every database must say of a run that a process is at."""

import os

import pytest
from msgspec.structs import replace
from tests.conformance.record import sample_outcome, sample_start, sample_window

from httpdyno.errors import StoreError
from httpdyno.model import (
    ArmUnderWay,
    Configuration,
    HistogramData,
    LatencySoFar,
    PoolMemory,
    RootProcess,
    StartRecord,
    StartServers,
    WindowRecord,
)
from httpdyno.store import Store

ARMS = tuple(Configuration(values={"workers": n}) for n in (1, 2))


class UnderWayConformance:
    """Fixtures: `store` (empty, and of type `Store`), `run_id`."""

    def test_a_start_under_way_is_not_counted_before_its_end(
        self, store: Store, run_id: str
    ) -> None:
        store.begin_start(run_id, sample_start())
        store.save_window(run_id, sample_window())
        assert (store.runs()[0].n_starts, store.runs()[0].n_windows) == (0, 1)

    def test_a_run_under_way_says_what_is_known_of_it(self, store: Store, run_id: str) -> None:
        store.save_start(run_id, sample_start(n_blocks=2))
        begun = replace(sample_start(start=1), stage="final", configurations=ARMS)
        store.begin_start(run_id, begun)
        for block in range(2):
            store.save_window(run_id, sample_window(start=1, block=block))
        run = store.under_way(run_id)
        assert run is not None
        assert (run.pid, run.n_starts, run.n_windows) == (os.getpid(), 1, 6)
        assert run.last_saved_at >= run.began_at
        (start,) = run.starts
        assert (start.comparison, start.start, start.stage) == (0, 1, "final")
        window = sample_window()
        first, second = start.arms
        assert (first.roots, second.roots) == ((), ())
        assert (first.n_windows, first.n_errors) == (2, 20)
        assert first.throughput_per_s == window.measurement.throughput_per_s
        assert (first.configuration, second.configuration) == ARMS
        assert (second.n_windows, second.throughput_per_s) == (0, None)

    def test_a_start_has_its_servers_as_long_as_it_is_under_way(
        self, store: Store, run_id: str
    ) -> None:
        begun = replace(sample_start(), configurations=ARMS)
        servers = StartServers(roots=((), (RootProcess(pid=812, start_ticks=99),)))
        store.begin_start(run_id, begun)
        store.save_servers(run_id, 0, 0, servers)
        run = store.under_way(run_id)
        assert run is not None
        assert tuple(arm.roots for arm in run.starts[0].arms) == servers.roots
        # Begun anew it has others.
        store.begin_start(run_id, begun)
        run = store.under_way(run_id)
        assert run is not None
        assert [arm.roots for arm in run.starts[0].arms] == [(), ()]
        store.save_start(run_id, begun)
        store.save_servers(run_id, 0, 0, servers)
        assert store.starts(run_id) == [begun]

    def test_a_run_that_has_ended_is_not_under_way(self, store: Store, run_id: str) -> None:
        assert store.under_way(run_id) is not None
        store.save_outcome(run_id, sample_outcome(run_id))
        assert store.under_way(run_id) is None
        with pytest.raises(StoreError, match="999"):
            store.under_way("999")

    def test_what_a_killed_process_left_of_a_start_is_not_under_way(
        self, store: Store, run_id: str
    ) -> None:
        store.begin_start(run_id, sample_start())
        store.save_window(run_id, sample_window())
        store.take_over(run_id)
        run = store.under_way(run_id)
        assert run is not None
        assert run.starts == ()
        store.begin_start(run_id, sample_start())
        run = store.under_way(run_id)
        assert run is not None
        assert len(run.starts) == 1

    def test_percentiles_are_those_of_all_requests_together(
        self, store: Store, run_id: str
    ) -> None:
        store.begin_start(run_id, _begun())
        store.save_window(run_id, _with_latency({1: 700}))
        first, second = _arms(store, run_id)
        assert first.latency == LatencySoFar(n_requests=700, p50_s=0.001)
        assert second.latency is None
        # The mean of the two medians would be 40.5 ms.
        store.save_window(run_id, _with_latency({80: 300}, block=1))
        first, second = _arms(store, run_id)
        assert first.latency == LatencySoFar(n_requests=1000, p50_s=0.001, p99_s=0.08)
        assert second.latency is None

    def test_a_percentile_that_requests_without_an_end_could_move_is_a_lower_bound(
        self, store: Store, run_id: str
    ) -> None:
        store.begin_start(run_id, _begun())
        store.save_window(run_id, _with_latency({1: 980, 500: 20}, given_up={500: 20}))
        first, _ = _arms(store, run_id)
        assert first.latency == LatencySoFar(
            n_requests=1000, p50_s=0.001, p99_s=0.5, is_p99_lower_bound=True
        )

    def test_memory_is_that_of_the_start_or_else_of_the_one_before(
        self, store: Store, run_id: str
    ) -> None:
        store.begin_start(run_id, _begun())
        assert [arm.memory for arm in _arms(store, run_id)] == [None, None]
        store.save_window(run_id, _with_memory(None))
        assert [arm.memory for arm in _arms(store, run_id)] == [None, None]
        store.save_window(run_id, _with_memory(40 << 20, 25 << 20, block=1))
        known = PoolMemory(pss_bytes=40 << 20, uss_bytes=25 << 20, start=0)
        assert [arm.memory for arm in _arms(store, run_id)] == [known, None]
        store.save_start(run_id, replace(sample_start(), windows=()))
        store.begin_start(run_id, _begun(start=1))
        store.save_window(run_id, _with_memory(None, start=1))
        assert [arm.memory for arm in _arms(store, run_id)] == [known, None]
        store.save_window(run_id, _with_memory(42 << 20, start=1, block=1))
        own = PoolMemory(pss_bytes=42 << 20, start=1)
        assert [arm.memory for arm in _arms(store, run_id)] == [own, None]

    def test_memory_is_of_no_other_comparison(self, store: Store, run_id: str) -> None:
        store.save_start(run_id, sample_start())
        store.begin_start(run_id, replace(sample_start(comparison=1), configurations=ARMS))
        assert [arm.memory for arm in _arms(store, run_id)] == [None, None]

    def test_a_window_with_an_infinite_figure_is_read(self, store: Store, run_id: str) -> None:
        store.begin_start(run_id, _begun())
        window = _with_latency({1: 700})
        evidence = replace(window.measurement.evidence, busy_ratio=float("inf"))
        measurement = replace(window.measurement, evidence=evidence)
        store.save_window(run_id, replace(window, measurement=measurement))
        first, _ = _arms(store, run_id)
        assert first.latency == LatencySoFar(n_requests=700, p50_s=0.001)


def _begun(*, start: int = 0) -> StartRecord:
    return replace(sample_start(start=start), windows=(), configurations=ARMS)


def _arms(store: Store, run_id: str) -> tuple[ArmUnderWay, ...]:
    """Return those of the only start that is under way."""
    run = store.under_way(run_id)
    assert run is not None
    (start,) = run.starts
    return start.arms


def _with_latency(
    of_ms: dict[int, int], *, block: int = 0, given_up: dict[int, int] | None = None
) -> WindowRecord:
    """Return a window of the first arm with so many requests of so many milliseconds."""
    window = sample_window(block=block)
    measurement = replace(
        window.measurement, latency=_histogram(of_ms), censored=_histogram(given_up or {})
    )
    return replace(window, measurement=measurement)


def _histogram(of_ms: dict[int, int]) -> HistogramData:
    return HistogramData(
        bounds_ns=tuple(ms * 1_000_000 for ms in of_ms),
        counts=tuple(of_ms.values()),
        sum_s=sum(ms * n for ms, n in of_ms.items()) / 1e3,
        max_s=max(of_ms, default=0) / 1e3,
    )


def _with_memory(
    pss_bytes: int | None, uss_bytes: int | None = None, *, start: int = 0, block: int = 0
) -> WindowRecord:
    """Return a window of the first arm at whose end so much was read."""
    window = sample_window(start=start, block=block)
    telemetry = replace(window.telemetry, pss_bytes=pss_bytes, uss_bytes=uss_bytes)
    return replace(window, telemetry=telemetry)
