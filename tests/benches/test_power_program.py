"""The bench of what a budget proves, as a program: what it plans, keeps and says in the end."""

import json
import signal
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import ClassVar

import pytest
from benches.engine.process import BenchError
from benches.engine.setting import REPOSITORY
from benches.power import __main__ as program
from benches.power import found as kept
from benches.power import table
from benches.power.figure import REFUSED, THIS, Case, Figure, Interval, Part, Shown
from benches.power.found import GIVE_UP, TRIES, closing
from benches.power.planted import Compared
from benches.power.saved import Earlier
from benches.power.simulated import LOT, N_SEQUENCES, Simulation


def compared(verdict="better", by=THIS, figure=1, trouble="", case="a case", **of_it):
    interval = {"throughput": Interval(ratio=1.0, low=0.9, high=1.1)}
    intervals = {} if trouble else of_it.pop("intervals", interval)
    return Compared(
        figure=figure,
        trouble=trouble,
        case=case,
        **of_it,
        by=by,
        took_s=1.0,
        stolen_cores=0.25,
        verdict=verdict,
        truths={"throughput": 1.0},
        intervals=intervals,
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
        2: [20, 20],
        3: [20, 20],
        4: [20, 20],
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
    asked = Namespace(
        comparisons=3, runs=None, simulated=LOT + 100, earlier=Earlier(), trees={THIS: REPOSITORY}
    )
    counted = {case.name: program.counted(case, asked) for case in table.FIGURES[1].cases}
    assert counted["A/A Apache"].n == 3
    noise = counted["noise alone"]
    assert isinstance(noise, Simulation)
    assert noise.n * noise.lot == LOT + 100
    assert program.counted(table.FIGURES[9].cases[0], asked).n == 10
    asked.simulated = 0
    assert program.counted(noise, asked).n == 0
    both = [table.FIGURES[2].cases[0], table.FIGURES[9].cases[0]]
    once_s = program.longest_s([table.FIGURES[2]], both, 1)
    twice_s = program.longest_s([table.FIGURES[2]], both, 2)
    assert twice_s - once_s == pytest.approx(sum(case.n * case.longest_s for case in both))


def test_what_earlier_parts_lack_is_measured_unless_somebody_says_how_often():
    [gunicorn, apache, noise, *_] = table.FIGURES[1].cases
    assert isinstance(noise, Simulation)
    counting = [compared(case="A/A Apache", number=n) for n in range(60)]
    # What has no interval is made again.
    nothing = [
        compared("nothing", case="A/A Apache", intervals={}, number=n) for n in range(60, 70)
    ]
    shown = tuple(counting + nothing)
    trees = {THIS: REPOSITORY}
    asked = Namespace(
        comparisons=None, runs=None, simulated=None, earlier=Earlier(shown=shown), trees=trees
    )
    assert program.counted(apache, asked).n == 40
    assert program.counted(gunicorn, asked).n == 100
    assert program.counted(noise, asked).asked == N_SEQUENCES
    asked.trees = trees | {"before": REPOSITORY}
    assert program.counted(apache, asked).n == 100


# Measuring, with cases that need no server


@dataclass(frozen=True, kw_only=True)
class Told(Case):
    """Shows what it is told to."""

    kind: ClassVar[type[Shown]] = Compared

    verdict: str = "better"
    breaks: int | Collection[int] = ()
    error: type[BaseException] = KeyboardInterrupt

    drawn: list[float] = field(default_factory=list, compare=False)

    def take(self, setting, draw):
        self.drawn.append(draw.random())
        breaks = [self.breaks] if isinstance(self.breaks, int) else self.breaks
        if len(self.drawn) - 1 in breaks:
            raise self.error("no oracle here")
        for by in setting.trees:
            yield compared(self.verdict, by, self.figure, case=self.name)


@pytest.fixture
def measuring(monkeypatch, tmp_path):
    """Return a function that runs the program on such cases, and gives status and file."""

    def judge(shown):
        words = Counter(each.verdict for each in shown)
        return [Part(words["worse"] == 0, f"{words['better']} better")]

    def play(*arguments, cases, trees=None):
        figures = {}
        for number in dict.fromkeys(case.figure for case in cases):
            mine = tuple(case for case in cases if case.figure == number)
            figures[number] = Figure(
                number=number, name="told", must="none worse", judge=judge, cases=mine
            )
        file = tmp_path / "found.json"
        monkeypatch.setattr(program, "FIGURES", figures)
        monkeypatch.setattr(program, "checkout", lambda path: path)
        monkeypatch.setattr(program, "commit", lambda tree: f"commit of {tree.name}")
        monkeypatch.setattr(program, "engine", lambda _tree: "e1")
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
    assert printed[1].startswith(" 1 case 1")
    assert printed[1].endswith("1.0 s, host took 0.25 cores")
    assert printed[-5:-1] == [
        " 1 told, by this: none worse",
        "   met    3 better",
        " 2 told, by this: none worse",
        "   missed 0 better",
    ]
    assert found["told"] == printed[-5:-1]
    assert found["seeds"] == [7]
    taken = [(each["seed"], each["number"]) for each in found["shown"] if each["figure"] == 1]
    assert taken == [(7, 0), (7, 1), (7, 2)]
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
    assert " 1 told, by this, 2 of 5 case 1: none worse\n   met so far: 2 better\n" in printed
    assert len(found["shown"]) == 2


def test_what_was_measured_less_often_than_is_asked_for_is_not_met(measuring, capsys):
    status, _ = measuring("--comparisons", "2", cases=[told()])
    assert status == 1
    assert ", 2 of 3 case 1: none worse\n   met so far: 2 better" in capsys.readouterr().out


def test_a_take_that_fails_once_is_measured_again(measuring):
    case = told(breaks=1, error=BenchError)
    status, found = measuring(cases=[case])
    assert status == 0
    assert len(found["shown"]) == 3
    # It draws what it would have.
    assert case.drawn[1] == case.drawn[2]


@pytest.mark.parametrize("error", [BenchError, ValueError, OSError])
def test_what_fails_is_shown_as_failed_and_the_rest_is_measured(measuring, capsys, error):
    status, found = measuring(cases=[told(breaks=(1, 2), error=error), told(2)])
    assert status == 0
    assert "no oracle here" in found["shown"][2]["trouble"]
    assert Counter(each["figure"] for each in found["shown"]) == {1: 3, 2: 3}
    assert " 1 told, by this, 1 failed: none worse" in capsys.readouterr().out


def test_a_case_that_fails_again_and_again_is_given_up_and_stops_no_other(measuring, capsys):
    broken = told(n=9, breaks=range(9 * TRIES), error=BenchError)
    other = replace(told(n=9), name="other")
    status, found = measuring(cases=[broken, other])
    assert status == 1
    assert len(broken.drawn) == GIVE_UP * TRIES
    assert Counter(each["case"] for each in found["shown"]) == {"case 1": GIVE_UP, "other": 9}
    printed = capsys.readouterr().out
    assert f" 1 told, by this, {GIVE_UP} of 9 case 1, {GIVE_UP} failed: none worse" in printed
    assert " 1 told, case 1: given up: no oracle here" in printed


def test_one_that_failed_now_and_then_is_not_given_up(measuring):
    breaks = [0, 1, 2, 3, 5, 6, 7, 8]
    case = told(n=6, breaks=breaks, error=BenchError)
    _, found = measuring(cases=[case])
    failed = [bool(each["trouble"]) for each in found["shown"]]
    assert failed == [True, True, False, True, True, False]


def test_a_full_disk_ends_no_bench(measuring, monkeypatch, capsys):
    def save(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept, "save", save)
    cases = [told(n=5)]
    with pytest.raises(FileNotFoundError):
        measuring(cases=cases)
    assert len(cases[0].drawn) == 5
    assert "No space left on device" in capsys.readouterr().err


def test_what_cannot_be_judged_is_kept_and_hides_no_other_figure(measuring, monkeypatch, capsys):
    def broken(_figure, _by, mine):
        if mine[0].figure == 1:
            raise ValueError("knobs of two kinds")
        return [("2 told", True)]

    monkeypatch.setattr(kept, "closing", broken)
    status, found = measuring(cases=[told(), told(2)])
    assert status == 1
    assert len(found["shown"]) == 6
    printed = capsys.readouterr().out
    assert " 1 told, by this: not judged: ValueError('knobs of two kinds')" in printed
    assert "\n2 told\n" in printed


def test_where_everything_fails_nothing_is_met():
    shown = [compared(trouble="no room"), compared(trouble=f"{REFUSED}error: too short")]
    head, line = closing(table.FIGURES[1], "before", shown)
    assert head[0].startswith(
        " 1 a configuration against itself, by before, 0 of 100 A/A gunicorn, "
        "0 of 100 A/A Apache, 1 failed, 1 refused: "
    )
    assert line == ("   missed so far: nothing to judge: no room", True)
    assert closing(table.FIGURES[1], THIS, shown)[1][1] is False


def all_of(figure, case, n, **of_it):
    return [compared("inconclusive", figure=figure, case=case, number=k, **of_it) for k in range(n)]


def test_figures_of_the_same_need_their_number_of_each_server():
    [part] = [
        line
        for line in closing(table.FIGURES[1], "before", all_of(1, "A/A gunicorn", 200))
        if "claim" in line[0] and "so far" in line[0]
    ]
    assert part[0].startswith("   met so far: 0 of 200 claim a difference")
    both = all_of(1, "A/A gunicorn", 100) + all_of(1, "A/A Apache", 100)
    assert closing(table.FIGURES[1], "before", both)[1][0].startswith("   met    0 of 200 claim")


def test_intervals_are_judged_whole_only_with_those_of_all_their_figures():
    same = all_of(1, "A/A gunicorn", 100) + all_of(1, "A/A Apache", 100)
    head, line = closing(table.FIGURES[5], THIS, same)
    assert "0 of 20 +50 % gunicorn, 0 of 20 +50 % Apache, 0 of 20 +10 % gunicorn" in head[0]
    assert line == ("   met so far: of the same, 200 of 200 intervals hold the truth", False)
    planted = [
        one
        for figure, name in ((2, "+50 %"), (3, "+10 %"), (4, "+3 % CPU"))
        for server in ("gunicorn", "Apache")
        for one in all_of(figure, f"{name} {server}", 20, planted=0.1)
    ]
    assert [is_met for _, is_met in closing(table.FIGURES[5], THIS, same + planted)] == [True] * 3
    refused = [compared(trouble="no room", figure=2, case="+50 % gunicorn")]
    told_of = closing(table.FIGURES[5], THIS, same + planted[1:] + refused)
    assert [is_met for _, is_met in told_of] == [True, False, False]


def test_parts_are_judged_together(measuring, tmp_path, capsys):
    _, found = measuring("--comparisons", "2", "--seed", "1", cases=[told()])
    part = tmp_path / "part.json"
    part.write_text(json.dumps(found))
    status, whole = measuring("--seed", "2", "--with", str(part), cases=[told()])
    assert status == 0
    assert " 1 told, by this: none worse\n   met    3 better" in capsys.readouterr().out
    assert [each["seed"] for each in whole["shown"]] == [1, 1, 2]
    assert whole["seeds"] == [1, 2]
    # What is in several parts counts once, and what is whole needs nothing more.
    last = tmp_path / "whole.json"
    last.write_text(json.dumps(whole))
    both = ["--with", str(part), "--with", str(last), "--with", str(part)]
    _, again = measuring("--seed", "3", *both, cases=[told()])
    assert len(again["shown"]) == 3
    with pytest.raises(SystemExit):
        measuring("--seed", "2", "--with", str(last), cases=[told()])
    assert "with seed 2 an earlier part would be measured again" in capsys.readouterr().err


# What makes no sense


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "11"], "there is no figure [11]"),
        (["--only", "all"], "`all` is no list of figures such as 1,4"),
        (["--runs", "-1"], "`-1` is no number from 0"),
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
