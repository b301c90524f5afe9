"""`httpdyno watch run:ID` on runs that this process is at, with a process as their server."""

import json
import os
import subprocess
import sys

import pytest
from msgspec.structs import replace
from tests.cli.test_history import kill
from tests.conformance.record import (
    sample_host,
    sample_outcome,
    sample_plan,
    sample_start,
    sample_window,
)
from tests.telemetry.burner import burners

from httpdyno.cli.app import run
from httpdyno.experiment.method.session import keeping_servers
from httpdyno.model import Configuration
from httpdyno.store import Store

DEADLINE_S = 20.0
ARMS = tuple(Configuration(values={"workers": n}) for n in (1, 2))
FOLLOW = [
    *(sys.executable, "-c", "from httpdyno.cli.app import main; main()"),
    *("watch", "run:1", "--every", "200ms"),
]


@pytest.fixture
def store():
    with Store.open() as opened:
        yield opened


@pytest.fixture
def run_id(store):
    run_id = store.create_run(sample_plan(), sample_host())
    store.save_start(run_id, sample_start())
    begun = replace(sample_start(comparison=1), stage="final", configurations=ARMS)
    store.begin_start(run_id, begun)
    store.save_window(run_id, sample_window(comparison=1, arm=1))
    return run_id


def test_where_a_run_is_and_its_server_make_a_document(store, run_id, capsys):
    with burners(1) as (server,):
        keeping_servers(store, run_id, 1, 0)([(server.pid,), ()])
        words = ["watch", f"run:{run_id}", "--once", "--every", "100ms"]
        assert run([*words, "--json", "-"]) == 0
        seen = json.loads(capsys.readouterr().out)["run"]
        assert run(words) == 0
        text = " ".join(capsys.readouterr().out.split())
    assert (seen["id"], seen["pid"], seen["n_starts"]) == (run_id, os.getpid(), 1)
    [start] = seen["starts"]
    assert (start["stage"], start["comparison"], start["start"]) == ("final", 1, 0)
    first, second = start["arms"]
    assert first["server"]["n_processes"] == 1
    assert first["server"]["roots"][0]["pid"] == server.pid
    assert first["server"]["cpu_ratio"] >= 0.0
    assert (second["n_windows"], second["throughput_per_s"]) == (1, 960.0)
    assert (second["root_pids"], second["server"]) == ([], None)
    assert (first["latency"], first["memory"]) == (None, None)
    assert (second["latency"]["n_requests"], second["latency"]["p99_s"]) == (240, None)
    assert second["memory"] == {"start": 0, "pss_bytes": 30 << 20, "uss_bytes": None}
    assert "final: start 1, begun " in text
    assert " 240 1.00 ms – 30.0 MiB" in text
    assert "a p99 takes 1,000 requests" in text
    assert f" {server.pid} 0.0" in text


def test_the_end_of_a_run_ends_the_lines_with_what_it_found(store, run_id):
    with subprocess.Popen(FOLLOW, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("run 1  1 complete start  final 1:  workers=1 ")
        store.save_outcome(run_id, sample_outcome(run_id))
        out, _ = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0
    assert out.splitlines()[-1].startswith("run 1 has ended: ")


def test_a_run_whose_process_is_killed_says_how_to_go_on(run_id):
    with subprocess.Popen(FOLLOW, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        kill(run_id)
        out, _ = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0
    assert "`httpdyno study run --resume 1` goes on with it" in out.splitlines()[-1]


def test_a_run_that_does_not_run_is_refused(store, run_id, capsys):
    store.save_outcome(run_id, sample_outcome(run_id))
    assert run(["watch", f"run:{run_id}"]) == 3
    seen = capsys.readouterr().err
    assert f"run {run_id} does not run now" in seen
    assert f"`httpdyno report {run_id}`" in seen


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["run:99"], 3, "there is no run 99"),
        (["run:x"], 3, "`x` is not the id of a run"),
        (["run:1", "--status", "http://127.0.0.1/"], 2, "that option is for a server"),
        (["run:1", "--pid", "1"], 2, "that option is for a server"),
        (["1"], 2, "`run:1` is a run"),
    ],
)
def test_what_makes_no_sense_is_refused(run_id, words, code, message, capsys):
    assert run(["watch", *words]) == code
    assert message in " ".join(capsys.readouterr().err.split())
