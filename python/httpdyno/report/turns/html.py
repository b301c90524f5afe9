"""Turns as one HTML file that needs no network and no script."""

from typing import Any

from httpdyno.metrics.table import named
from httpdyno.model import Comparison, TurnsOutcome
from httpdyno.report.shared.caveat import caveats
from httpdyno.report.shared.message import joined
from httpdyno.report.shared.phrase import NOTHING
from httpdyno.report.shared.svg import (
    AFTER,
    BEFORE,
    BETTER,
    BOOK,
    NARROW,
    SOFT,
    WIDE,
    WORSE,
    Axis,
    Plot,
    drawing,
    nice_ticks,
    padded,
    percentiles_svg,
)
from httpdyno.report.shared.template import rendered
from httpdyno.report.turns.words import (
    claim_words,
    confidence_text,
    instance_rows,
    limit_rows,
    measured_text,
    ratio_rows,
    turns_json,
    without_lines,
)

_METHOD = (
    "The servers ran already. Each had its turn in every period, in an order that was drawn, over "
    "connections that stood the whole time; the others waited meanwhile. A period is the unit: its "
    "turns lie side by side in time, so that what else happened to the machine hit all of them."
)
_COLOURS = (BEFORE, AFTER, BOOK, BETTER, WORSE, SOFT)
_HEIGHT = 220


def turns_html(outcome: TurnsOutcome) -> str:
    """Return the report as one self-contained file."""
    names = [each.url for each in outcome.plan.instances]
    claims = [
        {
            "words": claim_words(outcome, each),
            "verdict": each.verdict,
            "reason": joined(each.reasons),
        }
        for each in outcome.comparisons
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
        "periods": _periods(outcome),
        "percentiles": _percentiles(outcome),
        "method": _METHOD,
    }
    return rendered("turns.html.j2", values, turns_json(outcome), css=("page.css", "load.css"))


def _instances(outcome: TurnsOutcome) -> dict[str, Any]:
    rows = [(each.url, instance_rows(summary)) for each, summary in outcome.arms]
    head = ["", *(name for name, _ in rows[0][1])]
    cells = [[url, *(figure for _, figure in row)] for url, row in rows]
    return {"head": head, "rows": cells, "text_columns": 1}


def _ratios(outcome: TurnsOutcome) -> dict[str, Any] | None:
    tables = {_url(outcome, each): dict(ratio_rows(each)) for each in outcome.comparisons}
    names = list(dict.fromkeys(name for each in tables.values() for name in each))
    if not names:
        return None
    rows = [[url, *(each.get(name, NOTHING) for name in names)] for url, each in tables.items()]
    return {"head": ["", *names], "rows": rows, "text_columns": 1}


def _periods(outcome: TurnsOutcome) -> dict[str, Any] | None:
    wide = periods_svg(outcome)
    if not wide:
        return None
    caption = (
        f"Each point is a period: {named(outcome.objective.metric).label} over that of "
        f"{outcome.plan.instances[0].url}, on a log scale."
    )
    narrow = periods_svg(outcome, width=NARROW)
    return {"wide": wide, "narrow": narrow, "caption": caption, "table": None}


def periods_svg(outcome: TurnsOutcome, *, width: int = WIDE) -> str:
    """Return the ratios of all claims, period by period; empty where there are none."""
    ratios = [ratio for each in outcome.comparisons for ratio in each.per_start_ratio]
    if not ratios:
        return ""
    low, high = padded(ratios)
    n_periods = max(len(each.per_start_ratio) for each in outcome.comparisons)
    x = Axis(
        low=0,
        high=n_periods + 1,
        title="period",
        ticks=nice_ticks(0, n_periods, 8 if width >= WIDE else 5),
        has_grid=False,
    )
    plot = Plot(x=x, y=Axis.ratios(low, high, "ratio"), width=width, height=_HEIGHT)
    plot.rule(y=1.0)
    colours = _colours(len(outcome.plan.instances))
    for number, each in enumerate(outcome.comparisons):
        url, colour = _url(outcome, each), colours[each.index]
        for period, ratio in enumerate(each.per_start_ratio, start=1):
            title = f"{url}, period {period}: {ratio:.4g} ×"
            plot.dot(period, ratio, colour, radius=3, opacity=0.8, title=title)
        if len(outcome.comparisons) > 1:
            place = (plot.width, -14.0 + 15 * number)
            plot.text(url, px=place, anchor="end", colour=colour, is_bold=True, has_halo=True)
    return drawing(f"ratio of each period to {outcome.plan.instances[0].url}", plot)


def _url(outcome: TurnsOutcome, found: Comparison) -> str:
    return outcome.plan.instances[found.index].url


def _percentiles(outcome: TurnsOutcome) -> dict[str, Any] | None:
    curves = [(each.url, summary.latency) for each, summary in outcome.arms]
    colours = _colours(len(curves))
    wide = percentiles_svg(curves, colours=colours)
    if not wide:
        return None
    return {
        "wide": wide,
        "narrow": percentiles_svg(curves, colours=colours, width=NARROW),
        "caption": "Up to where ten requests still lie beyond.",
        "table": None,
    }


def _colours(n: int) -> list[str]:
    """Return a colour for each instance, the reference first."""
    return [_COLOURS[each % len(_COLOURS)] for each in range(n)]
