"""From which phase after an event on a server answers as it does later."""

import pytest
from tests.rows import each_row

from httpdyno.advice.phase import after_event, settling
from httpdyno.model import ArmSummary, Configuration, Method, Phase, PhaseFigures

NAMES = ("first", "second", "third", "later")


def method(*, decides="first", **changes):
    """Return one with four seconds after a restart; changes by the names of its phases."""
    phases = [
        Phase(name=name, run=("restart",) if name == "first" else (), **changes.get(name, {}))
        for name in NAMES
    ]
    return Method(phases=tuple(phases), decides=decides, window_s=1.0)


def arm(**latencies):
    """Return an arm with the p90 of each start's phases; that of `first` decides."""
    return ArmSummary(
        configuration=Configuration(),
        start_latency_s={"p90": tuple(latencies.pop("first"))},
        phases={
            name: PhaseFigures(start_latency_s={"p90": tuple(each)})
            for name, each in latencies.items()
        },
    )


def starts(of_last, *, spread=0.0):
    """Return p90 latencies of eight starts; they differ by that share."""
    return [0.01 * of_last * (1 + spread * (number % 3 - 1)) for number in range(8)]


def found(metric="latency_p90_s", of=None, **latencies):
    return settling(of or method(), metric, arm(**latencies), 0.95)


def test_it_is_the_phase_from_which_on_all_are_near_the_last():
    told = found(first=starts(9.0), second=starts(1.05), third=starts(0.7), later=starts(1.0))
    assert (told.percentile, told.last, told.n_starts) == ("p90", "later", 8)
    assert told.settled == told.earliest == told.latest == "second"
    assert told.after_s("second") == 1.0
    assert [each.ratio for each in told.phases] == pytest.approx([9.0, 1.05, 0.7])


def test_one_that_was_near_before_a_slow_one_does_not_count():
    told = found(first=starts(1.0), second=starts(2.0), third=starts(1.0), later=starts(1.0))
    assert told.settled == "third"


def test_where_not_even_the_last_but_one_is_near_none_is():
    told = found(first=starts(9.0), second=starts(3.0), third=starts(1.2), later=starts(1.0))
    assert (told.settled, told.latest, told.end_s) == (None, None, 3.0)


def test_the_spread_over_starts_bounds_it_from_both_sides():
    told = found(
        first=starts(9.0),
        second=starts(1.2, spread=0.2),
        third=starts(1.0, spread=0.2),
        later=starts(1.0),
    )
    assert (told.earliest, told.settled, told.latest) == ("second", "third", None)


def test_one_start_has_no_spread():
    told = found(first=[0.09], second=[0.01], third=[0.01], later=[0.01])
    assert (told.earliest, told.settled, told.latest) == ("first", "second", None)


def test_a_phase_in_which_a_start_was_not_answered_is_not_near():
    gone = [None, *starts(1.0)[1:]]
    told = found(first=starts(1.0), second=starts(1.0), third=gone, later=starts(1.0))
    assert (told.settled, told.phases[2].ratio) == (None, None)
    # Nor is anything known where the last has none; starts that have it are counted.
    assert found(first=gone, second=gone, third=gone, later=[None] * 8) is None
    assert found(first=gone, second=gone, third=gone, later=gone).n_starts == 7


def test_of_another_metric_it_is_the_p90():
    near = {name: starts(1.0) for name in NAMES}
    assert found("cpu_s_per_request", **near).percentile == "p90"
    # The starts hold too few requests for it.
    assert found("latency_p99_s", **near) is None


@each_row(
    ("changes", "n"),
    [
        ({}, 4),
        ({"first": {"pause_s": 1.0}, "later": {"pause_s": 1.0}}, 4),
        # An event within a window: what follows it whole.
        ({"first": {"at_s": 0.5}}, 3),
        ({"second": {"pause_s": 1.0}}, 0),
        ({"third": {"window_s": 2.0}}, 0),
        ({"third": {"rate_per_s": 2.0}}, 0),
        ({name: {"n_requests": 8} for name in NAMES}, 0),
    ],
)
def test_phases_are_told_where_they_are_of_one_load_after_an_event(changes, n):
    assert len(after_event(method(**changes))) == n


def test_without_an_event_or_with_two_phases_after_it_there_is_nothing_to_tell():
    phases = method().phases
    assert not after_event(Method())
    assert not after_event(Method(phases=phases[1:]))
    assert not after_event(Method(phases=(phases[0], phases[-1])))
