"""One start of real servers under real load, and a whole small study on them."""

import dataclasses
import os
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.conformance.memory_store import MemoryStore

from httpdyno.experiment.decide.evidence import figure
from httpdyno.experiment.design.plan import compare_plan
from httpdyno.experiment.method.run import run_plan
from httpdyno.experiment.trial.bench import StartRequest, block_order
from httpdyno.experiment.trial.server_bench import ServerBench
from httpdyno.load.plan import CorePlan
from httpdyno.metrics import named
from httpdyno.model import Configuration, SideCommand, WindowRecord
from httpdyno.registry import load_adapter
from httpdyno.report.shared.message import joined
from httpdyno.servers.stack.templates import TemplateStack
from httpdyno.study.file import load_study
from httpdyno.telemetry.account import ProcessTree

pytestmark = [pytest.mark.real_server, pytest.mark.usefixtures("no_looks")]

STUDY = """
format = 1
name = "moods"
title = "An application with moods"

[server]
adapter = "gunicorn"
ready_path = "/ready"
effective_path = "/settings"

[server.settings]
application = "moods:application"
directory = "app"

[server.environment]
MOOD = "{{ knob.mood }}"

[[server.files]]
from = "moods.py"
to = "app/moods.py"

[[knobs]]
name = "mood"
start = "good"
levels = ["slow", "silent", "wrong", "deadly", "fragile"]

[workload]
connections = 4
timeout = "1s"

[method]
window = "250ms"
lead_in = "20ms"
warm_up = "50ms"
blocks_per_start = 2
"""

APPLICATION = """
import json
import os
import time

MOOD = os.environ["MOOD"]


def application(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/":
        if MOOD == "slow":
            os.stat("/")
            time.sleep(0.01)
        if MOOD == "silent":
            time.sleep(30)
        if MOOD == "deadly":
            os.kill(os.getppid(), 9)
            os._exit(1)
        if MOOD == "fragile":
            os._exit(0)
    status = "500 Wrong" if MOOD == "wrong" and path == "/" else "200 OK"
    settings = {"mood": MOOD, "cpus": sorted(os.sched_getaffinity(0))}
    body = json.dumps(settings).encode() if path == "/settings" else b"fine"
    start_response(status, [("Content-Length", str(len(body)))])
    return [body]
"""


@pytest.fixture
def study(tmp_path):
    (tmp_path / "moods.py").write_text(APPLICATION, encoding="utf-8")
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    return load_study(tmp_path, lambda name: load_adapter(name).knobs())


def _start(study, *moods, cores=None):
    arms = tuple(Configuration(values={"mood": mood}) for mood in moods)
    request = StartRequest(
        comparison=1,
        start=0,
        arms=arms,
        order=block_order(len(arms), 2, seed=3, comparison=1, start=0),
        window_s=study.method.window_s,
        lead_in_s=study.method.lead_in_s,
        warm_up_s=study.method.warm_up_s,
    )
    saved: list[WindowRecord] = []
    with ServerBench(
        adapter=TemplateStack(load_adapter("gunicorn")),
        study=study,
        seed=3,
        cores=cores or CorePlan(),
    ) as bench:
        [record] = bench.measure_starts([request], saved.append)
        host = bench.host()
    assert (host.client_cpus, host.server_cpus) == (
        (cores.client, cores.server) if cores else ((), ())
    )
    assert tuple(saved) == record.windows
    return record


def _has_whole_blocks(record):
    """Whether both arms have a window in each block: in two, or one where latencies are long."""
    blocks = {window.block for window in record.windows}
    return blocks in ({0}, {0, 1}) and sorted((w.block, w.arm) for w in record.windows) == [
        (block, arm) for block in sorted(blocks) for arm in (0, 1)
    ]


def test_a_start_gives_each_arms_windows_with_the_cpu_time_they_cost(study):
    record = _start(study, "good", "slow")
    assert record.statuses == ("complete", "complete")
    assert _has_whole_blocks(record)
    for window in record.windows:
        load = window.measurement
        assert load.offered == load.completed + load.n_errors
        assert load.completed > 0
        assert window.telemetry.cpu_s > 0
        assert window.telemetry.n_processes >= 2
    assert record.effective[1].values["mood"] == "slow"
    last = {w.arm: w for w in record.windows}
    assert all(w.telemetry.pss_bytes for w in last.values())


@pytest.mark.real_server("strace")
def test_each_server_of_a_start_has_its_system_calls_counted_where_that_is_asked_for(study):
    also = replace(study.objective, also=("calls_per_request of stat",))
    record = _start(replace(study, objective=also), "good", "slow")
    assert record.statuses == ("complete", "complete")
    good, slow = record.system_calls
    assert (good.untraced, slow.untraced) == (None, None)
    assert min(good.n_answers, slow.n_answers) >= 20
    assert good.of("read") == pytest.approx(slow.of("read"), abs=0.5)
    assert slow.of("stat") - good.of("stat") == pytest.approx(1.0, abs=0.1), "it looks once"
    assert 0 < record.counted_s < record.measuring_s
    figures = [figure(record, arm, named("calls_per_request of stat")) for arm in (0, 1)]
    assert figures == [good.of("stat"), slow.of("stat")]
    assert _start(study, "good").system_calls == ()


def test_a_server_that_is_longer_in_coming_up_is_seen_to_be_where_that_is_asked_for(
    study, tmp_path
):
    told = APPLICATION + '\n\nif MOOD == "slow":\n    time.sleep(1.0)\n'
    (tmp_path / "moods.py").write_text(told, encoding="utf-8")
    also = replace(study.objective, also=("ready_s",))
    record = _start(replace(study, objective=also), "good", "slow")
    assert record.statuses == ("complete", "complete")
    good_s, slow_s = record.came_up_s
    assert 0 < good_s < slow_s < record.duration_s
    assert slow_s > 1.0
    assert [figure(record, arm, named("ready_s")) for arm in (0, 1)] == [good_s, slow_s]
    assert _start(study, "good").came_up_s == ()


def test_what_an_application_complains_of_under_load_is_kept_with_its_start(study, tmp_path):
    told = APPLICATION.replace(
        '    path = environ["PATH_INFO"]\n',
        '    path = environ["PATH_INFO"]\n'
        '    if MOOD == "slow" and path == "/":\n'
        '        print("WARNING: slow by", time.time(), file=environ["wsgi.errors"])\n',
    )
    assert told != APPLICATION
    (tmp_path / "moods.py").write_text(told, encoding="utf-8")
    record = _start(study, "good", "slow")
    good, slow = record.log_lines
    assert good is not None
    assert slow is not None
    assert not [kind for kind in good.kinds if kind.level == "warning"]
    [kind] = [kind for kind in slow.kinds if kind.level == "warning"]
    completed = sum(w.measurement.completed for w in record.windows if w.arm == 1)
    assert kind.form == "slow by #"
    assert kind.count >= completed > 0


def test_what_is_made_once_is_there_for_each_start_and_gone_after_an_interruption(study, tmp_path):
    once = "echo made | tee -a {shared}/data >> " + f"{tmp_path}/made"
    copied = "cat {shared}/data >> " + f"{tmp_path}/copied"
    cleared = "cat {shared}/data >> " + f"{tmp_path}/cleared; echo {{shared}} > {tmp_path}/where"
    server = replace(
        study.server,
        before=(
            SideCommand(run=("sh", "-c", once), each="run"),
            SideCommand(run=("sh", "-c", copied)),
        ),
        finish=(SideCommand(run=("sh", "-c", cleared), each="run"),),
        environment={**study.server.environment, "DATA": "{{ shared }}/data"},
    )
    bench = ServerBench(
        adapter=TemplateStack(load_adapter("gunicorn")), study=replace(study, server=server), seed=3
    )
    good = Configuration(values={"mood": "good"})
    request = StartRequest(
        comparison=1,
        start=0,
        arms=(good,),
        order=block_order(1, 2, seed=3, comparison=1, start=0),
        window_s=study.method.window_s,
        lead_in_s=study.method.lead_in_s,
        warm_up_s=study.method.warm_up_s,
    )

    def interrupted():
        with bench:
            for number in range(2):
                [record] = bench.measure_starts(
                    [dataclasses.replace(request, start=number)], lambda _window: None
                )
                assert record.statuses == ("complete",)
            assert not (tmp_path / "cleared").exists()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (tmp_path / "made").read_text() == "made\n"
    assert (tmp_path / "copied").read_text() == "made\n" * 2
    assert (tmp_path / "cleared").read_text() == "made\n"
    assert not Path((tmp_path / "where").read_text().strip()).exists()


def _undisturbed(measure):
    """Measure until httpdyno itself, by its own account, was there all the time."""
    for _ in range(5):
        records = measure()
        details = [each for record in records for each in record.details]
        if not any("httpdyno itself stood still" in each for each in details):
            break
    return records


def test_starts_side_by_side_are_as_good_as_one(study):
    arms = tuple(Configuration(values={"mood": mood}) for mood in ("good", "slow"))
    requests = [
        StartRequest(
            comparison=1,
            start=number,
            arms=arms,
            order=block_order(2, 2, seed=3, comparison=1, start=number),
            window_s=study.method.window_s,
            lead_in_s=study.method.lead_in_s,
            warm_up_s=study.method.warm_up_s,
        )
        for number in range(4)
    ]
    with ServerBench(adapter=TemplateStack(load_adapter("gunicorn")), study=study, seed=3) as bench:
        assert bench.n_side_by_side(arms) == 1, "nothing is known yet"
        first = _undisturbed(lambda: bench.measure_starts(requests[:1], lambda _window: None))[0]
        assert bench.n_side_by_side(arms) >= 3
        others = _undisturbed(lambda: bench.measure_starts(requests[1:], lambda _window: None))
    assert [record.start for record in others] == [1, 2, 3]
    for record in (first, *others):
        assert record.statuses == ("complete", "complete")
        assert _has_whole_blocks(record)
        good, slow = (figure(record, arm, named("throughput_per_s")) for arm in (0, 1))
        assert good > slow
        assert figure(record, 0, named("cpu_s_per_request")) > 0


@pytest.mark.parametrize(
    ("mood", "status", "said"),
    [
        ("silent", "hung", "timeout"),
        ("wrong", "infeasible", "500"),
        ("deadly", "crashed", "its first process ended under load"),
        ("fragile", "crashed", "1 of its 1 processes ended under load"),
    ],
)
def test_an_arm_that_fails_under_load_is_told_and_the_other_is_not_blamed(
    study, mood, status, said
):
    record = _start(study, "good", mood)
    assert record.statuses == ("complete", status)
    assert said in joined(record.details[1])
    assert all(window.arm == 0 for window in record.windows)
    assert all(window.measurement.completed for window in record.windows)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core cannot be split")
def test_the_server_and_the_client_stay_on_their_own_cores(study):
    client, server, *_ = sorted(os.sched_getaffinity(0))
    record = _start(study, "good", cores=CorePlan(client=(client,), server=(server,)))
    assert record.statuses == ("complete",)
    assert record.effective[0].values["cpus"] == f"[{server}]"
    assert all(window.measurement.completed for window in record.windows)


def test_a_knob_that_the_application_does_not_take_over_is_refused(study, tmp_path):
    deaf = APPLICATION.replace('"mood": MOOD', '"mood": "good"')
    (tmp_path / "moods.py").write_text(deaf, encoding="utf-8")
    record = _start(study, "good", "slow")
    assert record.statuses == ("complete", "refused")
    assert "mood" in joined(record.details[1])


def test_a_comparison_on_real_servers_proves_a_slow_one_worse(study):
    start = study.start_configuration()
    plan = compare_plan(study, start, start.replaced("mood", "slow"), seed=5, budget_s=40.0)
    store = MemoryStore()
    with ServerBench(adapter=TemplateStack(load_adapter("gunicorn")), study=study, seed=5) as bench:
        outcome = run_plan(plan, bench=bench, store=store, run_id="1", watch=lambda _event: None)
    assert outcome.final is not None
    assert outcome.final.verdict == "worse"
    assert outcome.final.n_starts >= 6
    assert outcome.final.ratios["throughput"].high < 1
    assert outcome.host.server.startswith("gunicorn")


def test_a_process_tree_is_read_after_its_end_without_an_error():
    assert ProcessTree(2**22 - 1).read().n_processes == 0
