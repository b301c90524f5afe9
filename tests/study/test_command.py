import tomllib

import pytest

from httpdyno.errors import StudyFileError
from httpdyno.model import SideCommand
from httpdyno.study.file import study_from

STUDY = """
format = 1
name = "api"
title = "An API"

[server]
adapter = "command"
command = ["node", "server.js", "--port", "{{port}}"]
{}

[[knobs]]
name = "threads"
start = 1
levels = [2]
"""


def server(tmp_path, keys):
    raw = tomllib.loads(STUDY.replace("{{", "{").replace("}}", "}").replace("{}", keys))
    return study_from(raw, tmp_path / "study.toml", lambda _: {}).server


def test_the_command_stays_as_it_was_typed(tmp_path):
    found = server(tmp_path, 'folder = "."\nstop = "INT"')
    assert found.command == ("node", "server.js", "--port", "{port}")
    assert (found.folder, found.stop) == (".", "INT")


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("", ("", "/", None)),
        ('ready = "tcp"', ("tcp", "/", None)),
        ('ready = "log listening on \\\\d+"', ("log listening on \\d+", "/", None)),
        ('ready = "GET /health"', ("", "/health", None)),
        ('ready = "GET /health 204"', ("", "/health", 204)),
        ('ready_path = "/up"\nready_status = 302', ("", "/up", 302)),
    ],
)
def test_how_it_is_known_that_it_is_ready(tmp_path, keys, expected):
    found = server(tmp_path, keys)
    assert (found.ready, found.ready_path, found.ready_status) == expected


@pytest.mark.parametrize(
    ("adapter", "key"), [("gunicorn", "command"), ("apache", "command"), ("apache", "folder")]
)
def test_what_a_server_does_not_read_is_refused(tmp_path, adapter, key):
    typed = {"command": 'command = ["x"]', "folder": 'folder = "."'}[key]
    text = STUDY.split("[server]", maxsplit=1)[0] + f'[server]\nadapter = "{adapter}"\n{typed}\n'
    raw = tomllib.loads(text + "[[knobs]]" + STUDY.split("[[knobs]]")[1])
    with pytest.raises(StudyFileError, match=f"server.{key} is .* expected none: {adapter}"):
        study_from(raw, tmp_path / "study.toml", lambda _: {})


def test_commands_beside_a_server_are_a_list_or_tables(tmp_path):
    assert server(tmp_path, 'prepare = ["seed", "{run}"]').prepare == ("seed", "{run}")
    found = server(
        tmp_path,
        '[[server.prepare]]\nrun = ["seed"]\ntimeout = "1m"\n[[server.finish]]\nrun = ["drop"]',
    )
    assert found.prepare == ()
    assert found.before == (SideCommand(run=("seed",), timeout_s=60.0),)
    assert found.finish == (SideCommand(run=("drop",)),)
    once = server(tmp_path, 'prepare = [{ run = ["seed", "{shared}/a"], each = "run" }]')
    assert once.before == (SideCommand(run=("seed", "{shared}/a"), each="run"),)


def test_what_is_left_out_and_handed_on_is_kept_by_name(tmp_path):
    (tmp_path / "app").mkdir()
    found = server(
        tmp_path,
        'pass_environment = ["DATABASE_URL"]\n'
        '[[server.files]]\nfrom = "app"\nto = "app"\nexclude = ["node_modules", "*.log"]',
    )
    assert [each.exclude for each in found.files] == [("node_modules", "*.log")]
    assert found.pass_environment == ("DATABASE_URL",)


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ('ready = "perhaps"', "server.ready is 'perhaps'; expected `GET /path`"),
        ('ready = "GET /a ok"', "server.ready is 'GET /a ok'"),
        ('ready = "GET /a 200 x"', "server.ready is 'GET /a 200 x'"),
        ('ready = "GET"', "server.ready is 'GET'"),
        ('ready = "GET "', "server.ready_path is ''"),
        ('ready = "GET /a"\nready_path = "/b"', "the same as ready_path"),
        ('ready = "log ("', "a regular expression"),
        ('stop = "KILL"', "server.stop is 'KILL'; expected a signal that can be caught"),
        ('stop = "SIGTERM"', "server.stop is 'SIGTERM'"),
        ('pass_environment = ["A"]\nenvironment = { A = "1" }', "server.pass_environment is 'A'"),
        ('prepare = ["seed", { run = ["x"] }]', "server.prepare[1].run is ['x']"),
        ('prepare = [{ run = ["x"] }, "seed"]', "server.prepare[1] is 'seed'"),
        ("prepare = [{ run = [] }]", "server.prepare[0].run is []"),
        ('finish = [{ run = ["x"], timeout = "0s" }]', "server.finish[0].timeout is '0s'"),
        ('finish = [{ run = ["x", "{run}"], each = "run" }]', "expected `{shared}` alone"),
        ('prepare = [{ run = ["{{ 1 + knob.a }}"], each = "run" }]', "expected `{shared}` alone"),
        ('prepare = [{ run = ["x"], each = "arm" }]', "server.prepare[0].each"),
        ('folder = "nowhere"', "server.folder is 'nowhere'; expected a folder that is there"),
    ],
)
def test_what_makes_no_sense_is_refused_by_key(tmp_path, keys, complaint):
    with pytest.raises(StudyFileError) as caught:
        server(tmp_path, keys)
    assert complaint in str(caught.value)
