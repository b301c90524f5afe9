"""From a workload to measurements, over a real socket."""

import time
from collections.abc import Iterator, Sequence

import pytest
from tests.load.site import DEADLINE_S, Site, serving

from httpdyno.errors import EngineError
from httpdyno.load.engine import start_load
from httpdyno.load.message import WindowPlan, headers
from httpdyno.model import Constant, Measurement, Poisson, Replay, RequestSpec, Workload

ONE_WINDOW = (WindowPlan(arm=0, lead_in_s=0, measure_s=5, n_requests=20),)


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as one:
        yield one


def run(
    workload: Workload, *addresses: str, windows: Sequence[WindowPlan] = ONE_WINDOW
) -> list[Measurement]:
    handle = start_load(workload, addresses, windows)
    assert handle.wait(DEADLINE_S)
    return handle.measurements()


def test_every_request_gets_its_right_answer(site):
    before_s = time.monotonic()
    [seen] = run(Workload(connections=2), site.address)
    assert (seen.offered, seen.completed, seen.n_errors) == (20, 20, 0)
    assert seen.statuses == {"200": 20}
    assert sum(seen.latency.counts) == 20
    assert 0 < seen.latency.sum_s < DEADLINE_S
    assert before_s <= seen.opened_s <= time.monotonic()
    assert 0 < seen.measured_s <= seen.total_s
    assert seen.throughput_per_s > 0


def test_the_usual_headers_are_sent_and_ones_own_win(site):
    spec = RequestSpec(headers=(("user-agent", "mine"), ("X-Extra", "1")))
    run(Workload(requests=(spec,), connections=1), site.address)
    _, _, headers, _ = site.seen[0]
    assert headers["host"] == site.address
    assert headers["accept"] == "*/*"
    assert headers["user-agent"] == "mine"
    assert headers["x-extra"] == "1"


def test_a_body_is_sent_whole(site):
    spec = RequestSpec(method="POST", body="name=wörld")
    [seen] = run(Workload(requests=(spec,), connections=1), site.address)
    assert seen.completed == 20
    assert {(method, body) for method, _, _, body in site.seen} == {("POST", "name=wörld".encode())}


def test_requests_are_sent_in_turn(site):
    specs = (RequestSpec(path="/"), RequestSpec(path="/no", expect_status=404))
    [seen] = run(Workload(requests=specs, connections=1), site.address)
    assert seen.statuses == {"200": 10, "404": 10}
    assert seen.completed == 20


def test_a_wrong_status_is_no_completed_request(site):
    [seen] = run(Workload(requests=(RequestSpec(path="/no"),), connections=2), site.address)
    assert seen.completed == 0
    assert seen.errors == {"wrong_status": 20}


def test_no_status_expected_accepts_2xx_but_no_404(site):
    specs = (RequestSpec(expect_status=None), RequestSpec(path="/no", expect_status=None))
    [seen] = run(Workload(requests=specs, connections=1), site.address)
    assert (seen.completed, seen.errors) == (10, {"wrong_status": 10})


def test_without_keep_alive_each_request_has_a_connection(site):
    [seen] = run(Workload(connections=2, requests_per_connection=1), site.address)
    assert seen.connects == 20
    assert {headers.get("connection", "").lower() for _, _, headers, _ in site.seen} == {"close"}


def test_windows_alternate_between_arms(site):
    with serving() as other:
        windows = [
            WindowPlan(arm=arm, lead_in_s=0, measure_s=5, n_requests=n)
            for arm, n in ((0, 5), (1, 7), (0, 3))
        ]
        seen = run(Workload(connections=1), site.address, other.address, windows=windows)
        assert [each.completed for each in seen] == [5, 7, 3]
        assert (len(site.seen), len(other.seen)) == (8, 7)
    opened = [each.opened_s for each in seen]
    assert opened == sorted(opened)


def test_edges_are_told_in_order(site):
    edges = []
    windows = [WindowPlan(arm=0, lead_in_s=0, measure_s=5, n_requests=2)] * 2
    handle = start_load(
        Workload(connections=1),
        [site.address],
        windows,
        on_edge=lambda index, is_opening: edges.append((index, is_opening)),
    )
    assert handle.wait(DEADLINE_S)
    assert edges == [(0, True), (0, False), (1, True), (1, False)]


def test_what_an_edge_raises_comes_through(site):
    def refuse(index, is_opening):
        raise EngineError(f"edge {index} {is_opening}")

    windows = [WindowPlan(arm=0, lead_in_s=0, measure_s=5, n_requests=2)]
    handle = start_load(Workload(connections=1), [site.address], windows, on_edge=refuse)
    with pytest.raises(EngineError, match="edge 0 True"):
        handle.wait(DEADLINE_S)


def test_a_stopped_run_ends_and_counts_what_was_under_way(site):
    spec = RequestSpec(path="/stall")
    windows = [WindowPlan(arm=0, lead_in_s=0, measure_s=60)]
    handle = start_load(Workload(requests=(spec,), connections=3), [site.address], windows)
    assert not handle.wait(0.2)
    handle.stop()
    assert handle.wait(DEADLINE_S)
    [seen] = handle.measurements()
    assert seen.errors == {"unfinished": seen.offered}
    assert seen.completed == 0


def test_patience_ends_in_the_latency_not_out_of_it(site):
    workload = Workload(requests=(RequestSpec(path="/stall"),), connections=1, timeout_s=0.2)
    windows = [WindowPlan(arm=0, lead_in_s=0, measure_s=5, n_requests=1)]
    [seen] = run(workload, site.address, windows=windows)
    assert seen.errors == {"timeout": 1}
    assert seen.latency.max_s >= 0.19


def test_a_closed_port_is_refused_and_counted(site):
    address = site.address
    site.shutdown()
    site.server_close()
    windows = [WindowPlan(arm=0, lead_in_s=0, measure_s=5, n_requests=5)]
    [seen] = run(Workload(connections=1), address, windows=windows)
    assert seen.errors == {"refused": 5}


def test_an_open_loop_offers_its_rate(site):
    workload = Workload(connections=4, arrival=Constant(rate_per_s=200.0))
    windows = [WindowPlan(arm=0, lead_in_s=0.1, measure_s=1.0)]
    [seen] = run(workload, site.address, windows=windows)
    assert seen.measured_offered == pytest.approx(200, abs=2)
    assert sum(seen.lateness.counts) > 0


def test_a_replay_reads_its_log_by_itself_on_every_arm(site, tmp_path):
    log = tmp_path / "access.log"
    log.write_text(
        '::1 - - [10/Oct/2000:13:55:36 +0000] "GET /{} HTTP/1.1" 404 1\n'.format("a") * 3
    )
    workload = Workload(requests=(), arrival=Replay(log=str(log), speed=10.0), connections=2)
    windows = [WindowPlan(arm=arm, lead_in_s=0, measure_s=5, n_requests=3) for arm in (0, 1)]
    with serving() as other:
        seen = run(workload, site.address, other.address, windows=windows)
        assert [each[1] for each in other.seen] == ["/a"] * 3
    assert [(each.offered, each.completed) for each in seen] == [(3, 3), (3, 3)]
    assert [each[1] for each in site.seen] == ["/a"] * 3


def test_a_body_is_read_from_its_file(site, tmp_path):
    (tmp_path / "body").write_bytes(b"\x00\xff{n}")
    spec = RequestSpec(method="POST", body_file=str(tmp_path / "body"))
    windows = [WindowPlan(arm=0, lead_in_s=0, measure_s=5, n_requests=1)]
    run(Workload(requests=(spec,), connections=1), site.address, windows=windows)
    assert site.seen[0][3] == b"\x00\xff0"


def test_the_same_schedule_has_the_same_name(site):
    def name(rate_per_s: float, seed: int) -> str:
        workload = Workload(connections=1, arrival=Poisson(rate_per_s=rate_per_s))
        windows = [WindowPlan(arm=0, lead_in_s=0, measure_s=5, n_requests=1)]
        handle = start_load(workload, [site.address], windows, seed=seed)
        assert handle.wait(DEADLINE_S)
        return handle.schedule_hash

    assert name(100.0, 1) == name(100.0, 1)
    assert len({name(100.0, 1), name(100.0, 2), name(50.0, 1)}) == 3


def test_an_address_that_is_none_is_the_engines_error():
    with pytest.raises(EngineError):
        start_load(Workload(), ["nowhere"], [WindowPlan(arm=0, lead_in_s=0, measure_s=1)])


def test_a_window_on_an_arm_that_is_not_there_is_the_engines_error(site):
    with pytest.raises(EngineError):
        start_load(Workload(), [site.address], [WindowPlan(arm=1, lead_in_s=0, measure_s=1)])


def test_a_request_has_the_usual_headers_where_it_has_none_of_its_own():
    own = RequestSpec(headers=(("accept", "text/html"), ("X-A", "1")))
    assert [name for name, _ in headers(own, "example.test:81")] == [
        "Host",
        "User-Agent",
        "accept",
        "X-A",
    ]
