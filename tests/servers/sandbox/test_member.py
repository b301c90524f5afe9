"""What runs in a cell: as whom, with which rights, and how it ends."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.isolation import not_safest
from tests.servers.sandbox.cells import DEADLINE_S, ENVIRONMENT, made_cells, said_by, wait_until

from httpdyno.errors import AdapterError
from httpdyno.host.rights import (
    is_root_of_the_machine,
)
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.sandbox.available import possible
from httpdyno.servers.sandbox.landlock import WallSeat

pytestmark = pytest.mark.skipif(possible()[0] != "cell", reason=not_safest() or "cells can be had")


@pytest.fixture
def cells():
    with made_cells() as made:
        yield made


@pytest.mark.real_server("setpriv")
def test_a_member_runs_as_its_user_with_its_limits_and_still_ends_with_its_keeper(cells):
    seat = cells()
    process = seat.spawn(
        ["sh", "-c", "pwd; ulimit -Sn; ulimit -Hn; exec setpriv --dump"],
        environment=ENVIRONMENT,
        folder="/usr",
        user="nobody",
        log=seat.folder / "log",
        limits={"NOFILE": (100, 200)},
    )
    assert process.wait(DEADLINE_S)
    words = process.first_words()
    process.stop()
    assert words.startswith("/usr\n100\n200\nuid: 65534\neuid: 65534\ngid: 65534\negid: 65534\n")
    assert "Supplementary groups: 65534\n" in words
    assert "Parent death signal: term\n" in words.lower().replace("parent", "Parent")


@pytest.mark.skipif(not is_root_of_the_machine(), reason="only root may become another user")
@pytest.mark.parametrize(
    ("user", "ids"), [("", "0 0"), ("nobody", "65534 65534"), ("65533", "65533 65534")]
)
@pytest.mark.parametrize("kind", ["cell", "open"])
def test_a_probe_runs_as_the_user_of_its_member(cells, kind, user, ids):
    with new_run_root() as root:
        seat = cells() if kind == "cell" else WallSeat(root.new_place("open"), "open")
        command = ["sh", "-c", "echo $(id -u) $(id -g)"]
        said = seat.run(command, environment=ENVIRONMENT, user=user)
    assert (said.exit_code, said.output) == (0, f"{ids}\n")


RIGHTS = """
import ctypes, errno, json, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def tried(result):
    return errno.errorcode.get(ctypes.get_errno(), "") if result else "done"
name = socket.gethostname().encode()
print(json.dumps({
    "remount": tried(libc.mount(b"none", b"/", None, ctypes.c_ulong(0x1020), None)),
    "name": tried(libc.sethostname(name, len(name))),
    "device": tried(libc.mknod(b"/tmp/device", 0o20600, 0x103)),
    "leave": tried(libc.unshare(0x20000)),
    "owner": os.geteuid(),
    "becomes": tried(libc.setuid(65534)),
}))
"""


@pytest.mark.skipif(not is_root_of_the_machine(), reason="only root has rights to lose")
def test_root_in_a_cell_has_no_rights_over_the_machine_but_may_become_its_users(cells):
    assert said_by(cells(), RIGHTS) == {
        **dict.fromkeys(("remount", "name", "device", "leave"), "EPERM"),
        "owner": 0,
        "becomes": "done",
    }


def test_what_cannot_be_started_is_said(cells):
    seat = cells()
    with pytest.raises(AdapterError, match="there is no user `nobody-here`"):
        seat.spawn(["true"], environment={}, user="nobody-here", log=seat.folder / "log")
    with pytest.raises(AdapterError, match="there is no limit `SPEED`"):
        seat.spawn(["true"], environment={}, log=seat.folder / "log", limits={"SPEED": (1, 1)})
    with pytest.raises(AdapterError, match="cannot run nothing-like-it in /: No such file"):
        seat.run(["nothing-like-it"], environment=ENVIRONMENT)
    with pytest.raises(AdapterError, match=r"`sleep 600` did not end within 0\.1 s"):
        seat.run(["sleep", "600"], environment=ENVIRONMENT, timeout_s=0.1)
    assert seat.run(["sh", "-c", "exit 7"], environment=ENVIRONMENT).exit_code == 7
    seat.close()
    seat.close()
    with pytest.raises(AdapterError, match="the cell is gone"):
        seat.run(["true"], environment=ENVIRONMENT)


KILLED = """
import sys, time
from httpdyno.servers.sandbox.namespace import open_cell
from httpdyno.servers.sandbox.sandbox import CellWish
from httpdyno.servers.run.folder import new_run_root
root = new_run_root()
seat = open_cell(root.new_place("cell"), CellWish())
process = seat.spawn(["sh", "-c", "setsid sleep 600 & sleep 600"], user="nobody",
    environment={"PATH": "/usr/bin:/bin"}, log=seat.folder / "log")
print(process.pid, seat.network.split("/")[2], flush=True)
time.sleep(600)
"""


def test_when_httpdyno_is_killed_no_process_and_no_mount_is_left():
    before = Path("/proc/self/mountinfo").read_text()
    with subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        # Two of the copy, one that left its session, the holder, the first of its processes, and
        # the minder.
        network = network_of(pids[1])
        wait_until(lambda: len(in_namespace(network)) == 6)
        parent.kill()
    assert network != network_of("self")
    wait_until(lambda: not in_namespace(network))
    assert Path("/proc/self/mountinfo").read_text() == before
    new_run_root().release()  # also takes away what the killed one left


def network_of(pid):
    return str(Path(f"/proc/{pid}/ns/net").readlink())


def in_namespace(network):
    """Return the processes that are in a network namespace."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if network_of(process.name) == network:
                found.append(process.name)
        except OSError:
            continue
    return found
