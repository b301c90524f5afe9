"""Words of a header in answers, beside a server that says what it had."""

import math
import socket
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from time import sleep
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs
from tests.experiment.loads import load_of
from tests.experiment.test_second_metric import ARMS, start_of
from tests.experiment.test_standstill import request_of
from tests.namespace import may_make_networks, serving_elsewhere

from httpdyno.errors import UsageError
from httpdyno.experiment.decide.evidence import arm_summary
from httpdyno.experiment.trial import header_count
from httpdyno.experiment.trial.afterwards import HeaderCost, Wanted
from httpdyno.experiment.trial.bench import StartRequest
from httpdyno.experiment.trial.engine_loads import ArmLoads, Place, said
from httpdyno.experiment.trial.header_count import (
    LONGEST_S,
    N_ANSWERS,
    HeaderCount,
    Relay,
    counted_headers,
    relayed,
)
from httpdyno.load.message import WindowPlan
from httpdyno.model import (
    HeaderWords,
    Method,
    Objective,
    Phase,
    RequestSpec,
    StartRecord,
    VisitStep,
    Workload,
)
from httpdyno.model.header_words import words_together
from httpdyno.reason import because
from httpdyno.report.shared.message import joined
from httpdyno.servers.adapter import own_words
from httpdyno.servers.network.address import HeldPort
from httpdyno.store.query import from_text, to_text

PLACE = Place(0, 0)
OWN, NEW = RequestSpec(path="/own?user={user}"), RequestSpec(path="/new?visit={random}")
N_USERS = 6


class Cache(ThreadingHTTPServer):
    """Says of each page whether it was asked for before, by the same name of this server."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Page)
        self.lock = Lock()
        self.pages: Counter[tuple[str, str]] = Counter()

    @property
    def address(self):
        return f"127.0.0.1:{self.server_address[1]}"


class _Page(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Cache

    def do_GET(self):
        key = (self.headers["Host"], self.path)
        with self.server.lock:
            self.server.pages[key] += 1
            is_kept = self.server.pages[key] > 1
        body = b"X-Cache: FALSE\r\n\r\nX-Cache: FALSE\r\n\r\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        if self.path != "/bare":
            self.send_header("X-Cache", f"{'HIT' if is_kept else 'MISS'} from {key[0]}")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words):
        """Say nothing."""


@contextmanager
def cache():
    server = Cache()
    thread = Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def loads_of(server, *requests, **more):
    asked = {"connections": N_USERS, "timeout_s": 5.0, **more}
    return ArmLoads(
        workloads=[Workload(requests=requests, **asked)],
        addresses={PLACE: server.address},
        networks={},
        cpus=(),
        seed=(3, 1, 0),
    )


def count_of(loads, method=None, act=lambda _place, _command: ""):
    return HeaderCount(name="X-Cache", method=method or Method(), loads=loads, act=act)


def windowed(loads):
    """Load the server as a window does; return how many answers came."""
    plan = WindowPlan(arm=0, lead_in_s=0.0, measure_s=5.0, n_requests=100)
    handle = loads.engine_load([PLACE], [plan], (1,), lambda *_: None, loads.workloads[0])
    assert handle.wait(10.0)
    return sum(each.completed for each in handle.measurements())


def test_the_same_users_ask_for_the_same_pages_of_the_same_server():
    with cache() as server:
        loads = loads_of(server, OWN)
        assert windowed(loads) > N_USERS
        n_pages = len(server.pages)
        found = count_of(loads).counted([PLACE])
        assert len(server.pages) == n_pages == N_USERS
    words = found.words[PLACE]
    assert [*words.counts] == ["HIT"]
    assert (words.n_without, words.uncounted) == (0, ())
    assert N_ANSWERS <= words.n_answers <= N_ANSWERS + N_USERS
    assert found.each_s > 0
    assert found.of_start(0, 2) == (words, None)
    assert found.of_start(1, 2) == ()


def test_a_mix_is_asked_by_its_weights_and_what_has_no_such_header_is_counted_too():
    with cache() as server:
        steps = tuple(
            VisitStep(request=index, weight=weight) for index, weight in enumerate((6.0, 1.0, 1.0))
        )
        loads = loads_of(server, OWN, NEW, RequestSpec(path="/bare"), steps=steps)
        windowed(loads)
        words = count_of(loads).counted([PLACE]).words[PLACE]
        made_up = [n for (_, path), n in server.pages.items() if path.startswith("/new")]
    assert set(made_up) == {1}, "none comes again"
    assert words.counts["HIT"] > words.counts["MISS"] > 0
    assert words.n_without > 0


def test_what_users_ask_for_before_anything_is_measured_is_not_counted():
    with cache() as server:
        loads = loads_of(server, OWN, first=(RequestSpec(path="/bare"),))
        windowed(loads)
        words = count_of(loads).counted([PLACE]).words[PLACE]
        assert sum(n for (_, path), n in server.pages.items() if path == "/bare") == 2 * N_USERS
    assert ([*words.counts], words.n_without) == (["HIT"], 0)


def test_phases_take_one_turn_more_and_each_has_its_words():
    acted: list[tuple[str, ...]] = []
    phases = (
        Phase(name="cold", run=("forget",), n_requests=N_USERS),
        Phase(name="warm"),
    )
    method = Method(phases=phases, decides="warm", window_s=2.0)
    with cache() as server:

        def act(_place, command):
            acted.append(command.run)
            server.pages.clear()

        loads = loads_of(server, OWN)
        windowed(loads)
        found = count_of(loads, method, act).counted([PLACE])
        words = found.words[PLACE]
    assert acted == [("forget",)]
    assert [*words.counts] == ["HIT"]
    assert words.n_answers >= N_ANSWERS
    assert words.beside["cold"].counts["MISS"] == N_USERS
    assert (found.each_s, found.once_s > 0) == (0.0, True)


def test_only_the_last_phase_ends_sooner_for_a_later_one_finds_what_another_leaves(monkeypatch):
    asked = []
    seen = start_of(0, 1.0, 1.0).windows[0].measurement

    def take(_self, _place, window, *_more):
        asked.append(window.n_requests)
        return of(1), seen

    monkeypatch.setattr(HeaderCount, "_asked", take)
    phases = (Phase(name="cold", n_requests=N_USERS), Phase(name="filling"), Phase(name="warm"))
    loads = ArmLoads(
        workloads=[Workload()], addresses={PLACE: "unasked"}, networks={}, cpus=(), seed=(3, 1, 0)
    )
    words = count_of(loads, Method(phases=phases, decides="warm")).counted([PLACE]).words[PLACE]
    assert asked == [N_USERS, 0, N_ANSWERS]
    assert [*words.beside] == ["cold", "filling"]


def turn_taken(study, monkeypatch, place, also=()):
    """Return when a start takes a turn for a header's words: `once`, `each` time, or not.

    Args:
        study: Of any header.
        monkeypatch: For the turn.
        place: The start's number, and whether a start of the comparison took such a turn.
        also: Metrics that something is claimed of.
    """

    def take(*_):
        sleep(0.001)
        return of(1)

    monkeypatch.setattr(HeaderCount, "_of", take)
    start, has_turn = place
    arms = (study.start_configuration(),) * 2
    request = StartRequest(
        comparison=1,
        start=start,
        arms=arms,
        order=((0, 1),),
        window_s=1.0,
        lead_in_s=0.0,
        warm_up_s=0.0,
    )
    method = structs.replace(study.method, phases=(Phase(name="warm"),), decides="warm")
    study = structs.replace(
        study, counted_header="X-Cache", method=method, objective=Objective(also=also)
    )
    server: Any = SimpleNamespace(addresses=("127.0.0.1:1",), networks=("",), is_alive=lambda: True)
    running = {Place(0, arm): server for arm in range(2)}
    found = counted_headers(study, request, running, seed=1, cpus=(), has_turn=has_turn)
    is_taken = found.once_s > 0 or found.each_s > 0
    assert found.of_start(0, 2) == ((of(1), of(1)) if is_taken else ())
    assert not (found.once_s > 0 and found.each_s > 0)
    return "once" if found.once_s > 0 else "each" if found.each_s > 0 else ""


@pytest.mark.parametrize(
    ("start", "has_turn", "takes"), [(0, False, "once"), (3, False, "once"), (3, True, "")]
)
def test_a_turn_is_taken_in_one_start_of_a_comparison(study, monkeypatch, start, has_turn, takes):
    """Whichever one it is: the first may have to be tried again."""
    assert turn_taken(study, monkeypatch, (start, has_turn)) == takes


def test_a_phase_that_fails_is_why_nothing_was_counted():
    method = Method(phases=(Phase(name="cold", run=("forget",)),), decides="cold")
    with cache() as server:
        count = count_of(
            loads_of(server, OWN), method, lambda _place, _command: own_words("it failed")
        )
        words = count.counted([PLACE]).words[PLACE]
    assert joined(words.uncounted) == "phase cold: it failed"


@pytest.mark.parametrize(
    ("left_s", "each_s"), [(math.inf, LONGEST_S), (12.0, LONGEST_S), (3.0, 0.5), (-1.0, 0.1)]
)
def test_counting_takes_no_longer_than_its_starts_may(monkeypatch, study, left_s, each_s):
    asked = []

    def take(_self, _place, window, *_more):
        asked.append(window.measure_s)
        return of(1), None

    monkeypatch.setattr(HeaderCount, "_asked", take)
    server: Any = SimpleNamespace(addresses=("127.0.0.1:1",), networks=("",), is_alive=lambda: True)
    running = {Place(start, arm): server for start in range(3) for arm in range(2)}
    counted_headers(
        structs.replace(study, counted_header="X-Cache"),
        request_of(study, warm_up_s=0.0),
        running,
        seed=1,
        cpus=(),
        left_s=left_s,
    )
    assert asked == [each_s] * 6


def test_a_start_is_refused_where_a_turn_more_does_not_fit():
    with cache() as server:
        load = load_of(server.address, limit_s=4.0, n_needed=6, warm_up_s=0.0, lead_in_s=0.0)
        assert load.run(lambda _: None)
        load.wanted = Wanted(header=HeaderCost(once_s=24.0))
        with pytest.raises(UsageError, match=r"one start takes 4\.\d+ s of load"):
            load.run(lambda _: None)


def test_a_server_that_does_not_answer_has_no_count():
    with cache() as server:
        loads = loads_of(server, OWN, timeout_s=0.2)
    words = count_of(loads).counted([PLACE]).words[PLACE]
    assert words.n_answers == 0
    assert words.uncounted


@pytest.mark.skipif(not may_make_networks(), reason="only root can make networks")
def test_nobody_outside_of_a_servers_network_comes_in_by_what_counts(monkeypatch):
    tried: list[object] = []

    class Tried(Relay):
        def __enter__(self):
            super().__enter__()
            host, _, port = self.address.rpartition(":")
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((host, int(port)), timeout=5)
            tried.append(self)
            return self

    monkeypatch.setattr(header_count, "Relay", Tried)
    with HeldPort() as port, serving_elsewhere(port.number) as network:
        loads = ArmLoads(
            workloads=[Workload(connections=2)],
            addresses={PLACE: port.address},
            networks={PLACE: network},
            cpus=(),
            seed=(3, 1, 0),
        )
        words = count_of(loads).counted([PLACE]).words[PLACE]
    assert (len(tried), words.uncounted) == (1, ())
    assert words.n_without == words.n_answers > 0


def test_requests_name_the_server_and_not_the_relay_unless_they_name_another():
    named = RequestSpec(path="/", headers=(("host", "a.example"),))
    sent = relayed(Workload(requests=(OWN, named), first=(NEW,)), "127.0.0.1:8080")
    assert sent.requests == (
        structs.replace(OWN, headers=(("Host", "127.0.0.1:8080"),)),
        named,
    )
    assert sent.first[0].headers == (("Host", "127.0.0.1:8080"),)
    assert not sent.keep_alive


def of(hits, misses=0, n_without=0, **more):
    counts = {word: n for word, n in (("HIT", hits), ("MISS", misses)) if n}
    return HeaderWords(name="X-Cache", counts=counts, n_without=n_without, **more)


def test_counts_of_starts_come_together_in_the_arms_summary():
    cold = {"cold": of(0, 50)}
    starts = [
        structs.replace(start_of(number, 1.0, 1.0), header_words=(of(0, 0, 200), each))
        for number, each in enumerate([of(190, 10, beside=cold), None, of(200, beside=cold)])
    ]
    starts.append(start_of(3, 1.0, 1.0))
    off, on = (arm_summary(starts, arm, ARMS[arm]).header_words for arm in (0, 1))
    assert off == of(0, 0, 600)
    assert on == of(390, 10, beside={"cold": of(0, 100)})
    assert on is not None
    assert on.n_answers == 400
    assert words_together([]) is None


def test_why_starts_have_no_count_stays_and_what_their_other_phases_say():
    untold = HeaderWords(name="X-Cache", uncounted=said("no answer came"))
    assert words_together([untold, None]) == untold
    found = words_together([untold, of(3), None, untold])
    assert found is not None
    assert (found.counts, joined(found.uncounted)) == (
        {"HIT": 3},
        "in 2 of 3 starts: no answer came",
    )
    crashed = of(0, uncounted=said("it crashed"), beside={"cold": of(0, 50)})
    found = words_together([untold, crashed])
    assert found is not None
    assert joined(found.uncounted) == "in 2 of 2 starts: no answer came; it crashed"
    assert found.beside == {"cold": of(0, 50)}


@pytest.mark.parametrize("decides", ["cold", "warm", "late"])
def test_a_turn_that_ends_early_says_why_of_each_phase_that_it_did_not_come_to(
    monkeypatch, decides
):
    left = [(of(1), start_of(0, 1.0, 1.0).windows[0].measurement), (of(2), None)]
    phases = tuple(Phase(name=name) for name in ("cold", "warm", "late"))
    monkeypatch.setattr(HeaderCount, "_asked", lambda *_: left.pop(0))
    loads = ArmLoads(
        workloads=[Workload()], addresses={PLACE: "unasked"}, networks={}, cpus=(), seed=(3, 1, 0)
    )
    words = count_of(loads, Method(phases=phases, decides=decides)).counted([PLACE]).words[PLACE]
    ended = of(0, uncounted=(because("experiment.ended_in_phase", phase="warm"),))
    every = {"cold": of(1), "warm": of(2), "late": ended}
    own = every.pop(decides)
    assert words == structs.replace(own, beside=every)


@pytest.mark.parametrize("words", [(), (of(3, beside={"cold": of(0, 2)}), None)])
def test_counts_are_stored_with_their_start_and_what_was_stored_before_has_none(words):
    start = structs.replace(start_of(0, 1.0, 1.0), header_words=words)
    text = to_text(start)
    assert from_text(text, StartRecord, "it") == start
    if not words:
        assert from_text(text.replace('"header_words":[],', ""), StartRecord, "it") == start
