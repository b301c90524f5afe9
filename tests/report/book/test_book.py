"""The book's list, sheet, page and JSON, of results that are made up."""

import json
import re

import msgspec
from tests.report.plain import plain_text

from httpdyno.book.declared import experiments, way_of
from httpdyno.book.result import Now
from httpdyno.report.book.html import book_html
from httpdyno.report.book.json import book_json
from httpdyno.report.book.text import listed, sheet

BY_NAME = {each.name: each for each in experiments()}
CGI = BY_NAME["mod-cgi-baseline"]
NOW = Now(
    name="mod-cgi-baseline",
    word="holds, larger",
    says="throughput 77 × (71 … 84; 8 starts): 124 → 9,550 requests/s",
    measured_at="2026-01-02T03:04:05+00:00",
    duration_s=61.0,
    host="2 × some processor, Linux 6.1",
    version="Apache/2.4",
    ratio=77.0,
    low=71.0,
    high=84.0,
    n_starts=8,
    moved=("processes begun a second 120 → 0.0",),
    run_id="r1",
    seed=4,
    command="httpdyno book run mod-cgi-baseline",
)
ARTEFACT = msgspec.structs.replace(NOW, name="maxclients-ten-light", word="was an artefact")
FOUND = {NOW.name: NOW, ARTEFACT.name: ARTEFACT}
REASONS = {each.name: "" for each in experiments()} | {"ab-versus-pounder": "no such client"}


def flat(shown):
    """Return what a terminal shows, its lines joined."""
    return " ".join(plain_text(shown).split())


def test_a_line_has_then_and_now():
    text = flat(listed(CGI, NOW, ""))
    assert "1.12 to 1.14 requests/s under mod_cgi" in text
    assert "now: holds, larger; throughput 77 ×" in text
    assert "cannot run here: no perl" in flat(listed(CGI, None, "no perl"))


def test_a_sheet_says_how_it_is_run_and_why_it_came_out_so():
    text = flat(sheet(CGI, CGI, NOW, ""))
    assert "study mount-style, throughput: mount cgi → registry" in text
    assert CGI.because in text
    assert "processes begun a second 120 → 0.0" in text
    again = BY_NAME["perl-bound-load-2001"]
    assert "same as perl-bound-load" in flat(sheet(again, way_of(again), None, ""))


def test_what_was_seen_instead_is_the_reason_of_an_artefact():
    each = BY_NAME["maxclients-ten-light"]
    text = flat(sheet(each, each, ARTEFACT, ""))
    assert each.artefact in text
    assert each.because not in text


def test_every_way_has_words():
    for each in experiments():
        assert flat(sheet(each, way_of(each), None, "")).count("run as") == 1


def test_json_has_all_of_them_with_then_and_now():
    document = book_json(experiments(), REASONS, FOUND)
    rows = {row["name"]: row for row in document["experiments"]}
    assert len(rows) == 36
    row = rows["mod-cgi-baseline"]
    assert (row["runnable"], row["reason"]) == (True, None)
    assert row["then"]["ratio"] == 26.3
    assert {k: row["now"][k] for k in ("verdict", "ratio", "low", "high")} == {
        "verdict": "holds, larger",
        "ratio": 77.0,
        "low": 71.0,
        "high": 84.0,
    }
    assert row["measured_at"] == NOW.measured_at
    assert (rows["ab-versus-pounder"]["runnable"], rows["ab-versus-pounder"]["now"]) == (
        False,
        None,
    )
    json.dumps(document, allow_nan=False)


def test_the_page_has_every_experiment_and_its_data():
    page = book_html(experiments(), REASONS, FOUND)
    for each in experiments():
        assert f'id="{each.name}"' in page
    assert len(re.findall(r'class="bar"', page)) == 2
    assert "no such client" in page
    [text] = re.findall(r'id="httpdyno">(.*?)</script>', page, re.DOTALL)
    data = json.loads(text)
    assert len(data["experiments"]) == 36
