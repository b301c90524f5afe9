"""What a run's outcome means to whoever started it."""

import pytest
from msgspec import structs
from tests.report.sample import ladder

from httpdyno.cli import running
from httpdyno.cli.output import Outputs


@pytest.mark.parametrize(
    ("found", "code", "first"),
    [
        ({}, 0, "better: 4.90 × the throughput"),
        (
            {"withdrawn": "the start stays: the 3 changes that were kept came out worse"},
            1,
            "the start stays: the 3 changes that were kept came out worse",
        ),
        ({"status": "interrupted"}, 130, "better: 4.90 × the throughput"),
    ],
)
def test_the_first_line_and_the_exit_code_say_whether_the_best_stands(
    monkeypatch, capsys, found, code, first
):
    outcome = structs.replace(ladder(), **found)
    monkeypatch.setattr(running, "_run", lambda _plan, _resume: outcome)
    assert running.run_and_report(outcome.plan, Outputs()) == code
    assert capsys.readouterr().out.startswith(f"asp-bookmarks: {first}")
