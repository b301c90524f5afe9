"""What every command says of itself."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from httpdyno.cli.app import COMMANDS, app_with

COLUMNS = 80
MOST_WORDS = 15
"""Of an option's help, its default apart; the style is in CONTRIBUTING.md."""
ROOT = typer.main.get_command(app_with(COMMANDS))


def walk(
    command: object = ROOT, path: tuple[str, ...] = ("httpdyno",)
) -> Iterator[tuple[str, ...]]:
    """Yield the path of every command, the groups too."""
    yield path
    if isinstance(command, TyperGroup):
        for name, child in command.commands.items():
            yield from walk(child, (*path, name))


PATHS = list(walk())


def at(path):
    """Return the command at a path, and its context with all its parents."""
    command: Any = ROOT
    context = typer.Context(ROOT, info_name=path[0])
    for name in path[1:]:
        command = command.commands[name]
        context = typer.Context(command, info_name=name, parent=context)
    return command, context


def examples(path):
    """Return the command lines of a command's example."""
    epilog = at(path)[0].epilog or ""
    lines = [line.strip() for line in epilog.replace("\\\n", "").splitlines()]
    return [line for line in lines if line.startswith("httpdyno ")]


LEAVES = [path for path in PATHS if not isinstance(at(path)[0], TyperGroup)]


def ids(path: tuple[str, ...]) -> str:
    return "-".join(path)


@pytest.fixture(autouse=True)
def usual_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", str(COLUMNS))


@pytest.mark.parametrize("path", PATHS, ids=ids)
def test_help_is_as_it_was_read_and_fits_80_columns(path, golden):
    command, context = at(path)
    text = command.get_help(context) + "\n"
    assert max(len(line) for line in text.splitlines()) <= COLUMNS
    assert "..." not in re.sub(
        r"(\[ARGS\]|\{STUDY\}|\[URL\]|\[SOURCE\]|\[NAME\]|\{SOURCE\})\.\.\.", "", text
    )
    golden(f"help/{'-'.join(path)}.txt", text)


def test_every_command_has_an_example_that_parses(subtests):
    for path in LEAVES:
        with subtests.test(ids(path)):
            lines = examples(path)
            assert lines
            for line in lines:
                words = shlex.split(line.partition(" > ")[0])
                assert tuple(words[: len(path)]) == path
                command, context = at(path)
                with command.make_context(path[-1], words[len(path) :], parent=context.parent):
                    pass


def test_every_option_is_explained(subtests):
    for path in PATHS:
        with subtests.test(ids(path)):
            command, _ = at(path)
            assert all(parameter.help for parameter in command.params if parameter.name != "help")


def test_no_option_tells_a_story(subtests):
    for path in PATHS:
        for parameter in at(path)[0].params:
            with subtests.test(ids(path), parameter=parameter.name):
                words = re.sub(r"\[default: [^]]*\]", "", parameter.help or "").split()
                assert len(words) <= MOST_WORDS


def test_every_command_begins_with_one_sentence(subtests):
    for path in PATHS[1:]:
        with subtests.test(ids(path)):
            first = at(path)[0].help.strip().splitlines()[0]
            assert first.endswith(".")
            assert first.count(". ") == 0


def test_the_overview_has_the_sentence_of_the_command(subtests):
    for name in COMMANDS:
        with subtests.test(name):
            first = at(("httpdyno", name))[0].help.strip().splitlines()[0]
            assert first == COMMANDS[name]


def test_every_command_can_write_json(subtests):
    for path in LEAVES:
        with subtests.test(ids(path)):
            if path[-1] == "schema":
                continue  # prints nothing but JSON
            options = {option for parameter in at(path)[0].params for option in parameter.opts}
            assert "--json" in options
