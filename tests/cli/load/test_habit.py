"""Who types what ab, wrk or hey take is told what says the same here."""

import re
from typing import Any

import pytest
import typer

from httpdyno.cli.app import app_with, run
from httpdyno.cli.load.habit import HABITS

URL = "http://127.0.0.1:1/"


def options() -> set[str]:
    command: Any = typer.main.get_command(app_with(["load"]))
    return {name for each in command.commands["load"].params for name in each.opts}


@pytest.mark.parametrize("option", HABITS)
def test_a_habit_is_answered_with_what_there_is(option, capsys):
    assert run(["load", URL, option, "30"]) == 2
    error, _, hint = capsys.readouterr().err.splitlines()
    assert option in error
    known = options()
    assert option not in known
    said = {
        name
        for text in re.findall(r"`(-[^`]+)`", hint)
        for name in re.findall(r"(?<!\S)--?[\w.-]+", text)
    }
    assert said <= known
    assert said or hint.endswith("leave it out")


@pytest.mark.parametrize("text", ["@body.json", "name=joe", '{"a": 1}'])
def test_a_body_of_curl_is_no_duration(text, capsys):
    assert run(["load", URL, "-d", text]) == 2
    assert "`--data @FILE`" in capsys.readouterr().err


def test_another_command_has_no_such_habits(capsys):
    assert run(["history", "-k"]) == 2
    assert "`httpdyno history --help`" in capsys.readouterr().err
