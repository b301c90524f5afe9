"""What every collector of telemetry must do.

Subclass `CollectorConformance` in a test module and give it a fixture `case`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from msgspec import structs

from httpdyno.model import Telemetry, WorkersSeen
from httpdyno.telemetry.collector import Collector

TOLD = Telemetry(
    cpu_s=123.0,
    pss_bytes=456,
    n_processes=78,
    steal_s=9.0,
    misses_cpu=True,
    swapped_bytes=67,
    uss_bytes=345,
    workers=(
        WorkersSeen(
            program="told",
            n=12,
            median_uss_bytes=21,
            largest_uss_bytes=32,
            youngest_s=4.0,
            median_age_s=5.0,
            oldest_s=6.0,
        ),
    ),
    zombies={"told": 3},
    major_faults=1_234_567,
    swap_ins=89,
    memory_wait_s=45.0,
    n_at_memory_limit=11,
    n_cpu_periods=1300,
    n_throttled=1200,
    throttled_s=140.0,
    lookups=23,
)
"""What others told of a window; no collector happens to tell the same."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectorCase:
    """A collector to try, and a server or a machine for it."""

    make: Callable[[], Collector]
    fields: frozenset[str]
    """The figures of `Telemetry` that are its own."""
    work: Callable[[], None] = lambda: None
    """Has the server do something, and waits until it is done."""
    moved: str = ""
    """The figure that this adds to, by far more than idling does; empty where none can be made
    to move."""
    end: Callable[[], None] = lambda: None
    """Ends the server."""


class CollectorConformance:
    """Needs the fixture `case`, a `CollectorCase`."""

    def test_it_tells_its_own_figures_and_leaves_others_as_they_were(
        self, case: CollectorCase
    ) -> None:
        collector = case.make()
        collector.open()
        seen = collector.close(TOLD, is_last=True)
        changed = {
            name for name in TOLD.__struct_fields__ if getattr(seen, name) != getattr(TOLD, name)
        }
        assert changed == case.fields

    def test_no_figure_is_negative_over_many_windows(self, case: CollectorCase) -> None:
        collector = case.make()
        for _ in range(20):
            collector.open()
            seen = collector.close(Telemetry(cpu_s=0.0), is_last=False)
            assert _is_sound(seen)

    def test_each_window_has_what_happened_in_it_and_no_more(self, case: CollectorCase) -> None:
        collector = case.make()
        collector.open()
        case.work()
        busy = _figure(case, collector.close(TOLD, is_last=False))
        case.work()
        collector.open()
        idle = _figure(case, collector.close(TOLD, is_last=False))
        assert idle < busy / 2 or not case.moved

    def test_two_collectors_of_the_same_server_have_windows_of_their_own(
        self, case: CollectorCase
    ) -> None:
        one, other = case.make(), case.make()
        one.open()
        case.work()
        other.open()
        whole = _figure(case, one.close(TOLD, is_last=False))
        rest = _figure(case, other.close(TOLD, is_last=False))
        assert rest < whole / 2 or not case.moved

    def test_a_server_that_ends_in_a_window_is_no_error(self, case: CollectorCase) -> None:
        collector = case.make()
        collector.open()
        case.work()
        case.end()
        seen = collector.close(TOLD, is_last=True)
        assert _is_sound(seen)
        collector.open()
        collector.close(TOLD, is_last=True)


def _is_sound(seen: Telemetry) -> bool:
    """Whether no figure is negative, what is told of each program's workers included."""
    told = [*structs.astuple(seen), *(n for each in seen.workers for n in structs.astuple(each))]
    return all(value >= 0 for value in told if isinstance(value, int | float))


def _figure(case: CollectorCase, seen: Telemetry) -> float:
    return float(getattr(seen, case.moved)) if case.moved else 0.0
