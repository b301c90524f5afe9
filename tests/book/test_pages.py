"""The book's list, sheet, page and JSON, of results that are made up."""

import json
import re

import msgspec
import pytest
from tests.report.page import parsed, shown
from tests.report.plain import plain_text
from tests.rows import each_row

from httpdyno.book.advice import Advice, AdviceHere, Told
from httpdyno.book.axis import axis_of, marks, zones
from httpdyno.book.document import book_json
from httpdyno.book.experiment import Then, experiments, way_of
from httpdyno.book.page import book_html
from httpdyno.book.result import Now
from httpdyno.book.text import advice_sheet, advice_summary, listed, listed_advice, sheet

BY_NAME = {each.name: each for each in experiments()}
CGI = BY_NAME["mod-cgi-baseline"]
NOW = Now(
    name="mod-cgi-baseline",
    verdict="holds, larger",
    says="throughput 77 × (71 … 84; 8 starts): 124 → 9,550 requests/s",
    measured_at="2026-01-02T03:04:05+00:00",
    duration_s=61.0,
    host="2 × some processor, Linux 6.1",
    server="Apache/2.4",
    ratio=77.0,
    low=71.0,
    high=84.0,
    n_starts=8,
    evidence=("processes begun a second on this machine 120 → 0.0",),
    run_id="r1",
    seed=4,
    command="httpdyno book run mod-cgi-baseline",
)
ARTEFACT = msgspec.structs.replace(NOW, name="maxclients-ten-light", verdict="was an artefact")
FOUND = {NOW.name: NOW, ARTEFACT.name: ARTEFACT}
UNTOLD = msgspec.structs.replace(
    NOW,
    name="all-children-alive",
    verdict="cannot tell",
    ratio=1.04,
    low=0.92,
    high=1.18,
    evidence=(),
)
COUNTED = msgspec.structs.replace(
    NOW,
    name="syscalls-foo-by-config",
    says="6 .htaccess for a request, counted over 10",
    ratio=None,
    low=None,
    high=None,
    count=6.0,
    run_id="",
    evidence=(),
)
EQUAL = msgspec.structs.replace(
    NOW, name="httperf-sample", verdict="holds", ratio=1.0, low=1.0, high=1.0
)
OPEN = msgspec.structs.replace(
    NOW, name="mrpc-sweep", ratio=0.002, low=1e-5, high=None, host="4 × another, Linux 6.2"
)
FULL = {each.name: each for each in (NOW, ARTEFACT, UNTOLD, COUNTED, EQUAL, OPEN)}
REASONS = {each.name: "" for each in experiments()} | {"ab-versus-pounder": "no such client"}
TOLD = Told(
    name="a-study",
    claim="keep_alive → On",
    verdict="better",
    badge="better",
    says="CPU per request 0.24 × (0.17 … 0.32; 96 % confidence, 6 starts)",
    measured_at="2026-01-02T03:04:05+00:00",
    run_id="r2",
    metric="cpu_s_per_request",
    ratio=0.24,
    low=0.17,
    n_starts=6,
    host="2 × some processor, Linux 6.1",
)
ADVICE = tuple(
    AdviceHere(
        advice=Advice(study=name, chapter="A book, page 7", says="do not do it", claim=claim),
        title=f"What {name} asks",
        claim=claim or "first → second",
        budget_s=120.0,
        reason=reason,
        now=now,
    )
    for name, claim, reason, now in (
        ("a-study", "keep_alive → On", "", TOLD),
        ("another-study", "", "there is no squid", None),
    )
)
EVIL = "</script><script>alert(1)</script><b>&amp;\"'"


def flat(shown):
    """Return what a terminal shows, its lines joined."""
    return " ".join(plain_text(shown).split())


def test_a_line_has_then_and_now():
    text = flat(listed(CGI, CGI, NOW, ""))
    assert "1.12 to 1.14 requests/s under mod_cgi" in text
    assert "now: holds, larger; throughput 77 ×" in text
    assert "here: measured 2026-01-02; can run, in at most 2 min" in text
    assert "here: cannot run: no perl" in flat(listed(CGI, CGI, None, "no perl"))


def test_a_sheet_says_how_it_is_run_and_why_it_came_out_so():
    text = flat(sheet(CGI, CGI, NOW, ""))
    assert "study mount-style, throughput: mount cgi → registry" in text
    assert "no longer up to 1.39, smaller up to 13.1, larger from 52.6 on" in text
    assert CGI.because in text
    assert "processes begun a second on this machine 120 → 0.0" in text
    again = BY_NAME["perl-bound-load-2001"]
    assert "same as perl-bound-load" in flat(sheet(again, way_of(again), None, ""))


def test_what_was_seen_instead_is_the_reason_of_an_artefact():
    each = BY_NAME["maxclients-ten-light"]
    text = flat(sheet(each, each, ARTEFACT, ""))
    # And why it is not seen today.
    assert f"{each.artefact}; {each.because}" in text
    static = BY_NAME["call-overhead-heavy-sub"]
    less = msgspec.structs.replace(ARTEFACT, name=static.name, verdict="holds, smaller")
    assert static.artefact not in flat(sheet(static, static, less, ""))


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
    assert document["advice"] == []
    assert (rows["ab-versus-pounder"]["runnable"], rows["ab-versus-pounder"]["now"]) == (
        False,
        None,
    )
    json.dumps(document, allow_nan=False)


def test_json_has_the_advice_with_what_is_found_of_it_and_open_ends_as_nothing():
    first, second = book_json(experiments(), REASONS, FOUND, ADVICE)["advice"]
    assert (first["study"], first["says"], first["runnable"]) == ("a-study", "do not do it", True)
    assert first["command"] == "httpdyno book run a-study"
    assert (first["now"]["ratio"], first["now"]["high"]) == (0.24, None)
    assert (first["now"]["verdict"], first["now"]["run_id"]) == ("better", "r2")
    assert first["measured_at"] == TOLD.measured_at
    assert (second["now"], second["measured_at"]) == (None, None)
    assert (second["runnable"], second["reason"]) == (False, "there is no squid")


def test_the_page_has_every_experiment_and_its_data():
    page = book_html(experiments(), REASONS, FOUND)
    for each in experiments():
        assert f'id="{each.name}"' in page
    assert len(re.findall(r'class="zoned"', page)) == 2
    assert "no such client" in page
    [text] = re.findall(r'id="httpdyno">(.*?)</script>', page, re.DOTALL)
    data = json.loads(text)
    assert len(data["experiments"]) == 36


def test_the_page_is_as_agreed(golden):
    machine = {"stat_s": 8e-7, "fork_s": 1e-3, "switch_s": 4e-6, "copy_bytes_per_s": 5e9}
    full = {**FULL, NOW.name: msgspec.structs.replace(NOW, machine=machine)}
    golden("report/book.page.txt", shown(book_html(experiments(), REASONS, full, ADVICE)))


def test_the_list_and_the_sheets_are_as_agreed(golden):
    parts = [listed(each, way_of(each), FULL.get(each.name), "") for each in experiments()]
    parts += [sheet(BY_NAME[name], BY_NAME[name], now, "") for name, now in FULL.items()]
    parts += [*map(listed_advice, ADVICE), *map(advice_sheet, ADVICE)]
    text = "\n".join(plain_text(part) for part in parts)
    golden("report/book.txt", "\n".join([text, *advice_summary(ADVICE), ""]))


@pytest.mark.parametrize("found", [{}, FULL])
def test_a_page_is_well_formed_leads_only_within_itself_and_runs_no_script(found):
    page = book_html(experiments(), REASONS, found, ADVICE)
    elements = parsed(page).seen
    links = [str(attributes["href"]) for tag, attributes in elements if tag == "a"]
    ids = {attributes.get("id") for _, attributes in elements}
    assert all(link.startswith("#") and link[1:] in ids for link in links)
    assert not {tag for tag, _ in elements} & {"link", "img", "iframe", "object", "form"}
    assert [a["type"] for tag, a in elements if tag == "script"] == ["application/json"]
    assert not any(
        key in {"src", "srcset"} or key.startswith("on") for _, a in elements for key in a
    )
    assert "url(" not in page


def test_what_a_server_says_stays_text():
    evil = msgspec.structs.replace(NOW, says=EVIL, host=EVIL, server=EVIL, evidence=(EVIL,))
    said = msgspec.structs.replace(TOLD, says=EVIL, host=EVIL, badge=EVIL)
    here = msgspec.structs.replace(ADVICE[0], now=said, reason=EVIL)
    page = book_html(experiments(), REASONS, {NOW.name: evil}, [here])
    assert "<script>alert" not in page
    assert EVIL in "".join(parsed(page).text)


def test_a_sentence_is_no_reason_for_what_it_does_not_explain():
    each = BY_NAME["disk-cache-dynamic-php"]
    held = msgspec.structs.replace(NOW, name=each.name, verdict="holds")
    gone = msgspec.structs.replace(held, verdict="no longer")
    assert each.because in flat(sheet(each, each, held, ""))
    assert each.because not in flat(sheet(each, each, gone, ""))


@each_row(
    ("then", "words"),
    [
        ({"ratio": 2.0}, ["no longer", "smaller", "holds", "larger"]),
        ({"ratio": 0.5}, ["larger", "holds", "smaller", "no longer"]),
        ({"ratio": 0.9, "is_flat": True}, ["no longer", "holds", "no longer"]),
        ({"count": 2}, []),
    ],
)
def test_zones_are_the_rule_drawn(then, words):
    axis = axis_of([0.1, 10.0])
    found = zones(axis, Then(says="so much", **then))
    assert [zone["word"] for zone in found] == words
    assert sum(float(zone["width"]) for zone in found) == pytest.approx(
        100.0 * bool(words), abs=0.1
    )


def test_ratios_lie_evenly_by_their_logarithms_and_never_beyond_the_axis():
    axis = axis_of([0.01, 100.0])
    assert axis.place(1.0) == 50.0
    assert axis.place(10.0) - 50.0 == pytest.approx(50.0 - axis.place(0.1))
    assert (axis.place(0.0), axis.place(1e-9), axis.place(1e9)) == (0.0, 0.0, 100.0)
    names = [tick["name"] for tick in axis.ticks()]
    assert names == ["0.01", "", "0.1", "", "1", "", "10", "", "100"]
    assert [tick["name"] for tick in axis_of([0.3, 4.0]).ticks()] == ["0.3", "1", "3"]
    open_end = marks(axis, Then(says="so much", ratio=2.0), OPEN)
    assert open_end is not None
    assert (open_end["low"], open_end["width"]) == (0.0, 100.0)
    narrow = axis_of([1.0])
    assert narrow.low < 0.85
    assert narrow.high > 1.2
