"""The summary of a load test for a terminal: what readers of ab or wrk know at a glance."""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from httpdyno.model import HistogramData, LoadOutcome
from httpdyno.report.load.caveat import by_weight, load_caveats
from httpdyno.report.load.tables import (
    censored_note,
    client_text,
    conservation_grid,
    half_width_text,
    interval_grid,
    latency_grid,
    phases_grid,
    portions_grid,
    traffic_rows,
    warm_up_text,
)
from httpdyno.report.load.threshold import judgements
from httpdyno.report.load.verdict import (
    compression_hint,
    evidence_rows,
    is_good,
    offer_text,
    port_hint,
    redirect_hint,
    server_rows,
    url_text,
    verdict_line,
    verdict_text,
    where_text,
)
from httpdyno.report.shared.distribution import Figure, missing_percentiles
from httpdyno.report.shared.prose import Prose
from httpdyno.report.shared.view import Folded, Grid, plain_table, table_of
from httpdyno.report.shared.workload_text import latency_label
from httpdyno.stats.histogram import can_show, count, highest_quantile_s, quantile_s
from httpdyno.units import format_duration

# A latency distribution drawn with characters: a sparkline, bars, and the percentile spectrum.

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
    table = plain_table(gap=1)
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
    table = plain_table(has_head=True)
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


# The summary of a load test for a terminal: what readers of ab or wrk know at a glance.

_INDENT = "  "


def load_text(
    outcome: LoadOutcome, *, has_histogram: bool = False, is_verbose: bool = False
) -> RenderableType:
    """Return a summary whose first line is the verdict.

    Args:
        outcome: The test.
        has_histogram: With bars and the percentile spectrum.
        is_verbose: With all that was measured.
    """
    measurement = outcome.measurement
    parts = _head(outcome)
    if count(measurement.latency):
        parts += [Text(), *_latency(outcome, has_histogram=has_histogram)]
    phases = phases_grid(outcome, is_whole=is_verbose)
    if phases is not None:
        parts += [Text(), Text("where the time of completed requests went"), _indented(phases)]
    portions = portions_grid(outcome, is_whole=is_verbose)
    if portions is not None:
        parts += [Text(), _indented(portions), *_note(portions.note)]
    parts += [Text(), _facts(outcome, is_verbose=is_verbose)]
    if is_verbose:
        parts += _verbose(outcome)
    if outcome.fail_if:
        parts += [Text(), threshold_text(outcome)]
    return Group(*parts)


def claim_text(outcome: LoadOutcome) -> str:
    """Return how many requests got the right answer, and at which rate."""
    return verdict_line(
        outcome.measurement,
        outcome.workload,
        half_width=half_width_text(outcome),
        address=where_text(outcome),
    )


def _head(outcome: LoadOutcome) -> list[RenderableType]:
    measurement = outcome.measurement
    style = "bold green" if is_good(measurement) else "bold red"
    parts: list[RenderableType] = [Prose(Text(claim_text(outcome), style))]
    for hint in (redirect_hint, port_hint, compression_hint):
        if told := hint(measurement, outcome.workload):
            parts.append(Prose(Text(f"hint: {told}", "cyan")))
    offer = offer_text(outcome)
    parts.append(Prose(Text(f"{url_text(outcome)}, {offer}" if outcome.url else offer)))
    errors = {kind.replace("_", " "): n for kind, n in measurement.errors.items() if n}
    if errors:
        parts += [Text(), Text("errors"), _counts(errors.items())]
    statuses = {key: n for key, n in measurement.statuses.items() if n}
    if len(statuses) > 1:
        parts += [Text(), Text("statuses"), _counts(statuses.items())]
    return parts


def _latency(outcome: LoadOutcome, *, has_histogram: bool) -> list[RenderableType]:
    data = outcome.measurement.latency
    parts: list[RenderableType] = [Text(f"latency, {latency_label(outcome.workload)}")]
    parts.append(Folded(latency_grid(outcome), indent=_INDENT))
    parts += _note(missing_percentiles(data))
    parts += _note(censored_note(outcome))
    if has_histogram:
        parts += [Text(), distribution_text(data, outcome.measurement.censored)]
    elif line := sparkline(data):
        parts.append(Padding(Text(line), (0, 0, 0, len(_INDENT))))
    return parts


def _note(text: str) -> list[RenderableType]:
    return [Padding(Text(text, "dim"), (0, 0, 0, len(_INDENT)))] if text else []


def _facts(outcome: LoadOutcome, *, is_verbose: bool) -> Table:
    table = plain_table()
    if limit := verdict_text(outcome):
        table.add_row("limited by", Text(limit))
    for name, value in server_rows(outcome):
        table.add_row(name, Text(value))
    if warm_up := warm_up_text(outcome):
        table.add_row("warm-up", Text(warm_up))
    caveats = by_weight(load_caveats(outcome))
    shown = caveats if is_verbose else caveats[:1]
    for caveat in shown:
        table.add_row("caveat", Text(caveat.message, "yellow"))
    if n_more := len(caveats) - len(shown):
        table.add_row("", Text(f"{n_more} more with `--verbose`", "dim"))
    table.add_row("client", client_text(outcome))
    for name, value in traffic_rows(outcome):
        table.add_row(name, Text(value))
    if outcome.workload.is_open_loop or is_verbose:
        table.add_row("schedule", Text(schedule_text(outcome)))
    return table


def schedule_text(outcome: LoadOutcome) -> str:
    """Return what repeats the schedule, and what tells that it was repeated."""
    text = f"seed {outcome.seed}"
    return f"{text}, hash {outcome.schedule_hash}" if outcome.schedule_hash else text


def _verbose(outcome: LoadOutcome) -> list[RenderableType]:
    measurement = outcome.measurement
    host = plain_table()
    for name, value in (
        ("began", outcome.began_at),
        ("host", f"{outcome.host.cpu}, {outcome.host.n_cpus} CPUs, {outcome.host.kernel}"),
        ("threads", str(outcome.threads)),
        ("httpdyno", outcome.host.httpdyno),
    ):
        host.add_row(name, Text(value))
    evidence = plain_table()
    for name, value in evidence_rows(measurement.evidence):
        evidence.add_row(f"{_INDENT}{name}", value)
    intervals = interval_grid(outcome)
    parts: list[RenderableType] = [Text(), Text("how far the figures may be off")]
    parts += [_indented(intervals), *_note(intervals.note), Text(), Text("every request")]
    parts += [_indented(conservation_grid(outcome)), Text()]
    parts += [Text("what the verdict on the limit rests on"), evidence, Text(), host]
    return parts


def _indented(grid: Grid) -> Table:
    """Return a table whose rows are indented below what names it."""
    return table_of(grid, indent=_INDENT)


def threshold_text(outcome: LoadOutcome) -> Table:
    """Return a line for each threshold: whether it holds, and what was measured."""
    table = plain_table()
    for each in judgements(outcome):
        mark = Text("pass", "green") if each.is_passed else Text("FAIL", "bold red")
        table.add_row(mark, Text(f"fail if {each.threshold.text}"), Text(each.sentence))
    return table


def _counts(rows: Iterable[tuple[str, int]]) -> Table:
    table = Table(box=None, padding=(0, 0, 0, 2), pad_edge=True, show_header=False)
    table.add_column(justify="right")
    for name, n in sorted(rows, key=lambda row: -row[1]):
        table.add_row(f"{n:,}", Text(name))
    return table
