"""Cells for tests, made for real."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.sandbox.namespace import CellSeat, open_cell
from httpdyno.servers.sandbox.sandbox import CellWish

ENVIRONMENT = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
DEADLINE_S = 10.0


def wait_until(condition):
    deadline_s = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


@contextmanager
def made_cells() -> Iterator[Callable[..., CellSeat]]:
    """Make cells, and end all of them."""
    made = []
    with new_run_root() as root:

        def cell(**wish):
            seat = open_cell(root.new_place("cell"), CellWish(**wish))
            assert isinstance(seat, CellSeat), seat
            made.append(seat)
            return seat

        yield cell
        for seat in made:
            seat.close()


def said_by(seat, program, *arguments):
    """Run a Python program in the seat; return what it prints as JSON."""
    command = [sys.executable, "-I", "-S", "-c", program, *arguments]
    said = seat.run(command, environment=ENVIRONMENT)
    assert said.exit_code == 0, said.errors
    return json.loads(said.output)
