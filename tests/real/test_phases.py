"""Phases of a turn at a real server: each command at its time, each window at its own rate."""

import pytest
from tests.words import joined

from httpdyno.experiment.trial.bench import StartRequest, block_order
from httpdyno.experiment.trial.server_bench import ServerBench
from httpdyno.model import Configuration
from httpdyno.registry import load_adapter
from httpdyno.servers.stack.templates import TemplateStack
from httpdyno.study.file import load_study

pytestmark = [pytest.mark.real_server, pytest.mark.usefixtures("no_looks")]

STUDY = """
format = 2
name = "kept"
title = "What is kept, and made again where it is gone"

[server]
adapter = "gunicorn"
settings = { application = "kept:application", directory = "app" }
environment = { KEPT = "{run}/kept", DIARY = "FOLDER/diary" }
ready_path = "/ready"

[[server.files]]
from = "kept.py"
to = "app/kept.py"

[[knobs]]
name = "workers"
start = 1
levels = [2]

[workload]
rate = "20/s"
connections = 20
timeout = "5s"

[objective]
metric = "latency_p50_s"

[method]
window = "200ms"
blocks_per_start = 2
decides = "burst"

[[method.phases]]
name = "cold"
run = ["rm", "kept"]

[[method.phases]]
name = "burst"
run = ["sh", "-c", "echo acted >> FOLDER/diary"]
at = "50ms"
rate = "200/s"
window = "250ms"

[[method.phases]]
name = "few"
requests = 3
"""

APPLICATION = """
import os


def application(environ, start_response):
    try:
        os.close(os.open(os.environ["KEPT"], os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        pass
    else:
        if environ["PATH_INFO"] == "/":
            with open(os.environ["DIARY"], "a") as diary:
                print("made", file=diary)
    start_response("200 OK", [("Content-Length", "4")])
    return [b"fine"]
"""


@pytest.fixture
def start(tmp_path):
    (tmp_path / "kept.py").write_text(APPLICATION, encoding="utf-8")

    def of(text):
        (tmp_path / "study.toml").write_text(text.replace("FOLDER", str(tmp_path)), "utf-8")
        study = load_study(tmp_path, lambda name: load_adapter(name).knobs())
        arms = tuple(Configuration(values={"workers": n}) for n in (1, 2))
        n_blocks = study.method.blocks_per_start
        request = StartRequest(
            comparison=1,
            start=0,
            arms=arms,
            order=block_order(len(arms), n_blocks, seed=3, comparison=1, start=0),
            window_s=study.method.window_s,
            lead_in_s=study.method.lead_in_s,
            warm_up_s=0.0,
        )
        with ServerBench(
            adapter=TemplateStack(load_adapter("gunicorn")), study=study, seed=3
        ) as bench:
            [record] = bench.measure_starts([request], lambda _window: None)
        return record

    return of


def test_every_turn_goes_through_its_phases_with_commands_rates_and_numbers(start, tmp_path):
    record = start(STUDY)
    assert record.statuses == ("complete", "complete"), record.details
    assert (tmp_path / "diary").read_text().split() == ["made", "acted"] * 4
    offered = [
        {"burst": w.measurement.offered, **{n: s.offered for n, s in w.measurement.beside.items()}}
        for w in record.windows
    ]
    assert offered == [{"burst": 50, "cold": 4, "few": 3}] * 4


def test_a_command_that_came_too_late_makes_no_window(start, tmp_path):
    few = STUDY.replace('window = "250ms"', 'window = "250ms"\nrequests = 2')
    record = start(few)
    assert "its load ended before `sh -c echo acted" in "".join(map(joined, record.details))
    assert record.statuses.count("infeasible") == 1
    assert record.windows == ()
    # Where the machine is busy the command may still have been run, for nothing.
    assert (tmp_path / "diary").read_text().startswith("made\n")
