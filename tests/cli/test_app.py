"""From errors to words and exit codes."""

import os
import subprocess
import sys
from contextlib import suppress
from types import ModuleType

import pytest

from httpdyno import __version__
from httpdyno.cli import app
from httpdyno.errors import (
    AdapterError,
    EngineError,
    HttpdynoError,
    RevertError,
    StoreError,
    StudyFileError,
    TargetError,
    UsageError,
)
from httpdyno.reason import Reason, because
from httpdyno.servers.run import leftovers, root

HEAVY = ("alembic", "jinja2", "numpy", "scipy", "sqlalchemy", "psutil", "rich.table")


@pytest.fixture
def probe(monkeypatch):
    """Install a command `probe` that does what its `acts` says."""
    module = ModuleType("httpdyno.cli.probe")

    def command() -> int:
        """Do what the test wants."""
        acts = module.acts
        if isinstance(acts, BaseException):
            raise acts
        return int(acts)

    vars(module).update(command=command, EXAMPLE="")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(app.COMMANDS, "probe", "Do what the test wants.")
    return module


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (UsageError, 2),
        (StudyFileError, 2),
        (TargetError, 3),
        (AdapterError, 3),
        (EngineError, 3),
        (StoreError, 3),
        (RevertError, 4),
    ],
)
def test_each_error_is_one_sentence_a_hint_and_its_code(probe, capsys, kind, code):
    probe.acts = kind("the thing is 7, expected 8", hint="Make it 8.")
    assert app.run(["probe"]) == code
    seen = capsys.readouterr()
    assert seen.out == ""
    assert seen.err == "error: the thing is 7, expected 8\n\nhint: make it 8\n"


def test_every_kind_of_error_has_a_code_of_its_tree():
    def family(kind: type[HttpdynoError]) -> list[type[HttpdynoError]]:
        return [kind, *(each for child in kind.__subclasses__() for each in family(child))]

    assert {kind.exit_code for kind in family(HttpdynoError)} == {2, 3, 4}


def test_an_error_without_a_hint_is_one_line(probe, capsys):
    probe.acts = UsageError("no")
    app.run(["probe"])
    assert capsys.readouterr().err == "error: no\n"


def test_a_bug_shows_its_traceback(probe, capsys):
    probe.acts = ZeroDivisionError("surprise")
    assert app.run(["probe"]) == 70
    seen = capsys.readouterr().err
    assert "Traceback" in seen
    assert "ZeroDivisionError: surprise" in seen
    assert "error: this is a bug in httpdyno" in seen


@pytest.mark.parametrize("acts", [KeyboardInterrupt(), 130])
def test_an_interruption_is_130_without_a_traceback(probe, capsys, acts):
    probe.acts = acts
    assert app.run(["probe"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.parametrize("code", [0, 1])
def test_the_answer_of_a_command_is_the_exit_code(probe, code):
    probe.acts = code
    assert app.run(["probe"]) == code


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nosuch"], "no such command `nosuch`"),
        (["hstory"], "did you mean `history`?"),
        (["--nosuch"], "no such option: --nosuch"),
        (["history", "--nosuch"], "no such option: --nosuch"),
        (["compare"], "missing argument `STUDY`"),
        (["load", "http://localhost/", "-c"], "option `-c` requires an argument"),
        (["tune", "bookmarks", "--seed", "many"], "`--seed`"),
    ],
)
def test_a_wrong_command_line_is_2_in_the_same_form(capsys, arguments, words):
    assert app.run(arguments) == 2
    error, blank, hint = capsys.readouterr().err.splitlines()
    assert error.startswith("error: ")
    assert words in error.replace("Did", "did")
    assert blank == ""
    assert hint.startswith("hint: `httpdyno")
    assert "--help" in hint


@pytest.mark.parametrize(
    ("arguments", "heading"), [([], "Compare and tune:"), (["study"], "Commands:")]
)
def test_nothing_asked_shows_the_help(capsys, arguments, heading):
    assert app.run(arguments) == 2
    seen = capsys.readouterr()
    assert seen.out.startswith(f"Usage: {' '.join(['httpdyno', *arguments])} [OPTIONS] COMMAND")
    assert heading in seen.out
    assert seen.err == ""


def test_the_version_is_shown(capsys):
    assert app.run(["--version"]) == 0
    assert capsys.readouterr().out == f"httpdyno {__version__}\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Make it so.", "make it so"),
        ("Make it so. Then wait.", "make it so. Then wait."),
        ("HTTP it is", "HTTP it is"),
        ("`-c` is wrong", "`-c` is wrong"),
        ("wait …", "wait …"),
        ("", ""),
    ],
)
def test_messages_look_alike(text, shown):
    assert app.sentence(text) == shown


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from httpdyno.cli.app import run; run(['--help']);"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert seen.stdout.splitlines()[-1] == "[]"


@pytest.fixture
def reaped(monkeypatch):
    """Count the reapings, which find something."""
    calls: list[int] = []

    def reap() -> list[Reason]:
        calls.append(1)
        return [because("run.removed_ownerless", folder="/run/x")]

    monkeypatch.setattr(root, "has_runs", lambda: True)
    monkeypatch.setattr(leftovers, "reap_leftovers", reap)
    return calls


def test_any_command_first_ends_what_a_killed_httpdyno_left(probe, reaped, capsys):
    probe.acts = 0
    assert app.run(["-v", "probe"]) == 0
    assert reaped == [1]
    seen = capsys.readouterr()
    assert (seen.out, seen.err) == ("", "removed `/run/x`, which no httpdyno owns\n")


@pytest.mark.parametrize("words", [["--help"], ["probe", "--help"], ["--version"], [], ["nosuch"]])
def test_what_is_no_command_ends_nothing(probe, reaped, words):
    app.run(words)
    assert reaped == []


def test_a_completion_ends_nothing(reaped, monkeypatch, capfd):
    monkeypatch.setenv("_HTTPDYNO_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "httpdyno hist")
    monkeypatch.setenv("COMP_CWORD", "1")
    with suppress(SystemExit):
        app.run(["history"])
    assert reaped == []


def test_a_run_folder_that_cannot_be_used_does_not_stop_a_command(probe, monkeypatch, capsys):
    def reap() -> list[Reason]:
        raise AdapterError("`/x` is not a folder of this user")

    monkeypatch.setattr(leftovers, "reap_leftovers", reap)
    monkeypatch.setattr(root, "has_runs", lambda: True)
    probe.acts = 0
    assert app.run(["probe"]) == 0
    assert "a killed httpdyno left: `/x` is not a folder of this user" in capsys.readouterr().err


def test_looking_for_leftovers_imports_nothing_heavy_and_makes_no_folder(own_folders):
    code = (
        "import sys; from httpdyno.servers.run.leftovers import reap_leftovers; reap_leftovers();"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert seen.stdout.splitlines()[-1] == "[]"
    assert not (own_folders / "run").exists()


PRINTERS = {
    "print": "print('x' * 100)",
    "much": "print('x' * 10_000_000)",
    "rich": "from rich.console import Console; Console().print('x\\n' * 100_000)",
    "failing": "print('x'); raise app.HttpdynoError('no')",
}


@pytest.mark.parametrize("printing", PRINTERS.values(), ids=PRINTERS)
def test_when_nobody_reads_any_more_it_ends_quietly(printing):
    code = (
        "import sys; from types import ModuleType; from httpdyno.cli import app\n"
        "def command():\n"
        f"    {printing}\n"
        "module = ModuleType('httpdyno.cli.probe')\n"
        "vars(module).update(command=command, EXAMPLE='')\n"
        "sys.modules[module.__name__] = module\n"
        "app.COMMANDS['probe'] = 'Print.'\n"
        "sys.argv = ['httpdyno', 'probe']; app.main()\n"
    )
    reader, writer = os.pipe()
    os.close(reader)
    try:
        seen = subprocess.run(
            [sys.executable, "-c", code],
            check=False,
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        os.close(writer)
    assert (seen.returncode, seen.stderr) == (141, "")


def test_colour_is_for_terminals_only(probe, capsys, monkeypatch):
    probe.acts = UsageError("no")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    app.run(["probe"])
    assert capsys.readouterr().err == "\x1b[1;31merror\x1b[0m: no\n"
    monkeypatch.setenv("NO_COLOR", "1")
    app.run(["probe"])
    assert capsys.readouterr().err == "error: no\n"
