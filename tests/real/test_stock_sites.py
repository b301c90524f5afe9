"""Debian's stock servers with three sites each are taken as they are, and serve in each seat."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.real.sites.served import wrong_answers
from tests.real.sites.stock import StockSite, stock_apache, stock_nginx
from tests.real.sites.taken import bytes_below, moved_bytes, refused_in_seat
from tests.real.test_apache_site import needs, seat_in

from httpdyno.model import Edit, Level, Survey
from httpdyno.servers.apache import Apache
from httpdyno.servers.nginx import Nginx
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.stack.adapter import MemberFiles, ServerAdapter

pytestmark = pytest.mark.real_server("nginx", "apache2", "openssl", "rotatelogs", "php-fpm8.2")

ADAPTERS: dict[str, ServerAdapter] = {"nginx": Nginx(), "apache": Apache()}
VALUES: dict[str, dict[str, Level]] = {
    "nginx": {"worker_connections": 4096, "keepalive_timeout": 5, "gzip": False},
    "apache": {"MaxRequestWorkers": 600, "KeepAliveTimeout": 2, "EnableMMAP": False},
}
SITES = {
    "nginx": stock_nginx,
    "apache": stock_apache,
    "mod_perl": lambda root: stock_apache(root, mpm="prefork"),
}
SEATS = [pytest.param("cell", marks=needs("cell")), pytest.param("wall", marks=needs("wall"))]


@pytest.fixture
def root(own_folders):
    found = own_folders / "s"
    found.mkdir()
    return found


@pytest.mark.parametrize("kind", SEATS)
@pytest.mark.parametrize("server", sorted(SITES))
def test_stock_sites_are_taken_served_and_no_other_byte_moves(server, kind, root, own_folders):
    site = SITES[server](root)
    adapter, values = ADAPTERS[site.front.kind], VALUES[site.front.kind]
    files = adapter.read(site.front)
    asked = seat_in(own_folders) if site.front.kind == "apache" else None
    survey = adapter.survey(site.front, files, asked)
    assert isinstance(survey, Survey), survey
    before = bytes_below(root)
    edits = adapter.change_set(survey, files, values).edits
    assert len(edits) >= len(values)
    assert moved_bytes(files, edits) == ""
    with new_run_root() as runs:
        for given in ({}, values):
            place = runs.new_place("x")
            refused = refused_in_seat(adapter, site.front, survey, given, kind=kind, place=place)
            assert refused == ""
        assert wrong_answers(site, values, kind=kind, place=runs.new_place("x")) == []
    assert bytes_below(root) == before


@pytest.mark.parametrize("kind", [pytest.param("cell", marks=needs("cell"))])
def test_what_the_server_refuses_is_told(kind, root):
    member = stock_nginx(root).front
    survey = Nginx().survey(member, Nginx().read(member), None)
    assert isinstance(survey, Survey)
    Path(member.main).write_text(Path(member.main).read_text().replace("gzip on;", "gzip perhaps;"))
    with new_run_root() as runs:
        place = runs.new_place("x")
        said = refused_in_seat(Nginx(), member, survey, {}, kind=kind, place=place)
    assert 'invalid value "perhaps"' in said


@needs("cell")
def test_what_is_answered_wrong_is_told(root):
    site = stock_nginx(root)
    first, second = (root / "etc/ssl" / name / "cert.pem" for name in ("secure", "other"))
    swapped = {first: second, second: first}
    asked = tuple(
        replace(each, certificate=swapped[each.certificate]) if each.certificate else each
        for each in site.questions
    )
    (root / "srv/shop/index.html").write_text("another page\n")
    (root / "srv/blog/index.php").write_text("<?php echo 'no sum';")
    wrong_site = StockSite(members=site.members, questions=asked, piped_log="")
    with new_run_root() as runs:
        wrong = wrong_answers(wrong_site, {}, kind="cell", place=runs.new_place("x"))
    assert [each.partition(":")[0] for each in wrong] == [
        *("static", "PHP", "PHP for all", "TLS secure", "TLS other")
    ]
    assert "certificate verify failed" in wrong[-1]


def test_edits_that_meet_nothing_else_are_undone():
    files = MemberFiles(texts={"/a": b"one two three\r\n"})
    edits = (Edit(file="/a", start=4, end=7, text="2"), Edit(file="/a", start=0, end=0, text="#"))
    assert moved_bytes(files, edits) == ""
