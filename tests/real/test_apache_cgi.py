"""What scripts cost that Apache never waits for: mod_cgid beside mod_cgi, with the same script.

The daemon of mod_cgid ignores SIGCHLD, so what its scripts used is in no other process's time.
"""

from math import fsum
from pathlib import Path

import pytest

from httpdyno.experiment.decide.warning import window_warnings
from httpdyno.experiment.trial.bench import StartRequest, block_order
from httpdyno.experiment.trial.server_bench import ServerBench
from httpdyno.model import Configuration
from httpdyno.registry import load_adapter
from httpdyno.servers import process as server_process
from httpdyno.servers.limits.control_group import parent_group
from httpdyno.servers.stack.templates import TemplateStack
from httpdyno.study.file import load_study

MODULES = Path("/usr/lib/apache2/modules")
pytestmark = [
    pytest.mark.usefixtures("no_looks"),
    pytest.mark.real_server("apache2"),
    pytest.mark.skipif(not (MODULES / "mod_cgid.so").exists(), reason="no mod_cgid here"),
]

STUDY = """
format = 1
name = "scripts"
title = "The same script by two modules"

[server]
adapter = "apache"
base = "base.conf"
ready_path = "/script"

[server.settings]
modules = "alias"

[[server.files]]
from = "script"
to = "script"

[[knobs]]
name = "module"
start = "cgi"
levels = ["cgid"]

[workload]
connections = 2

[[workload.requests]]
path = "/script"

[method]
window = "400ms"
lead_in = "20ms"
warm_up = "50ms"
blocks_per_start = 2
"""

BASE = f"""
LoadModule {{{{ knob.module }}}}_module {MODULES}/mod_{{{{ knob.module }}}}.so
<IfModule mod_cgid.c>
    ScriptSock "{{{{ run }}}}/tmp/cgid"
</IfModule>
ScriptAlias "/script" "{{{{ run }}}}/script"
<Directory "{{{{ run }}}}">
    Require all granted
</Directory>
"""

SCRIPT = """#!/bin/sh
n=0
while [ $n -lt 5000 ]; do n=$((n + 1)); done
printf 'Content-Type: text/plain\\r\\n\\r\\n%s\\n' $n
"""


@pytest.fixture
def study(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "base.conf").write_text(BASE)
    (tmp_path / "script").write_text(SCRIPT)
    (tmp_path / "script").chmod(0o755)
    return load_study(tmp_path, lambda name: load_adapter(name).knobs())


def measured(study):
    """Return the CPU time per request of mod_cgid as a multiple of mod_cgi's, and the doubts."""
    arms = tuple(Configuration(values={"module": module}) for module in ("cgi", "cgid"))
    request = StartRequest(
        comparison=1,
        start=0,
        arms=arms,
        order=block_order(2, 2, seed=3, comparison=1, start=0),
        window_s=study.method.window_s,
        lead_in_s=study.method.lead_in_s,
        warm_up_s=study.method.warm_up_s,
    )
    with ServerBench(adapter=TemplateStack(load_adapter("apache")), study=study, seed=3) as bench:
        [record] = bench.measure_starts([request], lambda _window: None)
    assert record.statuses == ("complete", "complete"), record.details
    cgi, cgid = (
        fsum(w.telemetry.cpu_s for w in record.windows if w.arm == arm)
        / sum(w.measurement.completed for w in record.windows if w.arm == arm)
        for arm in (0, 1)
    )
    return cgid / cgi, [each.code for each in window_warnings([record])]


@pytest.mark.skipif(parent_group() is None, reason="no control group can be made here")
def test_scripts_that_nobody_waits_for_cost_what_others_do(study):
    ratio, doubts = measured(study)
    assert 0.5 < ratio < 2.0
    assert not any(each.startswith("experiment.missed_cpu") for each in doubts)


def test_where_no_group_counts_them_it_is_told(study, monkeypatch):
    monkeypatch.setattr(server_process, "make_group", lambda _name: None)
    ratio, doubts = measured(study)
    assert ratio < 0.5, "they are counted: nothing is to be told any more"
    assert any(each.startswith("experiment.missed_cpu") for each in doubts)
