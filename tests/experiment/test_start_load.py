"""One start's load on origins whose timing is known."""

import subprocess
import sys
from dataclasses import replace

import pytest
from msgspec import structs
from tests.experiment.loads import load_of
from tests.load.origin import origin

from httpdyno.errors import UsageError
from httpdyno.experiment.trial import engine_loads as arm_load
from httpdyno.experiment.trial.bench import start_seed
from httpdyno.experiment.trial.cycles import CycleMoments
from httpdyno.experiment.trial.engine_loads import Place
from httpdyno.load import engine
from httpdyno.metrics.totals import ArmTotals
from httpdyno.model import (
    Constant,
    WindowRecord,
    Workload,
)


def test_warm_ups_are_of_random_length_so_that_no_event_is_in_step_with_all_starts(monkeypatch):
    lengths: dict[int, set[float]] = {}

    def noted(workload, addresses, windows, *, streams, **settings):
        for window in windows:
            if window.lead_in_s == 0.0:
                lengths.setdefault(streams[window.arm], set()).add(window.measure_s)
        return engine.start_load(workload, addresses, windows, streams=streams, **settings)

    monkeypatch.setattr(arm_load, "start_load", noted)
    known = CycleMoments(n=100.0, sum_s=0.1, sum_s2=0.0001)
    with origin("--service", "fixed:1ms") as server:
        for _ in range(2):
            load = load_of(server.address, server.address, n_blocks=1, warm_up_s=0.05)
            starts = [replace(load.requests[0], start=start) for start in range(4)]
            load = replace(
                load,
                requests=starts,
                addresses={Place(n, arm): server.address for n in range(4) for arm in (0, 1)},
                collectors={},
                known={0: known, 1: known},
            )
            load.run(lambda _: None)
    assert [len(each) for each in lengths.values()] == [1] * 4, "arms alike, and again the same"
    drawn = [length for each in lengths.values() for length in each]
    assert len(set(drawn)) == 4
    assert all(0.05 <= length < 0.1 for length in drawn)


def test_windows_follow_the_warm_ups_latencies_and_do_not_alias_with_them():
    with origin("--service", "fixed:110ms") as slow, origin("--service", "fixed:90ms") as fast:
        saved: list[WindowRecord] = []
        load = load_of(slow.address, fast.address)
        windows = load.run(saved.append)
    assert windows == saved
    assert load.silence is None
    assert sorted(load.seen) == [0, 1]
    assert 0.11 <= load.seen[0].mean_s < 2 * 0.11
    busy = []
    for arm in (0, 1):
        mine = [window for window in windows if window.arm == arm]
        assert all(window.measurement.measured_s >= 0.1 for window in mine)
        assert all(window.measurement.total_s >= 2 * 0.11 for window in mine), "lead-in"
        assert [window.telemetry.n_processes for window in mine] == [*range(1, len(mine) + 1)]
        assert [window.telemetry.pss_bytes for window in mine] == [0] * (len(mine) - 1) + [1]
        totals = ArmTotals.of(mine)
        latencies = [window.measurement.latency for window in mine]
        mean_s = sum(each.sum_s for each in latencies) / sum(sum(each.counts) for each in latencies)
        busy.append(totals.measured_right / totals.measured_s * mean_s)
    # By Little's law all four users wait all the time, however slow the machine is. Windows that
    # count now 2 answers of each and now 3 would be off by far more.
    assert busy == pytest.approx([4.0, 4.0], rel=0.06)


EVENT_LOOP = """
import selectors, socket, time
ready = selectors.DefaultSelector()
listener = socket.create_server(("127.0.0.1", 0), backlog=64)
ready.register(listener, selectors.EVENT_READ)
print(listener.getsockname()[1], flush=True)
while True:
    for key, _ in ready.select():
        if key.fileobj is listener:
            ready.register(listener.accept()[0], selectors.EVENT_READ)
        elif key.fileobj.recv(65536):
            time.sleep(0.004)
            key.fileobj.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
        else:
            ready.unregister(key.fileobj)
            key.fileobj.close()
"""
"""Takes one connection a round, in which it answers all who asked."""


def test_the_first_starts_windows_wait_until_the_last_user_is_in(monkeypatch):
    plans = []

    def noted(workload, addresses, windows, **settings):
        plans.append(windows)
        return engine.start_load(workload, addresses, windows, **settings)

    monkeypatch.setattr(arm_load, "start_load", noted)
    command = [sys.executable, "-c", EVENT_LOOP]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout is not None
            load = load_of(f"127.0.0.1:{server.stdout.readline().strip()}", n_blocks=1)
            load = replace(load, requests=[replace(load.requests[0], warm_up_s=0.5)])
            load.workloads = [structs.replace(load.workload, connections=16)] * len(load.workloads)
            (window,) = load.run(lambda _window: None)
        finally:
            server.kill()
    (warm_up,), (entrance,), (measured,) = plans
    assert (warm_up.lead_in_s, warm_up.spread_s) == (0.0, 0.0)
    assert entrance.spread_s > 0
    # A cycle takes 64 ms, and 16 users some hundreds until the last one is in.
    assert measured.lead_in_s > load.seen[0].entrance_s > entrance.lead_in_s
    assert window.measurement.cycles.longest_s < load.seen[0].entrance_s


def test_what_cannot_fit_is_refused_with_the_time_that_it_takes():
    with origin("--service", "fixed:150ms") as slow:
        load = load_of(slow.address, slow.address, limit_s=0.5, n_needed=6)
        with pytest.raises(UsageError, match=r"takes 1\d\d ms .* 500 ms for each of 6") as it:
            load.run(lambda _window: None)
        assert it.value.hint.startswith("`--budget ")
        # Later on the evidence that there is counts, and the time is watched elsewhere.
        assert load_of(slow.address, limit_s=0.5).run(lambda _window: None)


def test_what_only_the_first_start_takes_to_learn_is_not_asked_for_of_all():
    with origin("--service", "fixed:150ms") as slow:
        # Its windows take 0.9 s, and what comes before them as long again: it is that once.
        load = load_of(slow.address, n_blocks=1, limit_s=1.4, n_needed=6)
        (window,) = load.run(lambda _window: None)
    assert window.measurement.total_s < 1.4


def test_what_cannot_fit_of_a_fixed_rate_is_not_laid_to_the_servers_latency():
    load = load_of("127.0.0.1:1", warm_up_s=0.0, limit_s=0.5, n_needed=6)
    load = replace(load, workloads=[Workload(arrival=Constant(rate_per_s=10.0))] * 2)
    with pytest.raises(UsageError, match=r"600 ms of load, by the study's method; .* 500 ms") as it:
        load.run(lambda _window: None)
    assert it.value.hint.startswith("`--budget ")


def test_fresh_servers_get_no_load_before_the_windows_that_were_asked_for():
    with origin("--service", "fixed:30ms") as server:
        load = load_of(server.address, warm_up_s=0.0, lead_in_s=0.0, n_blocks=2)
        first, second = load.run(lambda _window: None)
    for window in (first, second):
        assert window.measurement.measured_s == pytest.approx(0.1, abs=1e-6)
        assert window.measurement.cycles.is_fresh


def test_latencies_of_a_disturbed_warm_up_choose_no_windows():
    with origin("--service", "fixed:150ms") as server:
        load = load_of(server.address, limit_s=0.5, n_needed=6)
        load.is_disturbed = lambda: True
        # Not refused either: what looks slow may be what this process did not see.
        assert load.run(lambda _window: None) == []


def test_each_start_draws_from_a_seed_of_its_own(monkeypatch):
    seeds = []

    def noted(*_args, seed, **_settings):
        seeds.append(seed)
        raise UsageError("enough")

    monkeypatch.setattr(arm_load, "start_load", noted)
    for asked in ({}, {"start": 1}, {"comparison": 2}, {"warm_up_s": 0.0}, {}):
        with pytest.raises(UsageError, match="enough"):
            load_of("127.0.0.1:1", "127.0.0.1:2", **asked).run(lambda _window: None)
    assert len(set(seeds)) == 4
    assert seeds[0] == seeds[-1], "the same plan draws the same"
    assert start_seed(1, 1, 1) != start_seed(2, 1, 1)
