"""What the engine saw, as a measurement: whole for one load test, lean for one window of many."""

import json
from collections.abc import Iterator

import msgspec
import numpy as np
import pytest
from tests.load.site import DEADLINE_S, Site, serving

from httpdyno.load.engine import start_load
from httpdyno.load.message import WindowPlan
from httpdyno.model import Constant, LiveLoad, Measurement, RequestSpec, SlowUsers, Workload
from httpdyno.stats.histogram import count, merge
from httpdyno.store.query import to_text

N = 60
PHASES = ("client_queue", "connect", "tls", "first_byte", "transfer")
MIX = Workload(requests=(RequestSpec(), RequestSpec(path="/no")), connections=2)
NS = 1e-9


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as one:
        yield one


def run(site: Site, workload: Workload, *, n_requests: int = N, n_traced: int = 0) -> Measurement:
    window = WindowPlan(arm=0, lead_in_s=0, measure_s=5, n_requests=n_requests)
    handle = start_load(workload, [site.address], [window], n_traced=n_traced)
    assert handle.wait(DEADLINE_S)
    [seen] = handle.measurements()
    return seen


def test_phases_add_up_to_latency_to_the_nanosecond(site):
    seen = run(site, Workload(connections=2))
    total_s = sum(getattr(seen.phases, name).sum_s for name in PHASES)
    assert total_s == pytest.approx(seen.latency.sum_s, abs=NS)
    assert count(seen.phases.first_byte) == count(seen.phases.transfer) == N
    assert count(seen.phases.connect) == seen.connects == 2
    assert count(seen.phases.tls) == 0


def test_each_request_of_a_mix_has_its_part(site):
    seen = run(site, MIX)
    good, bad = seen.by_request
    assert (good.offered, good.completed, good.errors) == (N // 2, N // 2, {})
    assert (bad.offered, bad.completed, bad.errors) == (N // 2, 0, {"wrong_status": N // 2})
    assert good.latency is not None
    assert count(good.latency) == N // 2


def test_a_window_of_many_says_which_request_failed_by_counts_alone(site):
    good, bad = run(site, MIX).lean().by_request
    assert (good.completed, bad.errors) == (N // 2, {"wrong_status": N // 2})
    assert good.latency is bad.latency is None


def test_of_requests_that_are_named_by_a_metric_latencies_are_kept(site):
    kept, names = ["latency of good", ""], ["good", "bad"]
    found = run(site, MIX).lean(kept, names).of_request
    assert {name: count(data) for name, data in found.items()} == {"good": N // 2}
    alone = run(site, Workload(requests=(RequestSpec(name="good"),), connections=2))
    assert alone.lean(kept, ["good"]).of_request == {"good": alone.latency}


def test_usual_users_come_before_slow_ones(site):
    slow = SlowUsers(ratio=0.5, bytes_per_s=20_000.0)
    seen = run(site, Workload(connections=4, slow=slow), n_requests=20)
    assert list(seen.by_population) == ["usual", "slow"]
    assert sum(each.offered for each in seen.by_population.values()) == 20


def test_the_course_holds_every_request(site):
    seen = run(site, MIX)
    batches = seen.batches
    assert batches.interval_s >= 0.01
    assert len(batches.offered) == len(batches.completed) == len(batches.errors)
    assert sum(batches.offered) == seen.measured_offered == N
    assert sum(batches.completed) == seen.measured_completed
    assert sum(batches.errors) == seen.measured_errors
    assert count(merge(batches.latency)) == count(seen.latency)


def test_a_request_that_timed_out_is_censored_at_its_age(site):
    workload = Workload(requests=(RequestSpec(path="/stall"),), connections=1, timeout_s=0.2)
    seen = run(site, workload, n_requests=1)
    site.release.set()
    assert seen.errors == {"timeout": 1}
    assert count(seen.censored) == 1
    assert seen.censored.max_s >= 0.2


def test_the_instants_of_the_first_requests_are_kept_if_asked_for(site):
    workload = Workload(connections=2, arrival=Constant(rate_per_s=200.0))
    trace = run(site, workload, n_requests=40, n_traced=10).trace
    due, issued, written, end = (
        np.frombuffer(getattr(trace, f"{name}_ns"), dtype=np.uint64)
        for name in ("due", "issued", "written", "end")
    )
    assert len(due) == 10
    assert np.all(np.diff(due.astype(np.int64)) == 5_000_000)
    assert np.all((due <= issued) & (issued <= written) & (written < end))
    assert np.frombuffer(trace.request, dtype=np.uint32).tolist() == [0] * 10
    assert np.frombuffer(trace.outcome, dtype=np.uint8).tolist() == [0] * 10


def test_a_window_of_many_is_stored_without_what_only_one_test_tells(site):
    mix = Workload(requests=(RequestSpec(), RequestSpec(method="POST")), connections=2)
    lean = run(site, mix).lean()
    stored = json.loads(to_text(lean))
    whole = json.loads(to_text(run(site, mix)))
    absent = {"phases", "by_request", "batches"}
    empty = {"trace", "pages", "censored", "by_population", "lateness"}
    assert not (absent | empty) & stored.keys()
    assert absent <= whole.keys()
    assert not empty & whole.keys()
    assert msgspec.convert(stored, Measurement) == lean


def test_a_run_can_be_looked_at_while_it_goes_on(site):
    window = WindowPlan(arm=0, lead_in_s=0, measure_s=DEADLINE_S)
    handle = start_load(Workload(connections=1), [site.address], [window])
    seen: list[LiveLoad] = []
    while len(seen) < 2 and not handle.wait(0.05):
        snapshot = handle.live()
        if snapshot is not None and snapshot.completed > (seen[-1].completed if seen else 0):
            seen.append(snapshot)
    handle.stop()
    assert handle.wait(DEADLINE_S)
    assert len(seen) == 2
    assert seen[0].elapsed_s < seen[1].elapsed_s
    for snapshot in seen:
        in_all = snapshot.completed + snapshot.errors + snapshot.in_flight
        assert snapshot.offered == pytest.approx(in_all, abs=1)
    assert handle.live() is None
