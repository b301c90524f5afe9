"""One start's load on origins whose timing is known."""

import subprocess
import sys
from dataclasses import replace

import pytest
from msgspec import structs
from tests.load.origin import origin

from httpdyno.errors import UsageError
from httpdyno.experiment import arm_load, looks_afterwards
from httpdyno.experiment.arm_load import Place
from httpdyno.experiment.arm_totals import ArmTotals
from httpdyno.experiment.bench import StartRequest, block_order
from httpdyno.experiment.looks_afterwards import Wanted
from httpdyno.experiment.start_load import StartLoad
from httpdyno.experiment.start_seed import start_seed
from httpdyno.experiment.window_choice import CycleMoments
from httpdyno.load import engine
from httpdyno.model import (
    Configuration,
    Constant,
    Look,
    RequestSpec,
    SystemCalls,
    WindowRecord,
    Workload,
)


class Counting:
    """A collector that tells how many windows of its server there were."""

    n_windows = 0

    def open(self):
        self.n_windows += 1

    def close(self, seen, *, is_last):
        return structs.replace(seen, n_processes=self.n_windows, pss_bytes=int(is_last))


def load_of(*addresses, n_blocks=4, **asked):
    request = StartRequest(
        comparison=1,
        start=0,
        arms=tuple(Configuration(values={"arm": n}) for n, _ in enumerate(addresses)),
        order=block_order(len(addresses), n_blocks, seed=1, comparison=1, start=0),
        window_s=0.1,
        lead_in_s=0.05,
        warm_up_s=0.05,
    )
    return StartLoad(
        workloads=[Workload(connections=4, timeout_s=5.0)] * len(addresses),
        requests=[replace(request, **asked)],
        addresses={Place(0, arm): address for arm, address in enumerate(addresses)},
        seed=3,
        collectors={Place(0, arm): [Counting()] for arm, _ in enumerate(addresses)},
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
    assert load.seen[0].mean_s == pytest.approx(0.11, rel=0.1)
    told = []
    for arm in (0, 1):
        mine = [window for window in windows if window.arm == arm]
        assert all(window.measurement.measured_s >= 0.1 for window in mine)
        assert all(window.measurement.total_s >= 2 * 0.11 for window in mine), "lead-in"
        assert [window.telemetry.n_processes for window in mine] == [*range(1, len(mine) + 1)]
        assert [window.telemetry.pss_bytes for window in mine] == [0] * (len(mine) - 1) + [1]
        totals = ArmTotals.of(mine)
        told.append(totals.measured_right / totals.measured_s)
    # The machine may be slow, but that it counts 2 answers of each user or 3 is no such thing.
    assert told[1] / told[0] == pytest.approx(110 / 90, rel=0.06)


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
        with pytest.raises(UsageError, match=r"takes about 15\d ms .* 500 ms for each of 6") as it:
            load.run(lambda _window: None)
        assert "6 such starts take about" in it.value.hint
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
    assert it.value.hint.endswith("see `--budget`")


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


def side_by_side(*servers, n_starts):
    """Starts of the same servers, whose cycles are known."""
    load = load_of(*servers)
    [request] = load.requests
    requests = [
        replace(request, start=n, order=block_order(2, 4, seed=1, comparison=1, start=n))
        for n in range(n_starts)
    ]
    places = [Place(n, arm) for n in range(n_starts) for arm in range(len(servers))]
    return replace(
        load,
        requests=requests,
        addresses={place: servers[place.arm] for place in places},
        collectors={place: [Counting()] for place in places},
        known={arm: CycleMoments(n=100, sum_s=0.3, sum_s2=0.001) for arm in range(len(servers))},
    )


def test_starts_side_by_side_take_turns_and_the_arms_of_each_are_neighbours():
    with origin("--service", "fixed:3ms") as a, origin("--service", "fixed:3ms") as b:
        windows = side_by_side(a.address, b.address, n_starts=3).run(lambda _window: None)
    assert len(windows) == 3 * 2 * 4
    for start in range(3):
        mine = [window for window in windows if window.start == start]
        order = block_order(2, 4, seed=1, comparison=1, start=start)
        assert [(w.block, w.arm) for w in mine] == [
            (block, arm) for block, arms in enumerate(order) for arm in arms
        ]
        assert all(window.measurement.completed for window in mine)
    pairs = [windows[n : n + 2] for n in range(0, len(windows), 2)]
    assert all(first.start == second.start for first, second in pairs)
    rounds = [[pair[0].start for pair in pairs[n : n + 3]] for n in range(0, len(pairs), 3)]
    assert all(sorted(each) == [0, 1, 2] for each in rounds)
    assert len({tuple(each) for each in rounds}) > 1, "in random order"


def test_the_engine_has_the_arms_as_they_are_lined_up_and_windows_are_told_by_arm(monkeypatch):
    had: list[list[str]] = []

    def noted(workload, addresses, windows, **settings):
        had.append(list(addresses))
        return engine.start_load(workload, addresses, windows, **settings)

    monkeypatch.setattr(arm_load, "start_load", noted)
    with origin("--service", "fixed:9ms") as slow, origin("--service", "fixed:3ms") as fast:
        load = side_by_side(slow.address, fast.address, n_starts=2)
        requests = [
            replace(request, line_up=line_up)
            for request, line_up in zip(load.requests, ((1, 0), (0, 1)), strict=True)
        ]
        windows = replace(load, requests=requests).run(lambda _window: None)
        assert had[-1] == [fast.address, slow.address, slow.address, fast.address]
        assert [each for some in had[:-1] for each in some] == had[-1], "warmed up alike"
    for start in (0, 1):
        mine = [window for window in windows if window.start == start]
        served = [sum(w.measurement.completed for w in mine if w.arm == arm) for arm in (0, 1)]
        assert served[1] > 1.5 * served[0]


def test_starts_whose_cycles_are_known_are_warmed_up_at_the_same_time(monkeypatch):
    begun = []

    def noted(workload, addresses, windows, **settings):
        begun.append(len(windows))
        return engine.start_load(workload, addresses, windows, **settings)

    monkeypatch.setattr(arm_load, "start_load", noted)
    with origin("--service", "fixed:3ms") as server:
        load = side_by_side(server.address, server.address, n_starts=2)
        load.run(lambda _window: None)
        assert begun == [1, 1, 1, 1, 16]
        begun.clear()
        # Where nothing is known, each has the machine for itself: it is looked at, twice.
        replace(load, known={}, seen={}).run(lambda _window: None)
    assert begun == [4, 4, 16]


def test_a_server_that_falls_silent_is_named_by_its_start():
    with origin("--service", "fixed:3ms") as server:
        load = side_by_side(server.address, server.address, n_starts=2)
        load.addresses = {**load.addresses, Place(1, 0): "127.0.0.1:1"}
        load.run(lambda _window: None)
    assert load.silence is not None
    assert load.silence.place == Place(start=1, arm=0)


def test_users_do_their_first_steps_before_warm_up_and_windows():
    with origin() as one, origin() as other:
        load = load_of(one.address, other.address)
        login = RequestSpec(path="/status/302", method="POST", expect_status=302)
        load.workloads = [structs.replace(load.workload, first=(login,))] * len(load.workloads)
        windows = load.run(lambda _window: None)
        for each in (one, other):
            paths = [arrival["path"] for arrival in each.ask("log")["arrivals"]]
            # Each of four users: for the warm-up, to see how they come in, and for the windows.
            assert paths[:5] == ["/status/302"] * 4 + ["/"]
            assert paths.count("/status/302") == 12
    assert load.shut_out == {}
    assert windows
    assert all(window.measurement.n_errors == 0 for window in windows)


def test_a_server_that_users_do_not_get_into_is_named_and_nothing_of_it_is_measured():
    with origin() as good, origin("--service", "fixed:3ms") as bad:
        load = load_of(good.address, bad.address)
        login = RequestSpec(path="/status/302", expect_status=302)
        load.workloads = [structs.replace(load.workload, first=(login,))] * len(load.workloads)
        load.addresses = {**load.addresses, Place(0, 1): "127.0.0.1:1"}
        assert load.run(lambda _window: None) == []
    trouble = "4 of 4 users did not get through the first steps: GET /status/302 failed (refused)"
    assert load.shut_out == {Place(start=0, arm=1): trouble}
    assert load.silence is None


def test_where_users_get_into_no_server_all_of_them_are_named():
    """Or a workload that is wrong would look like a candidate that is."""
    with origin() as one, origin() as other:
        load = load_of(one.address, other.address)
        login = RequestSpec(path="/status/403", expect_status=302)
        load.workloads = [structs.replace(load.workload, first=(login,))] * len(load.workloads)
        assert load.run(lambda _window: None) == []
        for each in (one, other):
            paths = {arrival["path"] for arrival in each.ask("log")["arrivals"]}
            assert paths == {"/status/403"}
    assert sorted(load.shut_out) == [Place(0, 0), Place(0, 1)]
    assert len({*load.shut_out.values()}) == 1


class Seeing:
    """An onlooker that saw something."""

    def start(self):
        """Begin."""

    def stop(self):
        """Return what was seen."""
        return Look(seconds=0.5, n_samples=9, workers=2.0)


@pytest.mark.parametrize("asked", [{"warm_up_s": 0.05}, {"warm_up_s": 0.0, "lead_in_s": 0.0}])
def test_servers_are_looked_at_after_their_windows(asked):
    with origin("--service", "fixed:1ms") as server:
        load = load_of(server.address, server.address, n_blocks=1, **asked)
        load.wanted = Wanted(onlookers={Place(0, 1): Seeing})
        windows = load.run(lambda _: None)
    assert len(windows) == 2
    assert [*load.looked.looks] == [Place(0, 1)]
    look = load.looked.looks[Place(0, 1)]
    assert look.answers > 0
    assert look.clients > 1
    assert look.client_limit


def test_system_calls_are_counted_of_each_server_of_each_start(monkeypatch):
    """And what was looked at has them too, without counting them again."""

    def counted(root_pids, _workload, _start, *, longest_s):
        assert longest_s >= 1.0
        n = float(root_pids[0])
        return SystemCalls(per_request=n, by_kind={"read": n}, n_answers=20)

    monkeypatch.setattr(looks_afterwards, "counted", counted)
    monkeypatch.setattr(looks_afterwards, "with_calls", None)
    places = [Place(start, arm) for start in range(2) for arm in range(2)]
    with origin("--service", "fixed:1ms") as server:
        load = load_of(server.address, server.address, n_blocks=1)
        load = replace(
            load,
            requests=[replace(load.requests[0], start=start) for start in range(2)],
            addresses=dict.fromkeys(places, server.address),
            collectors={},
            known=dict.fromkeys((0, 1), CycleMoments(n=100.0, sum_s=0.1, sum_s2=0.0001)),
            wanted=Wanted(
                onlookers={Place(0, 1): Seeing},
                traced={Place(0, 1): [1]},
                counted={place: [number] for number, place in enumerate(places, 1)},
            ),
        )
        load.run(lambda _: None)
    found = [load.looked.calls_of_start(start, 2) for start in range(2)]
    assert [[each.per_request for each in arms if each] for arms in found] == [[1, 2], [3, 4]]
    look = load.looked.looks[Place(0, 1)]
    assert (look.calls, look.n_traced) == ({"read": 2.0}, 20)
    assert load.looked.cost.n_counts == 0


def test_a_pool_whose_workers_are_replaced_is_looked_at_for_longer(monkeypatch):
    monkeypatch.setattr(looks_afterwards, "LONG_LOOK_S", 0.3)
    monkeypatch.setattr(looks_afterwards, "LOOK_S", 0.1)
    seen = [Look(seconds=0.07, n_samples=2, workers=0.0), Look(seconds=0.2, n_samples=6)]

    class Once(Seeing):
        def stop(self):
            return seen.pop(0)

    with origin("--service", "fixed:1ms") as server:
        load = load_of(server.address, n_blocks=1)
        load.wanted = Wanted(onlookers={Place(0, 0): Once})
        load.run(lambda _: None)
    assert seen == []
    assert load.looked.looks[Place(0, 0)].n_samples == 6
    cost = load.looked.cost
    assert (cost.n_looks, cost.n_counts) == (1, 0)
    assert cost.looks_s >= 0.4
