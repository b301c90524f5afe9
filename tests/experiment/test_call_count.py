"""System calls of an answer, beside a server of which they are known."""

import sys
from pathlib import Path

import pytest
from msgspec import structs
from tests.real.foreground import free_port, started_in

from httpdyno.experiment.trial.afterwards import N_ANSWERS, counted, traced_workload, with_calls
from httpdyno.load.engine import start_load
from httpdyno.model import Closed, Look, Replay, RequestSpec, SlowUsers, Workload
from httpdyno.model.workload import Constant
from httpdyno.reason import because

SERVER = Path(__file__).parents[1] / "telemetry/syscalls/tiny_server.py"
SEEN = Look(seconds=1.0, n_samples=9, workers=1.0)
ASKED = Workload(requests=(RequestSpec(path="/"),), connections=8, requests_per_connection=1)


@pytest.mark.real_server("strace")
def test_calls_of_an_answer_are_those_that_the_server_makes(own_folders):
    port = free_port()

    def start(workload, window, on_edge):
        return start_load(workload, [f"127.0.0.1:{port}"], [window], on_edge=on_edge)

    with started_in(own_folders) as started:
        pid = started([sys.executable, str(SERVER), str(port)], port)
        look = with_calls(SEEN, [pid], ASKED, start)
        assert look.n_traced == N_ANSWERS
        for kind, n in {"lstat": 2, "open": 1, "read": 1, "write": 1}.items():
            assert look.calls[kind] == n, kind
        assert (look.calls[".htaccess"], look.calls["missing"]) == (1, 3)
        assert structs.replace(look, calls={}, n_traced=0) == SEEN
        found = counted([pid], ASKED, start, longest_s=5.0)
    assert (found.n_answers, found.of("lstat"), found.untraced) == (N_ANSWERS, 2.0, None)
    others = found.of(".htaccess") + found.of("missing")
    assert found.per_request == pytest.approx(sum(found.by_kind.values()) - others)


@pytest.mark.real_server("strace")
def test_a_server_that_answers_wrong_has_no_calls_of_an_answer(own_folders):
    port = free_port()
    wrong = structs.replace(ASKED, requests=(RequestSpec(path="/", expect_status=404),))

    def start(workload, window, on_edge):
        return start_load(workload, [f"127.0.0.1:{port}"], [window], on_edge=on_edge)

    with started_in(own_folders) as started:
        pid = started([sys.executable, str(SERVER), str(port)], port)
        look = with_calls(SEEN, [pid], wrong, start)
    assert (look.calls, look.n_traced) == ({}, 0)
    assert look.untraced == because("telemetry.no_answer_traced")


def test_processes_that_are_gone_are_told():
    look = with_calls(SEEN, [2**22 + 1], ASKED, lambda *_: pytest.fail("nothing is to be loaded"))
    assert look.calls == {}
    assert look.untraced


def test_one_client_asks_for_the_same_without_pauses():
    asked = structs.replace(
        ASKED, arrival=Constant(rate_per_s=5.0), slow=SlowUsers(ratio=0.5, bytes_per_s=1e3)
    )
    one = traced_workload(asked)
    assert one == structs.replace(ASKED, arrival=Closed(), connections=1)


def test_a_log_is_not_sent_again():
    replay = structs.replace(ASKED, arrival=Replay(log="access.log"))
    assert traced_workload(replay) is None
    look = with_calls(SEEN, [1], replay, lambda *_: pytest.fail("nothing is to be loaded"))
    assert look.untraced == because("telemetry.log_not_repeated")
