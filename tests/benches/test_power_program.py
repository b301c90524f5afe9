"""The bench of what a budget proves, as a program: what it plans, keeps and says in the end."""

import json
import signal
import sys
import time
from _thread import interrupt_main
from argparse import Namespace
from collections import Counter
from dataclasses import dataclass, field
from threading import Thread

import pytest
from benches.engine.process import BenchError
from benches.engine.setting import REPOSITORY
from benches.power import __main__ as program
from benches.power import origin_run, table
from benches.power.figure import THIS, Case, Figure, Interval, Part
from benches.power.planted import Compared
from benches.power.program import Ended, checkout, run
from benches.power.saved import Saved, earlier, save
from benches.power.simulated import LOT, N_SEQUENCES, Simulation

NOW = {THIS: "abc"}


def compared(verdict="better", by=THIS, figure=1, trouble=""):
    return Compared(
        figure=figure,
        trouble=trouble,
        case="a case",
        by=by,
        took_s=1.0,
        stolen_cores=0.25,
        verdict=verdict,
        truths={"throughput": 1.0},
        intervals={"throughput": Interval(ratio=1.0, low=0.9, high=1.1)},
    )


# Planning


def test_the_table_has_ten_figures_of_the_sizes_that_are_asked_for():
    assert list(table.FIGURES) == list(range(1, 11))
    n = {
        number: [case.n for case in figure.cases if not isinstance(case, Simulation)]
        for number, figure in table.FIGURES.items()
    }
    assert n == {
        1: [100, 100],
        2: [20],
        3: [20],
        4: [20],
        5: [],
        6: [5, 5, 5, 5],
        7: [6],
        8: [5],
        9: [10],
        10: [10],
    }
    simulated = [case for case in table.FIGURES[1].cases if isinstance(case, Simulation)]
    assert {case.n * case.lot for case in simulated} == {N_SEQUENCES}
    for number, figure in table.FIGURES.items():
        assert {case.figure for case in figure.cases} <= {number}
        assert len({case.name for case in figure.cases}) == len(figure.cases)


def test_takes_are_spread_over_the_whole():
    cases = [Case(figure=1, name=name, n=n, longest_s=1) for name, n in (("a", 100), ("b", 5))]
    takes = program.spread(cases)
    assert Counter(case.name for case, _ in takes) == {"a": 100, "b": 5}
    assert [number for case, number in takes if case.name == "a"] == list(range(100))
    at = [place for place, (case, _) in enumerate(takes) if case.name == "b"]
    assert all(abs(here - 105 * (n + 0.5) / 5) < 2 for n, here in enumerate(at))


def test_numbers_are_those_that_somebody_asks_for():
    asked = Namespace(comparisons=3, runs=None, simulated=LOT + 100)
    counted = {case.name: program.counted(case, asked) for case in table.FIGURES[1].cases}
    assert counted["A/A Apache"].n == 3
    noise = counted["noise alone"]
    assert isinstance(noise, Simulation)
    assert noise.n * noise.lot == LOT + 100
    assert program.counted(table.FIGURES[9].cases[0], asked).n == 10
    both = [table.FIGURES[2].cases[0], table.FIGURES[9].cases[0]]
    once_s = program.longest_s([table.FIGURES[2]], both, 1)
    twice_s = program.longest_s([table.FIGURES[2]], both, 2)
    assert twice_s - once_s == pytest.approx(sum(case.n * case.longest_s for case in both))


# Measuring, with cases that need no server


@dataclass(frozen=True, kw_only=True)
class Told(Case):
    """Shows what it is told to."""

    verdict: str = "better"
    breaks: int | None = None
    error: type[BaseException] = KeyboardInterrupt

    drawn: list[float] = field(default_factory=list, compare=False)

    def take(self, setting, draw):
        self.drawn.append(draw.random())
        if len(self.drawn) - 1 == self.breaks:
            raise self.error("no oracle here")
        for by in setting.trees:
            yield compared(self.verdict, by, self.figure)


@pytest.fixture
def measuring(monkeypatch, tmp_path):
    """Return a function that runs the program on such cases, and gives status and file."""

    def judge(shown):
        words = Counter(each.verdict for each in shown)
        return [Part(words["worse"] == 0, f"{words['better']} better")]

    def play(*arguments, cases, trees=None):
        figures = {}
        for case in cases:
            figures[case.figure] = Figure(
                number=case.figure, name="told", must="none worse", judge=judge, cases=(case,)
            )
        file = tmp_path / "found.json"
        monkeypatch.setattr(program, "FIGURES", figures)
        monkeypatch.setattr(program, "checkout", lambda path: path)
        monkeypatch.setattr(program, "commit", lambda tree: f"commit of {tree.name}")
        monkeypatch.setattr(signal, "signal", lambda *_: None)
        given = [*arguments, *(["--beside", str(trees)] if trees else [])]
        monkeypatch.setattr(sys, "argv", ["power", "--json", str(file), *given])
        status = program.main()
        return status, json.loads(file.read_text())

    return play


def told(figure=1, n=3, **of_it):
    return Told(figure=figure, name=f"case {figure}", n=n, longest_s=60.0, **of_it)


def test_each_requirement_is_told_and_decides_the_exit_code(measuring, capsys):
    status, found = measuring("--seed", "7", cases=[told(), told(2, verdict="worse")])
    assert status == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("takes at most 0 h 6 min, seed 7, this is commit of ")
    assert printed[1].startswith(" 1 a case")
    assert printed[1].endswith("1.0 s, host took 0.25 cores")
    assert printed[-5:-1] == [
        " 1 told, by this: none worse",
        "   met    3 better",
        " 2 told, by this: none worse",
        "   missed 0 better",
    ]
    assert found["told"] == printed[-5:-1]
    assert found["seed"] == 7
    assert len(found["shown"]) == 6
    assert measuring(cases=[told()])[0] == 0


def test_what_another_checkout_does_is_told_and_not_judged(measuring, tmp_path, capsys):
    status, found = measuring(cases=[told()], trees=tmp_path)
    assert status == 0
    assert found["commits"]["before"] == f"commit of {tmp_path.name}"
    assert " 1 told, by before: none worse" in capsys.readouterr().out
    assert Counter(each["by"] for each in found["shown"]) == {"this": 3, "before": 3}


def test_the_same_seed_draws_the_same_in_any_company(measuring):
    one, two = told(), told(2)
    measuring("--seed", "7", cases=[one, two])
    alone = told(2)
    measuring("--seed", "7", cases=[alone])
    assert alone.drawn == two.drawn != one.drawn
    other = told(2)
    measuring("--seed", "8", cases=[other])
    assert set(other.drawn).isdisjoint(two.drawn)


def test_an_interruption_tells_and_keeps_what_is_known_by_then(measuring, capsys):
    status, found = measuring(cases=[told(n=5, breaks=2)])
    assert status == 130
    printed = capsys.readouterr().out
    assert "interrupted: this is what was measured until now" in printed
    assert " 1 told, by this, 2 of 5: none worse\n   met    2 better\n" in printed
    assert len(found["shown"]) == 2


def test_a_figure_that_cannot_be_measured_stops_no_other(measuring, capsys):
    status, found = measuring(cases=[told(breaks=1, error=BenchError), told(2)])
    assert status == 1
    assert " 1 told: not measured: no oracle here" in capsys.readouterr().out
    assert Counter(each["figure"] for each in found["shown"]) == {1: 1, 2: 3}


def test_where_everything_fails_nothing_is_met():
    shown = [compared(trouble="no room", verdict=""), compared(trouble="no room", verdict="")]
    head, line = program.closing(table.FIGURES[1], "before", shown)
    assert head[0].startswith(" 1 a configuration against itself, by before, 2 of 200, 2 failed: ")
    assert line == ("   missed nothing to judge: no room", True)
    assert program.closing(table.FIGURES[1], THIS, shown)[1][1] is False


def test_parts_are_judged_together(measuring, tmp_path, capsys):
    _, found = measuring("--comparisons", "2", cases=[told()])
    part = tmp_path / "part.json"
    part.write_text(json.dumps(found))
    _, whole = measuring("--comparisons", "1", "--with", str(part), cases=[told()])
    assert " 1 told, by this: none worse\n   met    3 better" in capsys.readouterr().out
    assert len(whole["shown"]) == 3


# Files, and what makes no sense


def test_what_is_saved_can_be_read_again_and_by_nobody_of_another_version(tmp_path):
    file = tmp_path / "new" / "part.json"
    saved = Saved(seed=1, commits=NOW, machine={}, shown=[compared()], told=["1 met"])
    save(file, saved)
    assert earlier([file, file], NOW) == [compared(), compared()]
    assert [each.name for each in file.parent.iterdir()] == ["part.json"]
    with pytest.raises(BenchError, match="of this at abc, which is def now"):
        earlier([file], {THIS: "def"})
    file.write_text("[]")
    with pytest.raises(BenchError, match="holds no figures"):
        earlier([file], NOW)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "11"], "there is no figure [11]"),
        (["--only", "all"], "`all` is no list of figures such as 1,4"),
        (["--runs", "0"], "`0` is no number above 0"),
        (["--only", "5"], "figure 5 is what 1 to 4 show"),
        (["--beside", "nowhere"], "no checkout with a program: `make setup` there"),
        (["--with", "nothing.json"], "`nothing.json` holds no figures of before"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_measured(
    monkeypatch, tmp_path, capsys, arguments, said
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["power", *arguments])
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_a_checkout_has_a_program(tmp_path):
    with pytest.raises(BenchError, match="make setup"):
        checkout(tmp_path)


# Programs


SAYING = """
from benches.power.origin_run import loaded
real = loaded(Path({real!r}))
Case, Turnstile = real.Case, real.Turnstile
def measured(case, origins, turnstile, arguments):
    turnstile.enter(case.rate_per_s)
    sides = zip(case.kinds, case.latencies_ms)
    return {{"addresses": [origins.address(*side) for side in sides], "users": case.users,
             "s": real.duration_s(arguments.budget), "n": arguments.blocks, "name": str(case),
             "counts_ends": arguments.count_ends}}
"""
"""`benches/windows`, but that it says what it was asked for in place of measuring that."""


def test_a_checkout_is_asked_to_compare_origins_in_the_words_of_its_own_bench(
    monkeypatch, tmp_path, capsys
):
    file = tmp_path / "windows"
    real = str(REPOSITORY / "benches" / "windows")
    file.write_text("from pathlib import Path\n" + SAYING.format(real=real))
    job = {
        "windows": str(file),
        "kinds": ["lock"] * 2,
        "latencies_ms": [96.0, 119.8],
        "addresses": ["127.0.0.1:1", "127.0.0.1:2"],
        "users": 8,
        "window_s": 0.05,
        "seed": 1,
        "budget": "60s",
        "blocks": 4,
    }
    monkeypatch.setattr(sys, "argv", ["origin_run", json.dumps(job)])
    monkeypatch.setitem(sys.modules, "windows", None)
    assert origin_run.main() == 0
    assert json.loads(capsys.readouterr().out) == {
        "addresses": ["127.0.0.1:1", "127.0.0.1:2"],
        "users": 8,
        "s": 60.0,
        "n": 4,
        "name": "lock 96.0 ms → lock 119.8 ms, 8 users, window 0.05 s",
        "counts_ends": False,
    }


TIDY = """
import pathlib, signal, sys, time
def end(*_):
    pathlib.Path("put back").touch()
    sys.exit(0)
signal.signal(signal.SIGINT, end)
pathlib.Path("ready").touch()
time.sleep(60)
"""
"""A program that puts back what it changed when it is asked to end."""


def test_a_program_that_is_not_through_in_time_is_asked_to_end(tmp_path):
    ended = run([sys.executable, "-S", "-c", TIDY], patience_s=3.0, folder=tmp_path)
    assert (tmp_path / "put back").exists()
    assert ended.complaint == "error: it did not end within 3 s"


def test_an_interruption_waits_for_what_the_program_puts_back(tmp_path):
    def interrupt():
        deadline_s = time.monotonic() + 20
        while not (tmp_path / "ready").exists() and time.monotonic() < deadline_s:
            time.sleep(0.01)
        interrupt_main()

    watcher = Thread(target=interrupt)
    watcher.start()
    with pytest.raises(KeyboardInterrupt):
        run([sys.executable, "-S", "-c", TIDY], patience_s=60.0, folder=tmp_path)
    watcher.join()
    assert (tmp_path / "put back").exists()


def test_a_complaint_is_the_error_and_not_what_went_before():
    said = Ended(
        stdout="", stderr="1 of 3\nerror: no room\n\nhint: free some\n", took_s=1, stolen_cores=0
    )
    assert said.complaint == "error: no room"
