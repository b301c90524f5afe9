"""Rewritten for where a copy sees everybody's files and ports."""

import itertools
import re
from pathlib import Path

import pytest
from tests.rows import each_row
from tests.servers.nginx.layouts import (
    CERTBOT,
    DEBIAN,
    IP_HOSTS,
    LAYOUTS,
    NO_LISTEN,
    PROXY,
    SSL_SNIPPET,
    STREAM,
)
from tests.servers.nginx.seats import OpenSeat, wildcards_alike

from httpdyno.errors import AdapterError
from httpdyno.model import Member, Survey
from httpdyno.servers.nginx import Nginx
from httpdyno.servers.nginx.conf import WRITTEN, build_of, conf_of, is_file
from httpdyno.servers.nginx.text import walk
from httpdyno.servers.nginx.wall import wall_edits
from httpdyno.servers.stack.adapter import MemberFiles
from httpdyno.servers.stack.snapshot import edited_files

NGINX = Nginx()
FOLDER = Path("/seat")
OF_STREAM = ["0.0.0.0:6432", "0.0.0.0:5353"]


def rewritten(layout, *, is_root=True, served=()):
    files = MemberFiles(texts=layout.texts())
    member = Member(name="nginx", kind="nginx", main=layout.main, unit="nginx.service")
    survey = NGINX.survey(member, files, None)
    assert isinstance(survey, Survey)
    addresses = [listener.address for listener in survey.listeners]
    if layout is STREAM:
        addresses += OF_STREAM
    ports = wildcards_alike([*addresses, *served], itertools.count(20_001))
    seat = OpenSeat(folder=FOLDER, ports=ports, is_root=is_root)
    assert NGINX.private(survey, files, seat) == ()
    edits = edits_of(layout, seat)
    assert {edit.purpose for edit in edits} <= {"private"}
    new = {**files.texts, **edited_files(files.texts, edits)}
    return files.texts, {f"{FOLDER}{path}": text for path, text in new.items()}, ports


def edits_of(layout, seat):
    conf = conf_of(layout.texts(), build_of("", ("--http-log-path=/var/log/nginx/a.log",)))
    return wall_edits(conf, seat, ())


def directives(texts):
    return list(walk(conf_of(texts, build_of("", ())).tree))


@each_row("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_all_that_is_written_is_below_the_seat_and_every_line_is_where_it_was(layout):
    before, after, ports = rewritten(layout)
    for path, text in before.items():
        assert after[f"{FOLDER}{path}"].count(b"\n") == text.count(b"\n")
    found = directives(after)
    for directive in found:
        if directive.name in WRITTEN and is_file(directive.texts[0]):
            assert directive.texts[0].startswith(f"{FOLDER}/"), directive
        if directive.name == "include" and directive.texts[0].startswith("/"):
            assert directive.texts[0].startswith(f"{FOLDER}/")
        if directive.name == "listen":
            assert directive.texts[0] in ports.values()
    assert {"pid", "client_body_temp_path", "scgi_temp_path"} <= {d.name for d in found}
    for server in (d for d in found if d.name == "server" and d.is_block):
        assert any(d.name == "listen" for d in walk(server.block))
    # What it has in force is what they have.
    names = {d.name for d in directives(before)} - {"listen", "include", *WRITTEN, "daemon"}
    for name in names:
        values = [
            [d.texts for d in all_of if d.name == name] for all_of in (directives(before), found)
        ]
        assert len(values[0]) == len(values[1]), name


def test_addresses_that_become_one_are_said_once_in_each_server():
    _, after, _ = rewritten(DEBIAN)
    text = after[f"{FOLDER}/etc/nginx/sites-enabled/default"].decode()
    assert re.findall(r"listen[^;]*;", text) == ["listen 127.0.0.1:20001 default_server;"]
    _, after, _ = rewritten(CERTBOT)
    text = after[f"{FOLDER}/etc/nginx/sites-enabled/shop"].decode()
    listens = re.findall(r"listen[^;]*;", text)
    assert listens == ["listen 127.0.0.1:20001 ssl;", "listen 127.0.0.1:20002;"]


def test_hosts_by_address_stay_apart():
    _, after, ports = rewritten(IP_HOSTS)
    assert len(set(ports.values())) == len(ports) == 5
    text = after[f"{FOLDER}/etc/nginx/nginx.conf"].decode()
    assert f"listen {ports['192.0.2.10:443']} ssl backlog=2048;" in text
    assert f"listen {ports['[2001:db8::1]:80']};" in text


def test_a_server_without_listen_gets_one():
    _, after, ports = rewritten(NO_LISTEN)
    text = after[f"{FOLDER}/etc/nginx/nginx.conf"].decode()
    assert f"    server {{ listen {ports['0.0.0.0:80']};\n" in text


def test_an_ordinary_user_takes_no_other():
    before, after, _ = rewritten(DEBIAN, is_root=False)
    assert b"user www-data;" in before["/etc/nginx/nginx.conf"]
    assert not [d for d in directives(after) if d.name == "user"]
    assert [d for d in directives(rewritten(DEBIAN)[1]) if d.name == "user"]


def test_keys_stay_where_they_are_and_relative_ones_are_found():
    _, after, _ = rewritten(SSL_SNIPPET)
    assert b"@" not in after[f"{FOLDER}/etc/nginx/snippets/ssl.conf"]
    keys = [d.texts[0] for d in directives(after) if d.name == "ssl_certificate_key"]
    assert set(keys) == {"/etc/ssl/private/site.key"}


def test_backends_that_are_members_are_reached_where_they_are():
    _, after, ports = rewritten(PROXY, served=("127.0.0.1:8000", "127.0.0.1:3000"))
    text = after[f"{FOLDER}/etc/nginx/nginx.conf"].decode()
    assert f"server {ports['127.0.0.1:8000']};" in text
    assert "server 127.0.0.1:8001 weight=2 max_fails=3;" in text
    assert f"proxy_pass http://{ports['127.0.0.1:3000']}/x/;" in text
    assert "proxy_pass http://app;" in text


def test_every_address_that_a_wall_moves_is_moved_but_no_name_of_an_upstream():
    class Wall(OpenSeat):
        def port(self, address: str) -> str:
            host, colon, port = address.rpartition(":")
            assert colon, f"`{address}` is no address"
            assert host == "unix" or port.isdecimal()
            return f"127.9.9.9:{len(address)}"

    for layout in LAYOUTS:
        edits = edits_of(layout, Wall(folder=FOLDER, ports={}))
        assert any("127.9.9.9" in edit.text for edit in edits)


@each_row("layout", [DEBIAN, STREAM, NO_LISTEN], ids=lambda layout: layout.name)
def test_a_copy_never_listens_where_they_do(layout):
    known = {"0.0.0.0:80": "127.0.0.1:20001"} if layout is STREAM else {}
    with pytest.raises(AdapterError, match=r"would listen at `0\.0\.0\.0:"):
        edits_of(layout, OpenSeat(folder=FOLDER, ports=known))
