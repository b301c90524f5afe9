"""Several servers of a study as one: begun in order, told where the others are, ended together."""

import sys
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec import structs
from tests.beside import beside
from tests.conformance.adapter import READY_S, AdapterCase, AdapterConformance
from tests.rows import each_row

from httpdyno.errors import AdapterError
from httpdyno.model import (
    Companion,
    Configuration,
    Effective,
    FileEntry,
    KnobInfo,
    Level,
    ServerSpec,
    Template,
)
from httpdyno.report.shared.message import text
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.command import Command
from httpdyno.servers.network.probe import Patience, ask
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.stack.names import (
    known_knobs,
    loaded_name,
    own_values,
    shaping_knobs,
    those_there,
)
from httpdyno.servers.stack.running import RunningStack
from httpdyno.servers.stack.templates import TemplateStack

SCRIPT = """
import http.server, json, sys, urllib.request

port, behind, level = int(sys.argv[1]), sys.argv[2], sys.argv[3]
if level == "13":
    sys.exit("level 13 is not to be had")

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        said = {"level": level, "way": [sys.argv[4]]}
        if behind:
            with urllib.request.urlopen(f"http://{behind}/") as answer:
                said["way"] += json.load(answer)["way"]
        text = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""
FRONT = "{{ knob.front }}"


def spec_of(behind: str, level: str, name: str) -> ServerSpec:
    return ServerSpec(
        adapter="command",
        command=(sys.executable, "{run}/said.py", "{port}", behind, level, name),
        files=(FileEntry(source="said.py", to="said.py"),),
        effective_path="/",
    )


class Commands(TemplateStack):
    """One that a process of its own can make by its name."""

    def __init__(self) -> None:
        command = Command()
        super().__init__(command, {"db": command, "front": command})


def case_of(folder: Path) -> AdapterCase:
    (folder / "said.py").write_text(SCRIPT)
    db = beside(spec_of("", "{knob.level}", "db"), name="db")
    front = beside(
        spec_of("{peer.server.address}", "{knob.level}", "front"),
        name="front",
        side="front",
        when="{{ knob.front != 'server' }}",
    )
    configuration = Configuration(
        values={"level": 1, "front": "server", "db:level": 2, "front:level": 3}
    )
    return AdapterCase(
        adapter=Commands(),
        spec=structs.replace(
            spec_of("{peer.db.address}", "{knob.level}", "server"),
            companions=(db, front),
            loaded=FRONT,
        ),
        study_folder=folder,
        configuration=configuration,
        nonsense=configuration.replaced("level", 13),
        words="level 13 is not to be had",
    )


class TestTogether(AdapterConformance):
    @pytest.fixture
    def case(self, tmp_path):
        return case_of(tmp_path)

    def test_each_says_what_is_in_force_under_its_name(self, starter):
        running, _ = starter.ready()
        effective = running.await_ready(READY_S)
        assert isinstance(effective, Effective)
        assert effective.asked == {"level": "1", "front": "server", "db:level": "2"}
        assert effective.values.items() >= effective.asked.items()
        assert effective.unverified == ()

    @pytest.mark.parametrize(
        ("front", "way"), [("server", ["server", "db"]), ("front", ["front", "server", "db"])]
    )
    def test_who_is_named_is_loaded_and_each_reaches_those_behind_it(self, case, front, way):
        with new_run_root() as root:
            running = case.stack.spawn(
                case.spec,
                case.study_folder,
                case.configuration.replaced("front", front),
                root.new_place("way"),
            )
            assert not isinstance(running, NotRunning)
            try:
                assert isinstance(running.await_ready(READY_S), Effective)
                body = ask(
                    running.addresses[0],
                    "/",
                    Patience(READY_S),
                    body_patience=Patience(READY_S),
                    most_bytes=1 << 16,
                ).body
                assert [name.decode() for name in body.split(b'"') if name.isalpha()][2:] == way
                assert len(running.root_pids) == len(way)
            finally:
                running.stop()
            assert [path.name for path in root.folder.iterdir() if path.is_dir()] == []


def test_one_behind_that_is_refused_is_named_and_nothing_is_left_of_the_others(tmp_path):
    case = case_of(tmp_path)
    with new_run_root() as root:
        refused = case.stack.spawn(
            case.spec,
            tmp_path,
            case.configuration.replaced("db:level", 13),
            root.new_place("refused"),
        )
        assert isinstance(refused, NotRunning)
        assert text(refused.detail).startswith("db: ")
        assert "level 13 is not to be had" in text(refused.detail)
        assert [path.name for path in root.folder.iterdir() if path.is_dir()] == []


def test_a_place_of_a_companion_that_cannot_be_made_is_said(tmp_path):
    case = case_of(tmp_path)
    with new_run_root() as root:
        place = root.new_place("taken")
        place.folder.with_name(f"{place.folder.name}-db").write_text("in the way")
        with pytest.raises(AdapterError, match="cannot be made"):
            case.stack.spawn(case.spec, tmp_path, case.configuration, place)


def test_a_server_is_begun_once_those_behind_it_are_ready(tmp_path):
    """As one that connects to its database as it begins, and ends where there is none."""
    case = case_of(tmp_path)
    (tmp_path / "late.sh").write_text(
        'sleep 0.3\ntouch "$1/up"\nexec "$2" "$1/said.py" "$3" "" 2 db\n'
    )
    (tmp_path / "eager.sh").write_text(
        'test -e "$1/up" || exit 7\nexec "$2" "$3/said.py" "$4" "" 1 server\n'
    )
    db, _ = case.spec.companions
    late = structs.replace(
        db,
        command=("sh", "{run}/late.sh", "{run}", sys.executable, "{port}"),
        files=(
            FileEntry(source="said.py", to="said.py"),
            FileEntry(source="late.sh", to="late.sh"),
        ),
    )
    spec = structs.replace(
        case.spec,
        command=("sh", "{run}/eager.sh", "{peer.db.run}", sys.executable, "{run}", "{port}"),
        files=(
            FileEntry(source="said.py", to="said.py"),
            FileEntry(source="eager.sh", to="eager.sh"),
        ),
        companions=(late,),
        loaded="",
    )
    configuration = Configuration(values={"level": 1, "db:level": 2})
    with new_run_root() as root:
        running = case.stack.spawn(spec, tmp_path, configuration, root.new_place("order"))
        assert not isinstance(running, NotRunning), text(running.detail)
        try:
            assert isinstance(running.await_ready(READY_S), Effective)
        finally:
            running.stop()


def spec_with(*companions: Companion, loaded: str = "") -> ServerSpec:
    return ServerSpec(adapter="command", companions=companions, loaded=loaded)


def named(name: str, when: str = "") -> Companion:
    return Companion(name=name, adapter="command", when=when)


def test_a_companion_is_there_when_its_template_says_so():
    spec = spec_with(named("db"), named("front", "{{ knob.front == 'on' }}"), loaded="db")
    assert [each.name for each in those_there(spec, {"front": "off"})] == ["db"]
    assert [each.name for each in those_there(spec, {"front": "on"})] == ["db", "front"]
    assert shaping_knobs(spec) == ("front",)
    with pytest.raises(AdapterError, match="neither true nor false"):
        those_there(spec_with(named("front", "{{ knob.front }}")), {"front": "on"})


@each_row(
    ("loaded", "front", "expected"),
    [
        ("", "on", "server"),
        ("server", "on", "server"),
        ("front", "on", "front"),
        ("{{ 'front' if knob['front'] == 'on' else 'server' }}", "off", "server"),
    ],
)
def test_the_load_is_for_the_one_that_is_named(loaded, front, expected):
    spec = spec_with(named("front", "{{ knob.front == 'on' }}"), loaded=loaded)
    assert loaded_name(spec, {"front": front}) == expected


def test_the_load_is_for_nobody_who_is_not_there():
    spec = spec_with(named("front", "{{ knob.front == 'on' }}"), loaded="front")
    with pytest.raises(AdapterError, match="no server of that name is there"):
        loaded_name(spec, {"front": "off"})


def test_a_companion_gets_its_own_settings_and_of_the_others_what_is_no_setting_of_theirs():
    values: dict[str, Level] = {"Workers": 4, "script": "big", "db:Workers": 2, "web:Workers": 9}
    configuration = Configuration(values=values)
    taken = frozenset({"Workers"})
    assert own_values(configuration, "", taken).values == {"Workers": 4, "script": "big"}
    assert own_values(configuration, "db", taken).values == {"script": "big", "Workers": 2}


def test_settings_of_companions_begin_with_their_names():
    info = KnobInfo(name="Workers", summary="", kind="integer")
    found = known_knobs({"Workers": info}, {"db": {"Workers": info}})
    assert {name: each.name for name, each in found.items()} == {
        "Workers": "Workers",
        "db:Workers": "db:Workers",
    }


def test_a_placeholder_for_who_is_not_there_yet_says_who_is(tmp_path):
    case = case_of(tmp_path)
    _, front = case.spec.companions
    wrong = beside(spec_of("{peer.server.address}", "1", "db"), name="db")
    with pytest.raises(AdapterError, match="no server of that name was begun before it"):
        case.stack.render(
            structs.replace(case.spec, companions=(wrong, front)), tmp_path, case.configuration
        )


def test_a_template_of_a_server_may_name_those_behind_it(tmp_path):
    case = case_of(tmp_path)
    (tmp_path / "at.j2").write_text("{{ peer.db.address }} {{ peer.db.run }} {{ peer.db.port }}\n")
    spec = structs.replace(case.spec, templates=(Template(source="at.j2", to="at"),))
    rendered = case.stack.render(spec, tmp_path, case.configuration)
    assert rendered.files["at"] == "DB-ADDRESS DB-RUN DB-ADDRESS\n"
    assert "db/command line" in rendered.files
    assert "front/command line" not in rendered.files


def test_of_several_in_front_those_on_the_way_to_the_server_answer_too(tmp_path):
    """One that cleans up names the server, and nobody it; it is begun between the others."""
    (tmp_path / "said.py").write_text(SCRIPT)
    fronts = {"mid": "server", "cleaner": "server", "front": "mid"}
    companions = [beside(spec_of("", "1", "db"), name="db")]
    companions += [
        beside(spec_of(f"{{peer.{to}.address}}", "1", name), name=name, side="front")
        for name, to in fronts.items()
    ]
    spec = structs.replace(
        spec_of("{peer.db.address}", "1", "server"), companions=tuple(companions), loaded="front"
    )
    command = Command()
    adapter = TemplateStack(command, dict.fromkeys(("db", *fronts), command))
    with new_run_root() as root:
        running = adapter.spawn(spec, tmp_path, Configuration(), root.new_place("two"))
        assert isinstance(running, RunningStack)
        try:
            assert set(running.companions()) == {"db", "cleaner"}
        finally:
            running.stop()


class _Service:
    """Who runs, as far as nobody asks it."""

    def __init__(self, name):
        self.name = name


@each_row(
    ("loaded", "companions"),
    [
        ("server", {"db", "front"}),
        # What is in front passes on to the server, whose workers answer.
        ("front", {"db"}),
        ("db", {"server", "front"}),
    ],
)
def test_who_answers_none_of_the_load_is_told_apart(loaded, companions):
    services = [cast(Any, _Service(name)) for name in ("db", "server", "front")]
    together = RunningStack(services, loaded=loaded)
    assert set(together.companions()) == companions
