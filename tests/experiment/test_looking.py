"""Servers looked at in windows that warm up: when, for how long, and whose figures are added."""

import time
from threading import Event

from msgspec import structs
from tests.rows import each_row

from httpdyno.advice.bottleneck import bottleneck
from httpdyno.experiment.trial.look import WindowLooks, wants_longer, with_client
from httpdyno.load.message import WindowPlan
from httpdyno.model import Evidence, Look, Measurement, RequestSpec, Workload
from httpdyno.model.workload import Constant
from httpdyno.report.shared.message import text

DEADLINE_S = 10.0
SEEN = Look(seconds=0.5, n_samples=9)
CLOSED = Workload(requests=(RequestSpec(path="/"),), connections=2)


class Onlooking:
    """An onlooker that notes when it was asked."""

    def __init__(self) -> None:
        self.times_s: list[float] = []
        self.is_looking = Event()

    def start(self):
        self.times_s.append(time.monotonic())
        self.is_looking.set()

    def stop(self):
        self.times_s.append(time.monotonic())
        return SEEN


def planned(*lasting_s):
    return [WindowPlan(arm=n, lead_in_s=0.0, measure_s=s) for n, s in enumerate(lasting_s)]


def measured():
    return Measurement(
        opened_s=0.0,
        measured_s=1.0,
        total_s=2.0,
        offered=70,
        completed=60,
        measured_completed=40,
        limited_by="server",
        client_cpu_s=0.4,
        evidence=Evidence(
            busy_connections=7.5,
            offered_per_s=45.0,
            client_wait_ratio=0.25,
            client_frozen_ratio=0.125,
            client_throttled_ratio=0.25,
        ),
    )


def test_it_looks_within_the_window_and_not_at_its_beginning():
    onlooker = Onlooking()
    looks = WindowLooks([None, onlooker], planned(0.2, 0.2))
    looks.on_edge(0, is_opening=True)
    looks.on_edge(0, is_opening=False)
    assert onlooker.times_s == []
    began_s = time.monotonic()
    looks.on_edge(1, is_opening=True)
    assert onlooker.is_looking.wait(DEADLINE_S)
    looks.on_edge(1, is_opening=False)
    started_s, stopped_s = onlooker.times_s
    assert started_s >= began_s + 0.05
    assert stopped_s > started_s
    assert looks.of(0, measured(), CLOSED) is None
    assert looks.of(1, measured(), CLOSED) is not None


def test_a_window_that_ends_before_it_began_to_look_has_no_look():
    onlooker = Onlooking()
    looks = WindowLooks([onlooker], planned(600.0))
    looks.on_edge(0, is_opening=True)
    looks.on_edge(0, is_opening=False)
    assert onlooker.times_s == []
    assert looks.of(0, measured(), CLOSED) is None


def test_nobody_looks_on_when_the_load_was_cut_short():
    onlooker = Onlooking()
    looks = WindowLooks([onlooker], planned(0.1))
    looks.on_edge(0, is_opening=True)
    assert onlooker.is_looking.wait(DEADLINE_S)
    looks.end_all()
    assert len(onlooker.times_s) == 2


class Broken(Onlooking):
    def stop(self):
        raise OSError("no more files")


def test_what_could_not_be_seen_ends_nothing_and_is_told():
    onlooker = Broken()
    looks = WindowLooks([onlooker], planned(0.1))
    looks.on_edge(0, is_opening=True)
    assert onlooker.is_looking.wait(DEADLINE_S)
    looks.on_edge(0, is_opening=False)
    look = looks.of(0, measured(), CLOSED)
    assert look is not None
    found = bottleneck(look)
    assert found.limit == "unknown"
    assert "no more files" in text(found.reason)


def test_a_look_is_told_what_only_the_client_knows():
    look = with_client(SEEN, measured(), CLOSED)
    assert look == Look(
        seconds=0.5,
        n_samples=9,
        answers=20.0,
        clients=7.5,
        client_cpu_s=0.1,
        client_lost_ratio=0.5,
        client_limit="server",
    )
    scheduled = Workload(requests=CLOSED.requests, arrival=Constant(rate_per_s=45.0))
    assert with_client(SEEN, measured(), scheduled).offered == 22.5


@each_row(
    ("seen", "is_longer"),
    [
        ({"workers": 5.0}, False),
        ({"workers": 0.2}, True),
        ({"workers": 5.0, "deaths": 3}, True),
        ({"workers": 5.0, "births": 2, "deaths": 2}, True),
        # A process for each answer: CGI.
        ({"workers": 5.0, "births": 100, "deaths": 100}, False),
        # Too few to say anything: of hundreds of workers one takes milliseconds.
        ({"workers": 200.0, "n_samples": 4}, True),
        ({"workers": 200.0, "n_samples": 5}, False),
        # All have ended and wait until their parent looks: a part of its second.
        ({"workers": 5.0, "doing": {"zombie": 5.0}}, True),
        ({"workers": 5.0, "doing": {"zombie": 0.2}}, False),
        ({"workers": 5.0, "doing": {"zombie": 2.0}, "births": 100, "deaths": 100}, False),
    ],
)
def test_a_pool_that_changes_by_a_clock_wants_a_longer_look(seen, is_longer):
    assert wants_longer(structs.replace(SEEN, answers=100.0, **seen)) == is_longer
