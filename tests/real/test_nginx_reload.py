"""That a reload is all that nginx's knobs take: each is changed on a running copy and seen.

A reload is believed when all workers are others, never by an exit code.
"""

import resource
import time
from http.client import HTTPConnection
from pathlib import Path

import pytest
from tests.servers.nginx.seats import DEADLINE_S, OpenCopy, open_copy

from httpdyno.model import Effective, Level
from httpdyno.servers.nginx.insight import workers

pytestmark = pytest.mark.real_server("nginx")
MAIN = """user root;
worker_processes 2;
worker_rlimit_nofile 2048;
pid @/run/nginx.pid;
error_log @/error.log;
events {
    worker_connections 512;
}
http {
    access_log @/access.log;
    types { text/html html; }
    server {
        listen 80;
        root @/;
    }
}
"""
ADDRESS = "0.0.0.0:80"
PAGE = "<p>" + "all the same " * 400


@pytest.fixture
def copy(own_folders):
    (own_folders / "nginx.conf").write_text(MAIN.replace("@/", f"{own_folders}/"))
    (own_folders / "page.html").write_text(PAGE)
    with open_copy(own_folders / "nginx.conf", {}) as started:
        yield started


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("worker_processes", 4),
        ("worker_processes", 1),
        ("worker_rlimit_nofile", 4000),
        ("worker_connections", 900),
        ("listen_backlog", 333),
        ("listen_reuseport", True),
    ],
)
def test_what_is_seen_from_outside_is_new_after_a_reload(copy, name, level):
    master = copy.process.pid
    copy.reload({name: level})
    found = copy.insight.effective()
    assert isinstance(found, Effective)
    assert found.values == found.asked
    assert copy.process.pid == master
    assert copy.process.is_alive()
    copy.reload({})
    assert len(workers(master)) == 2


def asked(client: HTTPConnection, *, gzip: bool = False) -> tuple[bool, int, bool]:
    """Ask for the page; return whether it is compressed, its bytes, whether the server closes."""
    client.request("GET", "/page.html", headers={"Accept-Encoding": "gzip"} if gzip else {})
    answer = client.getresponse()
    body = answer.read()
    compressed = answer.headers["Content-Encoding"] == "gzip"
    return compressed, len(body), answer.headers["Connection"] == "close"


def test_what_clients_see_is_new_after_a_reload(copy):
    client = copy.connect(ADDRESS)
    assert asked(client, gzip=True) == (False, len(PAGE), False)
    client.close()
    sizes = []
    for level in (1, 9):
        copy.reload({"gzip": True, "gzip_comp_level": level, "keepalive_requests": 2})
        client = copy.connect(ADDRESS)
        compressed, n_bytes, closes = asked(client, gzip=True)
        assert (compressed, closes) == (True, False)
        assert asked(client)[2] is True
        client.close()
        sizes.append(n_bytes)
    assert sizes[1] < sizes[0] < len(PAGE)
    copy.reload({"gzip": True, "gzip_min_length": 100_000})
    client = copy.connect(ADDRESS)
    assert asked(client, gzip=True)[0] is False
    client.close()


def test_an_idle_connection_is_closed_as_long_after_as_a_reload_says(copy):
    copy.reload({"keepalive_timeout": 0.2})
    client = copy.connect(ADDRESS)
    asked(client)
    assert client.sock is not None
    assert client.sock.recv(1) == b""
    client.close()


@pytest.mark.parametrize(("level", "is_kept"), [("off", False), ("1000/20s", True)])
def test_files_stay_open_after_a_reload_with_the_cache(copy, own_folders, level, is_kept):
    copy.reload({"open_file_cache": level, "worker_processes": 1})
    client = copy.connect(ADDRESS)
    asked(client)
    # The one worker has let go of that request when it answers the next.
    client.request("GET", "/none")
    assert client.getresponse().status == 404
    client.close()
    assert (str(own_folders / "page.html") in open_files(copy)) is is_kept


def open_files(copy: OpenCopy) -> set[str]:
    found = set()
    for pid in workers(copy.process.pid):
        for file in Path(f"/proc/{pid}/fd").iterdir():
            found.add(str(file.readlink()))
    return found


@pytest.mark.parametrize(("level", "is_there"), [("none", True), ("32k/1h", False)])
def test_log_lines_wait_after_a_reload_with_a_buffer(copy, level, is_there):
    copy.reload({"access_log_buffer": level, "worker_processes": 1})
    log = copied(copy, "access.log")
    before = log.stat().st_size
    client = copy.connect(ADDRESS)
    asked(client)
    # The line of a request is written before the next one of its connection is read.
    asked(client)
    client.close()
    assert (log.stat().st_size > before) is is_there
    copy.process.request_stop()
    deadline_s = time.monotonic() + DEADLINE_S
    while log.stat().st_size == before:
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def copied(copy: OpenCopy, name: str) -> Path:
    return next(copy.seat.folder.rglob(name))


def test_a_file_that_nginx_refuses_changes_nothing_and_its_words_are_told(copy):
    values: dict[str, Level] = {"worker_processes": 3}
    copy.reload(values)
    before = workers(copy.process.pid)
    main = copied(copy, "nginx.conf")
    main.write_text(main.read_text().replace("listen ", "listten "))
    copy.process._signal(1)
    deadline_s = time.monotonic() + DEADLINE_S
    while "listten" not in copy.insight.words():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    assert workers(copy.process.pid) == before
    assert 'unknown directive "listten"' in copy.insight.words()


def test_a_limit_of_the_machine_that_holds_theirs_below_is_no_refusal(own_folders):
    n_files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    text = MAIN.replace("worker_rlimit_nofile 2048;\n", "").replace("512", str(n_files + 1000))
    (own_folders / "nginx.conf").write_text(
        text.replace("@/", f"{own_folders}/").replace("listen 80", "listen 80 backlog=65000")
    )
    found: dict[str, Level] = {"worker_connections": n_files + 1000, "listen_backlog": 65_000}
    with open_copy(own_folders / "nginx.conf", found) as copy:
        effective = copy.insight.effective()
    assert isinstance(effective, Effective)
    assert effective.values == effective.asked
