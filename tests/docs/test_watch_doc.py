"""The manual of `httpdyno watch` names what there is."""

import shlex
from pathlib import Path
from typing import Any

import typer
from tests.rows import each_row

from httpdyno.cli.app import app_with
from httpdyno.report.watch.view import LABELS
from httpdyno.servers.discover.source import parse_source
from httpdyno.telemetry.worker import EACH_SECOND_S

MANUAL = (Path(__file__).parents[2] / "docs" / "watch.md").read_text(encoding="utf-8")
COMMANDS = [
    line.removeprefix("$ ") for line in MANUAL.splitlines() if line.startswith("$ httpdyno")
]
WATCH: Any = typer.main.get_command(app_with(["watch"]))


@each_row("line", COMMANDS)
def test_every_command_parses(line):
    words = shlex.split(line.partition(" > ")[0].partition(" | ")[0], comments=True)[2:]
    watch = WATCH.commands["watch"]
    with watch.make_context("watch", words) as context:
        if given := context.params["source"]:
            parse_source(given, Path("/"))


def test_every_label_is_explained():
    assert [label for label in LABELS if f"*{label}*" not in MANUAL] == []


def test_every_option_is_named():
    names = [
        max(each.opts, key=len) for each in WATCH.commands["watch"].params if each.opts[0][0] == "-"
    ]
    # Other ways to name a server are explained where servers are named.
    assert [
        name
        for name in names
        if name not in {"--pid", "--server", "--config", "--help"} and name not in MANUAL
    ] == []


def test_the_time_for_reading_processes_is_what_it_says():
    assert f"at most {EACH_SECOND_S * 1000:g} ms of CPU time a second" in " ".join(MANUAL.split())
