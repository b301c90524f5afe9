"""The load engine against a few hostile origins; all of them are in the bench."""

import subprocess
import sys
from pathlib import Path

import pytest
from benches.faults import hostile_origin
from benches.faults.hostile_origin import KINDS, SIZES
from benches.faults.origins import MOST_BYTES, loaded

_AMPLE_S = 20.0
"""The bench holds the bound itself; this tells an end from none on any machine."""


@pytest.mark.parametrize(
    ("kind", "size"),
    [("chunks without end", 1), ("answers nobody asked for", 100), ("dripping head", 1)],
)
def test_a_hostile_origin_holds_nobody_up(kind, size):
    load = loaded(kind, size)
    assert not load.complaint
    assert load.took_s < _AMPLE_S


def test_its_memory_is_not_that_of_who_looks():
    ballast = b"x" * (2 * MOST_BYTES)
    assert 0 < loaded("garbage", 1).resident_bytes < len(ballast)


def test_an_origin_ends_with_its_standard_input():
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(Path(hostile_origin.__file__)), "garbage", "1"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_AMPLE_S,
        check=False,
    )
    assert done.returncode == 0
    assert int(done.stdout) > 0
    assert len(KINDS) * len(SIZES) == 96
