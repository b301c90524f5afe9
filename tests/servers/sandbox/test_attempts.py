"""What a copy tries is named, in a cell and behind a wall, and it goes on as if nobody looked."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.isolation import no_wall

from httpdyno.model import Door
from httpdyno.report.shared.message import text, texts
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.sandbox import attempts as module
from httpdyno.servers.sandbox import landlock_rules
from httpdyno.servers.sandbox import syscall_filter as calls_filter
from httpdyno.servers.sandbox.attempts import Attempts
from httpdyno.servers.sandbox.landlock import WallSeat, open_wall
from httpdyno.servers.sandbox.namespace import CellSeat, open_cell
from httpdyno.servers.sandbox.sandbox import CellWish

PROGRAM = Path(__file__).with_name("reaching.py")
NAMES = "(for the name mail.example)"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="the cell is made by root here")
needs_wall = pytest.mark.skipif(
    bool(no_wall()) or landlock_rules.version() < 6, reason="a wall of newer rules is needed"
)


@pytest.fixture
def outside(own_folders):
    """Sockets of others: one that listens, one that was left, one for datagrams, and a door's."""
    folder = own_folders / "outside"
    folder.mkdir()
    held = []
    for name, kind in (
        ("db", socket.SOCK_STREAM),
        ("left", socket.SOCK_STREAM),
        ("log", socket.SOCK_DGRAM),
        ("door", socket.SOCK_STREAM),
    ):
        each = socket.socket(socket.AF_UNIX, kind)
        each.bind(str(folder / name))
        (folder / name).chmod(0o777)
        if kind == socket.SOCK_STREAM and name != "left":
            each.listen(64)
        held.append(each)
        if name == "left":
            each.close()
    (folder / "there").write_text("as found")
    yield folder
    for each in held:
        each.close()


def command(outside, own, *, late=True, writes="", port=8000):
    settings = {
        "unix": [str(outside / name) for name in ("db", "left", "nobody")],
        "datagram": [str(outside / "log")],
        "own": str(own),
        "port": port,
        "late": late,
        "door": str(outside / "door"),
        "writes": writes,
    }
    return ["/usr/bin/python3", "-S", str(PROGRAM), json.dumps(settings)]


@needs_root
def test_in_a_cell_each_attempt_to_get_out_is_named_and_no_other(outside):
    door = Door(to=f"unix:{outside}/door")
    with new_run_root() as root:
        place = root.new_place("attempts")
        seat = open_cell(place, CellWish(doors=(door,), writes=(str(outside),)))
        assert isinstance(seat, CellSeat), seat
        with closing(seat), Attempts(seat) as attempts:
            said = seat.run(command(outside, place.copy_folder), environment={})
            assert (said.output, said.errors) == ("done\n", "")
            assert texts(attempts.refused()) == (
                "tcp 192.0.2.5:5432",
                "tcp [::1]:5432",
                "tcp 192.0.2.5:5433",
                "tcp 192.0.2.5:5434",
                "tcp 192.0.2.5:5435",
                *(f"unix:{outside}/{name}" for name in ("db", "left", "nobody", "log")),
                "unix:@httpdyno-nobody",
                f"udp 127.0.0.53:53 {NAMES}",
                f"udp 127.0.0.54:53 {NAMES}",
                "udp 127.0.0.55:53 (for the names mail.example, news.example)",
                "udp 127.0.0.56:8125",
            )
            assert texts(attempts.reached()) == ()
            assert attempts.complaint is None


ASKS = "import socket, sys; socket.socket(socket.AF_UNIX).connect_ex(sys.argv[1])"


@needs_root
def test_a_socket_of_the_copys_own_place_is_no_attempt_before_anybody_listens(outside):
    # php-fpm looks first whether somebody is there where it is going to listen.
    with new_run_root() as root:
        place = root.new_place("attempts")
        seat = open_cell(place, CellWish())
        assert isinstance(seat, CellSeat), seat
        with closing(seat), Attempts(seat) as attempts:
            for folder in (place.copy_folder, place.copy_memory_folder, outside):
                path = f"{folder}/status.sock"
                seat.run(["/usr/bin/python3", "-S", "-c", ASKS, path], environment={})
            assert texts(attempts.refused()) == (f"unix:{outside}/status.sock",)


@needs_root
def test_a_copys_own_socket_is_its_own_by_whatever_links(outside):
    (outside / "link").symlink_to(outside)
    binds = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect_ex(sys.argv[1]); "
        "s.bind(sys.argv[2]); s.listen(); socket.socket(socket.AF_UNIX).connect(sys.argv[2])"
    )
    with new_run_root() as root:
        place = root.new_place("attempts")
        seat = open_cell(place, CellWish(writes=(str(outside),)))
        assert isinstance(seat, CellSeat), seat
        with closing(seat), Attempts(seat) as attempts:
            ways = [f"{outside}/link/own", f"{outside}/own"]
            said = seat.run(["/usr/bin/python3", "-S", "-c", binds, *ways], environment={})
            assert (said.exit_code, said.errors) == (0, "")
            assert texts(attempts.refused()) == ()


@needs_root
def test_in_a_cell_who_looks_before_he_listens_there_tries_nothing(outside):
    # php-fpm, of whose pools no request reaches each.
    binds = (
        "import socket, sys, time; own, nobody, up = sys.argv[1:]; "
        "s = socket.socket(socket.AF_UNIX); s.connect_ex(nobody); s.connect_ex(own); "
        "s.bind(own); s.listen(); open(up, 'w').close(); time.sleep(60)"
    )
    with new_run_root() as root:
        place = root.new_place("attempts")
        seat = open_cell(place, CellWish(writes=(str(outside),)))
        assert isinstance(seat, CellSeat), seat
        with closing(seat), Attempts(seat) as attempts:
            own, nobody, up = f"{outside}/own", f"{outside}/nobody", place.copy_folder / "up"
            process = seat.spawn(
                ["/usr/bin/python3", "-S", "-c", binds, own, nobody, str(up)],
                environment={},
                log=place.folder / "log",
            )
            while not up.exists():
                assert process.is_alive()
            assert texts(attempts.refused()) == (f"unix:{nobody}",)
            process.stop()


@needs_wall
def test_behind_a_wall_who_looks_before_he_listens_there_tries_nothing():
    binds = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect_ex(sys.argv[1]); "
        "s.bind(sys.argv[1]); s.listen(); s.connect_ex(sys.argv[2])"
    )
    with new_run_root() as root:
        place = root.new_place("attempts")
        seat = open_wall(place, CellWish())
        assert isinstance(seat, WallSeat), seat
        own, nobody = (str(place.copy_memory_folder / name) for name in ("own", "nobody"))
        with closing(seat), Attempts(seat) as attempts:
            said = seat.run(["/usr/bin/python3", "-S", "-c", binds, own, nobody], environment={})
            assert (said.exit_code, said.errors) == (0, "")
            assert texts(attempts.refused()) == ("unix:/dev/shm/nobody",)


@needs_wall
def test_behind_a_wall_what_goes_out_is_told_apart_from_what_is_refused(outside):
    with new_run_root() as root:
        seat = open_wall(
            root.new_place("attempts"), CellWish(doors=(Door(to=f"unix:{outside}/door"),))
        )
        assert isinstance(seat, WallSeat), seat
        port = int(seat.port("0.0.0.0:80").removeprefix("127.0.0.1:"))
        asked = command(outside, seat.folder, late=False, writes=str(outside), port=port)
        with closing(seat), Attempts(seat) as attempts:
            said = seat.run(asked, environment={})
            assert (said.output, said.errors) == ("written to its own output\ndone\n", "")
            assert texts(attempts.refused()) == (
                "tcp 192.0.2.5:5432",
                "tcp [::1]:5432",
                "tcp 192.0.2.5:5433",
                "tcp 192.0.2.5:5434",
                "tcp 192.0.2.5:5435",
                f"unix:{outside}/left",
                f"unix:{outside}/nobody",
                "unix:@httpdyno-nobody",
                *(
                    f"write {outside}/{name}"
                    for name in ("new", "there", "folder", "other", "link", "bound", "relative")
                ),
            )
            assert texts(attempts.reached()) == (
                f"unix:{outside}/db",
                f"unix:{outside}/log",
                f"udp 127.0.0.53:53 {NAMES}",
                f"udp 127.0.0.54:53 {NAMES}",
                "udp 127.0.0.55:53 (for the names mail.example, news.example)",
                "udp 127.0.0.56:8125",
            )
            assert attempts.complaint is None
    assert (outside / "there").read_text() == "as found"


FAST = """
import socket, sys
to = ("127.0.0.1", int(sys.argv[1]))
for send in (
    lambda: socket.socket().connect(to),
    lambda: socket.socket().sendto(b"hello", socket.MSG_FASTOPEN, to),
):
    try:
        send()
    except OSError as error:
        print(error.strerror)
"""


@needs_wall
def test_tcp_that_rules_do_not_see_is_told_as_reached():
    with new_run_root() as root, socket.create_server(("127.0.0.1", 0)) as other:
        seat = open_wall(root.new_place("attempts"), CellWish())
        assert isinstance(seat, WallSeat), seat
        port = str(other.getsockname()[1])
        with closing(seat), Attempts(seat) as attempts:
            said = seat.run(["/usr/bin/python3", "-S", "-c", FAST, port], environment={})
            # Whether data may go with the first packet is a setting; that it was tried is named.
            assert said.output.startswith("Permission denied\n")
            assert texts(attempts.reached()) == (f"tcp 127.0.0.1:{port}",)
            assert texts(attempts.refused()) == ()


@needs_wall
def test_their_own_addresses_are_named_where_nobody_is_there_in_their_place():
    caller = """
import socket, sys
for family, to in (
    (socket.AF_INET, (sys.argv[1], int(sys.argv[2]))), (socket.AF_UNIX, sys.argv[3]),
):
    try:
        socket.socket(family).connect(to)
    except OSError as error:
        print(error.strerror)
"""
    with new_run_root() as root:
        seat = open_wall(root.new_place("attempts"), CellWish())
        assert isinstance(seat, WallSeat), seat
        address = seat.port("127.0.0.1:5999").split(":")
        own = [*address, seat.port("unix:/run/db").removeprefix("unix:")]
        with closing(seat), Attempts(seat) as attempts:
            asked = ["/usr/bin/python3", "-S", "-c", caller, *own]
            assert seat.run(asked, environment={}).errors == ""
            assert texts(attempts.refused()) == ("tcp 127.0.0.1:5999", "unix:/run/db")


@needs_root
def test_calls_are_told_while_somebody_watches_and_only_then():
    asked = ["/usr/bin/grep", "^Seccomp:", "/proc/self/status"]
    with new_run_root() as root:
        for seat in (
            open_cell(root.new_place("cell"), CellWish()),
            open_wall(root.new_place("wall"), CellWish()),
        ):
            assert isinstance(seat, CellSeat | WallSeat), seat
            with closing(seat):
                before = seat.run(asked, environment={}).output
                with Attempts(seat):
                    watched = seat.run(asked, environment={}).output
                after = seat.run(asked, environment={}).output
            assert watched.split() == ["Seccomp:", "2"]
            assert after == before


@needs_wall
def test_what_cannot_be_noted_is_told_of_and_goes_on(monkeypatch, outside):
    def fails(*_):
        raise ValueError("no such thing")

    monkeypatch.setattr(module, "reaches", fails)
    with new_run_root() as root:
        seat = open_wall(root.new_place("attempts"), CellWish())
        assert isinstance(seat, WallSeat), seat
        port = int(seat.port("0.0.0.0:80").removeprefix("127.0.0.1:"))
        asked = command(outside, seat.folder, late=False, port=port)
        with closing(seat), Attempts(seat) as attempts:
            assert seat.run(asked, environment={}).output == "done\n"
            assert attempts.complaint is not None
            assert text(attempts.complaint) == "a call could not be read: no such thing"
            assert texts(attempts.refused()) == ()


@needs_root
def test_packets_show_what_no_call_names(monkeypatch, outside):
    monkeypatch.setattr("httpdyno.servers.sandbox.namespace.REACH", "nothing")
    with new_run_root() as root:
        place = root.new_place("attempts")
        seat = open_cell(place, CellWish(doors=(Door(to=f"unix:{outside}/door"),)))
        assert isinstance(seat, CellSeat), seat
        with closing(seat), Attempts(seat) as attempts:
            assert seat.run(command(outside, place.copy_folder), environment={}).output == "done\n"
            refused = texts(attempts.refused())
    assert refused[:2] == ("tcp 192.0.2.5:5432", "tcp [::1]:5432")
    assert f"udp 127.0.0.53:53 {NAMES}" in refused


STORM = """
import signal, socket, threading
n_rung = 0
def ring(*_):
    global n_rung
    n_rung += 1
signal.signal(signal.SIGALRM, ring)
signal.siginterrupt(signal.SIGALRM, False)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
def call(first):
    for n in range(first, first + 25):
        with socket.socket(socket.AF_UNIX) as calling:
            try:
                calling.connect(f"/nobody/{n}")
            except OSError as error:
                assert error.errno == 2, error
threads = [threading.Thread(target=call, args=(n * 25,)) for n in range(1, 8)]
for each in threads: each.start()
call(0)
for each in threads: each.join()
print("rung" if n_rung else "silent")
"""


@needs_wall
def test_neither_signals_nor_many_threads_lose_an_attempt():
    with new_run_root() as root:
        seat = open_wall(root.new_place("attempts"), CellWish())
        assert isinstance(seat, WallSeat), seat
        with closing(seat), Attempts(seat) as attempts:
            said = seat.run(["/usr/bin/python3", "-S", "-c", STORM], environment={})
            assert (said.output, said.errors) == ("rung\n", "")
            assert set(attempts.refused()) == {f"unix:/nobody/{n}" for n in range(200)}


LISTENED_TO = """
import select, sys, threading
from httpdyno.servers.sandbox import syscall as calls
from httpdyno.servers.sandbox.syscall_filter import REACH, put_telling_on
from httpdyno.servers.sandbox.attempts import Attempts
from httpdyno.servers.sandbox.namespace import open_cell
from httpdyno.servers.sandbox.sandbox import CellWish
from httpdyno.servers.run.folder import new_run_root
made, found = [], threading.Event()
def answer():
    found.wait()
    while select.select(made, [], [], 20)[0]:
        try:
            calls.go_on(made[0], calls.received(made[0]))
        except OSError:
            pass
threading.Thread(target=answer, daemon=True).start()
made.append(put_telling_on((REACH,)))
found.set()
CALLER = '''
import socket
for family, address in ((socket.AF_UNIX, "/run/nobody"), (socket.AF_INET, ("192.0.2.5", 5432))):
    try:
        socket.socket(family).connect(address)
    except OSError:
        print("refused")
'''
with new_run_root() as root:
    seat = open_cell(root.new_place("cell"), CellWish())
    with Attempts(seat) as attempts:
        said = seat.run(["/usr/bin/python3", "-S", "-c", CALLER], environment={})
        print(said.output.split(), attempts.refused(), attempts.complaint.params["error"])
    seat.close()
"""


@needs_root
@pytest.mark.skipif(calls_filter.here() is None, reason="calls of this machine are not known")
def test_where_somebody_else_listens_already_it_is_said_and_packets_are_named():
    said = subprocess.run(
        [sys.executable, "-c", LISTENED_TO], capture_output=True, text=True, check=False
    )
    assert said.stderr == ""
    assert said.stdout == (
        "['refused', 'refused'] ('tcp 192.0.2.5:5432',) Device or resource busy\n"
    )


KILLED = """
import sys, time
from httpdyno.servers.sandbox.attempts import Attempts
from httpdyno.servers.sandbox.landlock import open_wall
from httpdyno.servers.sandbox.sandbox import CellWish
from httpdyno.servers.run.folder import new_run_root
CALLER = '''
import socket
while True:
    try:
        socket.socket(socket.AF_UNIX).connect("/run/nobody")
    except OSError:
        pass
'''
with new_run_root() as root:
    seat = open_wall(root.new_place("wall"), CellWish())
    with Attempts(seat) as attempts:
        process = seat.spawn(["/usr/bin/python3", "-S", "-c", CALLER], environment={},
                             log=seat.folder / "log")
        while not attempts.refused():
            time.sleep(0.01)
        print(process.pid, flush=True)
        time.sleep(60)
"""


@needs_wall
def test_a_copy_does_not_outlive_whoever_it_tells_its_calls(own_folders):
    environment = {**os.environ, "HTTPDYNO_RUN_DIR": str(own_folders)}
    telling = subprocess.Popen(
        [sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert telling.stdout is not None
        copy = os.pidfd_open(int(telling.stdout.readline()))
    finally:
        telling.send_signal(signal.SIGKILL)
        telling.communicate()
    try:
        deadline_s = time.monotonic() + 20
        while has_not_ended(copy):
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
    finally:
        os.close(copy)


def has_not_ended(handle):
    try:
        signal.pidfd_send_signal(handle, 0)
    except ProcessLookupError:
        return False
    return True
