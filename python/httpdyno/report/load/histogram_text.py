"""A latency distribution drawn with characters: a sparkline, bars, and the percentile spectrum."""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from httpdyno.model import HistogramData
from httpdyno.report.shared.distribution import Figure
from httpdyno.stats.histogram import can_show, count, highest_quantile_s, quantile_s
from httpdyno.units import format_duration

_BARS_PER_DECADE = (1, 2, 3, 5, 10, 20, 40, 100, 200, 400)
"""From coarse to fine. The finest steps are 0.6 % wide: buckets are 0.1 %."""
_MOST_BARS = 22
_GAP = 3
"""Empty bars in a row from which they are left out."""
_SPARK_WIDTH = 48
_BAR_WIDTH = 36
_SPARKS = "▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_STEPS_PER_HALVING = 5
_ROUNDING = 1e-9
_LOWEST_S = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """The values in (low, high], in seconds."""

    low_s: float
    high_s: float
    n: int


def bars(data: HistogramData, *, at_most: int = _MOST_BARS, skips_gaps: bool = False) -> list[Bar]:
    """Return the distribution in bars of equal width on a log scale, at round multiples of 10.

    Args:
        data: The distribution.
        at_most: As fine as it takes no more bars than this.
        skips_gaps: A long run of empty bars takes the room of one.
    """
    if count(data) == 0:
        return []
    highest_s = max(data.max_s, _LOWEST_S)
    logs = [
        math.log10(max(min(bound_ns / 1e9, highest_s), _LOWEST_S)) for bound_ns in data.bounds_ns
    ]
    best = _binned(logs, data.counts, _BARS_PER_DECADE[0])
    for finer in _BARS_PER_DECADE[1:]:
        seen = _binned(logs, data.counts, finer)
        if (len(without_gaps(seen)) if skips_gaps else len(seen)) > at_most:
            break
        best = seen
    return best


def without_gaps(seen: Sequence[Bar]) -> list[Bar | None]:
    """Return the bars, a long run of empty ones as one None."""
    kept: list[Bar | None] = []
    for is_empty, group in groupby(seen, key=lambda bar: bar.n == 0):
        run = list(group)
        kept += [None] if is_empty and len(run) >= _GAP else run
    return kept


def _binned(logs: Sequence[float], counts: Sequence[int], per_decade: int) -> list[Bar]:
    """Return the bars from that of the first value to that of the last, by their logarithms."""
    totals: Counter[int] = Counter()
    for log, n in zip(logs, counts, strict=True):
        totals[math.ceil(log * per_decade - _ROUNDING)] += n
    return [
        Bar(low_s=10 ** ((i - 1) / per_decade), high_s=10 ** (i / per_decade), n=totals[i])
        for i in range(min(totals), max(totals) + 1)
    ]


def sparkline(data: HistogramData) -> str:
    """Return the shape of a distribution in one line, log scale: `2.01 ms ▁▃█▅▂▁  ▁ 18.9 ms`."""
    seen = bars(data, at_most=_SPARK_WIDTH)
    if len(seen) < 2:  # noqa: PLR2004 - all values are the same
        return ""
    marks = _sparks([bar.n for bar in seen])
    low_s = quantile_s(data, 0.0)
    return f"{format_duration(low_s)} {marks} {format_duration(data.max_s)}"


def _sparks(counts: Sequence[int]) -> str:
    """Return a character for each count; the smallest mark is one request, a blank is none."""
    most = max(counts)
    top = len(_SPARKS) - 1
    return "".join(" " if n == 0 else _SPARKS[min(top, round(n / most * top))] for n in counts)


def histogram_text(data: HistogramData) -> RenderableType:
    """Return bars with counts and shares; empty when there are no values."""
    seen = bars(data, skips_gaps=True)
    if not seen:
        return Text()
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_header=False)
    for justify in ("right", "left", "right", "right"):
        table.add_column(justify=justify, no_wrap=True)
    total, most = count(data), max(bar.n for bar in seen)
    for bar in without_gaps(seen):
        if bar is None:
            table.add_row("  ⋮")
            continue
        table.add_row(
            f"  ≤ {format_duration(bar.high_s)}",
            _bar(bar.n / most),
            f"{bar.n:,}",
            f"{bar.n / total * 100:.1f} %" if bar.n else "",
        )
    return table


def _bar(share: float) -> str:
    eighths = round(share * _BAR_WIDTH * 8)
    if share > 0:
        eighths = max(1, eighths)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def spectrum(data: HistogramData) -> list[tuple[float, float, int]]:
    """Return (value in seconds, quantile, requests up to it), finer and finer towards the maximum.

    As HdrHistogram lists them: so many steps in each half of the distance to 1.

    Source:
        HdrHistogram, `PercentileIterator` and `outputPercentileDistribution`.
    """
    if count(data) == 0:
        return []
    cumulative = list(accumulate(data.counts))
    total = cumulative[-1]
    rows: list[tuple[float, float, int]] = []
    q = 0.0
    while True:
        index = bisect_left(cumulative, max(1, math.ceil(q * total - _ROUNDING)))
        rows.append((min(data.bounds_ns[index] / 1e9, data.max_s), q, cumulative[index]))
        if cumulative[index] == total:
            break
        half = 2.0 ** (math.floor(math.log2(1 / (1 - q))) + 1)
        q = min(1.0, q + 1 / (_STEPS_PER_HALVING * half))
    if rows[-1][1] < 1:
        rows.append((data.max_s, 1.0, total))
    return rows


def spectrum_text(data: HistogramData, censored: HistogramData) -> RenderableType:
    """Return the percentile spectrum as far as the sample carries it, and the maximum."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in ("  percentile", "latency", "requests", "1 in"):
        table.add_column(name, justify="right", no_wrap=True)
    for value_s, q, n in spectrum(data):
        if 0 < q < 1 and not can_show(data, q):
            continue
        at_most_s = highest_quantile_s(data, censored, q) if count(censored) else None
        seen = Figure(value_s=value_s, at_most_s=at_most_s)
        one_in = f"{1 / (1 - q):,.1f}" if q < 1 else ""
        name = f"{q * 100:.4f}".rstrip("0").rstrip(".") if q < 1 else "max"
        table.add_row(f"  {name}", seen.text, f"{n:,}", one_in)
    return table


def distribution_text(data: HistogramData, censored: HistogramData) -> RenderableType:
    """Return bars and spectrum, one below the other."""
    return Group(histogram_text(data), Text(), spectrum_text(data, censored))
