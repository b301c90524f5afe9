"""Put an outcome where it was asked for."""

from httpdyno.cli.console import results
from httpdyno.cli.output import Outputs, write_json, write_text
from httpdyno.cli.standard_streams import say
from httpdyno.model import Outcome
from httpdyno.report.study.html import outcome_html
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.text import outcome_text
from httpdyno.secret import without_values


def show_outcome(outcome: Outcome, outputs: Outputs) -> None:
    """Print an outcome, and write the files that were asked for."""
    if not outputs.has_secrets:
        outcome = without_values(outcome)
    path = outputs.html_path(outcome.id)
    if outputs.has_text:
        results().print(outcome_text(outcome, has_page=path is not None))
    if outputs.json is not None:
        write_json(outcome_json(outcome), outputs.json)
    if path is not None:
        write_text(path, outcome_html(outcome))
        if outputs.has_text:
            say(f"report: {path}")
