"""`httpdyno inspect`: what runs here is said, and nothing of it is touched."""

import json
import os
import subprocess
import sys

import pytest

from httpdyno.advice.rules import all_rules
from httpdyno.cli.app import run
from httpdyno.model import Member
from httpdyno.servers.discover.find import Found


def test_a_command_is_described_and_not_run(own_folders, capsys):
    marker = own_folders / "was-run"
    program = own_folders / "shop"
    program.write_text(f"#!/bin/sh\ntouch {marker}\n")
    program.chmod(0o755)
    assert run(["inspect", "--json", "-", "--", str(program), "--port", "1"]) == 0
    [server] = json.loads(capsys.readouterr().out)["servers"]
    assert server["kind"] == "command"
    assert server["command"] == [str(program), "--port", "1"]
    assert server["pid"] is None
    assert not marker.exists()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["8080"], 2, "names no server of this machine"),
        (["nginxx"], 2, "did you mean `nginx`?"),
        (["pid:4194303"], 2, "no process has the id"),
        (["unit:nowhere"], 3, "no unit is called"),
        (["/nowhere.conf"], 3, "does not exist"),
    ],
)
def test_what_is_not_there_has_its_exit_code(words, code, message, capsys):
    assert run(["inspect", *words]) == code
    seen = capsys.readouterr()
    assert seen.out == ""
    assert message in seen.err
    assert "hint: " in seen.err


def test_without_a_source_it_is_all_that_runs(capsys):
    assert run(["inspect", "--json", "-"]) == 0
    assert "servers" in json.loads(capsys.readouterr().out)


def test_looking_loads_nothing_that_takes_longer_than_it():
    code = (
        "import sys; from httpdyno.cli.app import run;"
        "run(['inspect', '--json', '-', '--', sys.executable, '-m', 'uvicorn']);"
        "print([n for n in ('jinja2', 'numpy', 'sqlalchemy') if n in sys.modules])"
    )
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert seen.stdout.splitlines()[-1] == "[]"


def test_where_nothing_runs_it_is_what_is_configured(monkeypatch, capsys):
    member = Member(name="shop", kind="shop", main="/etc/shop.conf")
    monkeypatch.setattr("httpdyno.inspection.server.running", lambda _: ())
    monkeypatch.setattr("httpdyno.inspection.server.configured", lambda _: (Found(member=member),))
    assert run(["inspect", "--json", "-"]) == 0
    [server] = json.loads(capsys.readouterr().out)["servers"]
    assert (server["kind"], server["pid"]) == ("shop", None)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--census", "ftp://x/"], 2, "expected http or https"),
        (["--census", "http://192.0.2.1/"], 2, "neither this machine nor in a private network"),
        (["--census", "http://127.0.0.1:1/"], 2, "nothing listens at"),
        (["--census", "http://127.0.0.1:1/", "--", "node", "x.js"], 2, "and 0 of these do"),
        (["pid:4194303", "--census", "http://127.0.0.1:1/"], 2, "no process has the id"),
    ],
)
def test_a_census_that_cannot_be_taken_says_why(words, code, message, capsys):
    assert run(["inspect", *words]) == code
    seen = capsys.readouterr()
    assert seen.out == ""
    assert message in seen.err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--pid", "4194303"], 2, "no process has the id"),
        (["--server", "nginxx"], 2, "no kind of server is called `nginxx`"),
        (["--config", "/nowhere.conf"], 3, "does not exist"),
        (["--pid", "1", "--server", "nginx"], 2, "named in more than one way"),
        (["nginx", "--pid", "1"], 2, "named in more than one way"),
    ],
)
def test_options_name_a_server_as_its_source_does(words, code, message, capsys):
    assert run(["inspect", *words]) == code
    assert message in capsys.readouterr().err


def test_an_own_process_is_shown_with_its_memory(capsys):
    assert run(["inspect", "--json", "-", f"pid:{os.getpid()}"]) == 0
    [server] = json.loads(capsys.readouterr().out)["servers"]
    assert server["workers"][0]["pid"] == server["pid"]
    assert 0 < server["pool"]["uss_bytes"] <= server["pool"]["pss_bytes"]
    assert os.getpid() in {each["pid"] for each in server["workers"]}


def test_what_is_looked_for_is_a_page_and_looks_at_nothing(monkeypatch, capsys):
    monkeypatch.setattr("httpdyno.cli.inspect.this_machine", lambda _: pytest.fail("looked"))
    assert run(["inspect", "--rules"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("# Rules\n")
    assert all(f"\n## {rule.name}\n" in page for rule in all_rules())


def test_a_configuration_with_a_mistake_is_told_with_its_line(own_folders, capsys):
    main = own_folders / "apache2.conf"
    main.write_text(
        "LoadModule mpm_prefork_module m/mod_mpm_prefork.so\nListen 8081\nMaxRequestWorkers 400\n"
    )
    assert run(["inspect", "--json", "-", str(main)]) == 0
    [server] = json.loads(capsys.readouterr().out)["servers"]
    [found] = [each for each in server["findings"] if each["name"] == "clipped-workers"]
    assert found["severity"] == "bad"
    assert f"{main}:3" in found["evidence"]
    assert all(found[key] for key in ("what", "do", "risk", "wrong_when", "source"))
