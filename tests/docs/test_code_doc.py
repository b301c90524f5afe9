"""What `docs/code.md` shows is a program and a study that run."""

import re
from pathlib import Path

import pytest

from httpdyno.cli.app import run

DOC = Path(__file__).parents[2] / "docs" / "code.md"


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", DOC.read_text("utf-8"), re.DOTALL)


def test_the_commands_can_be_typed(capsys):
    commands = re.findall(r"^\$ httpdyno (.*)$", DOC.read_text("utf-8"), re.MULTILINE)
    assert commands
    for command in (each for each in commands if not each.startswith("study check")):
        assert run([*command.split(), "--dry-run"]) == 0, (command, capsys.readouterr().err)


@pytest.mark.real_server("python3")
def test_the_program_and_its_study_are_a_whole(tmp_path, capsys):
    [program], [study] = blocks("python"), blocks("toml")
    (tmp_path / "bodies.py").write_text(program, "utf-8")
    (tmp_path / "study.toml").write_text(study, "utf-8")
    assert run(["study", "check", str(tmp_path)]) == 0, capsys.readouterr().err
    said = capsys.readouterr().out
    assert "body=format" in said
    assert "body=percent" in said
