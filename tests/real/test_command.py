"""Programs of all kinds for real: node, a small Python server, a shell around one."""

import os
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.conformance.adapter import READY_S, AdapterCase, AdapterConformance, complaint_of

from httpdyno.model import Configuration, Effective, FileEntry, ServerSpec, SideCommand, Template
from httpdyno.report.shared.message import text, texts
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.command import Command
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.stack.templates import TemplateStack

NODE = """
const http = require("http");
const threads = Number(process.argv[process.argv.indexOf("--threads") + 1]);
if (!(threads > 0)) { console.error(`threads must be positive: ${threads}`); process.exit(2); }
const said = {threads, mode: process.env.MODE, cache: require("./settings.json").cache};
http.createServer((request, answer) => answer.end(JSON.stringify(said)))
    .listen(Number(process.argv[2]), "127.0.0.1", () => console.log("up and listening"));
"""
PYTHON = """
import http.server, os, signal, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(int(os.environ.get("STATUS", "200")))
        self.end_headers()
        self.wfile.write(os.getcwd().encode())

def leave(*_):
    open(os.environ["LEFT"], "w").write("in order")
    sys.exit(0)

signal.signal(signal.SIGINT, leave)
server = http.server.HTTPServer((os.environ.get("HOST", "127.0.0.1"), int(sys.argv[1])), Handler)
print("listening on", sys.argv[1], flush=True)
server.serve_forever()
"""
CONFIGURATION = Configuration(values={"threads": 4, "mode": "fast", "cache": "big"})


@pytest.mark.real_server("node")
class TestNode(AdapterConformance):
    @pytest.fixture
    def case(self, tmp_path):
        (tmp_path / "server.js").write_text(NODE)
        (tmp_path / "settings.j2").write_text('{"cache": "{{ knob.cache }}"}')
        return AdapterCase(
            adapter=Command(),
            spec=ServerSpec(
                adapter="command",
                command=("node", "{run}/server.js", "{port}", "--threads", "{knob.threads}"),
                environment={"MODE": "{knob.mode}"},
                files=(FileEntry(source="server.js", to="server.js"),),
                templates=(Template(source="settings.j2", to="settings.json"),),
                effective_path="/settings",
            ),
            study_folder=tmp_path,
            configuration=CONFIGURATION,
            nonsense=CONFIGURATION.replaced("threads", -1),
            words="threads must be positive: -1",
        )

    def test_the_application_says_all_its_knobs(self, case, starter):
        running, _ = starter.ready()
        effective = running.await_ready(READY_S)
        assert effective.asked == {"threads": "4", "mode": "fast", "cache": "big"}

    def test_the_version_is_of_the_program(self, case):
        assert case.stack.version(case.spec, case.study_folder).startswith("node v")

    def test_the_command_line_is_shown_as_it_is_run(self, case):
        rendered = case.stack.render(case.spec, case.study_folder, case.configuration)
        line = "node\nRUN/server.js\nPORT\n--threads\n4\n"
        assert rendered.files["command line"] == line


@pytest.fixture
def spec(tmp_path):
    folder = tmp_path / "their"
    folder.mkdir()
    (folder / "server.py").write_text(PYTHON)
    return ServerSpec(
        adapter="command",
        command=(sys.executable, "server.py", "{port}", "--mode={knob.mode}"),
        folder="their",
        stop="INT",
        environment={"WORKERS": "{knob.workers}", "LEFT": str(tmp_path / "left")},
    )


def started(spec, folder, use=lambda running: running.await_ready(READY_S)):
    configuration = Configuration(values={"workers": 3, "mode": "quick"})
    assert complaint_of(Command(), spec, folder, configuration) == ""
    with new_run_root() as root:
        running = TemplateStack(Command()).spawn(spec, folder, configuration, root.new_place("own"))
        if isinstance(running, NotRunning):
            return running
        try:
            return use(running)
        finally:
            running.stop()


def contents(folder):
    return {path: path.stat().st_mtime_ns for path in sorted(folder.rglob("*"))}


def test_it_runs_where_its_files_are_leaves_them_alone_and_is_seen(spec, tmp_path):
    before = contents(tmp_path / "their")
    effective = started(spec, tmp_path)
    assert isinstance(effective, Effective), effective
    assert effective.values == effective.asked == {"workers": "3", "mode": "quick"}
    assert effective.unverified == ()
    assert contents(tmp_path / "their") == before
    assert (tmp_path / "left").read_text() == "in order"


def test_a_wrapper_that_sets_a_variable_anew_is_found_out(spec, tmp_path):
    spec = replace(
        spec,
        command=("sh", "-c", f"WORKERS=1 {sys.executable} server.py $0; exit", "{port}"),
    )
    answer = started(spec, tmp_path)
    assert isinstance(answer, NotRunning)
    assert answer.status == "refused"
    assert "WORKERS is '1' in process" in text(answer.detail)


def test_what_nobody_saw_is_unverified(spec, tmp_path):
    spec = replace(
        spec,
        command=("sh", "-c", f"env -u WORKERS {sys.executable} server.py $0; exit", "{port}"),
    )
    effective = started(spec, tmp_path)
    assert isinstance(effective, Effective), effective
    assert effective.unverified == ("workers", "mode")


@pytest.mark.parametrize("ready", ["tcp", r"log ^listening on \d+$"])
def test_it_may_be_ready_by_other_signs_than_an_answer(spec, tmp_path, ready):
    spec = replace(spec, ready=ready, environment={**spec.environment, "STATUS": "500"})
    assert isinstance(started(spec, tmp_path), Effective)


def test_the_expected_status_is_waited_for(spec, tmp_path):
    wanted = replace(spec, ready_status=204)
    assert isinstance(
        started(replace(wanted, environment={**spec.environment, "STATUS": "204"}), tmp_path),
        Effective,
    )
    answer = started(wanted, tmp_path)
    assert isinstance(answer, NotRunning)
    assert text(answer.detail).startswith("it answers `200 OK` to GET /, where 204 is expected")


def test_one_that_listens_elsewhere_is_told_where(spec, tmp_path):
    spec = replace(
        spec,
        command=(sys.executable, "server.py", "0"),
        environment={**spec.environment, "HOST": "127.0.0.2", "AT": "{port}"},
    )
    answer = started(spec, tmp_path, lambda running: running.await_ready(1.0))
    assert isinstance(answer, NotRunning)
    assert answer.status == "hung"
    assert "it listens at 127.0.0.2:" in text(answer.detail)
    assert ", where 127.0.0.1:" in text(answer.detail)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"command": ()}, "a command needs one"),
        ({"command": ("python3", "server.py", "8000")}, "says where to listen: use `{port}`"),
        ({"command": ("./serve", "{port}")}, "`./serve` is no program in"),
        ({"base": "x.conf"}, "server.base does nothing"),
    ],
)
def test_what_cannot_work_is_known_before(spec, tmp_path, change, complaint):
    configuration = Configuration(values={"workers": 3, "mode": "quick"})
    found = complaint_of(Command(), replace(spec, **change), tmp_path, configuration)
    assert complaint in found


def test_a_program_that_is_not_there_is_missing(spec, tmp_path):
    missing = Command().missing(replace(spec, command=("nowhere-to-be-found", "{port}")))
    assert texts(missing) == (
        "`nowhere-to-be-found` is not a program that is installed here, or not in PATH",
    )


def test_what_is_run_before_and_after_a_start_sees_what_the_server_sees(spec, tmp_path):
    made = ("sh", "-c", "echo $WORKERS > {run}/made")
    cleared = ("sh", "-c", f"cat {{run}}/made > {tmp_path}/cleared")
    spec = replace(
        spec, before=(SideCommand(run=made),), finish=(SideCommand(run=cleared, timeout_s=5),)
    )
    assert isinstance(started(spec, tmp_path), Effective)
    assert (tmp_path / "cleared").read_text() == "3\n"


def test_variables_of_the_callers_shell_do_not_reach_it(spec, tmp_path, monkeypatch):
    monkeypatch.setenv("STATUS", "418")
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)

    def environment(running):
        running.await_ready(READY_S)
        return Path(f"/proc/{running.root_pids[0]}/environ").read_bytes()

    found = started(spec, tmp_path, environment)
    assert b"STATUS=" not in found
    assert b"VIRTUAL_ENV=" not in found
    assert os.fsencode(f"LEFT={tmp_path}/left") in found
