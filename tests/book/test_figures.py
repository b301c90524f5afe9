"""Commands of experiments: what they print as figures, and commands that have one core."""

import json
import os
import subprocess
import sys

import psutil
import pytest
from tests.rows import each_row

from httpdyno.book import figures
from httpdyno.book.figures import ab_rate, figures_of, output_of, pinned
from httpdyno.errors import TargetError


def test_figures_go_by_the_path_to_them_and_entries_of_a_list_by_their_name(monkeypatch):
    printed = {"a": {"b": 1}, "c": [{"name": "d", "value": 2.5}], "e": True, "f": "3", "g": None}
    monkeypatch.setattr(figures, "output_of", lambda _words, **_: json.dumps(printed))
    found = figures_of("httpdyno machine --json -", {}, has_one_core=False)
    assert found.pop("own_cpu_s") >= 0.0
    assert found == {"a.b": 1.0, "c.d.value": 2.5}


def test_what_prints_no_figures_is_no_run(monkeypatch):
    monkeypatch.setattr(figures, "output_of", lambda _words, **_: "no figures")
    with pytest.raises(TargetError, match="`httpdyno` printed no figures"):
        figures_of("httpdyno machine --json -", {}, has_one_core=False)


@pytest.mark.real_server("perl")
def test_a_call_takes_longer_by_the_clock_beside_loops_on_its_core():
    alone, beside = (figures_of(f"perl stat.pl {n} 20000", {}, has_one_core=True) for n in (0, 2))
    assert {*alone} == {"wall_s", "cpu_s", "own_cpu_s"}
    assert beside["wall_s"] > alone["cpu_s"]
    # The loops are counted among what the command began, and have ended with it.
    assert beside["own_cpu_s"] > beside["cpu_s"] * 20000


@each_row(
    ("text", "words"),
    [
        ("Failed requests:        3\nRequests per second:    9.5 [#/sec]", "Failed requests"),
        ("Non-2xx responses:      100\nRequests per second:    9.5 [#/sec]", "Non-2xx responses"),
        ("apr_socket_recv: Connection refused", "no requests per second"),
    ],
)
def test_what_ab_calls_complete_must_be_right_answers(text, words):
    with pytest.raises(TargetError, match=words):
        ab_rate(text)
    assert ab_rate("Failed requests:        0\nRequests per second:    9.5 [#/sec]") == 9.5


def test_a_pinned_command_and_what_it_begins_have_one_core():
    code = "import os, sys; print(len(os.sched_getaffinity(0)), sys.argv[1])"
    cpu = min(os.sched_getaffinity(0))
    assert output_of(pinned(cpu, (sys.executable, "-c", code, "a b"))) == "1 a b\n"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("sh", "-c", "echo no >&2; exit 3"), "ended with 3: no"),
        (("/nowhere/at/all",), "did not end well"),
    ],
)
def test_a_command_that_fails_is_a_sentence(command, words):
    with pytest.raises(TargetError, match=words):
        output_of(command)


BEGINS = """
import subprocess, sys
from httpdyno.book.figures import _SCRIPTS, pinned
command = ("perl", str(_SCRIPTS / "stat.pl"), "1", "1000000000")
began = subprocess.Popen(pinned(int(sys.argv[1]), command))
print(began.pid, flush=True)
began.wait()
"""


@pytest.mark.real_server("perl")
def test_a_script_and_its_busy_loop_end_with_who_began_it():
    cpu = min(os.sched_getaffinity(0))
    command = [sys.executable, "-c", BEGINS, f"{cpu}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as began:
        assert began.stdout is not None
        perl = psutil.Process(int(began.stdout.readline()))
        while not (loops := perl.children()):
            assert perl.is_running()
        began.kill()
    _, alive = psutil.wait_procs([perl, *loops], timeout=30)
    for each in alive:
        each.kill()
    assert not alive
