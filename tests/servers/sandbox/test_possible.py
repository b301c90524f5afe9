from pathlib import Path

import pytest

from httpdyno.servers.sandbox import available, landlock_rules


@pytest.fixture(autouse=True)
def not_remembered():
    available._tried.cache_clear()
    yield
    available._tried.cache_clear()


def test_what_is_tried_is_what_the_kernel_has():
    assert (available.wall_complaint() == "") == bool(landlock_rules.version())


def test_trying_leaves_no_mount():
    before = Path("/proc/self/mountinfo").read_text()
    available.possible()
    assert Path("/proc/self/mountinfo").read_text() == before


@pytest.mark.parametrize(
    ("cell", "wall", "answer"),
    [
        ("", "", ("cell", "")),
        ("a cell cannot", "", ("wall", "a cell cannot")),
        ("a cell cannot", "a wall cannot", ("", "a cell cannot, and a wall cannot")),
    ],
)
def test_the_safest_that_can_be_had_is_said_and_why_no_safer(monkeypatch, cell, wall, answer):
    monkeypatch.setattr(available, "cell_complaint", lambda: cell)
    monkeypatch.setattr(available, "wall_complaint", lambda: wall)
    assert available.possible() == answer


def test_a_kernel_that_refuses_is_quoted(monkeypatch):
    refuses = "import sys; print('cannot make namespaces: Operation not permitted'); sys.exit(1)"
    monkeypatch.setattr(available, "_TRY", refuses)
    words = "a cell cannot make namespaces: Operation not permitted"
    assert available.cell_complaint().startswith(words)
