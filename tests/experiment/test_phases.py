"""Phases of a turn: each in its order, one decides, and what one cannot have done is no window."""

import threading
from dataclasses import replace

import pytest
from msgspec import structs
from tests.conformance.collector import TOLD

from httpdyno.experiment.decide.evidence import phase_figures, start_latencies
from httpdyno.experiment.decide.usable import limit_broken
from httpdyno.experiment.trial.engine_loads import Place
from httpdyno.experiment.trial.phases import PhasedWindows
from httpdyno.model import (
    ArmSummary,
    Configuration,
    Cycles,
    HistogramData,
    Measurement,
    Objective,
    Phase,
    PhaseFigures,
    PhaseSeen,
    Telemetry,
)
from httpdyno.report.shared.message import joined, text
from httpdyno.servers.adapter import own_words

EMPTY = ("rm", "-rf", "{run}/cache")
RESTART = ("kill", "-USR1", "1")
TURNS = [(0, Place(0, 1)), (0, Place(0, 0)), (1, Place(0, 0))]


def seen(completed):
    return Measurement(
        opened_s=0.0,
        measured_s=0.5,
        total_s=0.5,
        offered=completed,
        completed=completed,
        measured_offered=completed,
        measured_completed=completed,
    )


class Server:
    """Writes down what is done to it."""

    def __init__(self, words="", plays=None):
        self.did, self.plans = [], {}
        self._words = words
        self._plays = plays

    def act(self, place, command):
        self.did.append(("act", place.arm, command.run[0]))
        return own_words(self._words) if self._words else None

    def wait(self, seconds):
        self.did.append(("wait", seconds))

    def play(self, place, phase, plan, number, on_open):
        assert (plan.lead_in_s, plan.spread_s) == (0.0, 0.0)
        self.plans[phase.name] = plan
        self.did.append(("play", place.arm, number))
        if self._plays is not None and number >= self._plays:
            return None
        on_open()
        return seen(100 + number), Telemetry(cpu_s=0.1 * number)


def phased(server, phases, decides="warm"):
    return PhasedWindows(
        phases=phases,
        decides=decides,
        measure_s=0.5,
        tail_s=2.0,
        act=server.act,
        play=server.play,
        wait=server.wait,
    )


def test_each_turn_goes_through_all_phases_and_one_of_them_is_kept():
    server, kept = Server(), []
    phases = [Phase(name="cold", run=EMPTY), Phase(name="warm"), Phase(name="old", pause_s=3)]
    trouble = phased(server, phases).run(TURNS, lambda *each: kept.append(each))
    assert trouble == {}
    assert server.did[:5] == [
        ("act", 1, "rm"),
        ("play", 1, 0),
        ("play", 1, 1),
        ("wait", 3),
        ("play", 1, 2),
    ]
    assert [(block, place.arm) for block, place, _, _ in kept] == [(0, 1), (0, 0), (1, 0)]
    # Both arms of a block draw alike, and no two windows of an arm do.
    assert [each.completed for _, _, each, _ in kept] == [101, 101, 104]
    assert [each.cpu_s for _, _, _, each in kept] == pytest.approx([0.1, 0.1, 0.4])
    _, _, last, _ = kept[-1]
    assert {name: each.completed for name, each in last.beside.items()} == {"cold": 103, "old": 105}
    assert last.beside["old"].cpu_s == pytest.approx(0.5)


def told_of(trouble):
    return {place: joined(each.reasons) for place, each in trouble.items()}


def test_what_a_phase_cannot_do_ends_the_load_with_its_words():
    server, kept = Server(words="no such folder"), []
    phases = [Phase(name="cold", run=EMPTY), Phase(name="warm")]
    trouble = phased(server, phases).run(TURNS, lambda *each: kept.append(each))
    assert told_of(trouble) == {Place(0, 1): "phase cold: no such folder"}
    assert server.did == [("act", 1, "rm")]
    assert kept == []


def test_a_load_that_is_over_keeps_no_half_turn():
    server, kept = Server(plays=1), []
    phases = [Phase(name="cold"), Phase(name="warm")]
    assert phased(server, phases).run(TURNS, lambda *each: kept.append(each)) == {}
    assert kept == []


def test_a_command_under_load_is_run_while_the_window_is_played():
    server, ran = Server(), threading.Event()
    kept = []

    def play(place, phase, plan, number, on_open):
        assert not ran.wait(0.05), "users are still at their first steps"
        on_open()
        assert ran.wait(10), "the command begins while the window is played"
        return Server().play(place, phase, plan, number, lambda: None)

    def act(place, command):
        ran.set()
        return server.act(place, command)

    phases = [Phase(name="warm", run=RESTART, at_s=0.0)]
    windows = replace(phased(server, phases), act=act, play=play)
    assert windows.run(TURNS[:1], lambda *each: kept.append(each)) == {}
    assert server.did == [("act", 1, "kill")]
    assert len(kept) == 1


@pytest.mark.parametrize("plays", [None, 0], ids=["window-is-short", "server-is-silent"])
def test_a_command_whose_time_never_came_is_not_run_and_that_is_told(plays):
    server, kept = Server(plays=plays), []
    phases = [Phase(name="warm", run=RESTART, at_s=3600.0)]
    trouble = phased(server, phases).run(TURNS[:1], lambda *each: kept.append(each))
    assert server.did == [("play", 1, 0)]
    assert told_of(trouble) == {
        Place(0, 1): "phase warm: its load ended before `kill -USR1 1` was due, after 60 min 00 s"
    }
    assert kept == []


def test_a_command_that_was_run_after_its_loads_end_is_told_as_one_that_was_not():
    ran, kept = threading.Event(), []

    def play(place, phase, plan, number, on_open):
        on_open()
        assert ran.wait(10)
        measurement, telemetry = Server().play(place, phase, plan, number, lambda: None)
        return structs.replace(measurement, total_s=0.01), telemetry

    def act(place, command):
        ran.set()

    phases = [Phase(name="warm", run=RESTART, at_s=0.02)]
    windows = replace(phased(Server(), phases), act=act, play=play)
    [told] = windows.run(TURNS[:1], lambda *each: kept.append(each)).values()
    assert "its load ended before" in joined(told.reasons)
    assert kept == []


def test_a_window_is_as_long_as_its_phase_says():
    server = Server()
    phases = [
        Phase(name="first", n_requests=8),
        Phase(name="long", window_s=4.0),
        Phase(name="warm"),
    ]
    phased(server, phases).run(TURNS[:1], lambda *_: None)
    seen = {n: (p.measure_s, p.n_requests, p.tail_s) for n, p in server.plans.items()}
    # A window that requests end is counted, so nothing of it is credited by cycles.
    assert seen == {"first": (0.5, 8, 0.0), "long": (4.0, 0, 2.0), "warm": (0.5, 0, 2.0)}


def test_phases_are_told_by_what_they_saw_over_all_turns():
    latency = HistogramData(
        bounds_ns=(1_000_000, 9_000_000), counts=(30, 10), sum_s=0.1, max_s=0.01
    )
    turn = {
        "cold": PhaseSeen(
            measured_s=0.5,
            measured_completed=38,
            offered=50,
            completed=40,
            errors={"timeout": 10},
            latency=latency,
            cpu_s=0.2,
        ),
    }
    [(name, figures)] = phase_figures([[turn, turn]]).items()
    assert name == "cold"
    assert figures.throughput_per_s == 76
    assert figures.cpu_s_per_request == pytest.approx(0.005)
    assert figures.error_ratio == pytest.approx(0.2)
    assert figures.latency_s["p50"] == 0.001
    # Of the 80 requests of the start both; p99 would be its largest.
    assert figures.start_latency_s == {"p50": (0.001,), "p90": (0.009,), "p95": (0.009,)}


def test_a_phase_has_the_workers_of_its_end():
    server, kept = Server(), []
    workers = TOLD.workers

    def play(*asked):
        measurement, telemetry = server.play(*asked)
        return measurement, structs.replace(telemetry, workers=workers)

    windows = replace(phased(server, [Phase(name="cold"), Phase(name="warm")]), play=play)
    windows.run(TURNS[:1], lambda *each: kept.append(each))
    [(_, _, decides, _)] = kept
    assert phase_figures([[decides.beside]])["cold"].workers == workers


def test_a_start_has_its_own_percentiles_where_it_holds_enough_for_them():
    many = HistogramData(bounds_ns=(1_000_000, 9_000_000), counts=(30, 10), max_s=0.01)
    few = HistogramData(bounds_ns=(2_000_000,), counts=(10,), max_s=0.002)
    assert start_latencies([[many, many], [few], []]) == {
        "p50": (0.001, 0.002, None),
        "p90": (0.009, None, None),
        "p95": (0.009, None, None),
    }


def test_phases_beside_the_one_that_decides_are_credited_with_their_cycles_as_it_is():
    cycles = Cycles(
        credit=7.5, n_users=4, begun=8, begun_right=8, begun_s=2.0, begun_s2=0.5, longest_s=0.3
    )
    server, kept = Server(), []

    def play(*asked):
        measurement, telemetry = server.play(*asked)
        return structs.replace(measurement, cycles=cycles), telemetry

    phases = [Phase(name="cold"), Phase(name="warm")]
    windows = replace(phased(server, phases), play=play)
    windows.run(TURNS[:1], lambda *each: kept.append(each))
    [(_, _, decides, _)] = kept
    figures = phase_figures([[decides.beside]])
    assert figures["cold"].throughput_per_s == decides.throughput_per_s == 15


def test_failures_of_a_phase_that_does_not_decide_break_the_limit_too():
    arm = ArmSummary(
        configuration=Configuration(values={}), phases={"cold": PhaseFigures(error_ratio=0.5)}
    )
    broken = limit_broken(arm, Objective())
    assert broken is not None
    assert "failed in phase cold" in text(broken)
    fine = structs.replace(arm, phases={"cold": PhaseFigures(error_ratio=0.0)})
    assert limit_broken(fine, Objective()) is None
