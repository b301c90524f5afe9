"""The manual of `httpdyno compare --url` names the options that there are."""

import re
import shlex
from pathlib import Path
from typing import Any

import typer

from httpdyno.cli.app import app_with

MANUAL = Path(__file__).parents[2] / "docs" / "running-servers.md"
TEXT = MANUAL.read_text(encoding="utf-8")
ROOT: Any = typer.main.get_command(app_with(["compare"]))
COMPARE = ROOT.commands["compare"]


def test_its_command_parses():
    [line] = [each for each in TEXT.splitlines() if each.startswith("$ httpdyno compare")]
    with COMPARE.make_context("compare", shlex.split(line)[3:]) as context:
        assert len(context.params["url"]) == 2


def test_every_option_for_urls_is_in_it_and_no_other():
    said = set(re.findall(r"`(--?[A-Za-z-]+)", TEXT))
    for each in COMPARE.params:
        if (each.help or "").startswith(("Of --url", "Instead of a study")):
            assert said & set(each.opts), each.opts
    assert said - {"--url"} <= {name for each in COMPARE.params for name in each.opts}
