"""The page on a person's own server says what there is, and its commands parse."""

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import typer
from tests.rows import each_row

from httpdyno.advice.proposal import ASKED_FOR
from httpdyno.cli.app import COMMANDS, app_with
from httpdyno.study.complaint import typed_study

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "own-server.md").read_text(encoding="utf-8")
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
LINE = re.compile(r"^\$ (httpdyno [^#\n]*)", re.MULTILINE)
CODE = re.compile(r"`(httpdyno [^`]*)`")
TABLES = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
FIRST = README.partition("## Load tests")[0]
LINES = sorted({*LINE.findall(PAGE), *CODE.findall(PAGE), *LINE.findall(FIRST)})
ROOT: Any = typer.main.get_command(app_with(COMMANDS))
WHOLE: dict[str, Any] = {
    "format": 2,
    "name": "x",
    "title": "X",
    "knobs": [{"name": "workers", "levels": [2]}],
}
REQUIRED: dict[str, dict[str, Any]] = {
    "server": {"adapter": "command"},
    "site": {"members": [{"name": "front", "kind": "nginx"}]},
}
"""What tables must have besides what the page shows."""


def test_every_command_parses(subtests):
    for line in LINES:
        with subtests.test(line):
            words = shlex.split(line)[1:]
            command, context = ROOT, typer.Context(ROOT, info_name="httpdyno")
            while words and words[0] in getattr(command, "commands", {}):
                command = command.commands[words.pop(0)]
                context = typer.Context(command, info_name=command.name, parent=context)
            assert command is not ROOT
            if words:
                with command.make_context(command.name, words, parent=context.parent):
                    pass


@each_row("text", TABLES)
def test_every_table_has_keys_that_a_study_has(text):
    raw = tomllib.loads(text)
    for name, needed in REQUIRED.items():
        if name in raw:
            raw[name] = {**needed, **raw[name]}
    for member in raw.get("site", {}).get("members", ()):
        member |= {"name": "front", "kind": "nginx", **member}
    assert typed_study({**WHOLE, **raw}, Path("study.toml"))


def test_every_option_that_the_page_names_is_one():
    options = set(re.findall(r"`(--[a-z-]+)", PAGE)) - {"--dry-run"}
    known = {
        option
        for name in ("adopt", "report", "tune")
        for parameter in ROOT.commands[name].params
        for option in parameter.opts
    }
    assert options
    assert options <= known


def test_all_that_needs_consent_is_in_the_table():
    said = set(re.findall(r"^\| `--allow (\w+)` \|", PAGE, re.MULTILINE))
    assert said == {*ASKED_FOR, "inline", "links"}


def test_every_link_leads_to_a_page():
    for target in re.findall(r"\]\(([a-z-]+\.md)\)", PAGE):
        assert (REPOSITORY / "docs" / target).is_file(), target
