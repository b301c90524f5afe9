"""The folders of a place: what a copy writes never meets what httpdyno keeps beside it."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.isolation import no_cell
from tests.servers.sandbox.cells import ENVIRONMENT, made_cells, said_by, wait_until

from httpdyno.host.rights import (
    is_root_of_the_machine,
)
from httpdyno.model import Member
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.log_file import log_text, opened_log
from httpdyno.servers.network.address import connected
from httpdyno.servers.run.folder import held_own, new_run_root, write_own
from httpdyno.servers.run.live_process import child_pids
from httpdyno.servers.sandbox.available import limits_of_cell
from httpdyno.servers.sandbox.landlock import open_wall
from httpdyno.servers.sandbox.sandbox import CellWish
from httpdyno.servers.stack.environment import own_folder

needs_cells = pytest.mark.skipif(bool(no_cell()), reason=no_cell() or "can be had")
needs_root = pytest.mark.skipif(not is_root_of_the_machine(), reason="only root has rights to lend")
SEEN = """
import json, os, sys
place = os.path.dirname(sys.argv[1])
print(json.dumps([sorted(os.listdir(place)), os.listdir(os.path.dirname(place))]))
"""
SETUID = """
import errno, json, os, sys
def tried(call, *arguments):
    try:
        handle = call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"
folder = sys.argv[1]
open(f"{folder}/program", "w").close()
print(json.dumps([
    tried(os.chmod, f"{folder}/program", 0o4755),
    tried(os.chmod, f"{folder}/program", 0o2755),
    tried(os.open, f"{folder}/new", os.O_CREAT | os.O_WRONLY, 0o6755),
    tried(os.mknod, f"{folder}/node", 0o104755),
    tried(os.chmod, f"{folder}/program", 0o755),
    tried(os.open, f"{folder}/program", os.O_RDONLY, 0o6755),
]))
"""
RIGHTS = """
import ctypes, os, struct
from httpdyno.servers.sandbox import confinement
libc = ctypes.CDLL(None)
head = struct.pack("=Ii", 0x20080522, 0)
net_raw, may_cut = 1 << 13, 1 << 8
both = net_raw | may_cut
libc.capset(head, struct.pack("=6I", both, both, net_raw, 0, 0, 0))
assert libc.prctl(47, 2, 13, 0, 0) == 0
confinement.cut_rights()
os.execv("/bin/grep", ["grep", "-E", "Cap(Inh|Amb)", "/proc/self/status"])
"""


@pytest.fixture
def cells():
    with made_cells() as made:
        yield made


@needs_cells
def test_a_copy_sees_of_its_place_what_it_may_write_alone(cells):
    seat = cells(files={"/etc/hostname": b"copy\n"})
    place, run = said_by(seat, SEEN, str(seat.folder))
    assert place == [seat.folder.name]
    assert run == [seat.folder.parent.name]


@needs_cells
@needs_root
def test_what_a_copy_may_leave_is_out_of_reach_for_others(cells):
    seat = cells()
    own_folder(Member(name="app", kind="gunicorn", user="nobody"), seat, "own")
    said = seat.run(
        ["sh", "-c", f"cp /bin/true {seat.folder}/t && chmod 4755 {seat.folder}/t"],
        environment=ENVIRONMENT,
        user="",
    )
    assert said.exit_code == 0, said.errors
    # In the copy its user comes through; outside nobody does.
    assert not seat.folder.parent.stat().st_mode & 0o077
    found = seat.run(["ls", "-d", f"{seat.folder}/app-own"], environment=ENVIRONMENT, user="nobody")
    assert found.exit_code == 0, found.errors


@needs_root
def test_where_others_come_to_it_no_file_gives_rights():
    with new_run_root() as root:
        seat = open_wall(root.new_place("wall"), CellWish(), kind="open")
        assert not isinstance(seat, NotRunning)
        try:
            ended = said_by(seat, SETUID, str(seat.folder))
        finally:
            seat.close()
    assert ended == ["EPERM", "EPERM", "EPERM", "EPERM", "done", "done"]


def test_what_stands_in_the_place_of_a_folder_or_a_file_of_ours_is_not_followed(tmp_path):
    top, victim = tmp_path / "c", tmp_path / "victim"
    top.mkdir()
    victim.mkdir(mode=0o700)
    (top / "app-own").symlink_to(victim)
    with pytest.raises(NotADirectoryError), held_own(top, "app-own"):
        pass
    with pytest.raises(NotADirectoryError):
        write_own(top / "app-own" / "conf", "text")
    assert not os.listdir(victim)  # noqa: PTH208
    (top / "real").mkdir()
    (top / "real" / "conf").symlink_to(victim / "file")
    write_own(top / "real" / "conf", "text")
    assert (top / "real" / "conf").read_text() == "text"
    assert not os.listdir(victim)  # noqa: PTH208
    (victim / "secret").write_text("secret")
    (top / "log").symlink_to(victim)
    assert log_text(top / "log" / "secret") == ""


def test_a_log_that_is_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "log")
    with pytest.raises(OSError, match=r"No such device|not a regular file"):
        opened_log(tmp_path / "log")


@needs_cells
@needs_root
def test_a_link_of_a_copys_leads_to_no_socket_of_ours(cells, own_folders):
    seat = cells()
    real = own_folders / "s"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(real))
        listening.listen()
        process = seat.spawn(
            ["sh", "-c", f"ln -s {real} {seat.folder}/s && exec sleep 600"],
            environment=ENVIRONMENT,
            log=seat.folder / "log",
        )
        try:
            link = Path(f"/proc/{process.pid}/root{seat.folder}/s")
            wait_until(lambda: os.path.lexists(link))
            # In the copy the link leads to a file that nobody listens at, if to any.
            with pytest.raises(OSError, match=r"link|No such|non-socket|refused"):
                connected(f"unix:{link}", 1.0)
            listening.setblocking(False)
            with pytest.raises(BlockingIOError):
                listening.accept()
        finally:
            process.stop()


@needs_root
def test_no_right_is_left_that_programs_inherit():
    said = subprocess.run(
        [sys.executable, "-c", RIGHTS], capture_output=True, check=True, text=True
    )
    assert [line.split()[1] for line in said.stdout.splitlines()] == ["0" * 16] * 2


@pytest.mark.skipif(bool(no_cell() or limits_of_cell()), reason="needs users of its own")
@pytest.mark.parametrize("user", ["", "nobody"])
def test_a_member_may_open_again_what_it_prints_to(cells, user):
    seat = cells()
    said = seat.run(["sh", "-c", "echo to >/dev/stderr"], environment=ENVIRONMENT, user=user)
    assert (said.exit_code, said.errors) == (0, "to\n")


@needs_cells
def test_whoever_ends_the_minder_leaves_nothing(cells):
    seat = cells()
    process = seat.spawn(
        ["sh", "-c", "trap '' TERM; setsid sleep 600 & sleep 600"],
        environment=ENVIRONMENT,
        log=seat.folder / "log",
    )
    wait_until(lambda: len(child_pids(process.pid)) == 2)
    pids = [process.pid, *child_pids(process.pid)]
    os.kill(process.keeper_pid, 9)
    process.stop()
    seat.close()
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))


IN_CHROOT = """
import sys
from httpdyno.servers.sandbox.namespace import open_cell
from httpdyno.servers.sandbox.sandbox import CellWish
from httpdyno.servers.run.folder import new_run_root
with new_run_root() as root:
    seat = open_cell(root.new_place("cell"), CellWish(writes=(sys.argv[1],)))
    said = seat.run(["sh", "-c", f"echo more >> {sys.argv[1]}/log"], environment={"PATH": "/bin"})
    print(said.exit_code, seat.written())
    seat.close()
"""


@needs_cells
@needs_root
def test_in_a_chroot_a_cell_holds_what_its_copy_writes(own_folders):
    new, site = own_folders / "root", own_folders / "site"
    new.mkdir()
    site.mkdir()
    (site / "log").write_text("theirs\n")
    enter = f'mount --rbind / {new} && exec chroot {new} "$0" "$@"'
    command = ["unshare", "--mount", "sh", "-c", enter, sys.executable, "-c", IN_CHROOT, str(site)]
    said = subprocess.run(command, capture_output=True, check=True, text=True)
    assert said.stdout == f"0 ('{site}/log',)\n"
    assert (site / "log").read_text() == "theirs\n"
