"""Somebody with fewer rights has processes where root's site leads: he gains nothing by them."""

import os
import shutil
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import structs

from httpdyno.adopt.discover import Behind
from httpdyno.errors import AdapterError
from httpdyno.host.process_identity import has_gained_rights
from httpdyno.model import Member
from httpdyno.reason import Reason
from httpdyno.report.shared.message import text
from httpdyno.servers.discover.find import find, of_this_machine, sole
from httpdyno.servers.discover.machine import this_machine
from httpdyno.servers.discover.source import ProcessSource
from httpdyno.servers.stack.environment import own_variables

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root's word is worth more")

EVE = 65533
WAITS = "import os, sys; {}; print('up', flush=True); sys.stdin.read()"
HERS = {"LD_PRELOAD": "/srv/eve/evil.so", "PASSWORD": "guessed"}


@contextmanager
def running(program, code="pass", *, user=EVE, listener=None, environment=HERS):
    """Give the pid of a program that waits, after what it is to do first."""
    with subprocess.Popen(
        [program, "-I", "-S", "-c", WAITS.format(code)],
        user=user,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        pass_fds=[listener.fileno()] if listener else [],
        cwd="/",
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        yield process.pid
        process.stdin.close()


@pytest.fixture
def python(own_folders):
    """A Python that everybody can run."""
    return shutil.copy(Path(sys.executable).resolve(), own_folders / "python")


@pytest.fixture
def setuid(own_folders, python):
    """A program of root's that whoever calls it runs with root's rights."""
    path = shutil.copy(python, own_folders / "setuid")
    Path(path).chmod(0o4755)
    return path


@pytest.fixture
def port():
    """A socket that eve opened, where root's site expects a backend."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def told(who):
    assert isinstance(who, Reason)
    return text(who)


def at(listener):
    return f"127.0.0.1:{listener.getsockname()[1]}"


def test_who_took_the_place_of_a_backend_is_copied_as_himself(python, port):
    with running(python, listener=port):
        port_of_eve = at(port)
        port.close()  # only hers is left
        who = Behind(this_machine())(port_of_eve, "root")
        assert isinstance(who, Member)
        assert who.user == str(EVE)


def test_what_a_user_configured_leads_to_nobody_elses_server(python, port):
    with running(python, user=0, listener=port):
        address = at(port)
        port.close()
        assert "which root runs: name it" in told(Behind(this_machine())(address, str(EVE)))


@pytest.mark.parametrize("becomes", ["pass", "os.setuid(0)", "os.setuid(0); os.setgid(0)"])
def test_command_and_environment_of_a_setuid_program_are_nobodys_word(becomes, setuid, port):
    with running(setuid, becomes, listener=port) as pid:
        address = at(port)
        port.close()
        assert has_gained_rights(pid)
        assert "more rights than he" in told(Behind(this_machine())(address, "root"))
        with pytest.raises(AdapterError, match="more rights than he"):
            of_this_machine(sole(find(ProcessSource(pid), this_machine()), ""))
        for user in ("", "root", str(EVE)):
            assert "LD_PRELOAD" not in values(pid, user)


def test_what_root_or_a_user_started_has_its_own_rights(python):
    for user in (0, EVE):
        with running(python, user=user) as pid:
            assert not has_gained_rights(pid)


def member_of(pid):
    return sole(find(ProcessSource(pid), this_machine()), "").member


def values(pid, user, **more):
    """Return what a copy of a process gets of its variables, run as a user."""
    [found] = find(ProcessSource(pid), this_machine())
    ticks = found.root.start_ticks if found.root else 0
    member = Member(
        name="app",
        kind="command",
        user=user,
        environment_names=("PASSWORD", "LD_PRELOAD"),
        environment_from=f"pid:{pid}@{ticks}",
        **more,
    )
    try:
        return own_variables(member)
    except AdapterError:
        return {}


def test_a_users_process_gives_nobody_variables_but_that_user(python, monkeypatch):
    monkeypatch.setenv("PASSWORD", "of root")
    monkeypatch.setenv("LD_PRELOAD", "")
    with running(python) as pid:
        assert values(pid, str(EVE)) == HERS
        for other in ("", "root", "0"):
            assert values(pid, other)["LD_PRELOAD"] == "", other
        assert values(pid, "65532") == {}
    # What root's process has, root may hand to whoever runs for it.
    with running(python, user=0) as pid:
        assert values(pid, "") == values(pid, str(EVE)) == HERS


@pytest.mark.parametrize("names", [("PASSWORD",), ("SSH_AUTH_SOCK",)])
def test_what_a_users_process_names_it_does_not_get_from_root(names, python, monkeypatch):
    for name in names:
        monkeypatch.setenv(name, "of root")
    with running(python, environment=dict.fromkeys(names, "hers")) as pid:
        member = member_of(pid)
        assert own_variables(member) == dict.fromkeys(names, "hers")
    for gone in (member, structs.replace(member, environment_from="pid:9@9")):
        try:
            assert own_variables(gone) == {}
        except AdapterError as error:
            assert names[0] in str(error)  # noqa: PT017 - either is right


def test_a_process_that_could_not_be_looked_at_is_still_of_its_user(python, monkeypatch):
    def fails(*_):
        raise OSError(5, "Input/output error")

    with running(python) as pid:
        monkeypatch.setattr("httpdyno.servers.discover.find.details", fails)
        [found] = find(ProcessSource(pid), this_machine())
        assert found.trouble
        assert found.member.user == str(EVE)
