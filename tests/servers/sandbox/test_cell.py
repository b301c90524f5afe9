"""Cells made for real; what runs in them is shown to reach nothing of the host's."""

import ctypes
import hashlib
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from http.client import HTTPConnection
from pathlib import Path

import pytest
from tests.isolation import not_safest
from tests.servers.sandbox.cells import ENVIRONMENT, made_cells, said_by

from httpdyno.host.rights import (
    is_root_of_the_machine,
)
from httpdyno.model import Door
from httpdyno.report.shared.message import text
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.sandbox.available import possible
from httpdyno.servers.sandbox.namespace import open_cell
from httpdyno.servers.sandbox.sandbox import CellWish

pytestmark = pytest.mark.skipif(possible()[0] != "cell", reason=not_safest() or "cells can be had")

DEADLINE_S = 10.0
SERVER = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(sys.argv[1].encode())
HTTPServer(("0.0.0.0", 80), Handler).serve_forever()
"""


@pytest.fixture
def cells():
    with made_cells() as made:
        yield made


@pytest.fixture
def refused():
    with new_run_root() as root:

        def try_it(**wish):
            answer = open_cell(root.new_place("cell"), CellWish(**wish))
            assert isinstance(answer, NotRunning)
            assert answer.status == "refused"
            return text(answer.detail)

        yield try_it


@pytest.fixture
def site(own_folders):
    """A tree as people have: files, a link, a socket that somebody listens at."""
    folder = own_folders / "site"
    folder.mkdir()
    (folder / "conf").mkdir(mode=0o750)
    (folder / "conf" / "main.conf").write_text("as found")
    (folder / "conf" / "main.conf").chmod(0o640)
    (folder / "conf" / "link.conf").symlink_to("main.conf")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "backend.sock"))
        listener.listen()
        listener.setblocking(False)
        yield folder, listener


def in_network(network, ask):
    """Return what a function returns in a thread that is in a network namespace."""
    found = []

    def inside():
        with Path(network).open("rb") as handle:
            assert ctypes.CDLL(None).setns(handle.fileno(), 0) == 0
        found.append(ask())

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    return found[0]


def answer_of(host):
    deadline_s = time.monotonic() + DEADLINE_S
    while True:
        connection = HTTPConnection(host, 80, timeout=DEADLINE_S)
        try:
            connection.request("GET", "/")
            return connection.getresponse().read().decode()
        except ConnectionRefusedError:
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
        finally:
            connection.close()


def tree(folder):
    """Return all that can be said of a tree: kind, rights, owner, times and content of each."""
    found = {}
    for path in sorted([folder, *folder.rglob("*")]):
        info = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = (info.st_mode, info.st_uid, info.st_gid, info.st_mtime_ns, content)
    return found


def test_two_copies_listen_at_the_same_port_and_any_address(cells):
    seats = [cells(), cells()]
    processes = []
    for number, seat in enumerate(seats):
        command = [sys.executable, "-I", "-S", "-c", SERVER, f"copy {number}"]
        log = seat.folder / "log"
        processes.append(seat.spawn(command, environment=ENVIRONMENT, log=log))
    hosts = ("127.0.0.1", "203.0.113.80")
    answers = [in_network(s.network, lambda h=h: answer_of(h)) for s in seats for h in hosts]
    for process in processes:
        process.stop()
    assert answers == ["copy 0", "copy 0", "copy 1", "copy 1"]


CONTAINED = """
import errno, json, os, socket, sys
site, udp_port, tcp_port, *places = sys.argv[1:]
found = {"refused": [], "written": []}
for place in places:
    with open(place, "w") as file:
        file.write("was here")
os.chmod(f"{site}/conf/main.conf", 0o777)
os.utime(f"{site}/conf/main.conf", (1, 1))
os.unlink(f"{site}/conf/link.conf")
def tried(what, family, kind, address, send=b""):
    with socket.socket(family, kind) as connection:
        connection.settimeout(2)
        try:
            connection.connect(address)
            if send:
                connection.send(send)
                connection.recv(1)
            found["refused"].append((what, "reached"))
        except OSError as error:
            found["refused"].append((what, errno.errorcode.get(error.errno, str(error))))
tried("theirs", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", int(tcp_port)))
tried("outside", socket.AF_INET, socket.SOCK_STREAM, ("192.0.2.1", 443))
tried("outside, v6", socket.AF_INET6, socket.SOCK_STREAM, ("2001:db8::1", 443))
tried("datagram", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", int(udp_port)), b"x")
tried("socket file", socket.AF_UNIX, socket.SOCK_STREAM, f"{site}/backend.sock")
tried("abstract", socket.AF_UNIX, socket.SOCK_STREAM, "\\0" + site)
for place in ("/etc", "/usr", "/boot", "/proc/sys/vm", "/sys/kernel"):
    try:
        open(f"{place}/{os.path.basename(places[0])}", "w").close()
        found["written"].append(place)
    except OSError:
        pass
print(json.dumps(found))
"""


def test_what_a_copy_writes_and_reaches_stays_in_its_cell(cells, site, own_folders):
    folder, listener = site
    names = [f"/run/{folder.parent.name}", f"/var/tmp/{folder.parent.name}"]
    names += [f"/dev/shm/{folder.parent.name}", f"/var/log/{folder.parent.name}"]
    names += [f"{folder}/counter.txt", f"/tmp/{folder.parent.name}"]
    before = tree(folder)
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        udp.bind(("127.0.0.1", 0))
        abstract.bind(f"\0{folder}")
        abstract.listen()
        for each in (tcp, udp, abstract):
            each.setblocking(False)
        ports = [str(each.getsockname()[1]) for each in (udp, tcp)]
        seat = cells(writes=[str(folder)])
        found = said_by(seat, CONTAINED, str(folder), *ports, *names)
        for each in (tcp, abstract, listener):
            with pytest.raises(BlockingIOError):
                each.accept()
        with pytest.raises(BlockingIOError):
            udp.recv(1)
    # A socket file of theirs that is found by name is as if it had not been there.
    assert dict(found["refused"]) == {
        "theirs": "ECONNREFUSED",
        "outside": "ECONNREFUSED",
        "outside, v6": "ECONNREFUSED",
        "datagram": "ECONNREFUSED",
        "socket file": "ENOENT",
        "abstract": "ECONNREFUSED",
    }
    # Who may write there writes a copy; what the kernel shows is no file.
    assert set(found["written"]) <= {"/etc", "/usr", "/boot"}
    names += [f"{place}/{folder.parent.name}" for place in found["written"]]
    assert tree(folder) == before
    assert [name for name in names if os.path.lexists(name)] == []
    changed = [str(folder / "conf" / "main.conf"), str(folder / "conf" / "link.conf")]
    assert set(seat.written()) == {*names, *changed}


SEEN = """
import json, os, sys
conf = sys.argv[1]
info = os.stat(f"{conf}/main.conf")
print(json.dumps({
    "texts": {name: open(f"{conf}/{name}").read() for name in sorted(os.listdir(conf))},
    "mode": oct(info.st_mode & 0o7777), "owner": info.st_uid,
    "link": os.readlink(f"{conf}/link.conf"),
    "new": open(f"{conf}/new/deep.conf").read() if os.path.isdir(f"{conf}/new") else "",
    "folder": oct(os.stat(conf).st_mode & 0o7777),
    "is_writable": os.access(conf, os.W_OK),
}))
"""


def test_a_wished_file_stands_at_its_path_with_its_owner_and_rights(cells, session_folder):
    # Outside of what is asked for, such as /tmp.
    folder = Path("/var/lib") / session_folder.name
    conf = folder / "conf"
    conf.mkdir(parents=True, mode=0o755)
    try:
        (conf / "main.conf").write_text("as found")
        (conf / "main.conf").chmod(0o640)
        os.chown(conf / "main.conf", 65534, 65534)
        (conf / "link.conf").symlink_to("main.conf")
        (conf / "other.conf").write_text("other")
        before = tree(folder)
        files = {str(conf / "link.conf"): b"edited", str(conf / "added.conf"): b"added"}
        seat = cells(files=files)
        found = said_by(seat, SEEN, str(conf))
        assert tree(folder) == before
    finally:
        for path in sorted(folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        folder.rmdir()
    texts = {"added.conf": "added", "link.conf": "edited", "main.conf": "edited"}
    assert found == {
        "texts": {**texts, "other.conf": "other"},
        "mode": "0o640",
        "owner": 65534,
        "link": "main.conf",
        "new": "",
        "folder": "0o755",
        "is_writable": True,
    }
    assert seat.written() == ()


def test_pages_are_seen_as_they_are_where_only_root_can_put_anything_there(cells, session_folder):
    folder = Path("/var/lib") / session_folder.name
    safe, others, piped = (folder / name for name in ("safe", "others", "piped"))
    try:
        for each in (safe, others, piped):
            (each / "deep").mkdir(parents=True)
            (each / "deep" / "page").write_bytes(b"as found")
        (others / "deep").chmod(0o777)
        os.mkfifo(piped / "deep" / "fifo")
        served = [str(each) for each in (safe, others, piped)]
        mounts = ["/bin/cat", "/proc/self/mountinfo"]
        said = [cells(served=served).run(mounts, environment=ENVIRONMENT).output]
        # One that a file is put into is no such folder.
        files = {f"{safe}/deep/page": b"changed"}
        said.append(cells(served=served, files=files).run(mounts, environment=ENVIRONMENT).output)
    finally:
        shutil.rmtree(folder)
    shown = [[f" {each} " in each_said for each in served] for each_said in said]
    assert shown == [[is_root_of_the_machine(), False, False], [False] * 3]


RIGHTS = """
import grp, json, os, sys
found = {}
for user, groups in ((65534, []), (65533, []), (65533, [65500])):
    if os.fork() == 0:
        os.setgroups(groups); os.setgid(65533); os.setuid(user)
        print(json.dumps([os.access(each, os.W_OK) for each in sys.argv[1:]]), flush=True)
        os._exit(0)
    os.wait()
"""


def test_who_may_write_is_as_on_the_site(cells, session_folder):
    if not is_root_of_the_machine():
        pytest.skip("only root may give folders to others")
    folder = Path("/var/lib") / session_folder.name
    names = ("owned", "grouped", "sticky", "listed", "closed")
    paths = [str(folder / name) for name in names]
    try:
        for path in paths:
            Path(path).mkdir(parents=True)
        os.chown(paths[0], 65534, 65534)
        os.chown(paths[1], 0, 65500)
        Path(paths[1]).chmod(0o2775)
        Path(paths[2]).chmod(0o1777)
        # user::rwx user:65534:rwx group::r-x mask::rwx other::r-x, as setfacl writes it.
        entries = [(1, 7, 0xFFFFFFFF), (2, 7, 65534), (4, 5, 0xFFFFFFFF), (16, 7, 0xFFFFFFFF)]
        entries.append((32, 5, 0xFFFFFFFF))
        rules = b"".join(struct.pack("<HHI", *each) for each in entries)
        os.setxattr(paths[3], "system.posix_acl_access", struct.pack("<I", 2) + rules)
        command = [sys.executable, "-I", "-S", "-c", RIGHTS, *paths]
        real = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        # Folders that are covered by themselves have the same rights as those that are seen.
        copies = [cells(writes=writes).run(command, environment={}) for writes in ([], paths)]
    finally:
        shutil.rmtree(folder)
    assert [json.loads(line) for line in real.splitlines()] == [
        [True, False, True, True, False],
        [False, False, True, False, False],
        [False, True, True, False, False],
    ]
    assert [each.output for each in copies] == [real, real], copies


def test_where_a_server_writes_the_file_that_says_which_process_it_is_is_not_seen(
    cells, session_folder
):
    folder = session_folder / "srv"
    (folder / "deeper").mkdir(parents=True)
    for path in (folder / "shop.pid", folder / "shop.db"):
        path.write_text("1")
    seen = cells(writes=[str(folder)]).run(["/bin/ls", str(folder)], environment={})
    assert seen.output.split() == ["deeper", "shop.db"]
    assert (folder / "shop.pid").read_text() == "1"


def test_what_matches_a_pattern_later_is_not_seen(cells, own_folders):
    folder = own_folders / "site"
    for name in ("conf.d", "empty", "sites/a", "sites/b"):
        (folder / name).mkdir(parents=True)
    (folder / "all").write_text("all")
    files = ("conf.d/a.conf", "conf.d/key.pem", "conf.d/gone.conf", "sites/a/x.conf")
    for name in files:
        (folder / name).write_text("as found")
    (folder / "conf.d" / "link.conf").symlink_to("../all")
    known = ["conf.d/a.conf", "conf.d/gone.conf", "conf.d/link.conf", "sites/a/x.conf"]
    texts = {f"{folder}/{name}": (folder / name).read_bytes() for name in known}
    patterns = [f"{folder}/{each}" for each in ("conf.d/*.conf", "empty/", "sites/*/*.conf")]
    # Between the reading and the start.
    (folder / "conf.d" / "gone.conf").unlink()
    (folder / "conf.d" / "new.conf").write_text("new")
    seat = cells(files=texts, patterns=patterns)
    # And in mid-start.
    for name in ("conf.d/later.conf", "empty/later", "sites/b/later.conf", "sites/a/later.conf"):
        (folder / name).write_text("later")
    look = "find . ! -type d | sort; cat conf.d/*"
    said = seat.run(["sh", "-c", look], environment=ENVIRONMENT, folder=str(folder))
    seen = ["all", "conf.d/a.conf", "conf.d/gone.conf", "conf.d/key.pem", "conf.d/link.conf"]
    seen.append("sites/a/x.conf")
    lines = [f"./{name}\n" for name in seen]
    assert said.output == "".join(lines) + "as found" * 3 + "all", said


def test_a_folder_that_is_to_be_written_and_is_not_there_is_made(cells, session_folder):
    folder = Path("/var/lib") / f"{session_folder.name}-new" / "deep"
    write = (
        "import json, pathlib, sys; print(json.dumps(pathlib.Path(sys.argv[1]).write_text('x')))"
    )
    seat = cells(writes=[str(folder), str(folder / "deeper")])
    assert said_by(seat, write, str(folder / "file")) == 1
    assert seat.written() == (str(folder / "file"),)
    assert not folder.parent.exists()


def test_many_folders_beside_its_place_are_seen(cells, own_folders):
    for number in range(200):
        (own_folders / f"beside-{number}").mkdir()
    (own_folders / "beside-7" / "file").write_text("as found")
    look = "import json, os, sys; print(json.dumps(os.listdir(sys.argv[1])))"
    assert said_by(cells(), look, str(own_folders / "beside-7")) == ["file"]


def test_a_door_leads_to_a_socket_and_only_there(cells, site):
    folder, listener = site
    at = str(folder / "backend.sock")
    new = str(folder / "elsewhere.sock")
    doors = [Door(to=f"unix:{at}"), Door(to=f"unix:{new}", through=f"unix:{at}")]
    connect = "import socket, sys; [socket.socket(1).connect(each) for each in sys.argv[1:]]"
    seat = cells(doors=doors)
    said = seat.run([sys.executable, "-c", connect, at, new], environment=ENVIRONMENT)
    assert (said.exit_code, said.errors) == (0, "")
    for _ in range(2):
        listener.accept()[0].close()
    closed = cells().run([sys.executable, "-c", connect, at], environment=ENVIRONMENT)
    assert closed.exit_code == 1
    assert not os.path.lexists(new)


@pytest.mark.parametrize(
    ("door", "words"),
    [
        ("tcp:10.0.0.5:5432", "cell: cannot open a door to tcp:10.0.0.5:5432: only `unix:/path`"),
        ("unix:/nowhere.sock", "cell: cannot open a door through /nowhere.sock: No such file"),
        ("unix:/etc/passwd", "cell: cannot open a door through /etc/passwd: it is no socket"),
    ],
)
def test_a_door_that_leads_nowhere_is_refused(refused, door, words):
    assert refused(doors=[Door(to=door)]).startswith(words)


def test_kernel_settings_are_the_cells_own(cells, refused):
    name, path = "net.core.somaxconn", Path("/proc/sys/net/core/somaxconn")
    before = path.read_text()
    read = "import json, pathlib, sys; print(json.dumps(pathlib.Path(sys.argv[1]).read_text()))"
    assert said_by(cells(), read, str(path)) == before
    assert said_by(cells(sysctls={name: "777"}), read, str(path)) == "777\n"
    assert path.read_text() == before
    assert refused(sysctls={"net.core.nonsense": "1"}) == (
        "cell: cannot set net.core.nonsense to 1: No such file or directory"
    )
