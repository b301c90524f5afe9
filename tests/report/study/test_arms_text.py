"""Figures of arms that stand beside the others only where there are any."""

from msgspec import structs
from tests.report import sample_second
from tests.report.plain import WIDTH, plain_text

from httpdyno.model import Outcome
from httpdyno.report.study.html import outcome_html
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.text import outcome_text


def looked_up(a: float | None, b: float | None) -> Outcome:
    """Return a comparison whose servers asked a resolver for so many names."""
    whole = sample_second.second_compare()
    assert whole.final is not None
    final = structs.replace(
        whole.final,
        a=structs.replace(whole.final.a, lookups_per_request=a),
        b=structs.replace(whole.final.b, lookups_per_request=b),
    )
    return structs.replace(whole, final=final)


def test_names_looked_up_have_a_column_a_tile_and_a_figure() -> None:
    outcome = looked_up(0.0, 2.971)
    text = plain_text(outcome_text(outcome))
    (head,) = [line for line in text.splitlines() if line.endswith("lookups")]
    rows = text.splitlines()[text.splitlines().index(head) + 1 :]
    assert [row.split()[-1] for row in rows[:2]] == ["0.00", "2.97"]
    assert all(len(line) <= WIDTH for line in text.splitlines())
    assert "lookups per request" in outcome_html(outcome)
    final = outcome_json(outcome)["final"]
    arms = final["before_arm"], final["after_arm"]
    assert [arm["lookups_per_request"] for arm in arms] == [0.0, 2.971]


def test_without_a_resolver_nothing_is_told_of_them() -> None:
    outcome = looked_up(None, None)
    assert "lookups" not in plain_text(outcome_text(outcome))
    assert "lookups per request" not in outcome_html(outcome)
