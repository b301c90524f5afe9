"""Debian's stock servers with three sites each are taken as they are, in each kind of seat."""

from pathlib import Path

import pytest
from tests.real.sites.stock import stock_apache, stock_nginx
from tests.real.sites.taken import bytes_below, moved_bytes, refused_in_seat
from tests.real.test_apache_site import needs, seat_in

from httpdyno.model import Edit, Level, Survey
from httpdyno.servers.apache_site import ApacheSite
from httpdyno.servers.nginx import Nginx
from httpdyno.servers.run_folder import new_run_root
from httpdyno.servers.site.adapter import MemberFiles

pytestmark = pytest.mark.real_server("nginx", "apache2", "openssl", "rotatelogs")

VALUES: dict[str, dict[str, Level]] = {
    "nginx": {"worker_connections": 4096, "keepalive_timeout": 5, "gzip": False},
    "apache": {"MaxRequestWorkers": 600, "KeepAliveTimeout": 2, "EnableMMAP": False},
}


# nginx behind a wall is in `benches.layouts`: below a test's folder the path of its PHP socket is
# longer than the kernel takes.
SEATS = [
    pytest.param("nginx", "cell", marks=needs("cell")),
    pytest.param("apache", "cell", marks=needs("cell")),
    pytest.param("apache", "wall", marks=needs("wall")),
]


@pytest.mark.parametrize(("server", "kind"), SEATS)
def test_stock_sites_are_taken_and_no_other_byte_moves(server, kind, own_folders):
    root = own_folders / "s"
    root.mkdir()
    adapter = Nginx() if server == "nginx" else ApacheSite()
    member = stock_nginx(root) if server == "nginx" else stock_apache(root)
    files = adapter.read(member)
    survey = adapter.survey(member, files, seat_in(own_folders) if server == "apache" else None)
    assert isinstance(survey, Survey), survey
    before = bytes_below(root)
    edits = adapter.change_set(survey, files, VALUES[server]).edits
    assert len(edits) >= len(VALUES[server])
    assert moved_bytes(files, edits) == ""
    with new_run_root() as runs:
        for values in ({}, VALUES[server]):
            place = runs.new_place("x")
            assert refused_in_seat(adapter, member, survey, values, kind=kind, place=place) == ""
    assert bytes_below(root) == before


@pytest.mark.parametrize("kind", [pytest.param("cell", marks=needs("cell"))])
def test_what_the_server_refuses_is_told(kind, own_folders):
    root = own_folders / "s"
    root.mkdir()
    member = stock_nginx(root)
    survey = Nginx().survey(member, Nginx().read(member), None)
    assert isinstance(survey, Survey)
    Path(member.main).write_text(Path(member.main).read_text().replace("gzip on;", "gzip perhaps;"))
    with new_run_root() as runs:
        place = runs.new_place("x")
        said = refused_in_seat(Nginx(), member, survey, {}, kind=kind, place=place)
    assert 'invalid value "perhaps"' in said


def test_edits_that_meet_nothing_else_are_undone():
    files = MemberFiles(texts={"/a": b"one two three\r\n"})
    edits = (Edit(file="/a", start=4, end=7, text="2"), Edit(file="/a", start=0, end=0, text="#"))
    assert moved_bytes(files, edits) == ""
