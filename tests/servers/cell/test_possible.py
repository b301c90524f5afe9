from pathlib import Path

import pytest

from httpdyno.servers.cell import landlock, possible


@pytest.fixture(autouse=True)
def not_remembered():
    possible._tried.cache_clear()
    yield
    possible._tried.cache_clear()


def test_what_is_tried_is_what_the_kernel_has():
    assert (possible.wall_complaint() == "") == bool(landlock.version())


def test_trying_leaves_no_mount():
    before = Path("/proc/self/mountinfo").read_text()
    possible.possible()
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
    monkeypatch.setattr(possible, "cell_complaint", lambda: cell)
    monkeypatch.setattr(possible, "wall_complaint", lambda: wall)
    assert possible.possible() == answer


def test_a_kernel_that_refuses_is_quoted(monkeypatch):
    refuses = "import sys; print('cannot make namespaces: Operation not permitted'); sys.exit(1)"
    monkeypatch.setattr(possible, "_TRY", refuses)
    words = "a cell cannot make namespaces: Operation not permitted"
    assert possible.cell_complaint().startswith(words)
