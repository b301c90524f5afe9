"""The page on what limited a server has each word, with the figures that it is judged by."""

import re
import shlex
from pathlib import Path
from typing import Any, get_args

import typer
from tests.rows import each_row

from httpdyno.advice.bottleneck import facts, other_size, verdict
from httpdyno.cli.app import COMMANDS, app_with
from httpdyno.experiment.decide import other_sizes
from httpdyno.experiment.trial.look import _SETTLED, LOOK_S
from httpdyno.model.look import LEAST_SAMPLES, Limit
from httpdyno.report.shared.bottleneck import LIMIT_WORDS
from httpdyno.units import format_percent

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "limits.md").read_text(encoding="utf-8")
SECTIONS = dict(
    re.findall(r"^### [^\n]*: `(\w+)`\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
)
HEADINGS = dict(re.findall(r"^### (.*): `(\w+)`$", PAGE, re.MULTILINE))
LINES = re.findall(r"^\$ (httpdyno [^#\n]*)|`(httpdyno [a-z][^`]*)`", PAGE, re.MULTILINE)
ROOT: Any = typer.main.get_command(app_with(COMMANDS))
FIGURES: dict[str, list[str | float]] = {
    "load_generator": [verdict._MUCH, facts._MISSED, verdict._LOST, f"({verdict._OTHERS:g})"],
    "memory": [f"({verdict._FAULTS_PER_ANSWER:g})"],
    "spawning": [
        f"({verdict._BIRTHS_PER_ANSWER:g})",
        f"({verdict._SEEN_BIRTHS_PER_ANSWER:g})",
        f"({verdict._FORKS_PER_ANSWER:g})",
        verdict._SPAWN_RATIO,
    ],
    "nothing": [facts._MISSED],
    "keep_alive": [verdict._MUCH_OF_WORKERS],
    "slow_clients": [verdict._MUCH_OF_WORKERS],
    "listen_queue": [f"{100 * verdict._OVERFLOWS_PER_ANSWER:g} %"],
    "lock": [verdict._OF_WAITING],
    "disk": [verdict._OF_WAITING],
    "backend": [verdict._OF_WAITING],
    "cpu": [verdict._MUCH, verdict._BOTH, verdict._PART],
    "too_many_workers": [f"{verdict._CROWD} or more", verdict._TAKEN_OFF],
    "unknown": [f"Fewer than {LEAST_SAMPLES} samples"],
}
IN_WORDS = {2.0: "twice"}


def prose(text: str) -> str:
    return " ".join(text.split())


def written(figure: str | float) -> str:
    return figure if isinstance(figure, str) else IN_WORDS.get(figure) or format_percent(figure)


def test_each_limit_has_a_part_under_the_word_that_reports_say():
    assert {name: word for word, name in HEADINGS.items()} == LIMIT_WORDS
    assert set(HEADINGS.values()) == set(get_args(Limit))


@each_row("limit", get_args(Limit))
def test_each_part_says_what_it_means_and_by_what_it_is_named(limit):
    text = prose(SECTIONS[limit])
    parts = ["- **Means:**", "- **Evidence:**"]
    if limit != "unknown":
        parts += ["- **Do:**"]
        assert "**Wrong** " in text or "**Not named** " in text
    assert [part for part in parts if part not in text] == []


@each_row("limit", FIGURES)
def test_each_part_has_the_figures_that_it_is_judged_by(limit):
    text = prose(SECTIONS[limit])
    assert [each for each in map(written, FIGURES[limit]) if each not in text] == []


def test_what_all_parts_rest_on_has_its_figures():
    text = prose(PAGE.partition("## What each word rests on")[0])
    for figure in (facts._ALL_BUSY, facts._FULL, facts._LEFT):
        assert format_percent(figure) in text
    assert f"lasts {LOOK_S * (1 - _SETTLED):g} s" in text


def test_what_another_number_of_workers_shows_has_its_figures():
    text = prose(PAGE.partition("## What another number of workers shows")[2].partition("\n## ")[0])
    shown = [
        f"begins at {format_percent(other_size._HELPS)} or more",
        f"at {format_percent(other_size._HELPS_OF_GROWTH)} of their part",
        f"ends at {format_percent(other_size._FLAT)} or less",
        f"at {format_percent(other_size._FLAT_OF_GROWTH)} of their part",
        f"fewer than {other_size._GROWTH:g} times",
        f"within {other_sizes._FOLLOWS:g} times",
    ]
    assert [each for each in shown if each not in text] == []


def test_what_reports_say_on_the_page_are_words_of_reports():
    told = re.findall(r"^what limited it \(.*\n((?:^  .*\n|^\n)*)", PAGE, re.MULTILINE)
    rows = re.findall(r"^  (?:\S.*?): ([\w ]+);", "".join(told), re.MULTILINE)
    assert len(rows) >= 2
    assert set(rows) <= set(LIMIT_WORDS.values())


@each_row("line", sorted({first or second for first, second in LINES}))
def test_every_command_parses(line):
    words = shlex.split(line)[1:]
    command = ROOT.commands[words.pop(0)]
    if words:
        with command.make_context(command.name, words, parent=typer.Context(ROOT)):
            pass


def test_every_link_leads_somewhere():
    links = re.findall(r"\]\(([a-z-]*(?:\.md)?)(?:#([a-z-]+))?\)", PAGE)
    assert links
    for page, part in links:
        text = (REPOSITORY / "docs" / page).read_text(encoding="utf-8") if page else PAGE
        titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        names = {re.sub(r"[^a-z -]", "", title.lower()).replace(" ", "-") for title in titles}
        assert not part or part in names


def test_the_readme_leads_here():
    assert "(docs/limits.md)" in (REPOSITORY / "README.md").read_text(encoding="utf-8")
