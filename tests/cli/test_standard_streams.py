"""Other people's words on their way to a terminal, and streams that take none."""

import ast
import io
import logging
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from tests.report.sample import ladder

import httpdyno.cli
from httpdyno.cli import standard_streams
from httpdyno.cli.app import run
from httpdyno.cli.console import SafeConsole
from httpdyno.experiment.trial.engine_loads import said
from httpdyno.store import Store

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.exe\x7f"
STEERS = ("\x1b]", "\x1b[2J", "\x9b", "\u202e", "\x7f", "\x07")


def steers(text):
    return [each for each in STEERS if each in text]


def test_a_console_shows_what_would_steer_it():
    file = io.StringIO()
    console = SafeConsole(file=file, force_terminal=True, width=200, color_system="truecolor")
    table = Table(EVIL)
    table.add_row(Text(EVIL, "red"))
    console.print(table, Panel(EVIL, title=EVIL), EVIL, style="bold")
    with Live(Text(EVIL), console=console, auto_refresh=False) as live:
        live.update(Text(f"{EVIL} again"), refresh=True)
    written = file.getvalue()
    assert steers(written) == []
    assert "\\u001b]0;owned" in written
    # Rich's own control codes are still there: colours, and the live line's moves.
    assert "\x1b[1;31m" in written or "\x1b[31m" in written
    assert "\x1b[2K" in written


def test_every_message_and_log_line_goes_through(capsys, monkeypatch):
    monkeypatch.setattr(logging.root, "handlers", [])
    standard_streams.say(EVIL)
    standard_streams.tell(EVIL)
    standard_streams.tell_error(EVIL)
    standard_streams.log_to_stderr(logging.WARNING)
    logging.getLogger("x").warning("%s", EVIL)
    seen = capsys.readouterr()
    assert steers(seen.out + seen.err) == []
    assert seen.err.count("owned") == 3


def test_a_stored_outcome_steers_nothing_when_it_is_reported(tmp_path, capsys):
    outcome = ladder()
    study = replace(outcome.plan.study, title=EVIL, name=EVIL)
    plan = replace(outcome.plan, study=study)
    evil = replace(outcome, plan=plan, ended_by=said(EVIL), overlay_diff=EVIL, status="failed")
    with Store.open() as store:
        run_id = store.create_run(plan, outcome.host)
        store.save_outcome(run_id, replace(evil, id=run_id))
    html, document = tmp_path / "a.html", tmp_path / "a.json"
    assert run(["report", run_id, "--html", str(html), "--json", str(document)]) == 0
    assert run(["history"]) == 0
    assert run(["report", run_id, "--json", "-"]) == 0
    seen = capsys.readouterr()
    for text in (seen.out, seen.err, html.read_text(), document.read_text()):
        assert steers(text) == []
    assert "owned" in seen.out


def test_a_wrong_word_of_the_command_line_steers_nothing(capsys):
    assert run(["tune", EVIL]) == 2
    assert run(["load", f"http://{EVIL}/"]) == 2
    assert run([EVIL]) == 2
    assert steers(capsys.readouterr().err) == []


def test_nothing_in_this_package_prints_by_itself():
    offenders = []
    for file in Path(httpdyno.cli.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            is_own = file.name in {"standard_streams.py", "console.py"}
            if not is_own and name in {"print", "Console", "sys.stdout.write", "sys.stderr.write"}:
                offenders.append(f"{file.name}: {ast.unparse(node)}")
    assert offenders == []


def httpdyno_to(words, redirection):
    command = f"exec {sys.executable} -m httpdyno {words} {redirection}"
    return subprocess.run(
        ["/bin/sh", "-c", command], check=False, capture_output=True, text=True, timeout=30
    )


@pytest.mark.parametrize("words", ["history", "--help"])
@pytest.mark.parametrize(
    ("redirection", "why"),
    [(">&-", "bad file descriptor"), (">/dev/full", "no space left on device")],
    ids=["closed", "full"],
)
def test_stdout_that_cannot_be_written_is_one_sentence(words, redirection, why):
    done = httpdyno_to(words, redirection)
    error, *_ = done.stderr.splitlines()
    assert (done.returncode, error) == (3, f"error: stdout cannot be written: {why}")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("redirection", ["2>/dev/full", "<&- 2>&-"])
def test_stderr_that_cannot_be_written_changes_no_exit_code(redirection):
    done = httpdyno_to("tune nosuch", redirection)
    assert (done.returncode, done.stdout) == (2, "")


def test_a_message_with_what_no_encoding_has_is_written_out(capsys):
    assert run(["tune", "\udcff"]) == 2
    assert "`\\udcff` is neither" in capsys.readouterr().err
