"""What a run's outcome means to whoever started it."""

from typing import Any

import pytest
from msgspec import structs
from tests.report.sample import ladder
from tests.report.sample_figures import HOST

from httpdyno.catalog import open_study
from httpdyno.cli import launch as running
from httpdyno.cli.launch import Resumed
from httpdyno.cli.output import Outputs
from httpdyno.errors import UsageError
from httpdyno.experiment.design.inputs import input_digests
from httpdyno.experiment.design.plan import make_plan
from httpdyno.model import MachineCard
from httpdyno.reason import because
from httpdyno.report.shared.message import error_text, text
from httpdyno.store import Store
from httpdyno.telemetry.host import Circumstances, KeptCard


@pytest.mark.parametrize(
    ("found", "code", "first"),
    [
        ({}, 0, "better: 4.90 × the throughput"),
        (
            {
                "withdrawn": because(
                    "experiment.withdrawn_by_metric",
                    what=because("experiment.the_changes", n=3),
                    found=because("experiment.came_out_worse"),
                    metric="throughput_per_s",
                    why=[because("experiment.below_1", n=6, unit="start")],
                )
            },
            1,
            "the start stays: the 3 changes that were kept came out worse",
        ),
        ({"status": "interrupted"}, 130, "interrupted; better: 4.90 × the throughput"),
    ],
)
def test_the_first_line_and_the_exit_code_say_whether_the_best_stands(
    monkeypatch, capsys, found, code, first
):
    outcome = structs.replace(ladder(), **found)
    monkeypatch.setattr(running, "outcome_of", lambda _plan, _resume: outcome)
    assert running.run_and_report(outcome.plan, Outputs()) == code
    assert capsys.readouterr().out.startswith(f"asp-bookmarks: {first}")


KEPT = KeptCard(
    card=MachineCard(
        stat_s=1e-6, fork_s=1e-3, switch_s=5e-6, copy_bytes_per_s=5e9, round_trips_per_s=2e4
    ),
    taken_at="2026-01-02T03:04:05+00:00",
    of=Circumstances(boot="this one", n_cpus=2, version="0"),
)


@pytest.fixture
def stored(monkeypatch, tmp_path):
    """A run that was begun on a machine with another kernel, and stopped."""
    plan = make_plan(open_study("bookmarks"), seed=1)
    plan = structs.replace(plan, inputs=input_digests(plan.study))
    with Store.open() as store:
        run_id = store.create_run(plan, structs.replace(HOST, kernel="Linux 2.2"))
        store.save_outcome(run_id, structs.replace(ladder(), status="interrupted"))
    kept: dict[str, Any] = {}

    def keep(_plan, *, known, host, **_more):
        kept.update(known=known, host=host)
        return ladder()

    monkeypatch.setattr(running, "run_plan", keep)
    monkeypatch.setattr(running, "taken_in_boot", lambda: KEPT)
    return plan, run_id, kept


def test_a_run_is_not_resumed_on_another_machine_unless_that_is_accepted(stored):
    plan, run_id, kept = stored
    with pytest.raises(UsageError, match="was begun with something else") as caught:
        running.run_and_report(plan, Outputs(), resume=Resumed(run_id=run_id))
    assert "the kernel: Linux 2.2 is now Linux" in error_text(caught.value)
    assert "`--accept-changes`" in caught.value.hint
    assert kept == {}
    accepted = Resumed(run_id=run_id, accepts_changes=True)
    assert running.run_and_report(plan, Outputs(), resume=accepted) == 0
    [reason] = kept["known"]
    assert reason.code == "experiment.accepted_changes"
    assert "the kernel: Linux 2.2 is now Linux" in text(reason)


def test_a_run_has_the_card_of_its_machine_and_a_resumed_one_that_of_its_beginning(stored):
    plan, run_id, kept = stored
    assert running.run_and_report(plan, Outputs()) == 0
    with Store.open() as store:
        new = store.host(str(int(run_id) + 1))
    assert (new.card, new.card_taken_at) == (KEPT.card, KEPT.taken_at)
    assert kept["host"] == new
    accepted = Resumed(run_id=run_id, accepts_changes=True)
    running.run_and_report(plan, Outputs(), resume=accepted)
    assert (kept["host"].kernel, kept["host"].card) == ("Linux 2.2", HOST.card)
