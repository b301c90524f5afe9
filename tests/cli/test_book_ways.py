"""What an outcome comes to in the words of the book."""

import pytest
from msgspec import structs
from tests.report.sample import a_against_a

from httpdyno.book.declared import experiment
from httpdyno.cli import book_ways
from httpdyno.cli.find_study import open_study
from httpdyno.experiment.caveat import Caveats
from httpdyno.model import Caveat, Verdict
from httpdyno.telemetry.machine_card import MachineCard

CARD = MachineCard(
    stat_s=1e-6, fork_s=1e-4, switch_s=1e-6, copy_bytes_per_s=1e9, round_trips_per_s=1e4
)
LITTLE: Caveats = (Caveat(kind="little", message="the load was not steady"),)


def run_of(monkeypatch: pytest.MonkeyPatch, **changes: object) -> tuple[str, str, float | None]:
    """Run an experiment whose finding was that nothing depends on it, on an outcome of ours."""
    outcome = a_against_a()
    assert outcome.final is not None
    outcome = structs.replace(outcome, final=structs.replace(outcome.final, **changes))
    monkeypatch.setattr(book_ways, "_study", open_study)
    monkeypatch.setattr(book_ways, "outcome_of", lambda _plan: outcome)
    each = experiment("perl-bound-load")
    assert each is not None
    found = book_ways.run_experiment(each, CARD, budget_s=60.0, seed=1)
    return found.word, found.says, found.ratio


def test_a_proven_ratio_is_judged(monkeypatch):
    word, says, ratio = run_of(monkeypatch)
    assert word == "holds"
    assert ratio == pytest.approx(1.003, abs=1e-3)
    assert "requests/s" in says


@pytest.mark.parametrize(
    ("verdict", "reason", "caveats"),
    [
        ("failed", "the candidate broke a limit: 79 of 506 requests failed", ()),
        ("not_measured", "the time was over after 3 of at least 6 starts", ()),
        ("inconclusive", "Little's law is not met: the load was not steady", LITTLE),
    ],
)
def test_a_ratio_that_proves_nothing_is_not(
    monkeypatch: pytest.MonkeyPatch, verdict: Verdict, reason: str, caveats: Caveats
) -> None:
    found = run_of(monkeypatch, verdict=verdict, reason=reason, caveats=caveats)
    assert found == ("cannot tell", reason, None)
