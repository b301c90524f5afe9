"""`httpdyno book`: lists, sheets, pages, and runs of what needs no server."""

import json
import re
import shlex
from types import SimpleNamespace

import pytest
from msgspec import structs
from tests.book.asked import host
from tests.book.test_pages import NOW

from httpdyno.book import run as book_run
from httpdyno.book.experiment import experiments
from httpdyno.book.result import UnderWay, keep, keep_under_way, kept_results, under_way
from httpdyno.book.run import Round, round_s, run_round
from httpdyno.cli import book as command
from httpdyno.cli.app import run
from httpdyno.errors import TargetError
from httpdyno.model import MachineCard


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
    assert "here: measured 2026-01-02; " in out
    assert "1 of 34 are measured (2 more are printed again): 1 holds, larger" in out
    assert re.search(r"of 36 can run here; measuring all takes at most \d+ min", out)
    # The last ones are sentences that terminals wrap.
    assert max(map(len, out.splitlines()[:-5])) <= 80


def test_what_is_printed_twice_has_the_result_of_the_other(capsys, folder):
    keep(NOW)
    keep(structs.replace(NOW, name="perl-bound-load", verdict="holds"))
    rows = json.loads(said(capsys, "book --json -").out)["experiments"]
    by_name = {row["name"]: row for row in rows}
    assert by_name["mod-cgi-baseline"]["now"]["verdict"] == "holds, larger"
    assert by_name["perl-bound-load-2001"]["same_as"] == "perl-bound-load"
    assert by_name["perl-bound-load-2001"]["now"]["verdict"] == "holds"
    # It is one measurement, which the words and the page count once.
    assert "2 of 34 are measured (2 more are printed again): 1 holds, 1 holds, larger" in " ".join(
        said(capsys, "book").out.split()
    )
    page = folder / "book.html"
    said(capsys, f"book report --html {page}")
    assert "2 of 34 measured (2 more are printed again)" in page.read_text()


def test_arithmetic_is_run_kept_and_shown(capsys, folder):
    page = folder / "book.html"
    out = said(capsys, f"book run pool-sizing-examples --seed 1 --html {page}").out
    assert "MaxClients 40" in out
    found = kept_results()["pool-sizing-examples"]
    assert (found.verdict, found.count, found.seed) == ("holds", 40.0, 1)
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
        ("book run preload-cgi-import-all-memory", "cannot be run here: compile() of CGI.pm"),
        ("book run pool-sizing-examples --budget 0s", "no time at all"),
        ("book run pool-sizing-examples --resume", "`--resume` is for `--all`"),
        ("book run --all --resume", "no `book run --all` was broken off here"),
        ("book run --all --resume --advice", "knows whether it has the advice"),
        ("book run tls-keep-alive --advice", "`--advice` is for `--all`"),
    ],
)
def test_wrong_requests_are_said(capsys, line, words):
    assert words in said(capsys, line, code=2).err


def test_one_that_cannot_run_is_left_out_of_all_and_said(capsys, monkeypatch):
    reasons = {each.name: "no such package" for each in experiments()}
    del reasons["pool-sizing-examples"]
    monkeypatch.setattr(book_run, "reason_not", lambda each: reasons.get(each.name, ""))
    err = said(capsys, "book run --all --budget 1s").err
    assert "left out: mod-cgi-baseline: no such package" in err
    assert [*kept_results()] == ["pool-sizing-examples"]


BY_NAME = {each.name: each for each in experiments()}
NAMES = ["pool-sizing-examples", "mod-cgi-baseline", "mrpc-sweep"]


def fake_run(asked):
    def run_experiment(ask, _card):
        asked.append((ask.each.name, ask.seed, ask.budget_s))
        return structs.replace(NOW, name=ask.each.name, measured_at="2999-01-01T00:00:00+00:00")

    return run_experiment


@pytest.fixture
def three(monkeypatch):
    """Let three of them run here, without servers; return which were asked, with their budgets."""
    reasons = {each.name: "no such package" for each in experiments() if each.name not in NAMES}
    monkeypatch.setattr(book_run, "reason_not", lambda each: reasons.get(each.name, ""))
    asked: list[tuple[str, int, float]] = []
    monkeypatch.setattr(book_run, "run_experiment", fake_run(asked))
    # Takes a second and a half, and is nobody's figure here.
    monkeypatch.setattr(command, "taken_anew", lambda: SimpleNamespace(card=None))
    return asked


def test_each_has_its_budget_and_what_is_left_is_told(capsys, three):
    err = said(capsys, "book run --all --seed 5").err
    budgets = {each.name: each.budget_s for each in experiments()}
    assert three == [(name, 5, budgets[name]) for name in sorted(NAMES, key=list(budgets).index)]
    assert "1 of 3: mrpc-sweep, at most 2 min; all that are left at most 5 min" in err
    assert "3 of 3: pool-sizing-examples, at most 5 s\n" in err
    assert under_way() is None


def round_of(limit_s):
    asked = [BY_NAME[name] for name in NAMES]
    card = MachineCard(
        stat_s=1e-6, fork_s=1e-3, switch_s=1e-6, copy_bytes_per_s=1e9, round_trips_per_s=1e4
    )
    return Round(asked=asked, seed=5, limit_s=limit_s, card=card, show=lambda _each, _now: None)


def test_a_shorter_time_is_shared_out_by_the_budgets(three):
    budgets = [BY_NAME[name].budget_s for name in NAMES]
    run_round(round_of(sum(budgets) / 2), host(), clock=lambda: 100.0)
    # A clock that stands: what one does not use is the others'.
    given = [budget_s for _, _, budget_s in three]
    assert given[0] == pytest.approx(budgets[0] / 2)
    assert given[0] / budgets[0] < given[1] / budgets[1] < given[2] / budgets[2] < 1.0


def test_more_time_than_all_may_take_is_given_to_each(capsys, three):
    budgets = [BY_NAME[name].budget_s for name in NAMES]
    said(capsys, f"book run --all --budget {3 * round_s([BY_NAME[n] for n in NAMES]):g}s")
    assert {name: given for name, _, given in three} == {
        name: pytest.approx(3 * budget_s, rel=0.01)
        for name, budget_s in zip(NAMES, budgets, strict=True)
    }


def test_one_that_was_broken_off_goes_on_with_its_seed_and_those_that_are_left(
    capsys, three, monkeypatch, folder
):
    run_one = fake_run(three)

    def broken_off(ask, card):
        if ask.each.name == "mod-cgi-baseline":
            raise KeyboardInterrupt
        return run_one(ask, card)

    monkeypatch.setattr(book_run, "run_experiment", broken_off)
    page = folder / "book.html"
    err = said(capsys, f"book run --all --seed 5 --html {page}", code=130).err
    assert "1 of 3 are measured and kept; `httpdyno book run --all --resume` measures" in err
    assert [*kept_results()] == ["mrpc-sweep"]
    assert "mrpc-sweep" in page.read_text()
    monkeypatch.setattr(book_run, "run_experiment", run_one)
    three.clear()
    said(capsys, "book run --all --resume --seed 6", code=2)
    said(capsys, "book run --all --resume")
    assert [each[:2] for each in three] == [("mod-cgi-baseline", 5), ("pool-sizing-examples", 5)]
    assert under_way() is None


def test_a_result_from_before_is_measured_again_by_one_that_goes_on(capsys, three):
    keep(structs.replace(NOW, measured_at="2026-01-01T00:00:00+00:00"))
    keep(structs.replace(NOW, name="mrpc-sweep", measured_at="2026-01-03T00:00:00+00:00"))
    keep_under_way(UnderWay(began_at="2026-01-02T00:00:00+00:00", seed=1, budget_s=10.0))
    said(capsys, "book run --all --resume")
    assert [name for name, _, _ in three] == ["mod-cgi-baseline", "pool-sizing-examples"]
    assert sum(budget for _, _, budget in three) < 10.0


def test_what_no_time_was_left_for_is_measured_by_one_that_goes_on(capsys, three, monkeypatch):
    clock = iter([0.0, 0.0, 50.0, 70.0])
    monkeypatch.setattr(
        command, "run_round", lambda *each: run_round(*each, clock=lambda: next(clock))
    )
    err = said(capsys, "book run --all --seed 5 --budget 60s", code=1).err
    assert "the time is over: 1 of 3 were not measured, from pool-sizing-examples on" in err
    assert "`httpdyno book run --all --resume` measures the other 1" in err
    monkeypatch.setattr(command, "run_round", run_round)
    three.clear()
    said(capsys, "book run --all --resume")
    assert [each[:2] for each in three] == [("pool-sizing-examples", 5)]
    assert under_way() is None


def test_one_that_fails_is_told_and_the_others_go_on(capsys, three, monkeypatch):
    run_one = fake_run(three)

    def failing(ask, card):
        if ask.each.name == "mod-cgi-baseline":
            raise TargetError("the server has gone")
        return run_one(ask, card)

    monkeypatch.setattr(book_run, "run_experiment", failing)
    err = said(capsys, "book run --all", code=1).err
    assert "mod-cgi-baseline was not measured: the server has gone" in err
    assert sorted(kept_results()) == ["mrpc-sweep", "pool-sizing-examples"]


def test_when_the_time_is_over_the_others_are_left_and_told(three):
    now_s = iter([0.0, 0.0, 50.0, 70.0])
    lines: list[str] = []
    round_ = round_of(60.0)
    run_round(round_, host(told=lines), clock=lambda: next(now_s))
    assert lines[-1] == "the time is over: 1 of 3 were not measured, from mrpc-sweep on"
    assert [name for name, _, _ in three] == NAMES[:2]
    assert round_.n_failed == 1
