"""What users do before the load of a start, and servers that they do not get into."""

from msgspec import structs
from tests.experiment.loads import load_of
from tests.load.origin import origin
from tests.words import joined

from httpdyno.experiment.trial.engine_loads import Place
from httpdyno.model import (
    RequestSpec,
)


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
    assert {place: joined(each) for place, each in load.shut_out.items()} == {Place(0, 1): trouble}
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
