"""The charts of a study's page: ladder, effects, evidence, starts, the curve of a sweep, its costs.

Each takes its width and returns SVG text, empty where there is nothing to draw.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from httpdyno.metrics import named
from httpdyno.model import (
    ArmSummary,
    Comparison,
    Effect,
    Factorial,
    LadderStep,
    Level,
    Outcome,
    RatioInterval,
    Sweep,
    SweepPoint,
    level_text,
)
from httpdyno.report.shared.interval import bounds_text, interval_ratio_text
from httpdyno.report.shared.phrase import plural
from httpdyno.report.shared.svg import (
    AFTER,
    BEFORE,
    INK,
    NARROW,
    SOFT,
    VERDICT_COLOURS,
    WIDE,
    WORSE,
    Axis,
    Plot,
    Room,
    drawing,
    number_text,
    padded,
)
from httpdyno.report.study.finding import (
    change_words,
    effect_name,
    effect_word,
    given_words,
    simple_effects,
)
from httpdyno.report.study.verdict import (
    has_run,
    of_objective,
    p99_of,
    point_bounds,
    step_name,
    taken_word,
    verdict_words,
)
from httpdyno.units import format_bytes, format_count, format_percent, format_rate

_NAMES, _RESULTS = 200, 184
"""Pixels left and right of wide rows, for their words."""
_LINE_LENGTH = 52
"""Characters that fit above a row of the narrow drawing."""
_FEWEST_DECADES = 10
"""Highest level over lowest, from which on levels stand on a log scale."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One row of the ladder, or of effects: its words, and what is drawn in it."""

    name: str
    change: str
    result: str
    """The ratio, or why there is none."""
    bounds: str
    brief: str
    """Name and result in one line, for the narrow drawing."""
    colour: str
    span: RatioInterval | None
    """Both ends are the ratio where the data bound it on one side, or not at all."""
    begin: float = 1.0
    """From where a rung's bar goes."""
    book: float | None = None
    is_continued: bool = False
    """Whether it begins where the row above ended."""
    pair: tuple[RatioInterval | None, RatioInterval | None] = (None, None)
    """A knob's ratio without another one, and with it."""


# The ladder.


def ladder_svg(outcome: Outcome, *, width: int = WIDE) -> str:
    """Return the ladder: each change starts where the kept ones before it ended."""
    rows = ladder_rows(outcome)
    title = f"{named(outcome.plan.study.objective.metric).label}, times the start (log scale)"
    plot, is_wide = _rows_plot(rows, title, width)
    for number, row in enumerate(rows):
        if row.is_continued:
            plot.link((row.begin, number - 1), (row.begin, number))
        if row.span:
            plot.whisker(number, row.begin, row.span.ratio, row.colour, width=10, opacity=0.28)
            _draw_span(plot, number, row.span, row)
        if row.book:
            plot.diamond(row.book, number, title=f"published: {number_text(round(row.book, 3))} ×")
    _row_words(plot, rows, is_wide=is_wide)
    return drawing(f"ladder of {plural(len(outcome.steps), 'change')}", plot)


def ladder_rows(outcome: Outcome) -> list[Row]:
    """Return what the ladder draws: cumulative ratios of each step and of the whole."""
    rows: list[Row] = []
    running, book = 1.0, 1.0
    is_ladder = outcome.plan.reference is None
    for step in outcome.steps:
        row = _step_row(step, running, book)
        rows.append(replace(row, is_continued=is_ladder and bool(rows)))
        running = step.running_ratio
        book *= step.book_ratio or 1.0
    if outcome.final is not None and outcome.steps:
        book_ratio = outcome.plan.study.book_ratio
        rows.append(_row("final over start", "measured afresh", outcome.final, book=book_ratio))
    return rows


def _step_row(step: LadderStep, running: float, book: float) -> Row:
    return _row(
        step_name(step),
        f"{plural(len(step.changed), 'knob')} at once" if step.candidate else step.change_lines[0],
        step.comparison,
        begin=running,
        book=book * step.book_ratio if step.book_ratio else None,
    )


def _row(
    name: str,
    change: str,
    comparison: Comparison,
    *,
    begin: float = 1.0,
    book: float | None = None,
) -> Row:
    interval, words = of_objective(comparison), verdict_words(comparison)
    span = _drawn(interval)
    claim = f"{interval_ratio_text(interval)} ×, {words}" if interval else words
    return Row(
        name=name,
        change=change,
        result=f"{interval_ratio_text(interval)} ×" if interval else words,
        bounds=f"{bounds_text(interval)}, {words}" if interval else "",
        brief=_brief(f"{name} {change}: {claim}", f"{name}: {claim}"),
        colour=VERDICT_COLOURS[comparison.verdict],
        span=span
        and structs.replace(
            span, ratio=begin * span.ratio, low=begin * span.low, high=begin * span.high
        ),
        begin=begin,
        book=book,
    )


def _brief(whole: str, shorter: str) -> str:
    return whole if len(whole) <= _LINE_LENGTH else shorter


def _drawn(interval: RatioInterval | None) -> RatioInterval | None:
    if interval is None or (interval.low > 0 and math.isfinite(interval.high)):
        return interval
    return structs.replace(interval, low=interval.ratio, high=interval.ratio)


def _rows_plot(rows: Sequence[Row], title: str, width: int) -> tuple[Plot, bool]:
    """Return a plot of ratios with a place for each row, and whether it is wide."""
    is_wide = width >= WIDE
    spans = [span for row in rows for span in (row.span, *row.pair) if span]
    ends = [each for span in spans for each in (span.low, span.high, span.ratio)]
    ends += [each for row in rows for each in (row.begin, row.book) if each]
    low, high = padded([*ends, 1.0], share=0.06 if is_wide else 0.03)
    room = Room(left=_NAMES, right=_RESULTS) if is_wide else Room(left=4)
    plot = Plot(
        x=Axis.ratios(low, high, title, wanted=6 if is_wide else 4),
        y=Axis.rows(len(rows)),
        width=width,
        height=len(rows) * (42 if is_wide else 50),
        room=room,
    )
    plot.rule(x=1.0)
    return plot, is_wide


def _draw_span(plot: Plot, number: float, span: RatioInterval, row: Row) -> None:
    title = f"{row.name}: {row.result} ({row.bounds})"
    plot.whisker(number, span.low, span.high, row.colour, title=title)
    plot.dot(span.ratio, number, row.colour, title=title)


def _row_words(plot: Plot, rows: Sequence[Row], *, is_wide: bool) -> None:
    """Write what each row is of, and what it came to: beside it, or above it where it is narrow."""
    for number, row in enumerate(rows):
        down = plot.down(number)
        if not is_wide:
            plot.text(row.brief, px=(0, down - 12), has_halo=True, room=plot.width)
            continue
        left, right = -_NAMES, plot.width + 12
        room = _NAMES - 4.0
        plot.text(row.name, px=(left, down - 3), size=13, is_bold=True, room=room)
        plot.text(row.change, px=(left, down + 13), colour=SOFT, room=room)
        plot.text(row.result, px=(right, down - 3), colour=row.colour, size=13, is_bold=True)
        plot.text(row.bounds, px=(right, down + 13), colour=SOFT)


# Effects of a factorial.


def effects_svg(found: Factorial, *, width: int = WIDE) -> str:
    """Return all effects with their intervals, on one axis of ratios.

    A row for each knob; for each pair its interaction, and two rows in which a ring is what a knob
    brings without the other one, and a dot what it brings with it.
    """
    rows = effect_rows(found)
    if not any(span for row in rows for span in (row.span, *row.pair)):
        return ""
    plot, is_wide = _rows_plot(
        rows, f"{named(found.metric).label}, with over without (log scale)", width
    )
    # Narrow rows have words above.
    places = (-0.13, 0.13) if is_wide else (0.0, 0.26)
    for number, row in enumerate(rows):
        if row.span:
            _draw_span(plot, number, row.span, row)
        for span, place, is_ring in zip(row.pair, places, (True, False), strict=True):
            if span:
                at = number + place
                plot.whisker(at, span.low, span.high, SOFT, width=1.6, opacity=0.8)
                title = f"{row.name} {'without' if is_ring else row.change}: {span.ratio:.3g} ×"
                plot.dot(span.ratio, at, SOFT, radius=4.2, is_ring=is_ring, title=title)
    _row_words(plot, rows, is_wide=is_wide)
    return drawing(f"effects and interactions of {plural(len(found.levels), 'knob')}", plot)


def effect_rows(found: Factorial) -> list[Row]:
    """Return what is drawn: each knob, then each pair followed by both of its sides."""
    rows: list[Row] = []
    for each in found.effects:
        rows.append(_effect_row(found, each))
        if len(each.knobs) > 1:
            one, other = each.knobs
            rows += [_sides_row(found, one, other), _sides_row(found, other, one)]
    return rows


def _effect_row(found: Factorial, each: Effect) -> Row:
    words, name = effect_word(each), effect_name(found, each)
    extent = "where it runs with and without" if each.reasons else "mean over the others"
    claim = f"{interval_ratio_text(each.ratio)} ×, {words}" if each.ratio else words
    return Row(
        name=name,
        change="interaction, a ratio of ratios" if len(each.knobs) > 1 else extent,
        result=f"{interval_ratio_text(each.ratio)} ×" if each.ratio else words,
        bounds=f"{bounds_text(each.ratio)}, {words}" if each.ratio else "",
        brief=f"{name}: {claim}",
        colour=VERDICT_COLOURS[each.verdict],
        span=_drawn(each.ratio),
    )


def _sides_row(found: Factorial, knob: str, given: str) -> Row:
    """Return a knob's ratio without another one and with it."""
    both = simple_effects(found, knob, given)
    spans = {each.is_given_changed: _drawn(each.ratio) for each in both}
    ratios = " → ".join(interval_ratio_text(each.ratio) for each in both)
    name = change_words(found, knob)
    return Row(
        name=name,
        change=given_words(found, both[-1]),
        result=f"{ratios} ×",
        bounds="without → with",
        brief=_brief(f"{name}: {ratios} with {given}", f"{name}: {ratios}"),
        colour=SOFT,
        span=None,
        pair=(spans.get(False), spans.get(True)),
    )


# Starts.


def strip_svg(comparison: Comparison, margin_ratio: float) -> str:
    """Return one comparison's evidence: each start's ratio as a dot above the interval.

    Differences within ±`margin_ratio` are shaded: they are too small to matter. It is the
    objective's metric, also where that tied and its tie breaker decided.
    """
    interval = of_objective(comparison)
    if interval is None:
        return ""
    bounded = interval.low > 0 and math.isfinite(interval.high)
    ends = [interval.low, interval.high] if bounded else []
    low, high = padded([*comparison.per_start_ratio, *ends, interval.ratio, 1.0])
    axis = replace(Axis.ratios(low, high, wanted=4), has_grid=False)
    plot = Plot(
        x=axis,
        y=Axis(low=0, high=1),
        width=NARROW,
        height=54,
        room=Room(left=12, right=12, bottom=24),
    )
    colour, margin = VERDICT_COLOURS[comparison.verdict], 1 + margin_ratio
    plot.bar((max(low, 1 / margin), min(high, margin)), (0, 1), SOFT, opacity=0.16)
    plot.rule(x=1.0)
    for number, ratio in enumerate(comparison.per_start_ratio):
        title = f"start {number + 1}: {ratio:.4g} ×"
        plot.dot(ratio, 0.7, colour, radius=3.8, opacity=0.55, title=title)
    if ends:
        title = bounds_text(interval)
        plot.whisker(0.26, interval.low, interval.high, colour, width=4, title=title)
        plot.whisker(interval.ratio, 0.12, 0.4, colour, is_level=False)
    label = f"{plural(len(comparison.per_start_ratio), 'start')}, interval {bounds_text(interval)}"
    return drawing(label, plot)


def starts_svg(arms: Sequence[tuple[str, ArmSummary]], *, width: int = WIDE) -> str:
    """Return each start's throughput as a dot, by arm."""
    rates = [rate for _, arm in arms for rate in arm.start_throughputs_per_s]
    if not rates:
        return ""
    names = [name for name, _ in arms]
    plot = Plot(
        x=Axis.linear(max(rates), "requests per second, each start a dot"),
        y=Axis.places(names[::-1]),
        width=width,
        height=34 * len(arms),
    )
    for number, (name, arm) in enumerate(arms):
        colour, place = (BEFORE, AFTER)[number % 2], len(arms) - 1 - number
        for start, rate in enumerate(arm.start_throughputs_per_s):
            title = f"{name}, start {start + 1}: {format_rate(rate)}"
            plot.dot(rate, place, colour, radius=5.4, opacity=0.5, title=title)
    return drawing(f"throughput of {plural(len(rates), 'start')}", plot)


# A sweep.


def sweep_svg(sweep: Sweep, book: dict[Level, float], *, width: int = WIDE) -> str:
    """Return the metric over the levels, with intervals, the knee, and the book's curve.

    Between levels that are words nothing is drawn. The book's curve is scaled to meet this one's
    best.
    """
    unit, title = _unit(sweep.metric)
    x, place_of = _level_axis([point.level for point in sweep.points], sweep)
    ran = [point for point in sweep.points if has_run(point)]
    bounds = {p.level: (b[0] / unit, b[1] / unit) for p in ran if (b := point_bounds(p))}
    curve = [(place_of(p.level), p.value / unit) for p in ran]
    book_curve = book_points(sweep, book)
    tops = [value for _, value in curve] + [high for _, high in bounds.values()]
    tops += [value for _, value in book_curve]
    plot = Plot(
        x=x,
        y=Axis.linear(max(tops, default=0.0), title),
        width=width,
        height=300 if width >= WIDE else 220,
    )
    plot.rule(x=place_of(sweep.knee), colour=INK)
    if not sweep.is_of_words:
        band = [(place_of(level), low, high) for level, (low, high) in bounds.items()]
        plot.area(band, AFTER)
        plot.line(curve, AFTER)
        plot.line(
            [(place_of(level), value) for level, value in book_curve],
            "var(--book)",
            width=1.6,
            dash="5 4",
        )
    for level, (low, high) in bounds.items():
        plot.whisker(place_of(level), low, high, AFTER, width=2, is_level=False)
    for point in sweep.points:
        place = place_of(point.level)
        if has_run(point):
            words = f"{level_text(point.level)}: {named(sweep.metric).write(point.value)}"
            plot.dot(place, point.value / unit, AFTER, title=words)
        else:
            plot.cross(place, 0.0, title=f"{level_text(point.level)}: {point.arm.status}")
            px = (plot.left(place) + 6, plot.down(0.0) - 12)
            plot.text(point.arm.status, px=px, anchor="end", colour=WORSE)
    for level, value in book_curve:
        plot.diamond(place_of(level), value, title=f"published, {level_text(level)}")
    _name_knee(plot, sweep, plot.left(place_of(sweep.knee)))
    return drawing(
        f"{named(sweep.metric).label} over {len(sweep.points)} levels of {sweep.knob}", plot
    )


def _name_knee(plot: Plot, sweep: Sweep, left: float) -> None:
    is_left = left < plot.width * 0.7
    plot.text(
        f"{taken_word(sweep)} {level_text(sweep.knee)}",
        px=(left + (7 if is_left else -7), plot.height - 12),
        anchor="start" if is_left else "end",
        size=13,
        is_bold=True,
        has_halo=True,
    )


def book_points(sweep: Sweep, book: dict[Level, float]) -> list[tuple[Level, float]]:
    """Return the published curve in the unit of this one, scaled so that both have one best."""
    unit, _ = _unit(sweep.metric)
    most = max((p.value / unit for p in sweep.points if has_run(p)), default=0.0)
    scale = most / max(book.values(), default=1.0)
    return [(p.level, book[p.level] * scale) for p in sweep.points if p.level in book]


_COSTS: dict[str, tuple[str, Callable[[SweepPoint], float]]] = {
    "latency_p99_s": ("p99 latency, ms", lambda p: (p99_of(p) or math.nan) * 1e3),
    "cpu_s_per_request": ("CPU/request, ms", lambda p: p.arm.cpu_s_per_request * 1e3),
    "throughput_per_s": ("requests per second", lambda p: p.arm.throughput_per_s),
}
"""Of a level, by metric: what an axis calls it, and its figure there; NaN for none."""


def cost_svg(sweep: Sweep, *, width: int = WIDE) -> str:
    """Return what each level costs: p99 latency above, CPU per request below.

    Where the curve is of one of them that stands above it, and throughput here.
    """
    ran = [point for point in sweep.points if has_run(point)]
    if not ran:
        return ""
    x, place_of = _level_axis([point.level for point in ran], sweep)
    curves = {
        title: [(place_of(p.level), value) for p in ran if math.isfinite(value := figure(p))]
        for metric, (title, figure) in _COSTS.items()
        if metric != sweep.metric
    }
    curves = {title: points for title, points in curves.items() if points}
    plots = []
    for number, (title, points) in enumerate(curves.items()):
        is_last = number == len(curves) - 1
        plot = Plot(
            x=x if is_last else replace(x, title="", label=lambda _: ""),
            y=Axis.linear(max(value for _, value in points), title, wanted=4),
            width=width,
            height=110,
            room=Room(left=52, top=28, bottom=46 if is_last else 8),
        )
        plot.rule(x=place_of(sweep.knee), colour=INK)
        if not sweep.is_of_words:
            plot.line(points, AFTER)
        for place, value in points:
            plot.dot(place, value, AFTER, radius=4, title=f"{number_text(round(value, 4))} {title}")
        plots.append(plot)
    return drawing(f"what the levels of {sweep.knob} cost", *plots) if plots else ""


def _level_axis(levels: Sequence[Level], sweep: Sweep) -> tuple[Axis, Callable[[Level], float]]:
    """Return a log axis where levels are numbers that span much, else one place for each.

    With it, where a level stands on the axis.
    """
    title = f"{sweep.knob}, {sweep.unit}" if sweep.unit else sweep.knob
    numbers = [float(v) for v in levels if isinstance(v, (int, float)) and not isinstance(v, bool)]
    if len(numbers) == len(levels) and min(numbers) > 0:
        low, high = min(numbers), max(numbers)
        if high / low >= _FEWEST_DECADES:
            pad = (high / low) ** 0.03
            axis = Axis(
                low=low / pad,
                high=high * pad,
                title=f"{title} (log scale)",
                ticks=tuple(numbers),
                is_log=True,
                has_grid=False,
            )
            return axis, float
    names = [level_text(level) for level in levels]
    return Axis.places(names, title), lambda level: float(names.index(level_text(level)))


def _unit(metric: str) -> tuple[float, str]:
    """Return the unit that a metric is drawn in, and the words of its axis."""
    write = named(metric).write
    if write is format_rate:
        return 1.0, "requests per second"
    if write is format_bytes:
        return 1e6, f"{named(metric).label}, MB"
    if write is format_count:
        return 1.0, named(metric).label
    if write is format_percent:
        return 1e-2, f"{named(metric).label}, %"
    return 1e-3, f"{named(metric).label}, ms"
