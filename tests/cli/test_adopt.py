"""What `httpdyno adopt` refuses, and what it says of what a copy tried."""

import os
from pathlib import Path

import pytest

from httpdyno.advice.proposal import KnobProposal, Proposals
from httpdyno.cli import adopt
from httpdyno.cli.adopt import told_attempts, told_proposals
from httpdyno.cli.app import run
from httpdyno.errors import AdapterError
from httpdyno.reason import because

WHY = because("sandbox.no_copy", why=because("sandbox.no_landlock"))


@pytest.fixture
def main(tmp_path):
    file = tmp_path / "nginx.conf"
    file.write_text("events {}\nhttp { server { listen 8080; } }\n")
    return str(file)


def test_what_allows_nothing_is_refused_before_anything_runs(main, capsys, monkeypatch):
    monkeypatch.setattr(adopt, "seat_maker", lambda _: pytest.fail("a copy is made"))
    assert run(["adopt", main, "--allow", "stale, lost"]) == 2
    said = capsys.readouterr().err
    assert "`--allow lost` allows nothing" in said
    assert "stale, loss, inline, links" in said


def test_where_no_copy_can_be_kept_apart_the_ways_out_are_told(main, capsys, monkeypatch):
    monkeypatch.setattr(adopt, "enter_for", lambda _: None)
    monkeypatch.setattr(adopt, "seat_maker", lambda _: WHY)
    assert run(["adopt", main]) == 3
    said = capsys.readouterr().err
    assert "no private copy can be kept apart here: cannot be made: no Landlock here" in said
    assert "--isolation open" in said
    assert "httpdyno doctor" in said


def test_each_copy_may_take_as_long_to_start_as_was_said(main, monkeypatch):
    asked: list[float] = []

    def gathered(members, *_):
        asked.extend(each.ready_timeout_s for each in members)
        raise AdapterError("far enough")

    monkeypatch.setattr(adopt, "gather_running", gathered)
    assert run(["adopt", main, "--start-timeout", "1m"]) == 3
    assert asked == [60]


@pytest.mark.real_server("nginx")
@pytest.mark.skipif(os.geteuid() != 0, reason="the cell is made by root here")
def test_who_speaks_the_proxy_protocol_is_refused_at_once(main, capsys):
    Path(main).write_text("events {}\nhttp { server { listen 8080 proxy_protocol; } }\n")
    assert run(["adopt", main]) == 2
    assert f"`0.0.0.0:8080` speaks the PROXY protocol ({main}:2)" in capsys.readouterr().err


def test_who_speaks_no_http_is_no_front(tmp_path, capsys):
    (tmp_path / "php-fpm.conf").write_text("[www]\nlisten = 9000\npm = static\n")
    assert run(["adopt", f"{tmp_path}/php-fpm.conf"]) == 2
    said = capsys.readouterr().err
    assert "php-fpm speaks FastCGI" in said
    assert "`httpdyno adopt nginx --with php-fpm`" in said


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        ("tcp 10.0.0.5:5432", "may not reach tcp 10.0.0.5:5432: if that server is on this"),
        ("tcp [::1]:5432", "add it with `--with :5432`; no `[[site.doors]]` can allow it"),
        ("udp 192.0.2.53:53 (for the name mail.example)", "mail.example): a copy asks no name"),
        ("unix:/run/db.sock", "may not reach unix:/run/db.sock: allow it with `[[site.doors]]`"),
        ("unix:@db", "may not reach unix:@db: no `[[site.doors]]` can allow it"),
        ("write /srv/shop/cache", "may not write /srv/shop/cache: with `--isolation cell` it has"),
    ],
)
def test_what_it_may_not_is_told_with_a_way_out(attempt, words):
    (line,) = told_attempts([attempt], [], "wall")
    assert words in line


def test_what_goes_out_is_not_told_as_refused():
    (line,) = told_attempts([], ["udp 192.0.2.9:8125"], "wall")
    assert line == "its copy reached udp 192.0.2.9:8125: a wall does not keep it from that"


def test_which_workers_memory_does_not_hold_is_told_with_the_numbers():
    said = because("advice.room_unknown", why="nobody looked")
    cut = KnobProposal(
        name="a:workers",
        start=1,
        levels=(9,),
        why=because("advice.others_wait", found=1, clients=9),
        memory=said,
    )
    shut = KnobProposal(
        name="b:workers",
        start=9,
        levels=(64,),
        why=because("advice.others_wait", found=1, clients=9),
        memory=said,
        blocked=said,
    )
    other = KnobProposal(name="c", start=1, levels=(2,), blocked=because("advice.little_expected"))
    assert list(told_proposals(Proposals(tried=(cut,), listed=(shut, other)))) == [
        "  a:workers  1 → 9: 1 at a time for 9 clients; all others wait",
        "    nothing bounds it by memory: nobody looked",
        "  b:workers  9 stays: nothing bounds it by memory: nobody looked",
    ]
