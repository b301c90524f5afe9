"""Files that were asked for."""

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.report.sample import interrupted, ladder

from httpdyno import __version__
from httpdyno.cli.app import COMMANDS, app_with
from httpdyno.cli.outcome_output import show_outcome
from httpdyno.cli.output import Outputs, json_text, write_text
from httpdyno.errors import UsageError
from httpdyno.report.study.page import outcome_html


def test_nothing_asked_is_text_only():
    outputs = Outputs()
    outputs.check()
    assert outputs.has_text
    assert outputs.html_path("7") is None


def test_json_on_stdout_is_instead_of_the_text(capsys):
    outputs = Outputs(json="-")
    outputs.check()
    assert not outputs.has_text
    outputs.write_json({"ratio": 2.0, "name": "größer"})
    found = json.loads(capsys.readouterr().out)
    assert found == {"httpdyno": __version__, "ratio": 2.0, "name": "größer"}


def test_json_in_a_file_is_beside_the_text(tmp_path):
    file = tmp_path / "out.json"
    outputs = Outputs(json=str(file))
    outputs.check()
    assert outputs.has_text
    assert not file.exists()
    outputs.write_json({"a": 1})
    assert json.loads(file.read_text())["a"] == 1


def test_infinity_never_becomes_a_json_that_others_cannot_read():
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_text({"high": math.inf})


def test_the_reports_name_can_hold_the_run():
    assert str(Outputs(html="run-{id}.html").html_path("12")) == "run-12.html"


def test_the_last_word_is_where_the_report_is_or_how_to_write_it(tmp_path, capsys):
    whole, page = ladder(), tmp_path / "run.html"
    show_outcome(whole, Outputs())
    *_, last = capsys.readouterr().out.splitlines()
    assert last == f"next: `httpdyno report {whole.id} --html report.html`"
    show_outcome(whole, Outputs(html=str(page)))
    text = " ".join(capsys.readouterr().out.split())
    assert text.endswith(f"seed 42 report: {page}")
    assert page.exists()


def test_a_run_that_was_broken_off_can_go_on_though_its_report_is_written(tmp_path, capsys):
    cut = interrupted()
    show_outcome(cut, Outputs(html=str(tmp_path / "run.html")))
    text = capsys.readouterr().out
    assert f"next: `httpdyno study run --resume {cut.id}`\n" in text
    assert "report: " in text


@pytest.mark.parametrize("option", ["json", "html"])
def test_a_folder_that_is_not_there_is_named_before_the_run(tmp_path, option):
    path = str(tmp_path / "none" / "out")
    with pytest.raises(UsageError, match="folder that does not exist") as caught:
        (Outputs(json=path) if option == "json" else Outputs(html=path)).check()
    assert f"--{option} {path}" in str(caught.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize(
    ("mode", "owner", "links", "words"),
    [
        (0o1777, 40_001, 1, "it is another user's file in a folder that others may write to"),
        (0o1777, 0, 2, "it is a file with other names in a folder that others may write to"),
        (0o1777, 0, 1, ""),
        (0o755, 40_001, 2, ""),
    ],
)
def test_no_file_that_others_may_have_put_there_is_filled(tmp_path, mode, owner, links, words):
    file = tmp_path / "shared/out.json"
    file.parent.mkdir()
    file.parent.chmod(mode)
    file.write_text("before")
    os.chown(file, owner, owner)
    if links > 1:
        (tmp_path / "other").hardlink_to(file)
    outputs = Outputs(json=str(file), is_forced=True)
    if words:
        with pytest.raises(UsageError, match=words):
            outputs.check()
        with pytest.raises(UsageError, match=f"{words}; remove it"):
            outputs.write_json({"a": 1})
        assert file.read_text() == "before"
    else:
        outputs.check()
        outputs.write_json({"a": 1})
        assert json.loads(file.read_text())["a"] == 1


@pytest.mark.parametrize("option", ["json", "html", "diff"])
def test_a_file_of_somebody_else_is_overwritten_only_by_force(tmp_path, option):
    file = tmp_path / "theirs"
    file.write_text('{"name": "joe"}')
    given: dict[str, Any] = {option: str(file)}
    with pytest.raises(UsageError, match=f"`--{option} .*` is a file that httpdyno did not write"):
        Outputs(**given).check()
    outputs = Outputs(**given, is_forced=True)
    outputs.check()
    written(outputs)
    assert file.read_text() != '{"name": "joe"}'
    Outputs(**given).check()  # now it is ours


def written(outputs: Outputs) -> None:
    """Write all that was asked for."""
    outputs.write_json({"a": 1})
    outputs.write_html(outcome_html(ladder()), run_id="7")
    outputs.write_diff(b"--- a/x\n+++ b/x\n", run_id="7")


def test_a_file_that_came_to_be_there_meanwhile_stays(tmp_path):
    outputs = Outputs(json=str(tmp_path / "a"), html=str(tmp_path / "run-{id}"))
    outputs.check()
    for name in ("a", "run-7"):
        (tmp_path / name).write_text("theirs")
    with pytest.raises(UsageError, match="did not write"):
        outputs.write_json({"a": 1})
    with pytest.raises(UsageError, match="run-7` is a file that httpdyno did not write"):
        outputs.write_html("page", run_id="7")
    assert {(tmp_path / name).read_text() for name in ("a", "run-7")} == {"theirs"}


@pytest.mark.parametrize("path", ["/dev/null", "{empty}"])
def test_what_holds_nothing_may_be_written(tmp_path, path):
    (tmp_path / "empty").write_text("")
    Outputs(json=path.format(empty=tmp_path / "empty")).check()


def test_an_at_sign_names_a_file_that_is_read():
    with pytest.raises(UsageError, match=r"`--json @out\.json` begins with `@`") as caught:
        Outputs(json="@out.json").check()
    assert caught.value.hint == "write `--json out.json`"


def test_two_outputs_are_not_one_file(tmp_path):
    with pytest.raises(UsageError, match="are one file"):
        Outputs(json=str(tmp_path / "a"), html=f"{tmp_path}/./a").check()


def test_every_command_that_writes_a_file_takes_force():
    for words, params in commands(typer.main.get_command(app_with(COMMANDS))):
        outputs = {"--json", "--html", "--csv", "--hgrm", "--hlog", "--prometheus", "--diff"}
        assert not outputs & params or "--force" in params, words


def commands(group: Any, *before: str) -> Iterator[tuple[tuple[str, ...], set[str]]]:
    """Yield each command with its options."""
    yield before, {name for each in group.params for name in each.opts}
    for name, each in getattr(group, "commands", {}).items():
        yield from commands(each, *before, name)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(UsageError, match="is a folder"):
        Outputs(json=str(tmp_path)).check()


def test_a_report_goes_into_a_file(tmp_path):
    with pytest.raises(UsageError, match="not stdout"):
        Outputs(html="-").check()


def test_a_file_that_may_not_be_written_is_named_before_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere
    with pytest.raises(UsageError, match="cannot be written"):
        Outputs(json=str(tmp_path / "out.json")).check()


def test_a_failing_disk_is_one_sentence():
    with pytest.raises(UsageError, match="`/dev/full` cannot be written"):
        write_text(Path("/dev/full"), "x" * 100_000)
