"""What somebody sees while a load test goes on, and how it ends when somebody asks."""

import io
import os
import signal

import pytest
from rich.console import Console
from tests.report.sample_figures import latency_data

from httpdyno.cli.load.progress import LoadProgress, watch
from httpdyno.errors import EngineError
from httpdyno.host.interruption import interruptions
from httpdyno.model import HistogramData, LiveLoad, Measurement

WHAT = "loading http://h/ over 50 connections"
MEASUREMENT = Measurement(opened_s=0.0, measured_s=1.0, total_s=1.0, offered=0, completed=0)


class Clock:
    """Stands until it is moved."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def snapshot(elapsed_s, completed, *, errors=0, in_flight=50, latency=None):
    return LiveLoad(
        elapsed_s=elapsed_s,
        offered=completed + errors + in_flight,
        completed=completed,
        errors=errors,
        in_flight=in_flight,
        latency=latency or HistogramData(),
    )


def terminal(width=80):
    return Console(file=io.StringIO(), force_terminal=True, width=width, highlight=False)


def lines(progress, width=80):
    """Return what stands on the terminal, as plain lines."""
    plain = Console(file=io.StringIO(), width=width)
    with plain.capture() as capture:
        plain.print(progress.shown())
    return capture.get().splitlines()


def test_a_terminal_shows_rate_percentiles_errors_and_the_time_left():
    clock = Clock()
    with LoadProgress(terminal(), WHAT, 10.0, clock=clock) as progress:
        clock.now_s += 4.0
        latency = latency_data(0.004, 0.3, 5000)
        progress.show(snapshot(3.0, 3000, latency=latency))
        progress.show(snapshot(4.0, 5000, errors=1, latency=latency))
        first, second = lines(progress)
    assert first.endswith(f"{WHAT}  4 s, 6 s left")
    assert second == "  2,000/s  5,000 completed  p50 4.00 ms  p99 8.03 ms  1 error  50 in flight"


def test_the_rate_is_that_of_the_last_second():
    with LoadProgress(terminal(), WHAT, 10.0, clock=Clock()) as progress:
        for i in range(41):
            progress.show(snapshot(i / 4, 1000 * i if i < 20 else 20_000))
        assert lines(progress)[1].startswith("  0/s  20,000 completed")


def test_percentiles_that_few_requests_cannot_carry_are_not_shown():
    with LoadProgress(terminal(), WHAT, 10.0, clock=Clock()) as progress:
        progress.show(snapshot(1.0, 90, latency=latency_data(0.004, 0.3, 90)))
        second = lines(progress)[1]
    assert "p50 3.99 ms" in second
    assert "p99" not in second


def test_before_the_first_answer_it_says_so():
    with LoadProgress(terminal(), WHAT, 10.0, clock=Clock()) as progress:
        assert lines(progress)[1] == "  connecting"


def test_a_number_of_requests_has_a_time_left_too():
    clock = Clock()
    with LoadProgress(terminal(), WHAT, n_requests=10_000, clock=clock) as progress:
        clock.now_s += 2.0
        progress.show(snapshot(1.0, 1000))
        progress.show(snapshot(2.0, 2000))
        assert lines(progress)[0].endswith("2 s, 8 s left")


def test_the_nearer_end_counts():
    clock = Clock()
    with LoadProgress(terminal(), WHAT, 5.0, n_requests=10_000, clock=clock) as progress:
        clock.now_s += 2.0
        progress.show(snapshot(1.0, 1000))
        progress.show(snapshot(2.0, 2000))
        assert lines(progress)[0].endswith("2 s, 3 s left")


def test_after_the_end_it_waits_for_the_last_answers():
    clock = Clock()
    with LoadProgress(terminal(), WHAT, 5.0, clock=clock) as progress:
        clock.now_s += 6.2
        assert lines(progress)[0].endswith("6 s, waiting for the last answers")


@pytest.mark.parametrize("width", [20, 40, 80])
def test_there_are_two_lines_at_any_width(width):
    with LoadProgress(terminal(width), WHAT, 10.0, clock=Clock()) as progress:
        progress.show(snapshot(1.0, 10**9, errors=10**9, latency=latency_data(0.1, 1.0, 5000)))
        assert len(lines(progress, width)) == 2


def test_a_log_gets_a_plain_line_every_few_seconds():
    clock, text = Clock(), io.StringIO()
    console = Console(file=text, force_terminal=False)
    with LoadProgress(console, "loading [x]", 20.0, clock=clock) as progress:
        for i in range(1, 61):
            clock.now_s += 0.25
            progress.show(snapshot(i / 4, 100 * i))
    assert text.getvalue().splitlines() == [
        "loading [x]",
        "5 s, 15 s left: 400/s, 2,000 completed, 0 errors, 50 in flight",
        "10 s, 10 s left: 400/s, 4,000 completed, 0 errors, 50 in flight",
        "15 s, 5 s left: 400/s, 6,000 completed, 0 errors, 50 in flight",
    ]


def test_a_short_load_into_a_log_is_one_line():
    text = io.StringIO()
    with LoadProgress(Console(file=text, force_terminal=False), WHAT, 1.0) as progress:
        progress.show(None)
        progress.show(snapshot(1.0, 10))
    assert text.getvalue() == f"{WHAT}\n"


class Handle:
    """A run that ends after so many looks, or when it is stopped."""

    def __init__(self, n_looks, *, stops=True):
        self.n_left = n_looks
        self.stops = stops
        self.was_stopped = False

    def wait(self, timeout_s):
        self.n_left -= 1
        return self.n_left < 0 or (self.was_stopped and self.stops)

    def stop(self):
        self.was_stopped = True

    def live(self):
        return snapshot(1.0, 5)

    def measurements(self):
        return [MEASUREMENT] if self.wait(0) else []

    def entrances(self):
        return {}


@pytest.fixture
def shown():
    return LoadProgress(Console(file=io.StringIO(), force_terminal=False), WHAT)


def test_what_users_do_first_takes_none_of_the_time():
    clock = Clock()
    progress = LoadProgress(
        terminal(), WHAT, 10.0, before="users do their first steps", clock=clock
    )
    clock.now_s += 12.0
    assert "users do their first steps" in lines(progress)[1]
    assert "left" not in lines(progress)[0]
    clock.now_s += 3.0
    progress.show(snapshot(2.0, 100))
    assert "8 s left" in lines(progress)[0]


def test_a_warm_up_is_no_part_of_what_is_shown_or_measured():
    class Warming(Handle):
        def measurements(self):
            return ["warm-up", MEASUREMENT] if self.wait(0) else []

        def live(self):
            raise AssertionError("nothing is measured yet")

    progress = LoadProgress(terminal(), WHAT, before="warming up")
    assert watch(Warming(3), progress, [], n_before=1) is MEASUREMENT


def test_an_end_during_the_warm_up_leaves_nothing_that_was_measured(shown):
    with pytest.raises(KeyboardInterrupt):
        watch(Handle(10**9), shown, [signal.SIGINT], n_before=1)


def test_watching_ends_with_what_was_measured(shown):
    handle = Handle(3)
    assert watch(handle, shown, []) is MEASUREMENT
    assert not handle.was_stopped


def test_who_asks_for_an_end_gets_what_was_measured_so_far(shown):
    handle = Handle(10**9)
    assert watch(handle, shown, [signal.SIGINT]) is MEASUREMENT
    assert handle.was_stopped


def test_an_engine_that_does_not_stop_is_an_error(shown):
    with pytest.raises(EngineError, match="did not stop"):
        watch(Handle(10**9, stops=False), shown, [signal.SIGINT])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_collected_and_the_handler_put_back(number):
    before = signal.getsignal(number)
    with interruptions() as seen:
        os.kill(os.getpid(), number)
        assert seen == [number]
    assert signal.getsignal(number) is before


def test_a_signal_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup
    try:
        with interruptions() as seen:
            os.kill(os.getpid(), signal.SIGHUP)
        assert seen == []
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_snapshots_are_taken_a_few_times_a_second(shown):
    """Each costs the engine's threads something."""
    looks: list[float] = []
    taken: list[float] = []

    class Slow(Handle):
        def wait(self, timeout_s):
            looks.append(timeout_s)
            return super().wait(timeout_s)

        def live(self):
            taken.append(sum(looks))
            return super().live()

    watch(Slow(40), shown, [], clock=lambda: sum(looks))
    assert sum(looks) == pytest.approx(2.0, abs=0.11)
    assert len(taken) == pytest.approx(8, abs=1)
