"""Copies of what people run do what servers of studies do: the same suite, on real servers."""

import json
import os
import shutil
import sys
from pathlib import Path

import msgspec
import pytest
from tests.conformance.adapter import READY_S, AdapterCase, AdapterConformance
from tests.isolation import no_cell

from httpdyno.errors import HttpdynoError
from httpdyno.model import Configuration, Effective, Level, Member, ServerSpec, Site, Survey
from httpdyno.registry import site_adapter
from httpdyno.servers.apache.made import installation
from httpdyno.servers.stack.copies import SITE, CopyStack
from httpdyno.servers.stack.seats import seat_maker
from httpdyno.servers.stack.snapshot import Found, Snapshot

_MEMBER = "COPIED_MEMBER"
pytestmark = [
    pytest.mark.real_server("nginx", "apache2"),
    pytest.mark.skipif(bool(no_cell()), reason=no_cell() or "can be had"),
    pytest.mark.skipif(os.geteuid() != 0, reason="copies of an ordinary user are tried elsewhere"),
]
NGINX = """
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
    access_log off;
    server {{ listen 127.0.0.1:8080; location / {{ return 200 "ok"; }} }}
}}
"""
APACHE = """
ServerRoot {folder}
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule info_module {modules}/mod_info.so
PidFile {folder}/httpd.pid
ErrorLog {folder}/error.log
ServerName localhost
Listen 127.0.0.1:8080
DocumentRoot {folder}
KeepAliveTimeout 5
"""
WSGI = """
def app(environ, start_response):
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
"""
ASGI = """
async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"ok"})
"""
NODE = """
require("http").createServer((_, answer) => answer.end("ok")).listen(8080, "127.0.0.1");
"""
PYTHON = [sys.executable, "-m"]


class Copied(CopyStack):
    """One that a process of its own can make: what is copied is in a variable."""

    def __init__(self) -> None:
        member = msgspec.json.decode(os.environ[_MEMBER], type=Member)
        adapter = site_adapter(member.kind)
        files = adapter.read(member)
        survey = adapter.survey(member, files, None)
        assert isinstance(survey, Survey)
        found = Found(member=member, files=files, survey=survey)
        site = Site(members=(member,), listener="8080")
        super().__init__(
            site, Snapshot(members={member.name: found}), {member.kind: adapter}, seat_maker("cell")
        )


def member_of(kind: str, folder: Path) -> tuple[Member, dict[str, Level]]:
    """Return what is copied, and a level of a knob of its."""
    apache = APACHE.format(folder=folder, modules=installation().module_folder)
    nginx = NGINX.format(folder=folder)
    files = {"nginx.conf": nginx, "apache.conf": apache, "wsgi.py": WSGI, "asgi.py": ASGI}
    for name, text in {**files, "server.js": NODE}.items():
        (folder / name).write_text(text)
    bind = ["--bind", "127.0.0.1:8080"]
    commands = {
        "nginx": (),
        "apache": (),
        "gunicorn": (*PYTHON, "gunicorn", *bind, "--workers", "1", "wsgi:app"),
        "uvicorn": (*PYTHON, "uvicorn", "--port", "8080", "--backlog", "64", "asgi:app"),
        "command": (*PYTHON, "http.server", "--bind", "127.0.0.1", "8080"),
        "node": ("node", "server.js"),
    }
    knobs: dict[str, dict[str, Level]] = {
        "nginx": {"worker_processes": 2},
        "apache": {"KeepAliveTimeout": 3},
        "gunicorn": {"workers": 2},
        "uvicorn": {"backlog": 128},
        "node": {"UV_THREADPOOL_SIZE": 8},
    }
    member = Member(
        name="front",
        kind=kind,
        main="" if commands[kind] else str(folder / f"{kind}.conf"),
        command=commands[kind],
        folder=str(folder),
    )
    return member, {f"front:{name}": level for name, level in knobs.get(kind, {}).items()}


class TestCopied(AdapterConformance):
    @pytest.fixture(params=["apache", "nginx", "gunicorn", "uvicorn", "command", "node"])
    def case(self, request, tmp_path, monkeypatch):
        if request.param == "node" and shutil.which("node") is None:
            pytest.skip("node is not installed")
        member, levels = member_of(request.param, tmp_path)
        # The suite says how long it waits; a member's own time would be the least.
        member = msgspec.structs.replace(member, ready_timeout_s=0.1)
        monkeypatch.setenv(_MEMBER, json.dumps(msgspec.to_builtins(member)))
        configuration = Configuration(values=levels)
        return AdapterCase(
            adapter=Copied(),
            spec=ServerSpec(adapter=SITE),
            study_folder=tmp_path,
            configuration=configuration,
            nonsense=configuration,
            words="",
        )

    def test_knobs_are_declared_whole(self, case):
        assert set(case.configuration.values) <= set(case.stack.knobs())

    def test_rendering_is_the_same_each_time_and_names_no_start(self, case):
        arguments = (case.spec, case.study_folder, case.configuration)
        assert case.stack.render(*arguments).files == case.stack.render(*arguments).files

    def test_nonsense_is_refused_in_the_servers_words(self, case, starter):
        """Of a copy it is refused before anything is started; node takes every text."""
        del starter
        settings = [name for name in case.configuration.values if "UV_" not in name]
        for name in (*settings, "front:no_such_setting"):
            nonsense = Configuration(values={name: "no\nsense"})
            with pytest.raises(HttpdynoError):
                case.stack.check(case.spec, case.study_folder, nonsense)

    def test_what_is_in_force_is_what_was_asked(self, case, starter):
        if case.configuration.values:
            super().test_what_is_in_force_is_what_was_asked(case, starter)
        else:
            running, _ = starter.spawn()
            effective = running.await_ready(READY_S)
            assert isinstance(effective, Effective)
            assert effective.asked == {}
