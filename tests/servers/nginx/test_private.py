"""What is edited so that nginx runs in a cell, and how it is started there."""

from pathlib import Path

from tests.rows import each_row
from tests.servers.nginx.layouts import DEBIAN, LAYOUTS, NO_LISTEN, RHEL, Layout
from tests.servers.nginx.seats import OpenSeat

from httpdyno.model import ChangeSet, Configuration, Member, Survey
from httpdyno.servers.nginx import Nginx
from httpdyno.servers.stack.adapter import MemberFiles
from httpdyno.servers.stack.snapshot import edited_files

NGINX = Nginx()
DAEMON = Layout(
    name="daemon",
    main="/n.conf",
    files={
        "/n.conf": """daemon on;
user
    www-data
    www-data;
worker_priority -5;
events { }
http { server { listen 80; location / { } } }
"""
    },
)


class Cell(OpenSeat):
    """In a cell all is where it was."""

    def port(self, address: str) -> str:
        return address

    def path(self, path: str) -> str:
        return path


def cell(*, is_root):
    return Cell(folder=Path("/seat"), ports={}, is_root=is_root, kind="cell")


def surveyed(layout, **more):
    member = Member(name="nginx", kind="nginx", main=layout.main, unit="nginx.service", **more)
    files = MemberFiles(texts=layout.texts())
    survey = NGINX.survey(member, files, None)
    assert isinstance(survey, Survey)
    return member, files, survey


def edited(layout, *, is_root):
    _, files, survey = surveyed(layout)
    edits = NGINX.private(survey, files, cell(is_root=is_root))
    assert {edit.purpose for edit in edits} <= {"private"}
    new = {**files.texts, **edited_files(files.texts, edits)}
    for path, text in files.texts.items():
        assert new[path].count(b"\n") == text.count(b"\n")
    return new[layout.main].decode()


@each_row("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_for_root_nothing_is_edited(layout):
    _, files, survey = surveyed(layout)
    assert NGINX.private(survey, files, cell(is_root=True)) == ()


def test_a_daemon_stays_in_the_foreground():
    assert edited(DAEMON, is_root=True).startswith("daemon off;\nuser\n")


def test_an_ordinary_user_leaves_out_what_only_root_may():
    assert edited(DAEMON, is_root=False).startswith("daemon off;\n\n\n\n\nevents")
    assert "user" not in edited(RHEL, is_root=False).split("worker_processes")[0].split("\n")[1]


def test_an_ordinary_user_listens_at_the_same_port():
    assert "    server { listen 80;\n" in edited(NO_LISTEN, is_root=False)


def launched(layout, *, is_root=True, **more):
    member, _, survey = surveyed(layout, **more)
    return NGINX.launch(member, survey, cell(is_root=is_root), Configuration(), ChangeSet())


def test_it_is_started_in_the_foreground_with_its_own_files():
    launch = launched(DEBIAN)
    assert launch.command[1:] == ["-c", "/etc/nginx/nginx.conf", "-g", "daemon off;"]
    assert (launch.user, *launch.error_logs) == ("", "/var/log/nginx/error.log")
    assert launched(DAEMON).command[1:] == ["-c", "/n.conf"]
    more = {"prefix": "/srv/n", "folder": "/srv"}
    launch = launched(DEBIAN, **more)
    assert launch.command[3:5] == ["-p", "/srv/n"]
    assert launch.folder == "/srv"


def test_what_its_service_gives_on_the_command_line_stays_in_force():
    command = ("/usr/sbin/nginx", "-g", 'daemon on; env "A=b c"; timer_resolution 100ms;')
    assert launched(DEBIAN, command=command).command[-1] == (
        'daemon off; env "A=b c"; timer_resolution "100ms";'
    )


def test_a_service_of_another_user_is_started_as_that_one():
    assert launched(DEBIAN, user="www").user == "www"
    assert launched(DEBIAN, user="www", is_root=False).user == ""
