"""First steps, and steps in order, over real sockets."""

from collections.abc import Iterator, Sequence

import pytest
from msgspec import structs
from tests.load.site import DEADLINE_S, Site, serving

from httpdyno.load.engine import LoadHandle, start_load
from httpdyno.load.message import WindowPlan
from httpdyno.model import RequestSpec, Users, Visit, Workload

LOGIN = RequestSpec(path="/", method="POST", body="name=user{user}")
WORKLOAD = Workload(first=(LOGIN,), connections=6, users=Users(has_cookies=True))


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as one:
        yield one


def ended(workload: Workload, *addresses: str, windows: Sequence[int]) -> LoadHandle:
    plan = [WindowPlan(arm=arm, lead_in_s=0, measure_s=5, n_requests=20) for arm in windows]
    handle = start_load(workload, addresses, plan, threads=2)
    assert handle.wait(DEADLINE_S)
    return handle


def test_each_user_of_each_arm_does_the_first_steps_once(site):
    with serving() as other:
        handle = ended(WORKLOAD, site.address, other.address, windows=(0, 1, 0, 1))
        for each in (site, other):
            names = [body.decode() for method, _, _, body in each.seen if method == "POST"]
            assert sorted(names) == [f"name=user{user}" for user in range(6)]
            assert [method for method, *_ in each.seen[:6]] == ["POST"] * 6
    assert [each.offered for each in handle.measurements()] == [20] * 4
    entrances = handle.entrances()
    assert sorted(entrances) == [0, 1]
    for entrance in entrances.values():
        assert (entrance.offered, entrance.completed) == (6, 6)
        assert [part.offered for part in entrance.by_request] == [0, 6]


def test_what_fails_first_is_told_and_ends_a_run_that_nobody_gets_into(site):
    wrong = structs.replace(WORKLOAD, first=(structs.replace(LOGIN, expect_status=302),))
    handle = ended(wrong, site.address, windows=(0, 0))
    [entrance] = handle.entrances().values()
    assert (entrance.completed, entrance.errors) == (0, {"wrong_status": 6})
    assert entrance.statuses == {"200": 6}
    assert handle.measurements() == []
    assert len(site.seen) == 6


def test_without_first_steps_there_is_no_entrance(site):
    handle = ended(Workload(connections=2), site.address, windows=(0,))
    assert handle.entrances() == {}


def test_steps_in_order_are_taken_in_order_by_each_user(site):
    paths = [f"/{step}?u={{user}}" for step in "abc"]
    requests = tuple(RequestSpec(path=path, expect_status=404) for path in paths)
    visits = Users(visit=Visit(mean_steps=3))
    workload = Workload(requests=requests, order="given", connections=3, users=visits)
    ended(workload, site.address, windows=(0, 0, 0))
    asked: dict[str, str] = {}
    for _, path, _, _ in site.seen:
        step, _, user = path[1:].partition("?u=")
        asked[user] = asked.get(user, "") + step
    assert sorted(asked) == ["0", "1", "2"]
    for steps in asked.values():
        assert ("abc" * 20).startswith(steps)
