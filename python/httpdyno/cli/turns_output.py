"""Put what came of running servers in turns where it was asked for."""

from httpdyno.cli.console import results
from httpdyno.cli.output import Outputs
from httpdyno.cli.standard_streams import say
from httpdyno.model import TurnsOutcome
from httpdyno.report.turns.text import turns_text
from httpdyno.report.turns.words import turns_json


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
