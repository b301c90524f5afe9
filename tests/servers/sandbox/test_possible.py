import errno
from pathlib import Path

import pytest
from tests.rows import each_row

from httpdyno.reason import because
from httpdyno.report.shared.message import text
from httpdyno.servers.sandbox import available, holder, landlock_rules, mount
from httpdyno.servers.sandbox.namespace import step_failed

NO_CELL = because("sandbox.no_cell", why=because("sandbox.is_container"))
NO_WALL = because("sandbox.no_wall", why=because("sandbox.is_container"))


@pytest.fixture(autouse=True)
def not_remembered():
    available._tried.cache_clear()
    yield
    available._tried.cache_clear()


def test_what_is_tried_is_what_the_kernel_has():
    assert (available.wall_complaint() is None) == bool(landlock_rules.version())


def test_trying_leaves_no_mount():
    before = Path("/proc/self/mountinfo").read_text()
    available.possible()
    assert Path("/proc/self/mountinfo").read_text() == before


@pytest.mark.parametrize(
    ("cell", "wall", "answer"),
    [
        (None, None, ("cell", None)),
        (NO_CELL, None, ("wall", NO_CELL)),
        (NO_CELL, NO_WALL, ("", because("sandbox.neither", cell=NO_CELL, wall=NO_WALL))),
    ],
)
def test_the_safest_that_can_be_had_is_said_and_why_no_safer(monkeypatch, cell, wall, answer):
    monkeypatch.setattr(available, "cell_complaint", lambda: cell)
    monkeypatch.setattr(available, "wall_complaint", lambda: wall)
    assert available.possible() == answer


def test_a_kernel_that_refuses_is_quoted(monkeypatch):
    said = holder.written(mount.failed(errno.EPERM, "make_namespaces"))
    refuses = f"import sys; sys.stdout.write({said!r}); sys.exit(1)"
    monkeypatch.setattr(available, "_PROGRAM", refuses)
    complaint = available.cell_complaint()
    assert complaint is not None
    words = "a cell cannot make namespaces: Operation not permitted"
    assert text(complaint).startswith(words)


@each_row(
    ("error", "words"),
    [
        (mount.failed(errno.EPERM, "clone", "/srv"), "cannot clone /srv: Operation not permitted"),
        (
            mount.failed(errno.EINVAL, mount.SHOW_OWNERS, "zfs"),
            "cannot show owners of zfs at / as others: Invalid argument",
        ),
        (OSError(errno.ENOSPC, "full", "/proc/x_y"), "cannot reach /proc/x_y: full"),
        (OSError(errno.ENOSPC, "full"), "cannot be made: full"),
    ],
)
def test_what_failed_is_handed_on_by_the_one_who_holds_it(error, words):
    assert text(step_failed(holder.written(error).split("\0"))) == words
