"""The load of several starts that stand side by side."""

from dataclasses import replace

from tests.experiment.loads import side_by_side
from tests.load.origin import origin

from httpdyno.experiment.trial import engine_loads as arm_load
from httpdyno.experiment.trial.bench import block_order
from httpdyno.experiment.trial.engine_loads import Place
from httpdyno.load import engine


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
