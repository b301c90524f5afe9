"""People's own Apache for real: their layouts read, changed, tested by the server, and started."""

import http.client
import os
import ssl
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import sleep

import pytest
from msgspec import structs
from tests.isolation import no_cell, no_wall
from tests.real.sites.apache import FolderSeat, debian_tree, one_file_tree, rhel_tree

from httpdyno.model import ChangeSet, Configuration, Effective, Level, Survey
from httpdyno.report.shared.message import text, texts
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.apache import Apache
from httpdyno.servers.network.address import within
from httpdyno.servers.network.probe import Patience
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.sandbox.landlock import WallSeat, open_wall
from httpdyno.servers.sandbox.namespace import CellSeat, open_cell
from httpdyno.servers.sandbox.sandbox import CellWish
from httpdyno.servers.stack.snapshot import edited_files

pytestmark = pytest.mark.real_server("apache2", "openssl")

READY_S = 15.0
LAYOUTS = {
    "debian": debian_tree,
    "debian-prefork": lambda root: debian_tree(root, mpm="prefork"),
    "rhel": rhel_tree,
    "one-file": one_file_tree,
}
VALUES: dict[str, Level] = {
    "MaxRequestWorkers": 600,
    "KeepAliveTimeout": 2,
    "ListenBacklog": 700,
    "spare_servers": "narrow",
    "EnableMMAP": False,
}
SITE = Apache()


def needs(kind):
    """Skip where such a seat cannot be had."""
    why_not = {"cell": no_cell, "wall": no_wall}[kind]()
    return pytest.mark.skipif(bool(why_not), reason=why_not or "it can be had")


def said(readings):
    """Return what is in force, as a set: name in lower case, scope, words."""
    return {(r.name.lower(), r.scope, tuple(r.text.split())) for r in readings}


def seat_in(folder):
    (folder / "seat").mkdir(exist_ok=True)
    return FolderSeat(folder=folder / "seat")


def surveyed(tree, seat):
    survey = SITE.survey(tree.member, SITE.read(tree.member), seat)
    assert isinstance(survey, Survey), survey
    return survey


def put(tree, changes):
    """Change the files as `changes` says; return how they were."""
    before = SITE.read(tree.member).texts
    for path, content in edited_files(before, changes.edits).items():
        Path(path).write_bytes(content)
    return before


@contextmanager
def running(tree, values, survey=None):
    """Start it with these values; give its process and its insight once all of it is up."""
    seat = seat_in(tree.root)
    found = survey or surveyed(tree, seat)
    assert isinstance(found, Survey)
    asked = Configuration(values=values)
    changes = SITE.change_set(found, SITE.read(tree.member), values)
    put(tree, changes)
    with started(SITE.launch(tree.member, found, seat, asked, changes)) as both:
        yield both


@contextmanager
def started(launch):
    with new_run_root() as root:
        place = root.new_place("apache")
        process = ServerProcess.spawn(
            launch.command,
            place=place,
            environment=launch.environment,
            log=place.folder / "log",
            output_to=launch.output_to,
        )
        with up(process, launch) as both:
            yield both


@contextmanager
def in_seat(seat, launch):
    process = seat.spawn(
        launch.command,
        environment=launch.environment,
        log=seat.folder / "log",
        output_to=launch.output_to,
    )
    with up(process, launch) as both:
        yield both


@contextmanager
def up(process, launch):
    assert launch.insight is not None
    try:
        insight = launch.insight(process)
        patience = Patience(READY_S)
        while process.is_alive() and insight.lacking() and not patience.is_over:
            sleep(0.01)
        yield process, insight
    finally:
        process.stop()


def answer(port, host, path="/", *, at="127.0.0.1", is_tls=False):
    connection = http.client.HTTPConnection(at, port, timeout=10)
    if is_tls:
        context = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=context)
    connection.request("GET", path, headers={"Host": host})
    said = connection.getresponse()
    body = said.read().decode()
    connection.close()
    return said.status, body


@pytest.fixture(params=sorted(LAYOUTS))
def tree(request, own_folders):
    folder = own_folders / "site"
    folder.mkdir()
    return LAYOUTS[request.param](folder)


def test_text_and_server_say_the_same_of_each_layout(tree):
    files = SITE.read(tree.member)
    by_text = SITE.survey(tree.member, files, None)
    assert isinstance(by_text, Survey)
    by_server = surveyed(tree, seat_in(tree.root))
    assert said(by_text.readings) == said(by_server.readings)
    assert {r.origin for r in by_text.readings} == {r.origin for r in by_server.readings}
    assert by_text.listeners == by_server.listeners
    assert set(by_text.modules) <= set(by_server.modules)


def test_a_change_alters_what_was_asked_and_nothing_else(tree):
    seat = seat_in(tree.root)
    before = surveyed(tree, seat)
    changes = SITE.change_set(before, SITE.read(tree.member), VALUES)
    texts = put(tree, changes)
    after = surveyed(tree, seat)
    different = said(before.readings) ^ said(after.readings)
    names = {"maxrequestworkers", "serverlimit", "keepalivetimeout", "listenbacklog", "enablemmap"}
    names |= {"startservers", "minsparethreads", "maxsparethreads"}
    names |= {"minspareservers", "maxspareservers"}
    assert {(name, scope) for name, scope, _ in different} <= {(name, "") for name in names}
    knobs = SITE.knobs(after)
    numbers = {name: knobs[name].default for name in VALUES if name != "spare_servers"}
    assert numbers == {name: VALUES[name] for name in numbers}
    # What is not edited is what it was, byte for byte.
    now = SITE.read(tree.member).texts
    assert {path for path in texts if texts[path] != now[path]} == {e.file for e in changes.edits}
    assert list(texts) == list(now)


def test_it_runs_as_asked_and_says_so(tree):
    with running(tree, VALUES) as (process, insight):
        assert process.is_alive(), insight.words()
        effective = insight.effective()
        assert isinstance(effective, Effective), effective
        assert {name: effective.values.get(name) for name in VALUES} == effective.asked
        assert "listening sockets" in texts(effective.sources)
        assert answer(tree.ports[0], "shop.example")[0] == 200


def test_three_sites_answer_with_their_files_inlined_as_before(own_folders):
    folder = own_folders / "site"
    folder.mkdir()
    tree = debian_tree(folder)
    plain, tls = tree.ports

    def answers():
        return [
            answer(plain, "shop.example"),
            answer(plain, "www.shop.example", "/img/old"),
            answer(plain, "shop.example", "/.htaccess"),
            answer(plain, "blog.example", "/index.html"),
            answer(tls, "secure.example", is_tls=True),
        ]

    with running(tree, {}):
        found = answers()
    assert [status for status, _ in found] == [200, 200, 403, 200, 200]
    survey = surveyed(tree, seat_in(tree.root))
    with running(tree, {"htaccess": "inlined"}, survey) as (_, insight):
        assert answers() == found
        assert insight.effective().values["htaccess"] == "inlined"
        (folder / "srv/shop/.htaccess").write_text("nonsense here\n")
        assert answers() == found, "the file is still read"


def test_what_it_cuts_off_as_found_is_found_as_cut_off(own_folders):
    folder = own_folders / "site"
    folder.mkdir()
    tree = one_file_tree(folder)
    text = tree.main.read_text().replace("MaxRequestWorkers   20", "MaxClients 203")
    tree.main.write_text(text)
    survey = surveyed(tree, seat_in(folder))
    knobs = SITE.knobs(survey)
    # Of 16 processes with 5 threads each; and 203 was no multiple of 5.
    assert knobs["MaxRequestWorkers"].default == 80
    found: dict[str, Level] = {"MaxRequestWorkers": 80, "KeepAliveTimeout": 7}
    assert SITE.change_set(survey, SITE.read(tree.member), found).edits == ()
    with running(tree, found, survey) as (_, insight):
        assert insight.effective().values["MaxRequestWorkers"] == "80"
    with running(tree, {"MaxRequestWorkers": 205}, survey) as (_, insight):
        assert insight.effective().values["MaxRequestWorkers"] == "205"
    assert "MaxClients 205\nServerLimit 41\n" in tree.main.read_text()


def test_what_it_refuses_is_refused_in_its_own_words(own_folders):
    folder = own_folders / "site"
    folder.mkdir()
    tree = one_file_tree(folder)
    with tree.main.open("a") as file:
        file.write("\nKeepAlive perhaps\n")
    answer = SITE.survey(tree.member, SITE.read(tree.member), seat_in(folder))
    assert isinstance(answer, NotRunning)
    assert "KeepAlive must be On or Off" in text(answer.detail)


@needs("wall")
def test_in_a_wall_it_listens_and_writes_elsewhere(tree):
    files = SITE.read(tree.member)
    found = surveyed(tree, seat_in(tree.root))
    before = contents(tree.root)
    values: dict[str, Level] = {"KeepAliveTimeout": 4}
    if "SSLSessionCache" in SITE.knobs(found):
        values["SSLSessionCache"] = "5242880"
    changes = SITE.change_set(found, files, values)
    with new_run_root() as root:
        seat = open_wall(root.new_place("wall"), CellWish())
        assert isinstance(seat, WallSeat), seat
        edits = [*changes.edits, *SITE.private(found, files, seat)]
        seat.put({**files.texts, **edited_files(files.texts, edits)})
        launch = SITE.launch(tree.member, found, seat, Configuration(values=values), changes)
        with in_seat(seat, launch) as (process, insight):
            assert process.is_alive(), insight.words()
            at, _, port = seat.port(found.listeners[0].address).rpartition(":")
            assert answer(int(port), found.listeners[0].names[0], at=at)[0] == 200
            effective = insight.effective()
            assert isinstance(effective, Effective), insight.words()
            assert {name: effective.values[name] for name in values} == effective.asked
            with pytest.raises(ConnectionRefusedError):
                answer(tree.ports[0], "shop.example")
        logs = [path for path in seat.folder.rglob("*error*log") if path.is_file()]
        assert logs, "it has no log of its own"
        seat.close()
    assert contents(tree.root) == before


@needs("cell")
def test_stock_debian_runs_twice_at_its_own_port_in_two_cells():
    (member,) = SITE.usual()
    files = SITE.read(member)
    theirs = [Path("/etc/apache2"), Path("/var/log/apache2"), Path("/run"), Path("/var/www")]
    before = [contents(folder) for folder in theirs]
    with new_run_root() as root, ExitStack() as stack:
        for timeout_s in (5, 2):
            values: dict[str, Level] = {"KeepAliveTimeout": timeout_s, "MaxRequestWorkers": 50}
            asking = open_cell(root.new_place("asking"), CellWish())
            assert isinstance(asking, CellSeat), asking
            found = SITE.survey(member, files, asking)
            asking.close()
            assert isinstance(found, Survey), found
            changes = SITE.change_set(found, files, values)
            page = {"/var/www/html/index.html": str(timeout_s).encode()}
            wish = CellWish(files={**page, **edited_files(files.texts, changes.edits)})
            seat = open_cell(root.new_place("cell"), wish)
            assert isinstance(seat, CellSeat), seat
            stack.callback(seat.close)
            assert SITE.private(found, files, seat) == ()
            launch = SITE.launch(member, found, seat, Configuration(values=values), changes)
            process, insight = stack.enter_context(in_seat(seat, launch))
            assert process.is_alive(), insight.words()
            effective = insight.effective()
            assert isinstance(effective, Effective), effective
            assert {name: effective.values[name] for name in values} == effective.asked
            address = found.listeners[0].address
            assert address == "0.0.0.0:80"
            asked = within(seat.network, lambda: answer(80, "localhost", "/index.html"))
            assert asked == (200, str(timeout_s))
            assert any(path.startswith("/var/log/apache2/") for path in seat.written())
    assert [contents(folder) for folder in theirs] == before


def contents(folder):
    """Return what each file in a folder holds, and when it was changed."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in files}


def test_without_its_keys_all_is_said_and_stand_ins_are_named(own_folders):
    folder = own_folders / "site"
    folder.mkdir()
    tree = debian_tree(folder)
    key = str(folder / "etc/ssl/key.pem")
    by_server = surveyed(tree, seat_in(folder))
    Path(key).unlink()  # to Apache, what it may not read is not there
    files = SITE.read(tree.member)
    survey = SITE.survey(tree.member, files, seat_in(folder))
    assert isinstance(survey, Survey)
    assert said(survey.readings) == said(by_server.readings)
    survey = structs.replace(survey, stand_ins=(key,))
    with new_run_root() as root:
        seat = open_wall(root.new_place("open"), CellWish(), kind="open")
        assert isinstance(seat, WallSeat)
        named = [edit.text for edit in SITE.private(survey, files, seat) if "key.pem" in edit.text]
        assert named == [seat.path(key)] * 2
        seat.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_without_root_user_and_group_are_blanked_and_no_line_moves(tree):
    files = SITE.read(tree.member)
    survey = surveyed(tree, seat_in(tree.root))
    seat = FolderSeat(folder=tree.root / "seat", is_root=False)
    edits = SITE.private(survey, files, seat)
    after = edited_files(files.texts, edits)
    assert SITE.private(survey, files, seat_in(tree.root)) == ()
    assert {edit.purpose for edit in edits} == {"private"}
    for path, content in after.items():
        assert content.count(b"\n") == files.texts[path].count(b"\n")
    put(tree, ChangeSet(edits=edits))
    gone = said(survey.readings) - said(surveyed(tree, seat_in(tree.root)).readings)
    assert {name for name, _, _ in gone} == {"user", "group"}
