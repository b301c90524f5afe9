"""The planted site serves, its mistakes are in force, and each of them costs what it is to cost."""

import os
import time
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection

import pytest
from tests.isolation import not_safest
from tests.real.sites.planted import HOST, INERT, MISTAKES, PAGES, PORT, planted_site

from httpdyno.model import Configuration, Effective, Level, Survey
from httpdyno.servers.network.address import within
from httpdyno.servers.nginx import Nginx
from httpdyno.servers.php_fpm import PhpFpm
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.sandbox.available import possible
from httpdyno.servers.sandbox.namespace import CellSeat, open_cell
from httpdyno.servers.sandbox.sandbox import CellWish
from httpdyno.servers.stack.adapter import ServerAdapter
from httpdyno.servers.stack.snapshot import edited_files

pytestmark = [
    pytest.mark.real_server("nginx", "php-fpm8.2"),
    pytest.mark.skipif(possible()[0] != "cell", reason=not_safest() or "cells can be had"),
]

ADAPTERS: dict[str, ServerAdapter] = {"nginx": Nginx(), "php": PhpFpm()}
DEADLINE_S = 15.0


@contextmanager
def served(site, values):
    """Start both members in one cell, back to front, with values of a study's knobs."""
    with ExitStack() as stack:
        place = stack.enter_context(new_run_root()).new_place("planted")
        wish: dict[str, bytes] = {}
        writes: list[str] = []
        members = []
        for member in (site.php, site.front):
            adapter = ADAPTERS[member.name]
            start = f"{member.name}:"
            own = {n.removeprefix(start): v for n, v in values.items() if n.startswith(start)}
            files = adapter.read(member)
            survey = adapter.survey(member, files, None)
            assert isinstance(survey, Survey)
            changes = adapter.change_set(survey, files, own)
            wish |= {**files.texts, **edited_files(files.texts, changes.edits)}
            wish |= {path: text.encode() for path, text in changes.added.items()}
            writes += survey.writes
            members.append((member, adapter, survey, changes, own))
        seat = open_cell(place, CellWish(files=wish, writes=writes))
        assert isinstance(seat, CellSeat), seat
        stack.callback(seat.close)
        insights = {}
        for member, adapter, survey, changes, own in members:
            asked = Configuration(values=own)
            launch = adapter.launch(member, survey, seat, asked, changes)
            process = seat.spawn(
                launch.command,
                environment={"PATH": os.defpath, **launch.environment},
                folder=launch.folder,
                user=launch.user,
                log=place.folder / f"{member.name}.log",
            )
            stack.callback(process.stop)
            assert launch.insight is not None
            insight = insights[member.name] = launch.insight(process)
            deadline_s = time.monotonic() + DEADLINE_S
            while lacking := insight.lacking():
                is_hopeful = process.is_alive() and time.monotonic() < deadline_s
                assert is_hopeful, f"{lacking}\n{insight.words()}"
                time.sleep(0.02)
        yield seat, insights


def levels(at):
    """Return all knobs with what is found (0) or what is right or changes nothing (1)."""
    return {name: pair[at] for name, pair in {**MISTAKES, **INERT}.items()}


def page(seat, path):
    def asked():
        with closing(HTTPConnection("127.0.0.1", PORT, timeout=DEADLINE_S)) as connection:
            connection.request("GET", path, headers={"Host": HOST})
            answer = connection.getresponse()
            return answer.status, answer.read()

    return within(seat.network, asked)


def in_force(insights):
    found: dict[str, str | None] = {}
    for name, insight in insights.items():
        effective = insight.effective()
        assert isinstance(effective, Effective)
        asked = {f"{name}:{knob}": effective.values.get(knob) for knob in effective.asked}
        assert asked == {f"{name}:{knob}": text for knob, text in effective.asked.items()}
        found |= asked
    return found


@pytest.mark.parametrize(("at", "n_children"), [(0, 1), (1, 8)])
def test_it_serves_as_found_and_as_is_right_and_no_file_of_it_is_touched(
    own_folders, at, n_children
):
    site = planted_site(own_folders / "site")
    before = site.files
    wanted: dict[str, Level] = levels(at)
    with served(site, wanted) as (seat, insights):
        assert set(in_force(insights)) == set(wanted)
        answers = [page(seat, path) for path in PAGES]
        assert [status for status, _ in answers] == [200] * len(PAGES)
        assert b"1 OF THING0::PART0" in answers[0][1]
        status = insights["php"].status("www")
        assert (status.manager, status.n_total) == ("static", n_children)
    assert site.files == before


def test_what_is_planted_is_what_the_files_say(own_folders):
    site = planted_site(own_folders / "site")
    found: dict[str, Level | None] = {}
    for member in (site.front, site.php):
        adapter = ADAPTERS[member.name]
        survey = adapter.survey(member, adapter.read(member), None)
        assert isinstance(survey, Survey)
        for name, info in adapter.knobs(survey).items():
            found[f"{member.name}:{name}"] = info.default
    assert {name: found[name] for name in levels(0)} == levels(0)
