"""What `httpdyno inspect` shows of servers that were seen."""

import json

import pytest
from msgspec.structs import replace as changed
from tests.report.plain import plain_text

from httpdyno.model import Backend, Listener, LogPlace, Member, Notice, Origin, Reading, Survey
from httpdyno.report.inspect.json import inspect_json
from httpdyno.report.inspect.page import Page, Server
from httpdyno.report.inspect.text import inspect_text
from httpdyno.servers.source.find import Found
from httpdyno.servers.source.inspection import Inspected
from httpdyno.servers.source.listening import ListeningSocket
from httpdyno.servers.source.process import ProcessFacts
from httpdyno.servers.source.unit_file import UnitFacts

NOW_S = 2_000_000.0
MAIN = "/etc/nginx/nginx.conf"
SITE = "/etc/nginx/sites-enabled/shop.example"
SOCKET = "unix:/run/php/php8.2-fpm.sock"


def process(pid: int, parent: int, age_s: float, user: str = "root") -> ProcessFacts:
    return ProcessFacts(
        pid=pid, parent=parent, name="x", started_at_s=NOW_S - age_s, user=user, program="/usr/x"
    )


def reading(name: str, text: str, *, scope: str = "", line: int | None = 1) -> Reading:
    origin = Origin(file=MAIN, line=line, start=0, end=1) if line else None
    return Reading(name=name, scope=scope, text=text, origin=origin)


def nginx() -> Server:
    found = Found(
        member=Member(
            name="nginx", kind="nginx", main=MAIN, unit="nginx.service", environment_names=("LANG",)
        ),
        root=process(812, 1, 3 * 86_400),
        below=(process(813, 812, 7200, "www-data"), process(814, 812, 7200, "www-data")),
        listens=(
            ListeningSocket(inode=1, host="0.0.0.0", port=80, user="root"),
            ListeningSocket(inode=2, host="0.0.0.0", port=443, user="root"),
            ListeningSocket(inode=3, host="::", port=80, user="root"),
        ),
        unit=UnitFacts(
            name="nginx.service",
            files=("/lib/systemd/system/nginx.service",),
            limits=(("LimitNOFILE", "65536"), ("MemoryMax", "2G")),
            needs_daemon_reload=True,
        ),
        open_files_limit="65536",
    )
    survey = Survey(
        version="nginx version: nginx/1.22.1",
        readings=(
            reading("worker_processes", "auto"),
            reading("keepalive_timeout", "65"),
            reading("gzip", "on", scope="shop.example"),
            reading("multi_accept", "off", line=None),
            reading("pid", "/run/nginx.pid"),
        ),
        listeners=(
            Listener(address="0.0.0.0:80", names=("static.example", "shop.example")),
            Listener(address="0.0.0.0:443", is_tls=True, names=("shop.example",)),
            Listener(address="127.0.0.1:8080", names=("status.example",)),
        ),
        backends=(Backend(to=SOCKET, protocol="fastcgi"),),
        logs=(
            LogPlace(path="/var/log/nginx/access.log"),
            LogPlace(path="/var/log/nginx/shop.log", log_format="$remote_addr $request_time"),
        ),
        unreadable=("/etc/ssl/private/shop.key",),
        notices=(
            Notice(
                words="`server_name` shop.example stands twice",
                origin=Origin(file=SITE, line=3, start=0, end=1),
            ),
        ),
    )
    seen = Inspected(
        found=found,
        version="1.22.1",
        survey=survey,
        n_files=34,
        knobs=("gzip@shop.example", "keepalive_timeout", "worker_processes"),
        changed=(SITE,),
        perhaps_changed=(MAIN, "/etc/nginx/mime.types"),
    )
    return Server(seen=seen, memory_bytes=20 << 20, backends=((SOCKET, "php-fpm 790"),))


def api() -> Server:
    command = ("/srv/api/venv/bin/gunicorn", "shop.wsgi", "--workers", "3")
    member = Member(name="gunicorn", kind="gunicorn", command=command, folder="/srv/api")
    return Server(seen=Inspected(found=Found(member=member)))


def secluded() -> Server:
    member = Member(name="node", kind="node", command=("node", "server.js"))
    found = Found(
        member=member, root=process(9, 1, 65.0, "shop"), hidden=("environment", "sockets")
    )
    return Server(seen=Inspected(found=found, version="20.1.0"))


PAGES = {
    "site": Page(servers=(nginx(), api()), now_s=NOW_S, isolation="cell", isolation_reason="root"),
    "little": Page(servers=(secluded(),), now_s=NOW_S, isolation_reason="no Landlock here"),
    "nothing": Page(servers=(), now_s=NOW_S),
}


@pytest.mark.parametrize("name", PAGES)
def test_the_text_is_as_it_was_read(name, golden):
    golden(f"report/inspect_{name}.txt", plain_text(inspect_text(PAGES[name])))


@pytest.mark.parametrize("name", PAGES)
def test_the_text_fits_80_columns(name):
    assert all(len(line) <= 80 for line in plain_text(inspect_text(PAGES[name])).splitlines())


def test_json_has_what_the_text_has(golden):
    document = inspect_json(PAGES["site"])
    golden("report/inspect_site.json", f"{json.dumps(document, indent=2)}\n")
    text = plain_text(inspect_text(PAGES["site"])).split()
    for finding in document["servers"][0]["findings"]:
        assert " ".join(finding.split()) in " ".join(text).replace(" ! ", " ")


def test_a_program_that_was_replaced_is_a_finding():
    server = nginx()
    root = server.seen.found.root
    assert root is not None
    calm = Server(seen=Inspected(found=Found(member=server.seen.found.member, root=root)))
    assert calm.findings == ()
    old = ProcessFacts(
        pid=1, parent=0, name="x", started_at_s=0, program="/usr/x", is_replaced=True
    )
    seen = Inspected(found=Found(member=changed(server.seen.found.member, unit=""), root=old))
    [finding] = Server(seen=seen).findings
    assert "a restart takes up the new one" in finding
