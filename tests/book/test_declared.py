"""The experiments as declared: whole, and of studies, knobs and formulas that there are."""

import math
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from httpdyno.advice.bottleneck import FIGURES
from httpdyno.book import figures
from httpdyno.book.experiment import (
    METRICS,
    Count,
    Pair,
    Script,
    experiment,
    experiments,
    way_of,
    whole_s,
)
from httpdyno.book.rule import borders
from httpdyno.book.run import round_s
from httpdyno.catalog import bundled_studies, open_study
from httpdyno.metrics.table import CALL_METRIC
from httpdyno.study.objective import check_workload_for

N = 36
"""Tables and measurements in the founding documents."""
FEWEST_RATES = 13
FEWEST_RUN = 35
LONG_LIFE = 100_000
"""Requests of a process that no window has time for."""
BY_STUDY: list[Any] = [each for each in experiments() if each.way and each.way.study]
RUN = [each for each in experiments() if each.way is not None]


def test_all_are_there_once():
    names = [each.name for each in experiments()]
    assert len(names) == len(set(names)) == N


def test_all_together_end_within_an_hour_and_a_half():
    """With all that is beside the budgets: coming up, looking, ending."""
    assert sum(each.budget_s for each in RUN) == whole_s(RUN)
    assert round_s(RUN) <= 90 * 60


def test_each_script_has_its_commands_and_figures_of_them_alone():
    for each in RUN:
        way = each.way
        if isinstance(way, Script):
            named = [name for seen in way.seen for name in seen.of]
            of = {name.partition(".")[0] for name in (*way.figure, *named)} - {"*"}
            assert of <= {*way.commands}, each.name
            assert not any("." in name for name in way.commands)
            needs_server = any("{url}" in c or "{server}" in c for c in way.commands.values())
            assert needs_server == bool(way.study), each.name


def test_each_script_of_ours_is_one_that_an_experiment_runs():
    scripts = {file.name for file in (Path(figures.__file__).parent / "scripts").iterdir()}
    ways = [each.way for each in RUN if isinstance(each.way, Script)]
    words = [word for way in ways for command in way.commands.values() for word in command.split()]
    assert {word for word in words if word.endswith(".pl")} == scripts


def test_nearly_all_can_be_run_and_the_others_say_why_not():
    run = [each for each in experiments() if way_of(each).way is not None]
    assert len(run) >= FEWEST_RUN
    for each in experiments():
        one = way_of(each)
        assert bool(one.reason) == (one.way is None), each.name
        assert bool(each.same_as) == (one is not each), each.name
        assert one.same_as == "", "what stands for others stands for itself"


def test_each_is_of_a_study_that_there_is_and_of_levels_of_its_knobs(subtests):
    for each in BY_STUDY:
        with subtests.test(each.name):
            way = each.way
            assert way.study in bundled_studies()
            study = open_study(way.study)
            sides = [way.a, way.b, way.beside] if isinstance(way, Pair) else [way.at]
            if isinstance(way, Count):
                sides += [each.at for each in way.beside]
            start = study.start_configuration()
            for side in sides:
                for name, level in side.items():
                    knob = study.knob(name)
                    assert isinstance(level, type(knob.start)), name
                    known = {knob.start, *knob.levels}
                    known |= {each.values[name] for each in study.candidates if name in each.values}
                    # A number may be any, a word is one that the study knows.
                    assert not isinstance(level, str) or level in known or (knob.of == "load"), name
            if isinstance(way, Pair):
                assert start.with_values(way.a) != start.with_values(way.b)
                assert (way.metric == CALL_METRIC) == (study.fragments is not None)
                if way.metric != CALL_METRIC:
                    check_workload_for(way.metric, study.workload)


def test_a_pair_may_be_of_any_metric_that_there_is_and_of_no_other():
    for metric in METRICS:
        text = f'study = "bookmarks"\nmetric = "{metric}"\nkind = "pair"'
        assert msgspec.toml.decode(text, type=Pair).metric == metric
    with pytest.raises(msgspec.ValidationError, match=r"is called `speed`, .*latency_p99_s"):
        msgspec.toml.decode('kind = "pair"\nstudy = "bookmarks"\nmetric = "speed"', type=Pair)


def test_what_was_found_then_can_be_judged(subtests):
    for each in experiments():
        with subtests.test(each.name):
            then = each.then
            assert then.says
            assert (then.ratio is None) != (then.count is None)
            if then.ratio is not None:
                assert then.ratio > 0
                assert list(borders(then)) == sorted({*borders(then)})
                # An effect, or that there is none.
                assert then.is_flat or abs(math.log(then.ratio)) > 0.005
            if way_of(each).way is not None and not each.same_as:
                assert bool(each.because) != bool(each.footing)
                assert bool(each.footing) <= (then.count is not None)
                assert each.explains
                assert "cannot tell" not in each.explains
                # What was seen instead explains an absence, and is known of nothing else.
                assert bool(each.artefact) >= ("was an artefact" in each.explains)
                # Where an artefact is known an absence is called by that word: this never comes.
                assert not (each.artefact and "no longer" in each.explains)


def test_what_explains_that_nothing_moved_has_a_figure_that_stayed():
    """A look tells by itself only of what moved by much."""
    for each in RUN:
        assert set(each.evidence) <= FIGURES, each.name
        # There are looks of pairs only.
        assert not each.evidence or isinstance(each.way, Pair), each.name
        if isinstance(each.way, Pair) and open_study(each.way.study).fragments is None:
            is_of_load = each.way.metric != "pss_bytes"
            stays = each.then.is_flat or {"no longer", "was an artefact"} & {*each.explains}
            assert bool(each.evidence) >= bool(is_of_load and stays), each.name
        elif isinstance(each.way, Pair):
            assert not each.evidence, each.name
    assert any(each.then.is_flat and each.evidence for each in RUN)


def test_a_life_that_both_sides_have_ends_in_no_window():
    """Else the requests of so many lives are all that either side can answer in it."""
    for each in RUN:
        if isinstance(each.way, Pair) and each.way.metric == "throughput_per_s":
            start = open_study(each.way.study).start_configuration()
            sides = (start.with_values(side).values for side in (each.way.a, each.way.b))
            a, b = (side.get("MaxConnectionsPerChild", 0) for side in sides)
            if a == b and a:
                assert isinstance(a, int)
                assert a >= LONG_LIFE, each.name


def test_a_sentence_on_a_number_that_is_counted_is_of_one_word():
    """It is the same, more, or less: nothing is a reason for all three."""
    for each in RUN:
        if isinstance(each.way, Count) and not each.footing:
            assert len(each.explains) == 1, each.name


def test_the_study_s_readme_leads_to_it(subtests):
    for each in BY_STUDY:
        with subtests.test(each.name):
            readme = (Path(open_study(each.way.study).folder) / "README.md").read_text(
                encoding="utf-8"
            )
            asked = [line.split() for line in readme.replace("\\\n", "").splitlines()]
            named = [words for words in asked if words[:3] == ["httpdyno", "book", "run"]]
            assert any(each.name in words for words in named)
            assert {name for words in named for name in words[3:]} <= {
                one.name for one in experiments()
            }


def test_names():
    assert experiment("nothing") is None
    again = experiment("perl-bound-load-2001")
    assert again is not None
    assert way_of(again).name == "perl-bound-load"


RATES = re.compile(
    r"([\d.]+) (?:requests/s with .*?, |→ )([\d.]+)(?: with| requests/s| hits/s)", re.ASCII
)
"""Both rates of a sentence, that of the first configuration first."""


def test_a_ratio_is_that_of_the_printed_rates_and_turned_where_a_cost_stands_beside_it():
    checked = 0
    for each in experiments():
        rates = RATES.search(each.then.says)
        if not isinstance(each.way, Pair) or rates is None:
            continue
        first, second = map(float, rates.groups())
        # What takes more CPU time is answered less often.
        was = second / first if each.way.metric == "throughput_per_s" else first / second
        assert each.then.ratio == pytest.approx(was, rel=2e-3), each.name
        checked += 1
    assert checked >= FEWEST_RATES


RATIOS = {
    "asp-statedir-cached-filesystem": ("14.1", "6.5"),
    "mysql-bound-load-2001": ("4.09", "4.62"),
    "perl-bound-load-2001": ("28.01", "29.31"),
    "maxclients-sweep-cpu-handler": ("791", "741"),
    "stat-call-cost-under-cpu-load": ("8.78", "4.21"),
    "translation-shortcuts-rps": ("827", "996"),
    "uri-depth-rps": ("849", "801"),
    "preload-cgi-methods-memory": ("1,168", "1,268"),
    "preload-cgi-import-all-memory": ("1,868", "1,312"),
    "preload-large-script-memory": ("3,316", "2,764"),
    "ab-first-run-light": ("100", "100"),
    "ab-raise-load-light": ("94.82", "139.76"),
    "mrpc-one-and-ten-light": ("8.34", "133.01"),
    "maxclients-ten-light": ("27.12", "133.01"),
    "mysql-bound-load": ("4.09", "4.62"),
    "perl-bound-load": ("28.01", "29.31"),
    "all-children-alive": ("33.17", "28.01"),
    "maxclients-ten-perl-bound": ("30.43", "28.01"),
    "mrpc-sweep": ("2.83", "28.01"),
    "mod-cgi-baseline": ("29.74", "1.13"),
    "httperf-sample": ("26,701", "27,000"),
    "pounder-sample": ("10.65 × 0.85", "10"),
    "call-overhead-empty-sub": ("1.59", "0.85"),
    "call-overhead-heavy-sub": ("19.36", "16.93"),
    "call-overhead-heavier-sub": ("21.18", "27.47"),
    "cgi-param-method-vs-function": ("23.62", "30.74"),
    "import-symbols-memory": ("1,970,176", "1,949,696"),
    "disk-cache-static-html": ("39.19", "0.96"),
    "disk-cache-dynamic-php": ("15.64", "0.82"),
}
"""Which figures of its sentence each ratio of then is of, over and under."""
BETWEEN = {"ab-versus-pounder": ("2.5", "3.0")}
"""Which the document prints as from and to: it is the middle."""
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?<!,)", re.ASCII)


def product(told):
    return math.prod(float(each.replace(",", "")) for each in NUMBER.findall(told))


def test_every_ratio_then_is_that_of_the_figures_in_its_sentence():
    with_ratio = {each.name: each.then for each in experiments() if each.then.ratio is not None}
    assert {*RATIOS} | {*BETWEEN} == {*with_ratio}
    for name, then in with_ratio.items():
        of = RATIOS.get(name) or BETWEEN[name]
        figures = [figure for each in of for figure in NUMBER.findall(each)]
        assert {*figures} <= {*NUMBER.findall(then.says)}, name
        first, second = map(product, of)
        ratio = (first + second) / 2 if name in BETWEEN else first / second
        assert then.ratio == pytest.approx(ratio, rel=2e-3), name
        # Where little was found that would be much of it.
        assert math.log(then.ratio or 0) == pytest.approx(math.log(ratio), rel=1e-2), name


def test_every_count_then_is_in_its_sentence():
    for each in experiments():
        counts = [each.then.count]
        if isinstance(each.way, Count):
            counts += [beside.then for beside in each.way.beside]
        says = NUMBER.findall(each.then.says.replace("none", "0"))
        assert {f"{count:g}" for count in counts if count is not None} <= {*says}, each.name


def test_the_ratio_of_a_raised_load_is_that_of_the_rates_printed_for_its_clients():
    each = experiment("ab-raise-load-light")
    assert each is not None
    assert isinstance(each.way, Script)
    printed = re.findall(r"([\d.]+) (?:requests/s )?with ([\d,]+)", each.then.says)
    rates = {clients.replace(",", ""): float(rate) for rate, clients in printed}
    many, few = (name.partition(".")[0] for name in each.way.figure)
    assert each.then.ratio == pytest.approx(rates[many] / rates[few], rel=2e-3)
    for name, command in each.way.commands.items():
        assert f" -c {name} " in command
