"""`httpdyno book`: lists, sheets, pages, and runs of what needs no server."""

import json
import shlex

import pytest
from msgspec import structs
from tests.report.book.test_book import NOW

from httpdyno.book.declared import experiments
from httpdyno.book.result import keep, kept_results
from httpdyno.cli import book
from httpdyno.cli.app import run


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("HTTPDYNO_DATA_DIR", str(tmp_path / "data"))
    return tmp_path


def said(capsys, line, code=0):
    assert run(shlex.split(line)) == code
    return capsys.readouterr()


def test_all_are_listed_by_document_with_then_and_now(capsys):
    keep(NOW)
    out = said(capsys, "book").out
    for each in experiments():
        assert each.name in out
    assert out.index("mod_perl tutorial") > out.index("Practical mod_perl")
    assert "now:  holds, larger; throughput 77 ×" in out
    # The last one is a sentence that terminals wrap.
    assert max(map(len, out.splitlines()[:-1])) <= 80


def test_what_is_printed_twice_has_the_result_of_the_other(capsys):
    keep(NOW)
    keep(structs.replace(NOW, name="perl-bound-load", word="holds"))
    rows = json.loads(said(capsys, "book --json -").out)["experiments"]
    by_name = {row["name"]: row for row in rows}
    assert by_name["mod-cgi-baseline"]["now"]["verdict"] == "holds, larger"
    assert by_name["perl-bound-load-2001"]["same_as"] == "perl-bound-load"
    assert by_name["perl-bound-load-2001"]["now"]["verdict"] == "holds"


def test_arithmetic_is_run_kept_and_shown(capsys, folder):
    page = folder / "book.html"
    out = said(capsys, f"book run pool-sizing-examples --seed 1 --html {page}").out
    assert "MaxClients 40" in out
    found = kept_results()["pool-sizing-examples"]
    assert (found.word, found.count, found.seed) == ("holds", 40.0, 1)
    assert found.machine["fork_s"] > 0
    assert "pool-sizing-examples" in page.read_text()
    assert "holds" in said(capsys, "book show pool-sizing-examples").out
    row = json.loads(said(capsys, "book show pool-sizing-examples --json -").out)
    assert row["now"]["count"] == 40.0


def test_a_report_of_nothing_yet_has_all_that_was_found_then(capsys, folder):
    page = folder / "book.html"
    said(capsys, f"book report --html {page}")
    assert page.read_text().count('class="experiment"') == len(experiments())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("book run", "name experiments, or give `--all`"),
        ("book run --all mod-cgi-baseline", "name experiments, or give `--all`"),
        ("book run mod-cgi-baselin", "no experiment is called"),
        ("book show nothing", "no experiment is called"),
        ("book report", "nothing to write"),
        ("book run ab-versus-pounder", "cannot be run here: it compares two clients"),
    ],
)
def test_wrong_requests_are_said(capsys, line, words):
    assert words in said(capsys, line, code=2).err


def test_one_that_cannot_run_is_left_out_of_all_and_said(capsys, monkeypatch):
    reasons = {each.name: "no such package" for each in experiments()}
    del reasons["pool-sizing-examples"]
    monkeypatch.setattr(book, "reason_not", lambda each: reasons.get(each.name, ""))
    err = said(capsys, "book run --all --budget 1s").err
    assert "left out: mod-cgi-baseline: no such package" in err
    assert [*kept_results()] == ["pool-sizing-examples"]
