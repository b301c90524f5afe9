"""Commands beside a site's members: in its seat, as a member, with outcomes in their words."""

import os
import sys
from pathlib import Path

import pytest
from msgspec import structs
from tests.says import says
from tests.servers.stack.toy import Toy

from httpdyno.errors import AdapterError
from httpdyno.model import Configuration, Effective, Member, ServerSpec, SideCommand, Site, Survey
from httpdyno.report.shared.message import text
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.difference import difference
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.run_data import RunData
from httpdyno.servers.stack.copies import SITE, CopyStack
from httpdyno.servers.stack.seats import seat_maker
from httpdyno.servers.stack.snapshot import Found, Snapshot

READY_S = 20.0
TEXT = "answer = 1\nport = 8080\nwrites = {writes}\n"
START = Configuration(values={"front:answer": "1"})

in_cells = pytest.mark.skipif(os.geteuid() != 0, reason="the cell is made by root here")


@pytest.fixture
def theirs(tmp_path):
    (tmp_path / "data").mkdir()
    file = tmp_path / "main.toy"
    file.write_text(TEXT.format(writes=tmp_path / "data"))
    return file


def server_of(file, *, isolation="cell", writes=(), **member):
    adapter = Toy()
    front = Member(name="front", kind="toy", main=str(file), **member)
    files = adapter.read(front)
    survey = adapter.survey(front, files, None)
    assert isinstance(survey, Survey)
    found = Found(member=front, files=files, survey=survey)
    site = Site(members=(front,), isolation=isolation, writes=writes)
    return CopyStack(
        site, Snapshot(members={"front": found}), {"toy": adapter}, seat_maker(isolation)
    )


def shell(script, **more):
    return SideCommand(run=("sh", "-c", script), **more)


def spec_of(*before, finish=()):
    return ServerSpec(adapter=SITE, before=before, finish=finish)


def started(server, spec, root, values=START):
    """Start a copy and wait for it; return what runs, or what came of it."""
    running = server.spawn(spec, root.folder, values, root.new_place("arm"))
    if isinstance(running, NotRunning):
        return running
    ready = running.await_ready(READY_S)
    if isinstance(ready, NotRunning):
        running.stop()
        return ready
    assert isinstance(ready, Effective)
    return running


@in_cells
class TestInACell:
    def test_it_writes_where_the_copy_does_and_nowhere_else(self, theirs):
        data = theirs.parent / "data"
        spec = spec_of(shell(f"echo {{knob.front:answer}} > {data}/seed; pwd > {data}/where"))
        server = server_of(theirs, folder=str(theirs.parent))
        with new_run_root() as root:
            arms = [
                started(server, spec, root, Configuration(values={"front:answer": value}))
                for value in ("1", "2")
            ]
            try:
                for arm, value in zip(arms, ("1", "2"), strict=True):
                    assert not isinstance(arm, NotRunning), arm
                    assert arm.seat.written() == (str(data / "seed"), str(data / "where"))
                    said = arm.seat.run(["cat", str(data / "seed")], environment={})
                    assert said.output == f"{value}\n"
                    said = arm.seat.run(["cat", str(data / "where")], environment={})
                    assert said.output == f"{theirs.parent}\n"
                    assert arm.prepare_s > 0
            finally:
                for arm in arms:
                    arm.stop()
        assert list(data.iterdir()) == []

    def test_one_that_fails_is_a_refusal_in_its_words_and_leaves_no_place(self, theirs):
        spec = spec_of(shell("true"), shell("echo no table; exit 3"), shell("touch {run}/no"))
        with new_run_root() as root:
            outcome = started(server_of(theirs), spec, root)
            assert isinstance(outcome, NotRunning)
            assert outcome.status == "refused"
            assert text(outcome.detail).endswith("ended with 3: no table")
            assert list(root.folder.glob("*-arm")) == []

    def test_one_that_does_not_end_in_time_hangs(self, theirs):
        spec = spec_of(SideCommand(run=("sleep", "60"), timeout_s=0.3))
        with new_run_root() as root:
            outcome = started(server_of(theirs), spec, root)
        assert isinstance(outcome, NotRunning)
        assert (outcome.status, text(outcome.detail)) == (
            "hung",
            "`sleep 60` did not end within 0.3 s",
        )

    def test_a_program_that_is_not_there_is_named(self, theirs):
        with new_run_root() as root:
            outcome = started(server_of(theirs), spec_of(SideCommand(run=("no-such",))), root)
        assert isinstance(outcome, NotRunning)
        assert "cannot run no-such" in text(outcome.detail)

    def test_it_has_the_environment_of_its_member_and_the_values_stand_nowhere(
        self, theirs, monkeypatch
    ):
        monkeypatch.setenv("TOY_SECRET", "canary")
        server = server_of(
            theirs,
            environment_names=("TOY_SECRET",),
            environment={"TOY_DATA": "{run}/toy.db"},
        )
        spec = spec_of(shell('test "$TOY_SECRET" != "${TOY_SECRET#ca}" && echo x > "$TOY_DATA"'))
        rendered = server.render(spec, theirs.parent, START)
        assert rendered.environment == {"front: TOY_DATA": "RUN/toy.db"}
        assert "canary" not in repr(rendered)
        with new_run_root() as root:
            arm = started(server, spec, root)
            assert not isinstance(arm, NotRunning), arm
            place = arm.seat.folder
            variables = Path(f"/proc/{arm.root_pids[0]}/environ").read_text().split("\0")
            try:
                assert (place / "own/toy.db").read_text() == "x\n"
                assert f"TOY_DATA={place}/own/toy.db" in variables
            finally:
                arm.stop()

    def test_it_runs_as_the_user_that_is_said_and_he_may_write_in_its_own_folder(self, theirs):
        theirs.parent.chmod(0o755)
        command = shell("id -un > {run}/who", user="nobody", folder="/")
        with new_run_root() as root:
            arm = started(server_of(theirs), spec_of(command), root)
            assert not isinstance(arm, NotRunning), arm
            try:
                assert (arm.seat.folder / "own/who").read_text() == "nobody\n"
                assert (arm.seat.folder / "own").stat().st_mode & 0o777 == 0o700
            finally:
                arm.stop()

    def test_folders_that_a_members_unit_has_made_are_there_and_its_users(
        self, theirs, monkeypatch
    ):
        made = "/run/httpdyno-test/shop"
        monkeypatch.setattr("httpdyno.servers.stack.beside.folders_of", lambda _: (made, "/run"))
        theirs.parent.chmod(0o755)
        server = server_of(theirs, unit="shop.service")
        command = shell(f"stat -c %U {made} > {{run}}/whose", folder="/")
        with new_run_root() as root:
            arm = started(server, spec_of(command), root)
            assert not isinstance(arm, NotRunning), arm
            try:
                assert (arm.seat.folder / "own/whose").read_text() == "root\n"
            finally:
                arm.stop()
            writes = shell(f"echo > {made}/x", user="nobody", folder="/")
            arm = started(
                server_of(theirs, unit="shop.service", user="nobody"), spec_of(writes), root
            )
            assert not isinstance(arm, NotRunning), arm
            arm.stop()
        assert not Path(made).parent.exists()

    def test_a_member_may_open_the_sockets_that_systemd_opens_for_it(self, theirs, monkeypatch):
        sockets = ("unix:/run/shop.sock", "unix:/run/none/shop.sock", "127.0.0.1:80")
        monkeypatch.setattr("httpdyno.servers.stack.beside.sockets_of", lambda _: sockets)
        monkeypatch.setattr("httpdyno.servers.stack.beside.folders_of", lambda _: ())
        theirs.parent.chmod(0o755)
        server = server_of(theirs, unit="shop.service", user="nobody")
        opens = shell("echo > /run/shop.sock && ! echo > /etc/shop", user="nobody", folder="/")
        with new_run_root() as root:
            arm = started(server, spec_of(opens), root)
            assert not isinstance(arm, NotRunning), arm
            arm.stop()
        assert not Path("/run/shop.sock").exists()
        assert not Path("/run").stat().st_mode & 0o002

    def test_once_members_are_up_it_reaches_them(self, theirs):
        ask = (
            "import urllib.request; "
            "print(urllib.request.urlopen('http://127.0.0.1:8080').read(), flush=True); exit(4)"
        )
        late = SideCommand(run=(sys.executable, "-c", ask), when="up")
        # That the toy listens is not told by its insight.
        waits = shell("until ss -ltn | grep -q :8080; do sleep 0.01; done", when="up")
        with new_run_root() as root:
            outcome = started(server_of(theirs), spec_of(waits, late), root)
        assert isinstance(outcome, NotRunning)
        assert "ended with 4: b'1 127.0.0.1:8080'" in text(outcome.detail)

    def test_what_follows_a_start_runs_when_its_members_have_ended(self, theirs, tmp_path):
        data = theirs.parent / "data"
        ended = shell(f"test -e {data}/seed && ! ss -ltn | grep -q :8080")
        spec = spec_of(shell(f"touch {data}/seed"), finish=(ended,))
        with new_run_root() as root:
            arm = started(server_of(theirs), spec, root)
            arm.stop()
            arm.stop()
            failing = structs.replace(spec, finish=(shell("echo still there; exit 1"), ended))
            arm = started(server_of(theirs), failing, root)
            with pytest.raises(AdapterError, check=says(r"site\.finish failed: .*still there")):
                arm.stop()
            assert list(root.folder.glob("*-arm")) == []

    def test_what_is_made_once_for_a_run_is_read_by_all_starts_and_written_by_none(self, theirs):
        data = theirs.parent / "data"
        spec = spec_of(
            shell(f"echo made >> {{shared}}/all; touch {data}/lost", each="run"),
            shell(f"cp {{shared}}/all {data}/mine; ! touch {{shared}}/more 2> {data}/why"),
            finish=(shell("test -e {shared}/all", each="run"),),
        )
        server = server_of(theirs)
        with new_run_root() as root, RunData(spec, root, adapter=server) as made:
            assert made.make()
            for _ in range(2):
                arm = started(server, spec, root)
                assert not isinstance(arm, NotRunning), arm
                try:
                    assert arm.seat.written() == (str(data / "mine"), str(data / "why"))
                    said = arm.seat.run(["cat", str(data / "mine")], environment={})
                    assert said.output == "made\n"
                    said = arm.seat.run(["cat", str(data / "why")], environment={})
                    assert "Read-only file system" in said.output
                finally:
                    arm.stop()
        assert list(data.iterdir()) == []

    def test_what_cannot_be_made_for_a_run_stops_it(self, theirs):
        spec = spec_of(shell("echo no room; exit 1", each="run"))
        server = server_of(theirs)
        with (
            new_run_root() as root,
            pytest.raises(AdapterError, check=says(r"site\.prepare, .* once, failed: .*no room")),
            RunData(spec, root, adapter=server) as made,
        ):
            made.make()


def test_commands_are_part_of_what_differs(theirs):
    server, folder = server_of(theirs), theirs.parent
    spec = spec_of(shell("echo {knob.front:answer} {run} > {shared}", each="start"))
    spec = structs.replace(spec, before=(*spec.before, shell("true", each="run")))
    rendered = [
        server.render(spec, folder, Configuration(values={"front:answer": value}))
        for value in ("1", "2")
    ]
    assert "-echo 1 RUN > SHARED" in difference(*rendered)
    assert "+echo 2 RUN > SHARED" in difference(*rendered)


def test_a_user_that_is_not_there_is_named(theirs):
    if os.geteuid() != 0:
        pytest.skip("only root may give folders away")
    spec = spec_of(shell("true", user="no-such-user"))
    with new_run_root() as root:
        place = root.new_place("arm")
        with pytest.raises(AdapterError, match="there is no user `no-such-user` here"):
            server_of(theirs).spawn(spec, root.folder, START, place)
        assert not place.folder.exists()
