"""Logs in a cell: a file that a server appends to at each request is written past the overlay."""

import os

import pytest
from tests.isolation import not_safest

from httpdyno.host.rights import (
    is_root_of_the_machine,
)
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.sandbox.available import possible
from httpdyno.servers.sandbox.namespace import CellSeat, open_cell
from httpdyno.servers.sandbox.sandbox import CellWish

pytestmark = pytest.mark.skipif(possible()[0] != "cell", reason=not_safest() or "cells can be had")

ENVIRONMENT = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
NOBODY = 65534


def test_a_log_is_written_past_its_layers_and_nowhere_else(own_folders):
    folder = own_folders / "site"
    folder.joinpath("deep").mkdir(parents=True)
    log, unused, missing = folder / "deep" / "access.log", folder / "unused.log", folder / "new.log"
    for each in (log, unused):
        each.write_text("as found\n")
    log.chmod(0o640)
    if is_root_of_the_machine():
        os.chown(log, NOBODY, NOBODY)
    before = log.stat()
    script = (
        f"stat -c '%s %a %u' {log}; echo one >> {log}; cat {log}; stat -f -c %T {log} {folder};"
        f"touch {missing}"
    )
    wish = CellWish(writes=[str(folder)], logs=[*map(str, (log, unused, missing, folder / "deep"))])
    with new_run_root() as root:
        seat = open_cell(root.new_place("cell"), wish)
        assert isinstance(seat, CellSeat), seat
        try:
            said = seat.run(["/bin/sh", "-c", script], environment=ENVIRONMENT)
            written = seat.written()
        finally:
            seat.close()
    first, line, of_log, of_folder = said.output.splitlines()
    assert (first, line) == (f"0 640 {before.st_uid}", "one")
    assert of_log != of_folder == "overlayfs"
    assert log.read_text() == "as found\n"
    after = log.stat()
    assert (after.st_mtime_ns, after.st_mode) == (before.st_mtime_ns, before.st_mode)
    assert not missing.exists()
    assert written == tuple(sorted(map(str, (log, missing))))
