"""Who listens at a backend, told by sockets of a machine that is made up."""

import os

from tests.rows import each_row

from httpdyno.adopt.discover import Behind
from httpdyno.model import Member
from httpdyno.reason import Reason
from httpdyno.report.shared.message import text
from httpdyno.servers.discover.machine import Machine
from httpdyno.servers.discover.process import ProcessFacts
from httpdyno.servers.network.listening import ListeningSocket

PID = 2**22 + 1
AT = "127.0.0.1:8000"


def listening(  # noqa: PLR0913
    at=AT, *, user="", name="shopd", root="/", pid=PID, more=()
):
    pids = (pid, *more)
    processes = {
        each: ProcessFacts(
            pid=each,
            parent=1,
            name=name,
            arguments=(f"/srv/{name}", "--fast"),
            program=f"/srv/{name}",
            folder="/srv",
            user=user,
            root=root,
            started_at_s=0,
        )
        for each in pids
    }
    machine = Machine(processes=processes)
    host, port = (at[5:], "0") if at.startswith("unix:") else at.rsplit(":", 1)
    sockets = tuple(ListeningSocket(inode=each, host=host, port=int(port)) for each in pids)
    machine.__dict__["sockets"] = sockets
    machine.__dict__["_own_network"] = ""
    machine._inodes.update({each: frozenset({each}) for each in pids})
    return Behind(machine)


def test_whoever_listens_there_is_the_member_as_it_was_started():
    behind = listening(user="shop")
    who = behind(AT, "")
    assert isinstance(who, Member)
    assert (who.kind, who.command, who.user) == ("command", ("/srv/shopd", "--fast"), "shop")
    assert [each.root.pid for each in behind.found] == [PID]


@each_row(
    ("at", "to", "is_it"),
    [
        ("0.0.0.0:8000", AT, True),
        (AT, "localhost:8000", True),
        (AT, "127.0.0.1:8001", False),
        ("0.0.0.0:8000", "192.0.2.1:8000", False),  # another machine's (RFC 5737)
        ("0.0.0.0:8000", "no-such-name.example:8000", False),
        ("unix:/run/shop.sock", "unix:///run/shop.sock", True),
        ("unix:/run/shop.sock", "unix:/var/../run/shop.sock", True),
        ("unix:/run/shop.sock", "unix:/run/other.sock", False),
    ],
)
def test_it_is_the_socket_that_counts(at, to, is_it):
    assert isinstance(listening(at)(to, ""), Member) is is_it


@each_row(
    ("facts", "words"),
    [
        ({"more": (PID + 1,)}, f"shopd {PID + 1} listen there: name one, `--with pid:{PID}`"),
        ({"pid": 1, "name": "systemd"}, "name that one, `--with unit:NAME`"),
        ({"pid": os.getpid()}, "httpdyno itself listens there"),
        ({"root": "/var/lib/containers/1"}, "in a container or chroot: run httpdyno in there"),
        ({"name": "docker-proxy"}, "only leads elsewhere: name the server behind it"),
        ({"user": "bob"}, f"which bob runs: name it, `--with pid:{PID}`"),
        ({"user": ""}, f"which another user runs: name it, `--with pid:{PID}`"),
    ],
)
def test_what_cannot_be_a_member_by_itself_is_told_with_a_way_out(facts, words):
    who = listening(**facts)(AT, "eve" if "user" in facts else "")
    assert isinstance(who, Reason)
    assert words in text(who)


def test_what_a_user_names_leads_to_servers_of_that_user():
    assert isinstance(listening(user="eve")(AT, "eve"), Member)
