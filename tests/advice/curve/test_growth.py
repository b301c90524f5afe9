"""A leak is told from unsharing, fragmentation and jumps, with workers as the unit."""

from typing import Any

import numpy as np
import pytest
from tests.advice.curve.aged import MIB, PAGE, aged
from tests.rows import each_row
from tests.words import words

from httpdyno.advice.curve_fit import LEAST_LEAK_BYTES, Life, growth

KIB = 1024
N_RUNS = 20
MALLOC_STEP = 132 * KIB
"""By which glibc's heap grows."""
LEAK_FREE: dict[str, dict[str, Any]] = {
    "nothing": {},
    "unshares": {"unshared": 20.0 * MIB},
    # As straight as a leak until it bends, which it does not here.
    "unshares slowly": {"unshared": 20.0 * MIB, "n_scale": 20_000.0},
    "fragments": {"made": 200e3},
    "in steps of malloc": {"unshared": 5.0 * MIB, "made": 200e3, "step": MALLOC_STEP},
}


def grown(lives):
    return growth(lives)


@pytest.mark.parametrize("kind", LEAK_FREE)
@pytest.mark.parametrize("n_workers", [2, 4, 16])
def test_what_does_not_leak_is_never_said_to(kind, n_workers):
    rng = np.random.default_rng(7)
    runs = [grown(aged(rng, n_workers=n_workers, **LEAK_FREE[kind])) for _ in range(N_RUNS)]
    assert [run.reason for run in runs if run.verdict == "leak"] == []


@pytest.mark.parametrize("step", [PAGE, MALLOC_STEP])
@pytest.mark.parametrize("others", [{}, {"unshared": 20.0 * MIB}, {"made": 20e3}])
def test_a_leak_of_a_kibibyte_is_found_with_an_interval_that_holds_it(step, others):
    rng = np.random.default_rng(8)
    runs = [grown(aged(rng, leak=KIB, step=step, **others)) for _ in range(N_RUNS)]
    assert {run.verdict for run in runs} == {"leak"}
    # Fragmentation adds 20 kB × ln(5) over the run to it, some 10 bytes a request.
    held = [run.late_low_bytes <= KIB <= run.late_high_bytes for run in runs]
    assert sum(held) >= N_RUNS - 1
    assert all(run.late_high_bytes - run.late_low_bytes < KIB for run in runs)


@each_row("leak", [40.0, 160.0, 250.0])
def test_what_leaves_less_than_matters_is_no_leak_however_well_it_is_known(leak):
    rng = np.random.default_rng(16)
    runs = [grown(aged(rng, leak=leak, n_requests=30_000)) for _ in range(5)]
    assert {run.verdict for run in runs} <= {"flat", "growing"}
    assert leak > 200 or {run.verdict for run in runs} == {"flat"}
    assert all(leak <= run.late_high_bytes <= 1.2 * leak for run in runs)


def test_too_short_a_look_at_a_leak_asks_for_more_requests():
    rng = np.random.default_rng(9)
    short = grown(aged(rng, leak=KIB, step=MALLOC_STEP, n_requests=150))
    assert short.verdict in {"cannot_tell", "growing"}
    assert short.more_requests > 0


def test_what_is_flat_says_above_what_nothing_is_left():
    found = grown(aged(np.random.default_rng(10)))
    assert found.verdict == "flat"
    assert found.late_high_bytes <= LEAST_LEAK_BYTES
    assert "none above" in words(found.reason)


def test_one_worker_has_no_interval():
    found = grown(aged(np.random.default_rng(11), n_workers=1, leak=KIB))
    assert found.verdict == "cannot_tell"
    assert "over workers" in words(found.reason)
    assert found.late_low_bytes is None


def test_nobody_served():
    assert grown([]).verdict == "cannot_tell"


def test_unsharing_has_its_size_and_scale():
    found = grown(aged(np.random.default_rng(12), unshared=20.0 * MIB, n_scale=100))
    curve = found.curve
    assert curve.rise_bytes == pytest.approx(20 * MIB, rel=0.02)
    assert curve.n_scale == pytest.approx(100, rel=0.1)
    assert curve.rise_low_bytes <= curve.rise_bytes <= curve.rise_high_bytes
    assert curve.at(0) == pytest.approx(MIB, rel=0.5)
    assert curve.at(10_000) == pytest.approx(21 * MIB, rel=0.03)
    assert curve.n_risen == pytest.approx(300, rel=0.1)


def test_a_leak_beside_unsharing_is_in_the_curve():
    found = grown(aged(np.random.default_rng(13), unshared=20.0 * MIB, leak=KIB))
    assert found.curve.leak_bytes == pytest.approx(KIB, rel=0.1)
    assert found.curve.rise_bytes == pytest.approx(20 * MIB, rel=0.05)


def test_unsharing_that_has_not_bent_has_no_curve():
    rng = np.random.default_rng(14)
    assert grown(aged(rng, unshared=20.0 * MIB, n_scale=20_000)).curve is None


def test_what_was_measured_by_hand_is_unsharing():
    # A child with 20 MB preloaded of which each request writes to 50 random places.
    n = [0, 10, 25, 60, 100, 150, 250, 350, 450, 525]
    own = [0.35 + 20.1 * -np.expm1(-each / 50) for each in n]
    life = Life(
        n_requests=n,
        private_bytes=[each * 1e6 for each in own],
        resident_bytes=[26e6] * len(n),
    )
    found = grown([life, life, life])
    assert found.verdict == "flat"
    assert found.curve.at(525) == pytest.approx(20.4e6, rel=0.02)
    assert found.curve.at(0) == pytest.approx(0.35e6, abs=0.1e6)


def test_one_jump_in_all_workers_is_no_leak():
    rng = np.random.default_rng(15)
    lives = aged(rng)
    jumped = [
        Life(
            n_requests=each.n_requests,
            private_bytes=[
                own + 2 * MIB * (n > 2200)
                for n, own in zip(each.n_requests, each.private_bytes, strict=True)
            ],
            resident_bytes=[
                own + 2 * MIB * (n > 2200)
                for n, own in zip(each.n_requests, each.resident_bytes, strict=True)
            ],
        )
        for each in lives
    ]
    assert grown(jumped).verdict != "leak"
