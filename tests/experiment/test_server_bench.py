"""How arms come up side by side; real servers are in tests/real."""

import os
import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import structs
from tests.conformance.record import sample_plan, sample_window
from tests.experiment.started import Server, Up, measured
from tests.rows import each_row
from tests.says import says

from httpdyno.errors import AdapterError, TargetError
from httpdyno.experiment.decide.warning import known_warnings
from httpdyno.experiment.trial import memory as start_memory
from httpdyno.experiment.trial import server_bench
from httpdyno.experiment.trial.afterwards import Looked
from httpdyno.experiment.trial.arm import silence
from httpdyno.experiment.trial.cycles import CycleMoments
from httpdyno.experiment.trial.engine_loads import Place
from httpdyno.experiment.trial.header_count import HeaderCount, HeadersCounted
from httpdyno.experiment.trial.memory import ArmSize, Room
from httpdyno.experiment.trial.server_bench import ServerBench
from httpdyno.model import (
    Closed,
    Configuration,
    Constant,
    Effective,
    HeaderWords,
    Knob,
    KnobInfo,
    Objective,
    RequestSpec,
)
from httpdyno.model.measurement import Measurement
from httpdyno.report.shared.message import joined, texts
from httpdyno.servers.adapter import NotRunning, own_words
from httpdyno.telemetry.host import host_facts

DEADLINE_S = 10.0
ROOM = Room(memory_bytes=1600.0, n_processes=1000.0, n_descriptors=1000.0)


def test_an_interruption_while_arms_come_up_ends_the_others_at_once():
    def interrupted():
        raise KeyboardInterrupt

    slow = Server()
    with pytest.raises(KeyboardInterrupt):
        measured(Server(interrupted), slow)
    assert not slow.is_alive()


def test_who_asked_is_told_the_servers_before_they_are_up_in_the_order_of_the_arms():
    told: list[object] = []

    def ends():
        assert told == [[(0,), (), (0,)]]
        return NotRunning(status="crashed", detail=own_words(""))

    gone = NotRunning(status="refused", detail=own_words("no"))
    measured(Server(ends), Server(ends), gone, line_up=(2, 0, 1), told=told)
    assert len(told) == 1


def test_where_it_is_about_coming_up_each_does_so_by_itself():
    events: list[object] = []

    def ends():
        events.append("ends")
        return NotRunning(status="crashed", detail=own_words(""))

    record = measured(
        Server(ends), Server(ends), seen=events, objective=Objective(also=("ready_s",))
    )
    assert [each if each == "ends" else "spawn" for each in events] == [
        *("spawn", "ends"),
        *("spawn", "ends"),
    ]
    assert record.came_up_s == (None, None)
    events.clear()
    assert measured(Server(ends), Server(ends), seen=events).came_up_s == ()
    assert [each == "ends" for each in events] == [False, False, True, True]


def test_where_strace_may_not_trace_what_counts_calls_is_refused_and_nothing_else(monkeypatch):
    def refused():
        raise TargetError("the objective is about system calls: strace is not installed")

    monkeypatch.setattr(server_bench, "require_tracing", refused)
    server = NotRunning(status="refused", detail=own_words("no"))
    with pytest.raises(TargetError, match="about system calls"):
        measured(objective=Objective(also=("calls_per_request of open",)))
    assert measured(server, objective=Objective()).statuses == ("refused",)


def test_arms_are_waited_for_at_the_same_time():
    together = threading.Barrier(2, timeout=DEADLINE_S)

    def comes_up():
        together.wait()
        return NotRunning(status="refused", detail=own_words("no"))

    record = measured(Server(comes_up), Server(comes_up))
    assert record.statuses == ("refused", "refused")


def test_what_comes_into_the_log_of_a_server_that_is_ready_is_kept_with_its_start(
    tmp_path, monkeypatch
):
    """And neither what it said before, nor that another one does not tell its log."""
    log = tmp_path / "error.log"
    log.write_text("ERROR: while it came up\n")

    class Logging(Server):
        def error_logs(self):
            return (log,)

    def loaded(*_):
        log.write_text("ERROR: while it came up\nERROR: under load\n")
        return [], Looked(), {}

    monkeypatch.setattr(ServerBench, "_load", loaded)
    record = measured(Logging(Effective), Server(Effective))
    told, untold = record.log_lines
    assert [kind.form for kind in told.kinds] == ["under load"]
    assert untold is None


@each_row("line_up", [(), (0, 1), (1, 0)])
def test_servers_are_spawned_as_they_are_lined_up_and_told_by_arm(line_up):
    """And the folder of one does not tell which arm it is."""
    seen: list[tuple[int, str]] = []
    words = ("first", "second")
    spawned = [NotRunning(status="refused", detail=own_words(word)) for word in words]
    record = measured(*spawned, line_up=line_up, seen=seen)
    order = line_up or (0, 1)
    assert [n for n, _ in seen] == list(order)
    assert [joined(record.details[number]) for number in order] == list(words)
    assert [name for _, name in seen] == ["0001-c1-s0", "0002-c1-s0"]


def test_what_hung_before_it_was_spawned_is_not_tried_twice_in_a_start():
    hung = NotRunning(status="hung", detail=own_words("`prepare` did not end within 20 s"))
    same = (Configuration(values={"n": 1}),) * 2
    record = measured(hung, configurations=same)
    assert record.statuses == ("hung", "hung")
    assert record.details == ((hung.detail,),) * 2


@each_row(
    ("errors", "statuses", "server", "status", "said"),
    [
        ({"timeout": 4}, {}, (True, ()), "hung", "4 timeout"),
        ({"timeout": 4}, {}, (False, ()), "crashed", "first process ended under load: farewell"),
        ({"refused": 9}, {}, (False, ()), "crashed", "9 refused"),
        ({"wrong_status": 9}, {500: 9}, (True, ()), "infeasible", "9 came with 500"),
        ({"reset": 9}, {}, (True, (2**22 + 1,)), "crashed", "1 of its 1 processes ended"),
        ({"reset": 9}, {}, (True, ()), "infeasible", "9 reset"),
        ({"reset": 9, "timeout": 1}, {}, (True, (2**22 + 1,)), "hung", "1 timeout"),
    ],
)
def test_silence_has_the_word_for_what_happened(errors, statuses, server, status, said):
    is_alive, workers = server
    running = Server()
    if not is_alive:
        running.stop()
    measurement = cast(Measurement, SimpleNamespace(errors=errors, statuses=statuses))
    found, detail = silence(measurement, cast(Any, running), workers)
    assert found == status
    assert said in "\n".join(texts(detail))


def test_a_silence_of_wrong_answers_says_what_was_expected():
    measurement = cast(
        Measurement, SimpleNamespace(errors={"wrong_status": 9}, statuses={"200": 9})
    )
    requests = (RequestSpec(path="/", expect_status=201),)
    _, detail = silence(measurement, cast(Any, Server()), (), requests)
    assert joined(detail).endswith("9 wrong status; 9 came with 200, where 201 is expected")


@each_row(
    ("client", "server", "is_doubted"),
    [((), (), True), ((3,), (), True), ((3,), (2, 3), True), ((3,), (0, 1, 2), False)],
)
def test_shared_cores_are_a_doubt_wherever_the_two_are_not_apart(client, server, is_doubted):
    host = structs.replace(host_facts(), client_cpus=client, server_cpus=server)
    known = [each.code for each in known_warnings(sample_plan().study, host)]
    assert known == ["experiment.shared_cores"] * is_doubted


def test_a_full_disk_below_the_servers_is_no_fault_of_a_configuration(monkeypatch):
    real = os.statvfs

    def full(path):
        return os.statvfs_result((*tuple(real(path))[:4], 0, *tuple(real(path))[5:]))

    crashed = NotRunning(status="crashed", detail=own_words("No space left on device"))
    assert measured(crashed).statuses == ("crashed",)
    monkeypatch.setattr(os, "statvfs", full)
    with pytest.raises(AdapterError, check=says(r"the disk of `.*` is full")) as caught:
        measured(crashed)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("changes", "is_known", "expected"),
    [
        ({}, True, 4),
        ({}, False, 1),
        ({"arrival": Constant(rate_per_s=10.0)}, True, 4),
        ({"side_by_side": 2}, True, 2),
        ({"knob": "restless"}, True, 1),
        ({"warm_up_s": 0.0, "lead_in_s": 0.0}, True, 1),
    ],
)
def test_how_many_starts_are_up_at_once(study, monkeypatch, changes, is_known, expected):
    monkeypatch.setattr(server_bench, "machine_room", lambda: ROOM)
    name = changes.pop("knob", "calm")
    arrival = changes.pop("arrival", Closed())
    study = structs.replace(
        study,
        knobs=(Knob(name=name, start=0, levels=(1,)),),
        workload=structs.replace(study.workload, arrival=arrival),
        method=structs.replace(study.method, **{"side_by_side": 8} | changes),
    )
    knobs = {
        "calm": KnobInfo(name="calm", summary="", kind="integer"),
        "restless": KnobInfo(name="restless", summary="", kind="integer", changes_at_rest=True),
    }
    adapter = SimpleNamespace(knobs=lambda: knobs)
    arms = tuple(Configuration(values={name: level}) for level in (0, 1))
    bench = ServerBench(adapter=cast(Any, adapter), study=study, seed=1)
    if is_known:
        bench._sizes = {arm.label(): ArmSize(pss_bytes=100, n_processes=1) for arm in arms}
        bench._cycles.add(
            [arm.label() for arm in arms], {number: CycleMoments() for number in range(len(arms))}
        )
    assert bench.n_side_by_side(arms) == expected


@pytest.mark.parametrize(
    ("values", "expected"), [((4, 64), ("complete", "infeasible")), ((4, 4), ("complete",) * 2)]
)
def test_an_arm_that_swaps_while_the_other_does_not_is_infeasible(monkeypatch, values, expected):
    """What a configuration is measured against itself for is nobody's fault."""

    class Load:
        """Windows in which the second arm swaps."""

        silence, shut_out, looked, known, seen = None, {}, Looked(), {}, {}

        def __init__(self, **_asked):
            pass

        def run(self, save):
            return [swapping_window(arm, block) for block in range(2) for arm in range(2)]

    def swapping_window(arm, block):
        window = sample_window(block=block, arm=arm)
        seen = structs.replace(
            window.telemetry,
            pss_bytes=1000 if arm else 10,
            swapped_bytes=0,
            swap_ins=40 * arm,
            major_faults=40 * arm,
        )
        return structs.replace(window, telemetry=seen)

    monkeypatch.setattr(server_bench, "StartLoad", Load)
    full = Room(memory_bytes=50.0, n_processes=1.0, n_descriptors=1.0)
    monkeypatch.setattr(start_memory, "machine_room", lambda: full)
    arms = tuple(Configuration(values={"n": n}) for n in values)
    record = measured(Up(), Up(), configurations=arms)
    assert record.statuses == expected
    assert joined(record.details[1]).startswith("80 pages came back from swap") == (
        values == (4, 64)
    )


def test_the_words_of_a_header_are_counted_until_a_start_of_a_comparison_is_used(monkeypatch):
    asked: list[bool] = []

    def counted(*_asked, has_turn, **_more):
        asked.append(has_turn)
        return HeadersCounted(words={Place(0, 0): HeaderWords(name="X-Cache")})

    windows = [sample_window(block=0, arm=arm) for arm in range(2)]
    is_disturbed = iter([True, False, False])
    monkeypatch.setattr(server_bench, "counted_headers", counted)
    monkeypatch.setattr(server_bench, "see_networks", lambda _starts: next(is_disturbed))
    monkeypatch.setattr(ServerBench, "_load", lambda *_: (windows, Looked(), {}))
    arms = tuple(Configuration(values={"n": n}) for n in range(2))
    measured(*(Up() for _ in range(6)), configurations=arms, n_starts=3)
    assert asked == [False, True]  # of the one that is disturbed nothing is counted


def test_what_befalls_a_server_while_words_are_counted_is_no_fault_of_its_windows(
    tmp_path, monkeypatch
):
    """It ends, hits its limit and complains of it: its words are uncounted then, and no more."""
    log = tmp_path / "error.log"
    log.write_text("")

    class Ending(Up):
        limits = ()

        def error_logs(self):
            return (log,)

        def limit_hit(self):
            return None if self.is_alive() else own_words("it was at its limit")

    servers = Ending(), Up()
    words = HeaderWords(name="X-Cache", counts={"HIT": 3})

    def counted(_self, up):
        log.write_text("ERROR: under the load of what counts\n")
        servers[0].stop()
        return HeadersCounted(words=dict.fromkeys(up, words), each_s=1.0)

    windows = [sample_window(block=0, arm=arm) for arm in range(2)]
    monkeypatch.setattr(ServerBench, "_load", lambda *_: (windows, Looked(), {}))
    monkeypatch.setattr(HeaderCount, "counted", counted)
    record = measured(*servers, header="X-Cache")
    assert record.statuses == ("complete", "complete")
    assert record.log_lines[0].kinds == ()
    ended, whole = record.header_words
    assert ended.counts == {}
    assert joined(ended.uncounted) == "its first process ended under load: farewell"
    assert whole == words
    assert record.counted_s == 1.0
