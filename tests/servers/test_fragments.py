"""Programs as they run: held to the kernel's account, ended in any case."""

import sys

import pytest
from msgspec import structs
from tests.rows import each_row

from httpdyno.errors import AdapterError
from httpdyno.model import Configuration, FileEntry, Fragments, ServerSpec
from httpdyno.report.shared.message import joined, text
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.fragments import Batch, FragmentTarget, Program
from httpdyno.servers.fragments.program import said_cpu_ns
from httpdyno.servers.run.folder import new_run_root

PROGRAM = """
import os, sys, time

def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

for line in sys.stdin:
    name, count = line.split()
    if name == "spin":
        spin(int(count) / 1e3)
        print("0 0", flush=True)
    elif name == "liar":
        spin(int(count) / 1e3)
        print("1 1", flush=True)
    elif name == "sleep":
        time.sleep(int(count) / 1e3)
        print("0 0", flush=True)
    elif name == "child":
        if os.fork() == 0:
            spin(0.01)
            os._exit(0)
        os.wait()
        print("0 0", flush=True)
    elif name == "die":
        sys.exit("this body ends it all")
    elif name == "talk":
        print("0 0\\nand another thing", flush=True)
    elif name == "environment":
        print(len(os.environ["HTTPDYNO_PADDING"]), os.environ["LEVEL"], flush=True)
    else:
        print(f"there is no body {name}", flush=True)
"""
SPEC = ServerSpec(
    adapter="fragments",
    command=("{python}", "bodies.py"),
    files=(FileEntry(source="bodies.py", to="bodies.py"),),
    environment={"LEVEL": "{knob.level}"},
)
TARGET = FragmentTarget(Fragments(command=("perl",), knob="body", empty="nothing"))
ARM = Configuration(values={"body": "spin", "level": 7})


@pytest.fixture
def program(tmp_path):
    (tmp_path / "bodies.py").write_text(PROGRAM, "utf-8")
    with new_run_root() as root:
        place = root.new_place("test")
        found = TARGET.program(SPEC, tmp_path, ARM, place, n_padding=42)
        assert isinstance(found, Program)
        assert found.batch("spin", 0)
        yield found
        found.stop()
        assert not place.folder.exists()


def batch(program, name, n, **options):
    found = program.batch(name, n, **options)
    assert isinstance(found, Batch), found
    return found


def trouble(program, name, n=1, **options):
    found = program.batch(name, n, **options)
    assert isinstance(found, NotRunning), found
    return found.status, text(found.detail)


def test_its_process_is_the_clock_and_what_it_says_is_not(program):
    spun, lied, slept = (batch(program, name, 30) for name in ("spin", "liar", "sleep"))
    assert 0.029 < spun.cpu_s <= spun.wall_s
    assert 0.029 < lied.cpu_s <= lied.wall_s
    assert lied.said_cpu_s == pytest.approx(1e-9)
    assert slept.cpu_s < 0.02 < slept.wall_s


def test_variables_and_their_padding_reach_it(program):
    assert batch(program, "environment", 1).said_cpu_s == pytest.approx(42e-9)


def test_a_line_that_is_no_answer_is_a_refusal(program):
    assert trouble(program, "other") == ("refused", "there is no body other")
    status, detail = trouble(program, "talk")
    assert status == "refused"
    assert "another thing" in detail


def test_work_of_other_processes_is_not_taken_for_none(program):
    status, detail = trouble(program, "child")
    assert status == "infeasible"
    assert "`child` leaves work to other processes" in detail


def test_commands_of_a_launcher_are_no_work_of_a_body(tmp_path):
    (tmp_path / "bodies.py").write_text(PROGRAM, "utf-8")
    (tmp_path / "launcher").write_text('/bin/ls / >/dev/null\nexec "$@"\n', "utf-8")
    spec = structs.replace(
        SPEC,
        command=("/bin/sh", "launcher", *SPEC.command),
        files=(*SPEC.files, FileEntry(source="launcher", to="launcher")),
    )
    with new_run_root() as root:
        found = TARGET.program(spec, tmp_path, ARM, root.new_place("test"))
        assert isinstance(found, Program)
        try:
            batch(found, "spin", 1)
            batch(found, "spin", 1)
            assert trouble(found, "child")[0] == "infeasible"
        finally:
            found.stop()


def test_one_that_dies_is_heard_to_its_last_words(program):
    status, detail = trouble(program, "die")
    assert status == "crashed"
    assert "this body ends it all" in detail
    assert trouble(program, "spin")[0] == "crashed"


def test_one_that_does_not_answer_is_not_waited_for_longer_than_that(program):
    assert trouble(program, "sleep", 20_000, patience_s=0.2) == (
        "hung",
        "no answer to `sleep 20000` within 0.2 s",
    )


@each_row(
    ("answer", "said"),
    [("12 34", 12), ("0 0", 0), ("", None), ("12", None), ("1.5 2", None), ("-1 2", None)],
)
def test_an_answer_is_two_whole_numbers(answer, said):
    assert said_cpu_ns(answer) == said


def test_bodies_share_a_program_where_all_else_is_the_same(tmp_path):
    other = ARM.replaced("body", "sleep")
    assert TARGET.of_program(other) == TARGET.of_program(ARM)
    assert TARGET.of_program(ARM.replaced("level", 8)) != TARGET.of_program(ARM)
    (tmp_path / "bodies.py").write_text(PROGRAM, "utf-8")
    assert TARGET.render(SPEC, tmp_path, other) != TARGET.render(SPEC, tmp_path, ARM)


def test_there_is_no_server_to_be_loaded(tmp_path):
    with new_run_root() as root, pytest.raises(AdapterError, match="no server"):
        TARGET.spawn(SPEC, tmp_path, ARM, root.new_place("test"))


def test_what_is_missing_is_said():
    spec = ServerSpec(adapter="fragments", command=("no-such-program-here",))
    assert "no-such-program-here" in joined(TARGET.missing(spec))
    assert TARGET.missing(ServerSpec(adapter="fragments", command=(sys.executable,))) == ()
