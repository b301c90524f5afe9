"""The drawing of turns: the ratio in each period.

Altair is imported here, so import this module only when something is drawn.
"""

import altair as alt

from httpdyno.model import TurnsOutcome
from httpdyno.report.shared.drawing import (
    AFTER,
    BEFORE,
    BOOK,
    NARROW,
    SOFT,
    WIDE,
    chart_of,
    padded,
    ratio_ticks,
    svg_of,
)

_COLOURS = (BEFORE, AFTER, BOOK, "var(--better)", "var(--worse)", SOFT)
_HEIGHT = 220


def colours_of(n: int) -> list[str]:
    """Return a colour for each instance, the reference first."""
    return [_COLOURS[each % len(_COLOURS)] for each in range(n)]


def periods_svg(outcome: TurnsOutcome, *, is_narrow: bool = False) -> str:
    """Return the ratios of all claims, period by period; empty where there are none."""
    rows = [
        {"period": number + 1, "ratio": ratio, "url": outcome.instances[claim.candidate].url}
        for claim in outcome.claims
        for number, ratio in enumerate(claim.per_period_ratio)
    ]
    if not rows:
        return ""
    low, high = padded(each for claim in outcome.claims for each in claim.per_period_ratio)
    names = [outcome.instances[claim.candidate].url for claim in outcome.claims]
    colour = alt.Color(
        "url:N",
        scale=alt.Scale(domain=names, range=colours_of(len(outcome.instances))[1:]),
        legend=alt.Legend(orient="top", title=None) if len(names) > 1 else None,
    )
    x = alt.X("period:Q", title="period", scale=alt.Scale(nice=False), axis=alt.Axis(tickSize=0))
    y = alt.Y(
        "ratio:Q",
        title="ratio",
        scale=alt.Scale(type="log", nice=False, domain=[low, high]),
        axis=alt.Axis(values=ratio_ticks(low, high), format="~g", tickSize=0),
    )
    points = chart_of(rows).mark_circle(size=28, opacity=0.8).encode(x=x, y=y, color=colour)
    one = chart_of([{"ratio": 1.0}]).mark_rule(strokeDash=[4, 3], color=SOFT).encode(y="ratio:Q")
    width = NARROW if is_narrow else WIDE
    chart = alt.layer(one, points).properties(width=width, height=_HEIGHT)
    return svg_of(chart, f"ratio of each period to {outcome.instances[0].url}")
