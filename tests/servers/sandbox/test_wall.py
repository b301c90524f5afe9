"""Walls made for real: what the kernel refuses what runs behind one."""

import json
import os
import socket
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import AdapterError
from httpdyno.model import Door
from httpdyno.report.shared.message import text
from httpdyno.servers.adapter import NotRunning, Place
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.run.live_process import MARK
from httpdyno.servers.sandbox import landlock_rules
from httpdyno.servers.sandbox.landlock import WallSeat, limits_of_wall, open_wall
from httpdyno.servers.sandbox.sandbox import CellWish

needs_rules = pytest.mark.skipif(not landlock_rules.version(), reason="this kernel has no Landlock")
needs_tcp_rules = pytest.mark.skipif(
    landlock_rules.version() < 4, reason="this kernel's Landlock has no rules for TCP"
)
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
TRIES = """
import errno, json, os, signal, socket, sys
def tried(what):
    try:
        what()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"
def written(path):
    with open(path, "w") as file:
        file.write("was here")
listener = socket.socket()
def bound(address, listener):
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(address)
    listener.listen()
theirs, own, memory, other, port, parent = sys.argv[1:]
print(json.dumps({
    "read": open(f"{theirs}/file").read(),
    "write": tried(lambda: written(f"{theirs}/file")),
    "truncate": tried(lambda: os.truncate(f"{theirs}/file", 0)),
    "new": tried(lambda: written(f"{theirs}/new")),
    "remove": tried(lambda: os.unlink(f"{theirs}/file")),
    "folder": tried(lambda: os.mkdir(f"{theirs}/folder")),
    "own": tried(lambda: written(f"{own}/new")),
    "memory": tried(lambda: written(f"{memory}/new")),
    "null": tried(lambda: written("/dev/null")),
    "connect": tried(lambda: socket.create_connection(("127.0.0.1", int(other)))),
    "bind": tried(lambda: bound(("127.0.0.1", 0), socket.socket())),
    "bind own": tried(lambda: bound(("127.0.0.1", int(port)), listener)),
    "connect own": tried(lambda: socket.create_connection(("127.0.0.1", int(port)))),
    "signal": tried(lambda: os.kill(int(parent), 0)),
    "user": os.getuid(),
}))
"""


@pytest.fixture
def walled():
    """Make seats behind walls, and give them up."""
    made = []
    with new_run_root() as root:

        def seat(kind="wall", **wish):
            found = open_wall(root.new_place("wall"), CellWish(**wish), kind=kind)
            assert isinstance(found, WallSeat), found
            made.append(found)
            return found

        yield seat
        for each in made:
            each.close()


def tries_in(seat, folder, other):
    port = seat.port("0.0.0.0:80").rpartition(":")[2]
    own = [str(folder), str(seat.folder), str(seat.memory_folder), str(other), port]
    command = [sys.executable, "-I", "-S", "-c", TRIES, *own, str(os.getpid())]
    said = seat.run(command, environment=ENVIRONMENT)
    assert said.exit_code == 0, said.errors
    return json.loads(said.output)


@pytest.fixture
def theirs(own_folders):
    folder = own_folders / "theirs"
    folder.mkdir()
    (folder / "file").write_text("as found")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield folder, listener.getsockname()[1]


@needs_tcp_rules
def test_a_wall_keeps_writes_and_tcp_in(walled, theirs):
    folder, other = theirs
    found = tries_in(walled(), folder, other)
    refused = {name for name, what in found.items() if what in {"EACCES", "EPERM"}}
    if landlock_rules.version() < 6:
        refused.add("signal")
    assert refused == {
        *("write", "truncate", "new", "remove", "folder", "connect", "bind", "signal")
    }
    done = {name for name, what in found.items() if what == "done"} - {"signal"}
    assert done == {"own", "memory", "null", "bind own", "connect own"}
    assert found["read"] == "as found"
    assert [path.name for path in folder.iterdir()] == ["file"]
    assert (folder / "file").read_text() == "as found"


def test_an_open_seat_enforces_nothing(walled, theirs):
    folder, other = theirs
    (folder / "file").chmod(0o666)
    found = tries_in(walled("open"), folder, other)
    assert {found[name] for name in ("write", "new", "connect", "bind", "signal")} == {"done"}


@needs_tcp_rules
def test_a_door_in_a_wall_is_a_port(walled, theirs):
    folder, other = theirs
    assert tries_in(walled(doors=[Door(to=f"127.0.0.1:{other}")]), folder, other)["connect"] == (
        "done"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
@needs_rules
def test_behind_a_wall_a_member_runs_as_its_user(walled):
    seat = walled()
    process = seat.spawn(
        ["sh", "-c", "id -u; id -g; pwd"],
        environment=ENVIRONMENT,
        folder="/usr",
        user="nobody",
        log=seat.folder / "log",
    )
    assert process.wait(10.0)
    words = process.first_words()
    process.stop()
    assert words == "65534\n65534\n/usr\n"


@needs_rules
def test_behind_a_wall_signals_are_as_a_shell_gives_them(walled):
    # An interpreter ignores some, and what it becomes would inherit that.
    command = ["sed", "-n", "s/^Sig[BI][lg][kn]:\\t//p", "/proc/self/status"]
    assert walled().run(command, environment=ENVIRONMENT).output.split() == ["0" * 16] * 2


@needs_rules
def test_behind_a_wall_the_environment_is_what_was_given(walled):
    found = walled().run(["env"], environment=ENVIRONMENT).output.splitlines()
    # Nobody may write in /tmp there.
    assert sorted(line.partition("=")[0] for line in found) == [MARK, "PATH", "TMPDIR"]


@needs_rules
def test_what_cannot_be_started_is_said(walled):
    with pytest.raises(AdapterError, match="cannot run nothing-like-it: No such file"):
        walled().run(["nothing-like-it"], environment=ENVIRONMENT)


def test_each_address_of_theirs_has_one_of_ours(walled):
    seat = walled("open")
    addresses = ["0.0.0.0:80", "[::]:80", "*:80", "0.0.0.0:443", "10.0.0.5:80", "[::1]:80"]
    found = [seat.port(address) for address in addresses]
    hosts = [address.rpartition(":")[0] for address in found]
    assert hosts == ["127.0.0.1"] * 4 + ["127.0.0.2", "127.0.0.3"]
    assert found[0] == found[1] == found[2]
    assert len(set(found)) == 4
    assert [seat.port(address) for address in addresses] == found
    assert seat.port("unix:/run/app.sock") == f"unix:{seat.folder}/theirs/run/app.sock"


@given(st.text(st.sampled_from("/.ab "), min_size=1))
def test_no_path_of_theirs_leads_out_of_the_place(path):
    seat = WallSeat(Place(folder=Path("/place"), memory_folder=Path("/memory")), "wall")
    assert os.path.normpath(seat.path(f"/{path}")).startswith("/place/c/theirs")
    assert os.path.normpath(seat.path(f"/dev/shm/{path}")).startswith(("/place/c/", "/memory/c/"))


def test_files_are_written_where_the_copy_has_them(walled):
    seat = walled("open", files={"/etc/x/main.conf": b"edited"}, hidden_files={"/k": b"key"})
    assert Path(seat.path("/etc/x/main.conf")).read_bytes() == b"edited"
    assert seat.written() == ("/etc/x/main.conf", "/k")


def test_folders_that_it_writes_are_there(walled):
    seat = walled("open", writes=["/var/lib/x"])
    assert Path(seat.path("/var/lib/x")).is_dir()


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (
            CellWish(sysctls={"net.core.somaxconn": "1"}),
            "wall: cannot set net.core.somaxconn: it would be set for the whole machine",
        ),
        (
            CellWish(doors=[Door(to="10.0.0.5:5432", through="127.0.0.1:15432")]),
            "wall: cannot lead 10.0.0.5:5432 through 127.0.0.1:15432",
        ),
    ],
)
@needs_rules
def test_a_wish_that_no_wall_can_have_is_refused(wish, words):
    with new_run_root() as root:
        answer = open_wall(root.new_place("wall"), wish)
    assert isinstance(answer, NotRunning)
    assert (answer.status, text(answer.detail)) == ("refused", words)


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (
            7,
            "a wall does not keep a copy from reading files, TCP that is multipath or has data in "
            "its first packet, UDP, unix sockets that stand in the file system and owners and "
            "times of files",
        ),
        (
            3,
            "a wall does not keep a copy from reading files, TCP, UDP, unix sockets that stand in "
            "the file system, owners and times of files, signals to processes of its user and "
            "abstract unix sockets",
        ),
    ],
)
def test_what_a_wall_does_not_keep_in_is_said(monkeypatch, version, words):
    monkeypatch.setattr(landlock_rules, "version", lambda: version)
    assert text(limits_of_wall()) == words


def test_what_a_door_leads_to_is_where_it_was():
    with new_run_root() as root:
        place = root.new_place("wall")
        seat = open_wall(place, CellWish(doors=(Door(to="127.0.0.1:5432"),)))
        assert not isinstance(seat, NotRunning)
        assert seat.port("127.0.0.1:5432") == "127.0.0.1:5432"
        assert seat.port("127.0.0.1:5433") != "127.0.0.1:5433"
        seat.close()


def test_a_socket_has_a_short_path_where_its_own_would_be_too_long(walled):
    seat = walled("open")
    paths = [f"/run/{'of-the-shop-' * 9}/{name}.sock" for name in ("one", "other")]
    found = [seat.port(f"unix:{path}").removeprefix("unix:") for path in paths]
    assert len(set(found)) == 2
    assert [seat.path(path) for path in paths] == found
    assert [seat.port(f"unix:{path}").removeprefix("unix:") for path in paths] == found
    for each in found:
        assert len(os.fsencode(each)) <= 107
        assert each.startswith((f"{seat.folder}/", f"{seat.memory_folder}/"))
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(each)


def test_a_place_too_deep_for_any_socket_is_said(tmp_path):
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    seat = WallSeat(Place(folder=deep, memory_folder=deep), "open")
    with pytest.raises(AdapterError, match="107 bytes"):
        seat.port("unix:/run/app.sock")


def test_who_connects_to_the_loopback_comes_to_who_listens_there_or_everywhere():
    with new_run_root() as root:
        listening = ["0.0.0.0:8000", "127.0.0.1:8001", "*:8001", "[::1]:8002", "10.0.0.5:8003"]
        seat = WallSeat(root.new_place("wall"), "open", listening)
        everywhere = {seat.port(f"{host}:8000") for host in ("*", "127.0.0.1", "localhost")}
        assert everywhere == {seat.port("[::1]:8000")}
        assert len(everywhere) == 1
        assert seat.port("localhost:8001") == seat.port("127.0.0.1:8001")
        assert seat.port("*:8001") != seat.port("127.0.0.1:8001")
        assert seat.port("localhost:8002") == seat.port("[::1]:8002")
        # Another host is no address of the loopback.
        assert seat.port("10.0.0.9:8000") not in everywhere
        assert seat.port("127.0.0.1:8003") != seat.port("10.0.0.5:8003")
        assert seat.port("127.0.0.1:8001").startswith("127.0.0.1:")
        seat.close()


@needs_rules
def test_what_is_temporary_is_written_in_the_place(walled):
    seat = walled()
    said = seat.run(["/bin/sh", "-c", 'mktemp && echo "$TMPDIR"'], environment=ENVIRONMENT)
    file, folder = said.output.split()
    assert file.startswith(f"{folder}/tmp.")
    assert folder == f"{seat.folder}/tmp"
