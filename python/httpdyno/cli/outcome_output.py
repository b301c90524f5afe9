"""Put an outcome where it was asked for."""

from httpdyno.cli.console import results
from httpdyno.cli.output import Outputs
from httpdyno.cli.standard_streams import say
from httpdyno.model import Outcome, TurnsOutcome
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.page import outcome_html
from httpdyno.report.study.text import outcome_text
from httpdyno.report.turns.text import turns_text
from httpdyno.report.turns.words import turns_json
from httpdyno.secret import without_values


def show_turns(outcome: TurnsOutcome, outputs: Outputs, *, run_id: str = "turns") -> None:
    """Print an outcome, and write the files that were asked for."""
    if outputs.has_text:
        results().print(turns_text(outcome))
    if outputs.json is not None:
        outputs.write_json(turns_json(outcome))
    if outputs.html is not None:
        from httpdyno.report.turns.html import turns_html  # noqa: PLC0415 - heavy

        path = outputs.write_html(turns_html(outcome), run_id=run_id)
        if outputs.has_text:
            say(f"report: {path}")


def show_outcome(outcome: Outcome, outputs: Outputs) -> None:
    """Print an outcome, and write the files that were asked for."""
    if not outputs.has_secrets:
        outcome = without_values(outcome)
    if outputs.has_text:
        text = outcome_text(
            outcome, has_page=outputs.html is not None, is_verbose=outputs.is_verbose
        )
        results().print(text)
    if outputs.json is not None:
        outputs.write_json(outcome_json(outcome))
    if outputs.html is not None:
        path = outputs.write_html(outcome_html(outcome), run_id=outcome.id)
        if outputs.has_text:
            say(f"report: {path}")
