"""The smallest requests over loopback: answered, counted, and nothing left behind."""

import gc
import os
from pathlib import Path

import pytest

from httpdyno.errors import EngineError
from httpdyno.load import loopback
from httpdyno.load.loopback import loopback_requests_per_s

FILES = Path("/proc/self/fd")


def children() -> str:
    """Return the children of all threads of this process."""
    return " ".join(p.read_text() for p in Path("/proc/self/task").glob("*/children")).strip()


def test_they_are_answered_and_nothing_is_left():
    gc.collect()  # what tests before left to be taken away goes now, and not meanwhile
    files, before = len([*FILES.iterdir()]), children()
    assert 1 < loopback_requests_per_s() < 1e8
    assert (len([*FILES.iterdir()]), children()) == (files, before)


def test_where_the_engine_fails_nothing_is_left_either(monkeypatch):
    def fail(_address: str, n: int) -> float:
        assert n == len(os.sched_getaffinity(0))
        raise EngineError("no")

    monkeypatch.setattr(loopback, "_measured", fail)
    before = children()
    with pytest.raises(EngineError):
        loopback_requests_per_s()
    assert children() == before
