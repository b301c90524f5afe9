"""A member that is root tries each way out of a copy that is known, in each kind of isolation."""

import ctypes
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from tests.isolation import no_cell, no_wall
from tests.servers.sandbox.cells import wait_until

from httpdyno.host.rights import (
    is_root_of_the_machine,
)
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.sandbox.attempts import Attempts
from httpdyno.servers.sandbox.available import limits_of_cell
from httpdyno.servers.sandbox.landlock import open_wall
from httpdyno.servers.sandbox.namespace import open_cell
from httpdyno.servers.sandbox.sandbox import CellWish

pytestmark = pytest.mark.skipif(
    not is_root_of_the_machine() or os.uname().machine not in {"x86_64", "aarch64"},
    reason="only root has a way to lose",
)

WAYS = Path(__file__).with_name("ways_out.py")
MARK = "of the host"
READS = {
    *("devices of the host", "memory of the host", "proc root", "out of a chroot"),
    "networks of others",
}
"""Behind a wall files are read, by way of its own processes too: `limits_of_wall` says so."""
NOT_KEPT = {
    "cell": set(),
    "wall": READS,
    "open": READS | {"signals", "abstract sockets", "files of the kernel", "control groups"},
}
_KEYCTL = {"x86_64": (248, 250), "aarch64": (217, 219)}.get(os.uname().machine, (0, 0))
_USER_KEYRING, _REVOKE = -4, 3
OUTSIDE = """
import ctypes, os, sys
held = os.open(sys.argv[1], os.O_RDONLY)
os.chdir(os.path.dirname(sys.argv[1]))
text = ctypes.create_string_buffer(b"of the host")
print(held, ctypes.addressof(text), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def outside(own_folders: Path) -> Iterator[dict[str, Any]]:
    """Give what is outside of all copies: a process, a file, a key, a socket, a disk."""
    canary = own_folders / "canary"
    canary.write_text(MARK)
    libc = ctypes.CDLL(None, use_errno=True)
    name = f"httpdyno-{os.getpid()}"
    key = libc.syscall(_KEYCTL[0], b"user", name.encode(), b"secret", 6, _USER_KEYRING)
    assert key > 0
    hidden = Path(f"/dev/shm/{name}")
    hidden.write_text(MARK)
    with (
        socket.socket(socket.AF_UNIX) as listening,
        subprocess.Popen(
            [sys.executable, "-c", OUTSIDE, str(canary)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process,
    ):
        assert process.stdout
        assert process.stdin
        listening.bind(f"\0{name}")
        listening.listen()
        held, address = map(int, process.stdout.readline().split())
        yield {
            "pid": process.pid,
            "canary": str(canary),
            "mark": MARK,
            "descriptor": held,
            "address": address,
            "device": Path("/").stat().st_dev,
            "key": key,
            "key_name": name,
            "abstract": name,
            "hidden": str(hidden),
        }
        assert process.poll() is None
        process.stdin.close()
    libc.syscall(_KEYCTL[1], _REVOKE, key, 0, 0, 0)
    hidden.unlink()
    assert canary.read_text() == MARK


@pytest.mark.parametrize("is_told", [False, True])
@pytest.mark.parametrize("kind", ["cell", "wall", "open"])
def test_root_does_not_get_out_but_by_what_is_said_to_be_open(kind, is_told, outside):
    complaint = {"cell": no_cell, "wall": no_wall}.get(kind, lambda: "")()
    if complaint:
        pytest.skip(complaint)
    with new_run_root() as root:
        place = root.new_place("copy")
        wish = CellWish(files={outside["canary"]: b"of the copy"})
        seat = open_cell(place, wish) if kind == "cell" else open_wall(place, wish, kind=kind)
        assert not isinstance(seat, NotRunning)
        argument = json.dumps({**outside, "folder": str(seat.folder)})
        with Attempts(seat) if is_told else nullcontext() as attempts:
            try:
                said = seat.run(
                    [sys.executable, "-I", str(WAYS), argument],
                    environment={"PATH": "/usr/bin:/bin"},
                    timeout_s=40,
                )
            finally:
                seat.close()
    assert said.exit_code == 0, said.errors
    ended = json.loads(said.output)
    out = {way for way, how in ended.items() if how.startswith("OUT")}
    assert len(ended) > 30
    assert out <= NOT_KEPT[kind], said.output
    if attempts:
        told = {f"call {name}" for name in ("mount", "setns", "unshare", "ptrace", "clone", "bpf")}
        assert told <= {*attempts.refused()}


def test_these_ways_lead_out_where_nothing_is_kept(outside, own_folders):
    """The ways are real: without a copy root gets out by them."""
    argument = json.dumps({**outside, "folder": str(own_folders)})
    # What it mounts nobody else sees.
    command = ["unshare", "--mount", sys.executable, "-I", str(WAYS), argument]
    said = subprocess.run(command, capture_output=True, check=True, text=True)
    ended = json.loads(said.stdout)
    assert {
        *("proc root", "proc cwd", "proc fd", "setns", "ptrace", "process_vm_readv"),
        *("pidfd_getfd", "control groups", "files of the kernel", "open_tree", "bpf", "keys"),
        *(
            "networks of others",
            "listener of calls",
            "abstract sockets",
            "signals",
            "user namespace",
            "mount",
            "packets",
        ),
    } <= {way for way, how in ended.items() if how.startswith("OUT")}, said.stdout


@pytest.mark.skipif(bool(no_cell() or limits_of_cell()), reason="needs users of its own")
def test_root_of_a_cell_is_nobody_outside():
    with new_run_root() as root:
        seat = open_cell(root.new_place("copy"), CellWish())
        assert not isinstance(seat, NotRunning)
        process = seat.spawn(
            ["sleep", "600"], environment={"PATH": "/usr/bin:/bin"}, log=seat.folder / "log"
        )
        try:
            wait_until(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n")
            status = Path(f"/proc/{process.pid}/status").read_text()
        finally:
            process.stop()
            seat.close()
    uids = next(line for line in status.splitlines() if line.startswith("Uid:"))
    assert uids.split()[1:] == ["2147483648"] * 4
