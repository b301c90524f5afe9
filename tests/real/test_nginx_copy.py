"""nginx in a cell: started with values that were asked, and looked at from outside."""

import os
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from tests.isolation import no_wall, not_safest
from tests.servers.nginx.layouts import DEBIAN, ONE_FILE, PROXY
from tests.servers.nginx.seats import DEADLINE_S, NGINX, await_workers, open_copy

from httpdyno.model import ChangeSet, Configuration, Effective, Level, Survey
from httpdyno.report.shared.message import text
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.sandbox.available import possible
from httpdyno.servers.sandbox.landlock import WallSeat, open_wall
from httpdyno.servers.sandbox.namespace import open_cell
from httpdyno.servers.sandbox.sandbox import CellWish
from httpdyno.servers.stack.snapshot import edited_files

pytestmark = pytest.mark.real_server("nginx")


@pytest.fixture
def place():
    kind, _ = possible()
    if kind != "cell" or os.geteuid() != 0:
        pytest.skip(
            not_safest() or "an ordinary user's cells are made by a process that runs itself anew"
        )
    with new_run_root() as root:
        yield root.new_place("x")


class Copy:
    """A layout with some values, in a cell of its own."""

    def __init__(self, layout, folder, place, values, broken=b""):
        self.place, self.values = place, values
        member = NGINX.at(str(layout.written(folder)))
        assert member is not None
        files = NGINX.read(member)
        survey = NGINX.survey(member, files, None)
        assert isinstance(survey, Survey)
        self.survey = survey
        self.changes = NGINX.change_set(self.survey, files, values)
        texts = {**files.texts, **edited_files(files.texts, self.changes.edits)}
        texts[member.main] += broken
        wish = CellWish(files=texts, writes=self.survey.writes, sysctls=self.changes.sysctls)
        seat = open_cell(place, wish)
        assert not isinstance(seat, NotRunning), seat
        self.member, self.files, self.seat = member, files, seat

    def __enter__(self):
        asked = Configuration(values=self.values)
        launch = NGINX.launch(self.member, self.survey, self.seat, asked, self.changes)
        self.process = self.seat.spawn(
            launch.command,
            environment=launch.environment,
            folder=launch.folder,
            user=launch.user,
            log=self.place.folder / "nginx.log",
        )
        assert launch.insight is not None
        self.insight = launch.insight(self.process)
        return self

    def __exit__(self, *_):
        self.process.stop()
        self.seat.close()

    def await_workers(self):
        await_workers(self.process, self.insight)


def test_what_was_asked_is_seen_in_workers_sockets_and_files(place, own_folders):
    values = {
        "worker_processes": 3,
        "worker_connections": 4096,
        "listen_backlog": 1000,
        "listen_reuseport": True,
        "keepalive_timeout": 5,
        "open_file_cache": "1000/20s",
        "access_log_buffer": "32k/1s",
    }
    with Copy(DEBIAN, own_folders, place, values) as copy:
        copy.await_workers()
        found = copy.insight.effective()
    assert isinstance(found, Effective)
    assert found.values == found.asked
    assert found.asked["listen_reuseport"] == "true"
    assert list(found.values) == list(values)
    # Theirs: not a byte, not a file.
    assert not (own_folders / "run/nginx.pid").exists()
    assert list((own_folders / "var/log/nginx").iterdir()) == []


def test_a_backlog_beyond_the_kernels_takes_its_sysctl_with_it(place, own_folders):
    values = {"listen_backlog@0.0.0.0:8081": 20_000}
    with Copy(ONE_FILE, own_folders, place, values) as copy:
        assert copy.changes.sysctls == {"net.core.somaxconn": "20000"}
        copy.await_workers()
        found = copy.insight.effective()
    assert isinstance(found, Effective)
    assert found.values == {"listen_backlog@0.0.0.0:8081": "20000"}


def test_a_backlog_that_the_kernel_cuts_is_not_called_in_force(place, own_folders):
    copy = Copy(ONE_FILE, own_folders, place, {"listen_backlog": 3000})
    copy.seat.close()
    with new_run_root() as root:
        other = root.new_place("y")
        copy.place = other
        texts = {**copy.files.texts, **edited_files(copy.files.texts, copy.changes.edits)}
        wish = CellWish(
            files=texts, writes=copy.survey.writes, sysctls={"net.core.somaxconn": "700"}
        )
        seat = open_cell(other, wish)
        assert not isinstance(seat, NotRunning), seat
        copy.seat = seat
        with copy:
            copy.await_workers()
            found = copy.insight.effective()
    assert isinstance(found, Effective)
    assert (found.values, found.asked) == ({"listen_backlog": "700"}, {"listen_backlog": "3000"})


def test_the_servers_own_test_runs_in_the_cell_and_leaves_nothing(place, own_folders):
    copy = Copy(PROXY, own_folders, place, {})
    try:
        survey = NGINX.survey(copy.member, copy.files, copy.seat)
    finally:
        copy.seat.close()
    assert isinstance(survey, Survey)
    assert survey.readings == copy.survey.readings
    assert list((own_folders / "var/cache/nginx").iterdir()) == []
    assert not (own_folders / "run/nginx.pid").exists()


def test_what_nginx_refuses_is_said_in_its_own_words(place, own_folders):
    copy = Copy(PROXY, own_folders, place, {}, broken=b"user root;\nuser root;\n")
    refused = NGINX.survey(copy.member, copy.files, copy.seat)
    assert isinstance(refused, NotRunning)
    assert '"user" directive is duplicate' in text(refused.detail)
    with copy:
        assert copy.process.wait(DEADLINE_S)
        words = copy.insight.words()
        assert '"user" directive is duplicate' in words
        assert copy.insight.refusal(copy.process.exit_code, words)
        assert not copy.insight.refusal(-9, words)
        assert not copy.insight.refusal(1, "bind() failed (98: Address already in use)")


def test_rewritten_it_serves_at_other_ports_and_writes_elsewhere(own_folders):
    main = ONE_FILE.written(own_folders / "theirs")
    values = {"listen_backlog@0.0.0.0:8081": 800, "worker_processes": 3}
    with open_copy(main, values) as copy:
        with urlopen(f"http://{copy.ports['0.0.0.0:8080']}/", timeout=DEADLINE_S) as answer:
            assert answer.read() == b"ok; {fine}\n"
        found = copy.insight.effective()
    assert isinstance(found, Effective)
    assert found.values == found.asked == {name: str(n) for name, n in values.items()}
    theirs = [path for path in (own_folders / "theirs").rglob("*") if path.is_file()]
    assert [path.name for path in theirs] == ["nginx.conf"]


@pytest.mark.skipif(bool(no_wall()), reason=no_wall() or "walls can be had")
def test_behind_a_wall_knobs_of_the_words_that_are_rewritten_are_in_force_too(own_folders):
    values: dict[str, Level] = {
        "listen_backlog": 900,
        "listen_reuseport": True,
        "worker_processes": 3,
        "access_log_buffer": "32k/1s",
        "upstream_keepalive@127.0.0.1:3000": 4,
    }
    main = PROXY.written(own_folders)
    # Twice below a test's folder, its path would be longer than that of a socket may be.
    text = main.read_text().replace(f"unix:{own_folders}/run/api.sock", "127.0.0.1:8002")
    main.write_text(text)
    member = NGINX.at(str(main))
    assert member is not None
    files = NGINX.read(member)
    survey = NGINX.survey(member, files, None)
    assert isinstance(survey, Survey)
    changes = NGINX.change_set(survey, files, values)
    with new_run_root() as root:
        place = root.new_place("x")
        seat = WallSeat(place, "wall")
        edits = (*changes.edits, *NGINX.private(survey, files, seat))
        texts = {**files.texts, **edited_files(files.texts, edits)}
        assert open_wall(place, CellWish(files=texts), seat=seat) is seat
        asked = Configuration(values=values)
        launch = NGINX.launch(member, survey, seat, asked, changes)
        process = seat.spawn(
            launch.command, environment=launch.environment, log=place.folder / "nginx.log"
        )
        try:
            assert launch.insight is not None
            insight = launch.insight(process)
            await_workers(process, insight)
            found = insight.effective()
            with pytest.raises(HTTPError) as answer:
                urlopen(f"http://{seat.port('0.0.0.0:80')}/", timeout=DEADLINE_S)
            # Nobody answers for the backends.
            with answer.value as closed:
                assert closed.code == 502
        finally:
            process.stop()
            seat.close()
    assert isinstance(found, Effective)
    assert found.values == found.asked
    assert list((own_folders / "var/log/nginx").iterdir()) == []
    assert not (own_folders / "run/nginx.pid").exists()


def test_in_a_cell_of_root_nothing_is_edited_but_what_forks(place, own_folders):
    with Copy(DEBIAN, own_folders, place, {}) as copy:
        assert NGINX.private(copy.survey, copy.files, copy.seat) == ()
        assert copy.changes == ChangeSet()
        copy.await_workers()
        found = copy.insight.effective()
    assert isinstance(found, Effective)
    assert found.asked == {}
