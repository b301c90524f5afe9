"""Where ratios lie on a logarithmic axis, in percent of its width; pure."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from httpdyno.book.experiment import Then
from httpdyno.book.result import Now
from httpdyno.book.rule import borders
from httpdyno.book.text import edge_text

_PAD = 0.06
_LEAST = math.log(1.2)
"""An axis reaches at least so far to either side of what is on it in the middle."""
_TICKS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
_NAMED = 7
"""Names of so many do not run into each other, on a narrow screen neither."""
_LABELLED = 11.0
"""A zone's name is written where the zone is at least so wide, in percent."""
_RANGED = 20.0
"""And from where to where it reaches, where it is so wide."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Axis:
    """From one ratio to another, evenly by their logarithms."""

    low: float
    high: float

    def place(self, ratio: float) -> float:
        """Return where a ratio lies, in percent; at an end where it lies beyond."""
        if ratio <= 0:
            return 0.0
        part = math.log(min(ratio, self.high) / self.low) / math.log(self.high / self.low)
        return round(100 * min(1.0, max(0.0, part)), 2)

    def ticks(self) -> list[dict[str, float | str]]:
        """Return round ratios on it, with their names; of many only powers of ten have one."""
        inside = [tick for tick in _TICKS if self.low <= tick <= self.high]
        named = inside if len(inside) <= _NAMED else _TICKS[::2]
        return [
            {"at": self.place(tick), "name": f"{tick:g}" if tick in named else ""}
            for tick in inside
        ]


def axis_of(ratios: Iterable[float]) -> Axis:
    """Return an axis with all of these on it, and 1.

    Args:
        ratios: Those that are above 0 and finite count.
    """
    logs = [math.log(ratio) for ratio in ratios if 0 < ratio < math.inf] + [0.0]
    low, high = min(logs), max(logs)
    short = max(0.0, 2 * _LEAST - (high - low)) / 2
    low, high = low - short, high + short
    pad = _PAD * (high - low)
    return Axis(low=math.exp(low - pad), high=math.exp(high + pad))


def marks(axis: Axis, then: Then, now: Now | None) -> dict[str, float | None] | None:
    """Return where then and now lie; None where there is no ratio of then."""
    if then.ratio is None:
        return None
    places: dict[str, float | None] = {
        "one": axis.place(1.0),
        "then": axis.place(then.ratio),
        "now": None,
        "low": None,
        "width": None,
    }
    if now is None or now.ratio is None:
        return places
    places["now"] = axis.place(now.ratio)
    if now.low is not None:
        high = 100.0 if now.high is None else axis.place(now.high)
        places["low"] = axis.place(now.low)
        places["width"] = round(max(0.3, high - axis.place(now.low)), 2)
    return places


def own_axis(then: Then, now: Now) -> Axis | None:
    """Return one experiment's axis, with all that its word depends on; None without a ratio."""
    if then.ratio is None or now.ratio is None:
        return None
    of_now = [each for each in (now.low, now.ratio, now.high) if each is not None]
    return axis_of([then.ratio, *of_now, *borders(then)])


def zones(axis: Axis, then: Then) -> list[dict[str, float | str]]:
    """Return which word holds where on an axis, from the left to the right."""
    if then.ratio is None:
        return []
    words: tuple[str, ...] = ("no longer", "smaller", "holds", "larger")
    if then.is_flat:
        words = ("no longer", "holds", "no longer")
    elif then.ratio < 1:
        words = words[::-1]
    edges = (0.0, *borders(then), math.inf)
    found: list[dict[str, float | str]] = []
    for word, (low, high) in zip(words, pairwise(edges), strict=True):
        left, right = axis.place(low), axis.place(high)
        width = round(right - left, 2)
        name = f"{word} {_range(low, high)}" if width >= _RANGED else word * (width >= _LABELLED)
        found.append({"left": left, "width": width, "word": word, "name": name})
    return found


def _range(low: float, high: float) -> str:
    if low == 0.0:
        return f"up to {edge_text(high)}"
    if math.isinf(high):
        return f"from {edge_text(low)}"
    return f"{edge_text(low)} to {edge_text(high)}"
