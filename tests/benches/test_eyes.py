"""The bench of what looking costs: what it says of figures that are known, and one small batch."""

import math
import random
from importlib import import_module

import pytest

from httpdyno.load.plan import CorePlan
from httpdyno.model import Measurement

told = import_module("benches.eyes.told")
watching = import_module("benches.eyes.watcher")
disturbance = import_module("benches.eyes.disturbance")
server = import_module("benches.eyes.server")

SPREAD = (0.9995, 1.0, 1.0005) * 6
N_WORKERS = 2


@pytest.mark.parametrize(
    ("longest_s", "word"), [(2.9, "shown"), (3.0, "shown"), (3.1, "not shown")]
)
def test_of_runs_the_longest_counts(longest_s, word):
    line = told.wall("inspect", [0.5, longest_s, 0.6], [0.4, 0.5, 9.0], most_s=3.0)
    text = f"longest of 3 {longest_s:.2f} s, median 0.60 s with 0.50 s of CPU"
    assert str(line).endswith(f"{text}  at most 3 s: {word}")
    assert line.is_met is (word == "shown")


@pytest.mark.parametrize(
    ("mean", "most", "met"), [(0.016, 0.02, True), (0.01995, 0.02, False), (0.03, 0.02, False)]
)
def test_the_whole_interval_of_a_share_has_to_be_below(mean, most, met):
    ratios = [mean * each**100 for each in SPREAD]
    assert told.share("looks", ratios, most=most).is_met is met
    assert told.share("looks", ratios).is_met
    assert "shown" not in str(told.share("looks", ratios))


@pytest.mark.parametrize(
    ("ratio", "met"), [(1.0, True), (0.9951, False), (1.0049, False), (0.99, False), (1.02, False)]
)
def test_the_whole_interval_of_a_ratio_has_to_be_near(ratio, met):
    line = told.ratio("throughput", [math.log(ratio * each) for each in SPREAD], within=0.005)
    assert line.is_met is met
    assert f"{ratio:.4f} × (" in str(line)
    assert str(line).endswith("within ±0.5%: shown" if met else "within ±0.5%: not shown")


@pytest.mark.parametrize("n", [0, 1])
def test_few_batches_show_nothing(n):
    line = told.ratio("throughput", [0.0] * n, within=0.005)
    assert not line.is_met
    assert f"{n} batches" in str(line)


def test_time_in_which_nobody_looks_does_not_pass():
    rhythm = watching.Rhythm(1.0, 0.75)
    assert rhythm.due_s == math.inf
    looks_s = []
    # Half a second of each: a look is in every second one of the former.
    for began_s in range(10):
        rhythm.go_on(began_s)
        rhythm.go_on(began_s)
        while rhythm.due_s < began_s + 0.5:
            looks_s.append(rhythm.due_s)
            rhythm.looked()
        rhythm.rest(began_s + 0.5)
        rhythm.rest(began_s + 0.75)
    assert looks_s == [1.25, 3.25, 5.25, 7.25, 9.25]


def test_each_pair_has_one_of_each_kind_after_a_first_window_that_does_not_count():
    looks = disturbance.drawn(50, random.Random(1))
    assert looks[0] is False
    pairs = list(zip(looks[1::2], looks[2::2], strict=True))
    assert set(pairs) == {(True, False), (False, True)}
    assert len(pairs) == 50


def window(*, right, cpu_s):
    seen = Measurement(
        opened_s=0.0,
        measured_s=0.5,
        total_s=0.6,
        offered=right + 10,
        completed=right + 10,
        measured_completed=right,
    )
    return disturbance.Window(measured=seen, cpu_s=cpu_s)


def test_a_batch_gives_ratios_of_totals():
    first = window(right=1, cpu_s=9.0)
    on, off = window(right=990, cpu_s=0.51), window(right=1990, cpu_s=1.0)
    logs = disturbance.logs_of([first, on, off, off, on], [False, True, False, False, True])
    assert math.exp(logs.throughput) == pytest.approx(990 / 1990)
    assert math.exp(logs.cost) == pytest.approx(0.51 * 2)


@pytest.mark.real_server("apache2")
@pytest.mark.skipif(server.missing() != "", reason="mod_perl is not installed")
def test_windows_of_a_real_server_are_looked_at():
    shape = disturbance.Shape(
        n_pairs=2, window_s=0.05, connections=2, cores=CorePlan(), before_s=0.1
    )
    draw = random.Random(1)
    with server.apache(N_WORKERS) as running:
        with watching.watcher_beside(running.pid, every_s=0.02) as watcher:
            seen = [disturbance.watched(running, watcher, shape, draw)]
        seen.append(disturbance.looked_before(running, shape, draw))
    # It is due when the first window that is watched begins.
    assert watcher.n_looks >= 1
    assert watcher.cpu_s > 0
    assert all(math.isfinite(each.throughput) and math.isfinite(each.cost) for each in seen)
