"""A factorial: each knob's effect, and beneath each pair what the one brings without the other.

As with `chart`, import it only when something is drawn.
"""

import math
from typing import Any

import altair as alt

from httpdyno.metrics import named
from httpdyno.model import Effect, Factorial, RatioInterval
from httpdyno.report.shared.drawing import (
    PAPER,
    SOFT,
    VERDICT_COLOURS,
    WIDE,
    Frame,
    chart_of,
    padded,
    ratio_ticks,
    svg_of,
)
from httpdyno.report.shared.phrase import plural
from httpdyno.report.study.factorial_words import (
    change_words,
    effect_name,
    effect_word,
    given_words,
    simple_effects,
)
from httpdyno.report.study.row_label import LINE_LENGTH, room, row_labels
from httpdyno.report.study.verdict_text import bounds_text, interval_ratio_text

_PLACES = {True: (-0.13, 0.13), False: (0.0, 0.26)}
"""Where in their row the two levels of another knob lie, from its middle: in the narrow drawing
below, because words are above."""


def effects_svg(found: Factorial, *, width: int = WIDE) -> str:
    """Return all effects with their intervals, on one axis of ratios.

    A row for each knob; for each pair its interaction, and two rows in which a ring is what a knob
    brings without the other one, and a dot what it brings with it.
    """
    is_wide = width >= WIDE
    rows = effect_rows(found, places=_PLACES[is_wide])
    drawn = [row for row in rows if row["middle"] is not None]
    pairs = [part for row in rows for part in row["parts"]]
    if not drawn and not pairs:
        return ""
    ends = [part[key] for part in (*drawn, *pairs) for key in ("low", "high", "middle")]
    low, high = padded([*ends, 1.0], share=0.06 if is_wide else 0.03)
    x = alt.X(
        "low:Q",
        title=f"{named(found.metric).label}, with over without (log scale)",
        scale=alt.Scale(type="log", domain=[low, high], nice=False, zero=False),
        axis=alt.Axis(values=ratio_ticks(low, high), format="~g", tickSize=0),
    )
    y = alt.Y(
        "row:Q", axis=None, scale=alt.Scale(domain=[len(rows) - 0.5, -0.5], nice=False, zero=False)
    )
    base = chart_of(rows)
    ran = base.transform_filter("datum.middle != null")
    colour = alt.Color("colour:N", scale=None)
    layers = [
        chart_of([{"one": 1}]).mark_rule(color=SOFT, strokeDash=[3, 3]).encode(x="one:Q"),
        ran.mark_rule(strokeWidth=3).encode(x=x, x2="high:Q", y=y, color=colour),
        ran.mark_point(shape="circle", size=80, filled=True, opacity=1).encode(
            x="middle:Q", y=y, color=colour
        ),
        *_pair_layers(pairs, y),
        *row_labels(base, y, is_wide=is_wide),
    ]
    left, right = room(is_wide=is_wide)
    chart = alt.layer(*layers).properties(
        width=width - left - right, height=len(rows) * (42 if is_wide else 50)
    )
    label = f"effects and interactions of {plural(len(found.levels), 'knob')}"
    return svg_of(chart, label, Frame(left=left, right=right, bottom=44))


def _pair_layers(parts: list[dict[str, Any]], y: alt.Y) -> list[alt.Chart]:
    """Return a ring and a dot with their intervals for each ordered pair that has both."""
    if not parts:
        return []
    base = chart_of(parts)
    without, beside = (base.transform_filter(f"datum.is_with == {word}") for word in _WORDS)
    place: dict[str, Any] = {"x": "middle:Q", "y": y, "color": alt.value(SOFT)}
    return [
        base.mark_rule(strokeWidth=1.6, opacity=0.8).encode(
            x="low:Q", x2="high:Q", y=y, color=alt.value(SOFT)
        ),
        without.mark_point(size=60, filled=True, fill=PAPER, opacity=1, strokeWidth=1.8).encode(
            x="middle:Q", y=y, stroke=alt.value(SOFT)
        ),
        beside.mark_point(size=60, filled=True, opacity=1).encode(**place),
    ]


_WORDS = ("false", "true")


def effect_rows(
    found: Factorial, *, places: tuple[float, float] = _PLACES[True]
) -> list[dict[str, Any]]:
    """Return what is drawn: each knob, then each pair followed by both of its sides.

    Args:
        found: All of it.
        places: Of a knob's ratio without the other one and with it, from the middle of their row.
    """
    rows: list[dict[str, Any]] = []
    for each in found.effects:
        rows.append(_effect_row(found, each))
        if len(each.knobs) > 1:
            one, other = each.knobs
            rows += [_sides_row(found, one, other), _sides_row(found, other, one)]
    for number, row in enumerate(rows):
        row["row"] = number
        for part in row["parts"]:
            part["row"] = number + places[part["is_with"]]
    return rows


def _effect_row(found: Factorial, each: Effect) -> dict[str, Any]:
    words, name = effect_word(each), effect_name(found, each)
    is_pair = len(each.knobs) > 1
    ends = _ends(each.ratio)
    claim = f"{interval_ratio_text(each.ratio)} ×, {words}" if each.ratio else words
    return {
        "name": name,
        "change": "interaction, a ratio of ratios" if is_pair else _extent(each),
        "line": f"{name}: {claim}",
        "colour": VERDICT_COLOURS[each.verdict],
        "ratio": f"{interval_ratio_text(each.ratio)} ×" if each.ratio else words,
        "bounds": f"{bounds_text(each.ratio)}, {words}" if each.ratio else "",
        **(ends or {"low": None, "high": None, "middle": None}),
        "parts": [],
    }


def _extent(each: Effect) -> str:
    return "where it runs with and without" if each.reasons else "mean over the others"


def _sides_row(found: Factorial, knob: str, given: str) -> dict[str, Any]:
    """Return a knob's ratio without another one and with it."""
    both = simple_effects(found, knob, given)
    parts = [
        {**ends, "is_with": each.is_given_changed} for each in both if (ends := _ends(each.ratio))
    ]
    ratios = " → ".join(interval_ratio_text(each.ratio) for each in both)
    name = change_words(found, knob)
    beside = given_words(found, both[-1])
    whole = f"{name}: {ratios} with {given}"
    return {
        "name": name,
        "change": beside,
        "line": whole if len(whole) <= LINE_LENGTH else f"{name}: {ratios}",
        "colour": SOFT,
        "ratio": f"{ratios} ×",
        "bounds": "without → with",
        "low": None,
        "high": None,
        "middle": None,
        "parts": parts,
    }


def _ends(interval: RatioInterval | None) -> dict[str, Any] | None:
    """Return where an interval lies; its middle alone where it has no end."""
    if interval is None:
        return None
    is_bound = interval.low > 0 and math.isfinite(interval.high)
    low, high = (interval.low, interval.high) if is_bound else (interval.ratio, interval.ratio)
    return {"low": low, "high": high, "middle": interval.ratio}
