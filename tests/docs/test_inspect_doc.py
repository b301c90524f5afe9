"""The manual of `httpdyno inspect` names what there is."""

import re
import shlex
from pathlib import Path
from typing import Any

import typer
from tests.rows import each_row

from httpdyno.cli.app import app_with
from httpdyno.registry import site_adapters
from httpdyno.report.inspect.text import LABELS
from httpdyno.servers.discover.program import KINDS
from httpdyno.servers.discover.source import parse_source

MANUAL = (Path(__file__).parents[2] / "docs" / "inspect.md").read_text(encoding="utf-8")
COMMANDS = [
    line.removeprefix("$ ") for line in MANUAL.splitlines() if line.startswith("$ httpdyno")
]
SOURCES = re.findall(r"`([^`]+)`", "\n".join(re.findall(r"^\| (`.*?) \|", MANUAL, re.MULTILINE)))


@each_row("line", COMMANDS)
def test_every_command_parses(line):
    command: Any = typer.main.get_command(app_with(["inspect"]))
    words = shlex.split(line.partition(" | ")[0], comments=True)[2:]
    inspect = command.commands["inspect"]
    with inspect.make_context("inspect", words) as context:
        if given := context.params["source"]:
            parse_source(given, Path("/"))


def test_every_source_of_the_table_means_something():
    assert SOURCES
    for source in SOURCES:
        parse_source(source.removeprefix("-- ").split(), Path("/"))


def test_every_kind_is_in_the_table():
    kinds = {*KINDS, *(adapter.name for adapter in site_adapters())} - {"command"}
    assert kinds <= set(SOURCES)


def test_every_label_is_explained():
    assert [label for label in LABELS if f"*{label}*" not in MANUAL] == []
