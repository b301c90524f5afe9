"""Verdicts as they stand on a terminal."""

from rich.text import Text

from httpdyno.model import Comparison, Verdict
from httpdyno.report.study.verdict_text import verdict_badge

VERDICT_STYLES: dict[Verdict, str] = {
    "better": "green",
    "worse": "red",
    "equivalent": "dim",
    "inconclusive": "yellow",
    "failed": "red",
    "not_measured": "yellow",
}


def verdict_text(comparison: Comparison) -> Text:
    """Return the verdict, coloured where colour is to be had."""
    return Text(verdict_badge(comparison), VERDICT_STYLES[comparison.verdict])
