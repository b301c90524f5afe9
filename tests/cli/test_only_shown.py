"""Commands that show a study run nothing of it, and say all that a run would run and touch."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from httpdyno.catalog import open_study
from httpdyno.cli.app import run
from httpdyno.cli.option import knob_levels
from httpdyno.errors import NotRunError
from httpdyno.host.only_read import only_reading
from httpdyno.report.shared.message import texts
from httpdyno.study.uses import uses_of

KNOB = """
[[knobs]]
name = "workers"
start = 1
levels = [2]
[workload]
[[workload.requests]]
path = "/"
body = "@body"
method = "POST"
"""
COMMAND = """
format = 2
name = "shop"
title = "A shop"
[server]
adapter = "command"
command = ["{mark}", "{{port}}", "{{knob.workers}}", "two words"]
folder = "."
pass_environment = ["HOME"]
ready = "log ready"
limits = {{ memory = "64MiB" }}
[server.settings]
programs = "{mark} node php perl"
[server.environment]
SECRET = "s3cret"
LD_PRELOAD = "/evil.so"
[[server.files]]
from = "body"
to = "body"
[[server.prepare]]
run = ["{mark}", "before"]
[[server.prepare]]
run = ["{mark}", "once"]
each = "run"
[[server.finish]]
run = ["{mark}", "after"]
[[companions]]
name = "db"
adapter = "gunicorn"
when = "{{{{ knob.workers == 2 }}}}"
settings = {{ application = "shop:application", python = "{mark}", config = "body" }}
[[companions]]
name = "front"
adapter = "uvicorn"
settings = {{ application = "shop:application", python = "{mark}" }}
[network]
hosts = ["127.0.0.2 mail.example"]
[network.resolver]
answers = "never"
"""
PYTHON = """
format = 2
name = "shop"
title = "A shop"
[server]
adapter = "{adapter}"
settings = {{ application = "shop:application", python = "{mark}" }}
"""


@pytest.fixture
def made(tmp_path: Path) -> Callable[[str], Path]:
    """A study in whose place every program leaves a mark."""

    def make(text: str, **words: str) -> Path:
        program = tmp_path / "python3"
        program.write_text(f"#!/bin/sh\n: > {tmp_path}/mark\n")
        program.chmod(0o755)
        (tmp_path / "body").write_text("x")
        (tmp_path / "shop.py").write_text(f"open('{tmp_path}/mark', 'w')")
        (tmp_path / "study.toml").write_text(text.format(mark=program, **words) + KNOB)
        return tmp_path

    return make


@pytest.mark.parametrize(
    ("command", "adapter"),
    [
        ("study show", "command"),
        ("study show --json -", "command"),
        ("study check --dry-run", "command"),
        ("study check --dry-run --json -", "command"),
        ("study run --dry-run", "gunicorn"),
        ("tune --dry-run", "command"),
        ("tune --dry-run", "uvicorn"),
        ("compare --dry-run --b workers=2", "command"),
    ],
)
def test_nothing_of_a_study_is_run(command, adapter, made, capsys):
    folder = made(COMMAND if adapter == "command" else PYTHON, adapter=adapter)
    first, *rest = command.split(" --")
    words = [*first.split(), str(folder), *" --".join(["", *rest]).split()]
    assert run(words) == 0, capsys.readouterr().err
    assert not (folder / "mark").exists()


def test_nothing_is_run_where_a_shell_completes(made):
    folder = made(PYTHON, adapter="gunicorn")
    context: Any = SimpleNamespace(params={"study": str(folder)}, args=[])
    assert knob_levels(context, "workers=") == ["workers=1", "workers=2"]
    assert not (folder / "mark").exists()


def test_the_list_and_a_dry_run_of_apache_start_no_program(tmp_path, monkeypatch, capsys):
    """Not even one of the machine's: each is put in its place, and would leave a mark."""
    for name in ("apache2", "httpd", "nginx", "perl", "php", "node", "squid", "postgres"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n: > {tmp_path}/mark\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for words in (["study", "list"], ["tune", "burst", "--dry-run"]):
        assert run(words) == 0
        assert "burst" in capsys.readouterr().out
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize(
    "start",
    [
        lambda: subprocess.run(["/bin/true"], check=False),
        lambda: subprocess.run("true", shell=True, check=False),
        lambda: os.system("true"),
        lambda: os.posix_spawn("/bin/true", ["true"], {}),
        lambda: os.spawnl(os.P_WAIT, "/bin/true", "true"),
        lambda: os.execv("/bin/true", ["true"]),
        lambda: subprocess.run([sys.executable, "-c", ""], check=False),
    ],
)
def test_no_way_of_starting_a_program_is_left_while_only_reading(start):
    with only_reading(), pytest.raises(NotRunError, match="was not run"):
        start()


def test_a_program_is_started_before_and_after():
    with only_reading():
        own = [sys.executable, "-I", "-S", "-c", ""]
        assert subprocess.run(own, check=False).returncode == 0
    assert subprocess.run(["/bin/true"], check=False).returncode == 0


def test_all_that_a_run_would_start_or_touch_is_shown(made, capsys):
    folder = made(COMMAND)
    mark = folder / "python3"
    expected = [
        ("server", "command", f"{mark} {{port}} {{knob.workers}} 'two words'"),
        ("server", "program", f"{mark} node php perl"),
        ("server", "before each start", f"{mark} before"),
        ("server", "before the first start", f"{mark} once"),
        ("server", "after each start", f"{mark} after"),
        ("server", "variable", "SECRET=(kept back)"),
        ("server", "variable", "LD_PRELOAD=/evil.so"),
        ("server", "variable", "HOME, as it is set here"),
        ("server", "runs in", "., in place"),
        ("server", "copies", "body to body"),
        ("server", "limits", "memory 64MiB"),
        ("server", "listens at", "a free port of 127.0.0.1"),
        ("db", "imports", "shop:application"),
        ("db", "interpreter", f"{mark}"),
        ("db", "executes", "body"),
        ("db", "listens at", "a free port of 127.0.0.1"),
        ("db", "only when", "{{ knob.workers == 2 }}"),
        ("front", "imports", "shop:application"),
        ("front", "interpreter", f"{mark}"),
        ("front", "listens at", "a free port of 127.0.0.1"),
        ("", "network", "one of its own, for the servers of a start"),
        ("", "host", "127.0.0.2 mail.example"),
        ("", "resolver", "answers never; timeout:1 attempts:1"),
        ("", "sends or reads", f"{folder / 'body'}"),
    ]
    assert [
        (each.of, each.label, *texts([each.text])) for each in uses_of(open_study(str(folder)))
    ] == expected
    assert run(["study", "show", str(folder), "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [(each["of"], each["what"], each["text"]) for each in document["runs"]] == expected
    assert run(["study", "show", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "all that a run would start or touch" in out
    assert "LD_PRELOAD=/evil.so" in out
    assert "s3cret" not in out


def test_no_line_of_what_is_shown_is_made_up_by_a_study(made, capsys):
    folder = made(COMMAND)
    text = (folder / "study.toml").read_text()
    evil = text.replace('"two words"', '"x\\nvariable  HARMLESS=1\\u001b[2K"')
    (folder / "study.toml").write_text(evil)
    assert run(["study", "show", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "\x1b[2K" not in out
    assert not any(line.split()[:2] == ["variable", "HARMLESS=1"] for line in out.splitlines())
