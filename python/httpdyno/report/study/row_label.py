"""The words beside the rows of a drawing: what each is of, and what it came to.

Drawn by hand, because an axis has one line for each label. Where the drawing is narrow all of it is
one line above the row.
"""

from typing import Any

import altair as alt

from httpdyno.report.shared.drawing import INK, PAPER, SOFT

_LEFT, _RIGHT = 200, 184
LINE_LENGTH = 44
"""Characters that fit above a row of the narrow drawing."""
_HALO: tuple[dict[str, Any], ...] = (
    {"color": PAPER, "stroke": PAPER, "strokeWidth": 4},
    {"color": INK},
)
"""Text twice, so that lines behind it don't cross it."""


def room(*, is_wide: bool) -> tuple[int, int]:
    """Return what the labels take left and right of the plot, in pixels."""
    return (_LEFT, _RIGHT) if is_wide else (4, 12)


def row_labels(base: alt.Chart, y: alt.Y, *, is_wide: bool) -> list[alt.Chart]:
    """Return the labels as layers.

    Args:
        base: Its rows have `name` and `change` for the left, `ratio` in `colour` and `bounds` for
            the right, and `line`, which is all of it.
        y: Where a row is.
        is_wide: Whether there is room beside the plot.
    """
    if not is_wide:
        return [
            base.mark_text(align="left", dy=-17, fontSize=12, **style).encode(
                x=alt.value(0), y=y, text="line:N"
            )
            for style in _HALO
        ]
    left: dict[str, Any] = {"align": "left", "color": INK, "dx": -_LEFT}
    right: dict[str, Any] = {"align": "left", "dx": 12}
    at_end: dict[str, Any] = {"x": alt.value("width"), "y": y}
    return [
        base.mark_text(**left, dy=-7, fontSize=13, fontWeight=600).encode(
            x=alt.value(0), y=y, text="name:N"
        ),
        base.mark_text(**{**left, "color": SOFT}, dy=8, fontSize=12).encode(
            x=alt.value(0), y=y, text="change:N"
        ),
        base.mark_text(**right, dy=-7, fontSize=13, fontWeight=600).encode(
            **at_end, text="ratio:N", color=alt.Color("colour:N", scale=None)
        ),
        base.mark_text(**right, dy=8, fontSize=12, color=SOFT).encode(**at_end, text="bounds:N"),
    ]
