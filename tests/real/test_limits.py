"""Starts of real servers within hard limits that they meet."""

import pytest
from msgspec.structs import replace
from tests.says import says
from tests.words import joined

from httpdyno.errors import AdapterError
from httpdyno.experiment.decide.warning import window_warnings
from httpdyno.experiment.design.smoke_test import one_start
from httpdyno.experiment.trial.bench import StartRequest, block_order
from httpdyno.experiment.trial.server_bench import ServerBench
from httpdyno.load.plan import CorePlan
from httpdyno.model import ServerLimits
from httpdyno.reason import Reason
from httpdyno.registry import load_adapter, load_target
from httpdyno.report.shared.message import text
from httpdyno.servers.limits.control_group import limit_parents
from httpdyno.study.file import load_study

_WHY_NOT = limit_parents(frozenset({"memory", "cpu"}))
pytestmark = [
    pytest.mark.usefixtures("no_looks"),
    pytest.mark.real_server,
    pytest.mark.skipif(isinstance(_WHY_NOT, Reason), reason=str(_WHY_NOT)),
]

# Each request leaves 8 MiB behind where it leaks: a dozen are too many.
APPLICATION = """
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

kept = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        if self.path == "/" and sys.argv[2] == "true":
            kept.append(b"x" * (8 << 20))
        self.send_response(200)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"fine")

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
SERVER = """
command = ["{{ python }}", "-I", "app.py", "{{ port }}", "{{ knob.leaks }}"]
adapter = "command"
ready_path = "/ready"
files = [{ from = "app.py", to = "app.py" }]
"""
STUDY = f"""
format = 2
name = "leak"
title = "A handler that leaks"

[server]{SERVER}
[server.limits]
memory = "{{knob.memory}}"

[[knobs]]
name = "leaks"
start = false
levels = [true]

[[knobs]]
name = "memory"
start = "96MiB"
levels = ["none"]

[workload]
connections = 2
timeout = "2s"

[method]
window = "300ms"
lead_in = "20ms"
warm_up = "100ms"
blocks_per_start = 2
"""
COMPANION = f"""
[[companions]]
name = "inner"{SERVER}
[companions.limits]
memory = "96MiB"
"""


@pytest.fixture
def study_of(tmp_path):
    (tmp_path / "app.py").write_text(APPLICATION, encoding="utf-8")

    def read(text):
        (tmp_path / "study.toml").write_text(text, encoding="utf-8")
        return load_study(tmp_path, lambda name: load_adapter(name).knobs())

    return read


def start(study, *arms):
    whole = study.start_configuration()
    request = StartRequest(
        comparison=1,
        start=0,
        arms=tuple(whole.with_values(arm) for arm in arms),
        order=block_order(len(arms), 2, seed=3, comparison=1, start=0),
        window_s=study.method.window_s,
        lead_in_s=study.method.lead_in_s,
        warm_up_s=study.method.warm_up_s,
    )
    with ServerBench(adapter=load_target(study), study=study, seed=3, cores=CorePlan()) as bench:
        [record] = bench.measure_starts([request], lambda _: None)
        host = bench.host()
    return record, host


def test_a_leak_meets_its_limit_and_is_infeasible_whatever_it_measured(study_of):
    record, host = start(study_of(STUDY), {}, {"leaks": True})
    assert record.statuses == ("complete", "infeasible")
    limit = "it ran into its memory limit of 96.0 MiB: the kernel killed"
    assert joined(record.details[1]).startswith(limit)
    assert host.limits_by.keys() == {"memory"}
    effective = record.effective[0]
    assert effective.values["limits.memory"] == "96.0 MiB"
    assert "memory" not in effective.unverified
    assert effective.asked["memory"] == effective.values["memory"] == "96MiB"


def test_a_companion_has_a_limit_of_its_own(study_of):
    study = study_of(STUDY.replace("[workload]", f"{COMPANION}[workload]\ntarget = 'inner'"))
    record, _ = start(study, {"memory": "none"}, {"memory": "none", "leaks": True})
    assert record.statuses == ("complete", "infeasible")
    assert joined(record.details[1]).startswith("inner: it ran into its memory limit of 96.0 MiB")
    assert record.effective[0].values["inner:limits.memory"] == "96.0 MiB"


def test_one_that_cannot_begin_within_its_limit_is_told_so_and_not_that_it_crashed(study_of):
    study = study_of(STUDY.replace('"96MiB"', '"4MiB"'))
    record, _ = start(study, {"memory": "none"}, {})
    assert record.statuses == ("complete", "infeasible")
    assert joined(record.details[1]).startswith("it ran into its memory limit of 4.00 MiB")
    with pytest.raises(AdapterError, check=says("cannot run so: it ran into its memory limit")):
        one_start(load_target(study), study)


def test_who_is_throttled_is_told_with_its_figures(study_of):
    study = study_of(STUDY)
    limits = ServerLimits(cpu="0.05", cpu_period_s=0.02)
    study = replace(study, server=replace(study.server, limits=limits))
    # On a machine that is busy enough others keep it from using up even that.
    for _ in range(5):
        record, _ = start(study, {}, {})
        seen = [window.telemetry for window in record.windows]
        # It is known how long one stood still when it goes on.
        if sum(each.throttled_s for each in seen) > 0:
            break
    assert record.statuses == ("complete", "complete")
    assert sum(each.throttled_s for each in seen) > 0
    n_throttled = sum(each.n_throttled for each in seen)
    assert 0 < n_throttled <= sum(each.n_cpu_periods for each in seen)
    [caveat] = [each for each in window_warnings([record]) if each.code == "experiment.cpu_limit"]
    assert "had used up its CPU limit in" in text(caveat.reason)
    assert record.effective[0].values["limits.cpu"] == "0.05"
