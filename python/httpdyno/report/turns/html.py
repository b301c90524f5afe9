"""Turns as one HTML file that needs no network and no script."""

from typing import Any

from httpdyno.metrics.table import named
from httpdyno.model import TurnsOutcome
from httpdyno.report.shared.caveat import caveats
from httpdyno.report.shared.message import joined
from httpdyno.report.shared.phrase import NOTHING
from httpdyno.report.shared.template import rendered
from httpdyno.report.turns.json import turns_json
from httpdyno.report.turns.words import (
    claim_words,
    confidence_text,
    instance_rows,
    limit_rows,
    measured_text,
    ratio_rows,
    without_lines,
)

_METHOD = (
    "The servers ran already. Each had its turn in every period, in an order that was drawn, over "
    "connections that stood the whole time; the others waited meanwhile. A period is the unit: its "
    "turns lie side by side in time, so that what else happened to the machine hit all of them."
)


def turns_html(outcome: TurnsOutcome) -> str:
    """Return the report as one self-contained file."""
    from markupsafe import Markup  # noqa: PLC0415 - heavy

    names = [instance.url for instance in outcome.instances]
    claims = [
        {
            "words": claim_words(outcome, claim),
            "verdict": claim.verdict,
            "reason": joined(claim.reasons),
        }
        for claim in outcome.claims
    ]
    values = {
        "outcome": outcome,
        "title": " and ".join(names) if len(names) == 2 else f"{names[0]} and others",  # noqa: PLR2004
        "measured": measured_text(outcome),
        "confidence": confidence_text(outcome),
        "claims": claims,
        "caveats": caveats(outcome.warnings),
        "instances": _instances(outcome),
        "without": without_lines(outcome),
        "limits": limit_rows(outcome),
        "ratios": _ratios(outcome),
        "periods": _periods(outcome, Markup),
        "percentiles": _percentiles(outcome, Markup),
        "method": _METHOD,
    }
    return rendered("turns.html.j2", values, turns_json(outcome), css=("page.css", "load.css"))


def _instances(outcome: TurnsOutcome) -> dict[str, Any]:
    rows = [instance_rows(each) for each in outcome.instances]
    head = ["", *(name for name, _ in rows[0])]
    cells = [
        [each.url, *(figure for _, figure in row)]
        for each, row in zip(outcome.instances, rows, strict=True)
    ]
    return {"head": head, "rows": cells, "text_columns": 1}


def _ratios(outcome: TurnsOutcome) -> dict[str, Any] | None:
    tables = [dict(ratio_rows(claim)) for claim in outcome.claims]
    names = list(dict.fromkeys(name for each in tables for name in each))
    if not names:
        return None
    rows = [
        [outcome.instances[claim.candidate].url, *(each.get(name, NOTHING) for name in names)]
        for claim, each in zip(outcome.claims, tables, strict=True)
    ]
    return {"head": ["", *names], "rows": rows, "text_columns": 1}


def _periods(outcome: TurnsOutcome, drawn: Any) -> dict[str, Any] | None:  # noqa: ANN401 - a markup
    from httpdyno.report.turns.chart import periods_svg  # noqa: PLC0415 - imports altair

    wide, narrow = periods_svg(outcome), periods_svg(outcome, is_narrow=True)
    if not wide:
        return None
    caption = (
        f"Each point is a period: {named(outcome.metric).label} over that of "
        f"{outcome.instances[0].url}, on a log scale."
    )
    return {"wide": drawn(wide), "narrow": drawn(narrow), "caption": caption, "table": None}


def _percentiles(outcome: TurnsOutcome, drawn: Any) -> dict[str, Any] | None:  # noqa: ANN401
    from httpdyno.report.shared.drawing import NARROW  # noqa: PLC0415 - imports altair
    from httpdyno.report.shared.latency_curve import percentiles_svg  # noqa: PLC0415
    from httpdyno.report.turns.chart import colours_of  # noqa: PLC0415

    curves = [(each.url, each.summary.latency) for each in outcome.instances]
    colours = colours_of(len(curves))
    wide = percentiles_svg(curves, colours=colours)
    if not wide:
        return None
    return {
        "wide": drawn(wide),
        "narrow": drawn(percentiles_svg(curves, colours=colours, width=NARROW)),
        "caption": "Up to where ten requests still lie beyond.",
        "table": None,
    }
