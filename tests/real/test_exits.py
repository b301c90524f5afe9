"""Processes of Apache that end after so many connections, each counted once under a real load."""

from pathlib import Path

import pytest
from msgspec.structs import replace

import httpdyno
from httpdyno.experiment.trial.bench import StartRequest, block_order
from httpdyno.experiment.trial.server_bench import ServerBench
from httpdyno.registry import load_adapter
from httpdyno.servers.stack.templates import TemplateStack
from httpdyno.study.file import load_study
from httpdyno.study.objective import with_also

pytestmark = pytest.mark.real_server("apache2")

RESPAWN = Path(httpdyno.__file__).parent / "studies" / "respawn"
N_PROCESSES = 8
LIFE = 40


def test_as_many_end_as_answers_take():
    """Who ended had answered a whole life: only of those who are there is it not known how much."""
    study = load_study(RESPAWN, lambda name: load_adapter(name).knobs())
    study = replace(
        study,
        method=replace(study.method, window_s=0.5),
        objective=with_also(study.objective, ["exits_per_request"], study.workload),
    )
    arm = study.start_configuration().replaced("MaxConnectionsPerChild", LIFE)
    request = StartRequest(
        comparison=1,
        start=1,
        arms=(arm,),
        order=block_order(1, 1, seed=1, comparison=1, start=1),
        window_s=0.5,
        lead_in_s=0.0,
        warm_up_s=0.0,
    )
    with ServerBench(adapter=TemplateStack(load_adapter("apache")), study=study, seed=1) as bench:
        [record] = bench.measure_starts([request], lambda _: None)
    assert record.statuses == ("complete",)
    [found] = record.counts["exits_per_request"]
    assert found is not None
    seats = N_PROCESSES * LIFE
    assert found.n * LIFE <= found.n_answers + seats, "more ends than answers make"
    # Where others use the machine's cores, who looks comes too late, and says so.
    if not found.uncounted:
        assert found.n > N_PROCESSES, "more than those who were there as it began"
        assert found.n_answers - found.n * LIFE <= seats
