import os
from dataclasses import replace
from typing import Any

import pytest

from httpdyno.errors import AdapterError
from httpdyno.model import Backend, Member, Survey
from httpdyno.report.shared.message import text
from httpdyno.servers.discover.find import Found, running
from httpdyno.servers.discover.inspection import changed_files, inspected, serving
from httpdyno.servers.discover.machine import Machine
from httpdyno.servers.discover.process import ProcessFacts
from httpdyno.servers.discover.program import package_version, python_version
from httpdyno.servers.stack.adapter import MemberFiles

BEGAN_S = 1_000_000.0


def found(*ages_s: float) -> Found:
    """A server whose root began then, and its children so many seconds later."""
    root = ProcessFacts(pid=10, parent=1, name="x", started_at_s=BEGAN_S)
    below = tuple(
        ProcessFacts(pid=11 + k, parent=10, name="x", started_at_s=BEGAN_S + later_s)
        for k, later_s in enumerate(ages_s)
    )
    return Found(member=Member(name="x", kind="x"), root=root, below=below)


@pytest.mark.parametrize(
    ("changed_s", "children_s", "is_late", "is_perhaps"),
    [
        (-100, (0,), False, False),
        (0.5, (0,), False, False),
        (100, (0, 0), True, False),
        (100, (0, 500), True, False),
        (100, (200, 300), False, True),
        (100, (), True, False),
    ],
)
def test_a_file_is_newer_than_the_oldest_worker_or_only_than_the_root(
    tmp_path, changed_s, children_s, is_late, is_perhaps
):
    file = tmp_path / "x.conf"
    file.touch()
    os.utime(file, (0, BEGAN_S + changed_s))
    files = MemberFiles(texts={str(file): b""})
    expected = ((str(file),) * is_late, (str(file),) * is_perhaps)
    assert changed_files(found(*children_s), files) == expected


def test_a_link_that_leads_elsewhere_is_a_change(tmp_path):
    file, link = tmp_path / "old.conf", tmp_path / "link.conf"
    file.touch()
    os.utime(file, (0, 0))
    link.symlink_to(file)
    files = MemberFiles(texts={str(link): b""}, real={str(link): str(file)})
    assert changed_files(found(0), files)[0] == (str(link),)
    os.utime(link, (0, 0), follow_symlinks=False)
    assert changed_files(found(0), files) == ((), ())
    os.utime(file, (0, BEGAN_S + 100))
    assert changed_files(found(0), files)[0] == (str(link),)


class Broken:
    """An adapter whose server's files are not understood."""

    name = "x"

    def read(self, member):

        raise AdapterError("`x.conf` line 3: `{` is never closed")


class Plain:
    """An adapter that reads one file."""

    name = "x"

    def read(self, member):
        return MemberFiles(texts={})

    def survey(self, member, files, seat):
        assert seat is None
        return Survey(version="x version: x/1.2.3 (Debian)")

    def knobs(self, survey):
        return {"b": None, "a": None}


def test_what_is_not_understood_is_said_and_the_rest_is_shown():
    broken: Any = Broken()
    seen = inspected(found(), [broken])
    words = "x (pid 10): cannot be read: `x.conf` line 3: `{` is never closed"
    assert seen.trouble is not None
    assert text(seen.trouble) == words
    assert seen.found.root is not None
    plain: Any = Plain()
    seen = inspected(found(), [plain])
    assert (seen.trouble, seen.version, list(seen.knobs)) == (None, "1.2.3", ["b", "a"])


class Surprised(Plain):
    """An adapter that fails at one process, and at its files, as nobody foresaw."""

    def of_process(self, program, arguments, folder):
        if "odd" in folder:
            raise KeyError(folder)
        return Member(name="x", kind="x", folder=folder)

    def read(self, member):
        if "odd" in member.folder:
            raise IndexError
        return super().read(member)


def test_one_server_that_cannot_be_read_is_its_own_line_and_the_rest_comes():
    arguments = ("nginx: master process nginx -c /x",)
    processes = {
        pid: ProcessFacts(
            pid=pid, parent=1, name="nginx", arguments=arguments, folder=folder, started_at_s=0
        )
        for pid, folder in ((2**22 + 1, "/odd"), (2**22 + 2, "/plain"))
    }
    surprised: Any = Surprised()
    servers = running(Machine(processes=processes, adapters=[surprised]))
    # By its title it is known as what it calls itself.
    assert [each.member.kind for each in servers] == ["nginx", "x"]
    odd = replace(servers[0], member=Member(name="x", kind="x", folder="/odd"))
    seen = [inspected(each, [surprised]) for each in (odd, servers[1])]
    broken, plain = (each.trouble for each in seen)
    assert broken is not None
    assert text(broken) == f"x (pid {2**22 + 1}): cannot be read: IndexError"
    assert plain is None


def test_a_backend_with_a_name_that_nobody_listens_at_is_served_by_nobody():
    machine = Machine(processes={})
    for to in ("unix:/nowhere/x.sock", "127.0.0.1:1", "backend", "http://x", "unix:relative"):
        assert serving(Backend(to=to, protocol="http"), machine) == ()


@pytest.fixture
def dpkg(tmp_path):
    info = tmp_path / "info"
    info.mkdir()
    (info / "nginx.list").write_text("/.\n/usr/sbin\n/usr/sbin/nginx\n")
    (info / "nginx-doc.list").write_text("/.\n/usr/share/doc/usr/sbin/nginx\n")
    (info / "ruby.list").write_text("/usr/bin/ruby\n")
    (info / "nodejs:amd64.list").write_text("/usr/bin/node\n")
    (tmp_path / "status").write_text(
        "Package: nginx-doc\nVersion: 9\n\n"
        "Package: nginx\nStatus: installed\nVersion: 1:1.22.1-9+deb12u1\nDescription: x\n\n"
        "Package: nodejs\nVersion: 20.20.2-1nodesource1\n\n"
        "Package: ruby\nVersion: 1:3.1\nReplaces: irb, rdoc\nProvides: rubygems\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("program", "version"),
    [
        ("/usr/sbin/nginx", "1.22.1"),
        ("/usr/bin/node", "20.20.2"),
        ("/usr/bin/ruby", "3.1"),
        ("/usr/sbin/ngin", ""),
        ("/opt/nginx", ""),
        ("/usr/bin/[x", ""),
        ("", ""),
    ],
)
def test_the_package_manager_knows_the_version(dpkg, program, version):
    assert package_version(program, dpkg) == version


def test_without_a_package_manager_no_version_is_known(tmp_path):
    assert package_version("/usr/sbin/nginx", tmp_path / "nowhere") == ""


def test_a_python_server_has_the_version_of_its_environment(tmp_path):
    (tmp_path / "v/lib/python3.11/site-packages/gunicorn-23.0.0.dist-info").mkdir(parents=True)
    for arguments in (["v/bin/gunicorn", "shop:app"], [f"{tmp_path}/v/bin/python", "-m"]):
        assert python_version("gunicorn", arguments, str(tmp_path)) == "23.0.0"
    assert python_version("uvicorn", ["v/bin/uvicorn"], str(tmp_path)) == ""
    assert python_version("gunicorn", ["gunicorn"], str(tmp_path)) == ""
