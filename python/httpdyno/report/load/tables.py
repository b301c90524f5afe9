"""The tables and the course of a load test: text, page and JSON show the same ones."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from httpdyno.load.entrance import n_entered
from httpdyno.model import Batches, HistogramData, LoadOutcome, Measurement, Portion, Workload
from httpdyno.reason import Reason
from httpdyno.report.shared import message
from httpdyno.report.shared.distribution import (
    FIGURE_NAMES,
    MIN,
    censored_service_time,
    figure,
    figures,
    time_text,
)
from httpdyno.report.shared.interval import bounded_text
from httpdyno.report.shared.phrase import NOTHING, plural
from httpdyno.report.shared.view import Grid
from httpdyno.stats.estimation import Estimate
from httpdyno.stats.histogram import MIN_TAIL_COUNT, count, mean_s, merge
from httpdyno.stats.summary import Summary, summarise
from httpdyno.units import (
    Format,
    format_bounds,
    format_bytes,
    format_duration,
    format_percent,
    format_rate,
)

# The course of a load test: the engine's intervals, merged until they say something.

_FEWEST = 50
"""Fewer points show no course."""
_WANTED = 100 * MIN_TAIL_COUNT
"""Requests in a usual interval, so that it carries a p99."""
_SHORT = 0.5
"""A last interval that is cut to less than this part of the others says little of a rate."""
_TAILS = ("p99", "p90")


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """One interval of the course."""

    t_s: float
    """Its middle, from the start of the measured part."""
    offered_per_s: float
    completed_per_s: float
    errors_per_s: float
    figures_s: dict[str, float]
    """Those that its requests carry."""


def course(measurement: Measurement) -> list[Point]:
    """Return the intervals as rates and latencies; a last one that is cut short is left out."""
    batches = readable(measurement.batches)
    points = []
    for i, data in enumerate(batches.latency):
        begins_s = i * batches.interval_s
        length_s = min(batches.interval_s, measurement.measured_s - begins_s)
        if length_s < batches.interval_s * _SHORT:
            break
        seen = {name: each.value_s for name, each in figures(data).items()}
        points.append(
            Point(
                t_s=begins_s + length_s / 2,
                offered_per_s=batches.offered[i] / length_s,
                completed_per_s=batches.completed[i] / length_s,
                errors_per_s=batches.errors[i] / length_s,
                figures_s={name: value for name, value in seen.items() if value is not None},
            )
        )
    return points


def tail_name(points: Sequence[Point]) -> str:
    """Return the furthest percentile that most intervals carry; empty when none does."""
    for name in _TAILS:
        if 2 * sum(name in point.figures_s for point in points) > len(points):
            return name
    return ""


def readable(batches: Batches) -> Batches:
    """Return the intervals, pairs merged until a usual one carries a p99 or few are left."""
    while len(batches.latency) >= 2 * _FEWEST and _usual_count(batches) < _WANTED:
        batches = halved(batches)
    return batches


def halved(batches: Batches) -> Batches:
    """Return half as many intervals, each twice as long; the last may be shorter."""
    return Batches(
        interval_s=batches.interval_s * 2,
        offered=_summed(batches.offered),
        completed=_summed(batches.completed),
        errors=_summed(batches.errors),
        latency=tuple(
            _merged(batches.latency[i : i + 2]) for i in range(0, len(batches.latency), 2)
        ),
    )


def _usual_count(batches: Batches) -> int:
    sizes = sorted(count(data) for data in batches.latency)
    return sizes[len(sizes) // 2]


def _summed(counts: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sum(counts[i : i + 2]) for i in range(0, len(counts), 2))


def _merged(pair: tuple[HistogramData, ...]) -> HistogramData:
    return pair[0] if len(pair) == 1 else merge(pair)


# The tables of a load test's summary, as names and cells: text and page show the same ones.

PHASES = {
    "client_queue": "queue",
    "connect": "connect",
    "tls": "TLS",
    "first_byte": "first byte",
    "transfer": "transfer",
}
MOST_ROWS = 8
"""Requests of a mix, before `--verbose` is needed to see the rest."""
_NAME_WIDTH = 30
_ERRORS = "errors"


def latency_grid(outcome: LoadOutcome) -> Grid:
    """Return latency with its figures; in open loop service time and lateness below it."""
    measurement = outcome.measurement
    rows: dict[str, tuple[HistogramData, HistogramData | None]] = {
        "latency": (measurement.latency, measurement.censored)
    }
    if outcome.workload.is_open_loop:
        rows["service time"] = (measurement.service_time, censored_service_time(measurement))
        rows["lateness"] = (measurement.lateness, None)
    head = ("", *FIGURE_NAMES)
    cells = tuple(
        (name, *(each.text for each in figures(data, censored).values()))
        for name, (data, censored) in rows.items()
    )
    return _without_empty(head, cells, fold_before=MIN)


def _without_empty(
    head: tuple[str, ...], rows: Sequence[tuple[str, ...]], *, fold_before: str = ""
) -> Grid:
    """Return a table without the columns that have nothing in any row."""
    empty = {name: {"", NOTHING, "0"} if name == _ERRORS else {"", NOTHING} for name in head}
    kept = [
        i for i, name in enumerate(head) if i == 0 or any(row[i] not in empty[name] for row in rows)
    ]
    names = tuple(head[i] for i in kept)
    return Grid(
        head=names,
        rows=[tuple(row[i] for i in kept) for row in rows],
        fold_at=names.index(fold_before) if fold_before in names else 0,
    )


def censored_note(outcome: LoadOutcome) -> str:
    """Return what ≥ stands for; empty where nothing is marked."""
    n = count(outcome.measurement.censored)
    if n == 0:
        return ""
    verb = "counts" if n == 1 else "count"
    return f"≥ because {plural(n, 'request')} never ended; each {verb} as long as it was waited for"


def phases_grid(outcome: LoadOutcome, *, is_whole: bool = False) -> Grid | None:
    """Return where the time of completed requests went; the means add up to the total.

    Args:
        outcome: The test.
        is_whole: With percentiles too, which do not add up.
    """
    phases = {name: getattr(outcome.measurement.phases, name) for name in PHASES}
    means_s = phase_means_s(outcome.measurement)
    if not means_s:
        return None
    n, total_s = count(phases["transfer"]), sum(means_s.values())
    rows = [
        (
            "mean",
            *(time_text(means_s[name]) if name in means_s else NOTHING for name in PHASES),
            time_text(total_s),
        ),
        ("share", *(_share_text(means_s.get(name, 0.0) / total_s) for name in PHASES), "100 %"),
    ]
    if is_whole:
        rows += [
            (name, *(figure(data, name).text for data in phases.values()), "")
            for name in ("p50", "p99", "max")
        ]
    table = _without_empty(("", *PHASES.values(), "= total"), rows)
    if not is_whole:
        return table
    kept = [name for name, title in PHASES.items() if title in table.head]
    counts = ("requests", *(f"{count(phases[name]):,}" for name in kept), f"{n:,}")
    return replace(table, rows=[*table.rows, counts])


def phase_means_s(measurement: Measurement) -> dict[str, float]:
    """Return the mean time in each phase, of all completed requests, also those that skip it.

    They add up to the mean latency of completed requests. Empty when there was none.
    """
    phases = {name: getattr(measurement.phases, name) for name in PHASES}
    n = count(measurement.phases.transfer)
    if n == 0 or not any(data.sum_s for data in phases.values()):
        return {}
    return {name: data.sum_s / n for name, data in phases.items() if data.sum_s > 0}


def _share_text(share: float) -> str:
    return NOTHING if share == 0 else "< 1 %" if share < 0.01 else f"{share * 100:.0f} %"  # noqa: PLR2004


def portions_grid(outcome: LoadOutcome, *, is_whole: bool = False) -> Grid | None:
    """Return each request of a mix, each population, and pages; None where there is one kind."""
    timeout_s = outcome.workload.timeout_s
    rows = _request_rows(outcome)
    n_left_out = 0 if is_whole else max(0, len(rows) - MOST_ROWS)
    note = f"and {n_left_out:,} requests more, which `--verbose` shows" if n_left_out else ""
    rows = rows[: len(rows) - n_left_out]
    rows += [
        _portion_row(f"{name} users", portion, portion_censored(portion, timeout_s))
        for name, portion in outcome.measurement.by_population.items()
    ]
    pages = outcome.measurement.pages
    if pages.offered:
        whole = Portion(
            offered=pages.offered,
            completed=pages.completed,
            errors={"failed": pages.failed},
            latency=pages.time,
        )
        rows.append(_portion_row("pages", whole, pages.censored))
    if not rows:
        return None
    head = ("", "offered", "completed", _ERRORS, "p50", "p99", "max")
    return replace(_without_empty(head, rows), note=note)


def _request_rows(outcome: LoadOutcome) -> list[tuple[str, ...]]:
    portions = outcome.measurement.by_request
    if len(portions) < 2:  # noqa: PLR2004 - one kind of request is the whole
        return []
    named = list(zip(request_names(outcome), portions, strict=False))
    if len(named) > MOST_ROWS:
        named.sort(key=lambda each: -each[1].offered)
    timeout_s = outcome.workload.timeout_s
    return [
        _portion_row(name, portion, portion_censored(portion, timeout_s))
        for name, portion in named
        if portion.offered
    ]


def request_names(outcome: LoadOutcome) -> list[str]:
    """Return what each request is called: `GET /path`; all are different."""
    names: list[str] = []
    n_before: Counter[str] = Counter()
    for request in outcome.requests or outcome.workload.requests:
        name = f"{request.method} {request.path}"
        n_before[name] += 1
        names.append(name if n_before[name] == 1 else f"{name} #{n_before[name]}")
    return names


def _portion_row(name: str, portion: Portion, censored: HistogramData) -> tuple[str, ...]:
    data = portion.latency
    cells = [NOTHING] * 3
    if data is not None:
        cells = [figure(data, which, censored).text for which in ("p50", "p99", "max")]
    numbers = (portion.offered, portion.completed, portion.n_errors)
    return (_short(name), *(f"{n:,}" for n in numbers), *cells)


def portion_censored(portion: Portion, timeout_s: float) -> HistogramData:
    """Return the least that requests of a portion which never ended took."""
    n_old = sum(portion.errors.get(kind, 0) for kind in ("timeout", "connect_timeout"))
    n_young = sum(portion.errors.get(kind, 0) for kind in ("unfinished", "unsent"))
    ages_ns = {0: n_young, round(timeout_s * 1e9): n_old}
    kept = {age_ns: n for age_ns, n in ages_ns.items() if n}
    return HistogramData(bounds_ns=tuple(kept), counts=tuple(kept.values()))


def _short(name: str) -> str:
    return name if len(name) <= _NAME_WIDTH else f"{name[: _NAME_WIDTH - 1]}…"


def conservation_grid(outcome: LoadOutcome) -> Grid:
    """Return every request that was due in exactly one row; the rows add up."""
    measurement = outcome.measurement
    rows = [("completed", f"{measurement.completed:,}")]
    rows += [
        (kind.replace("_", " "), f"{n:,}")
        for kind, n in sorted(measurement.errors.items(), key=lambda item: -item[1])
        if n
    ]
    total = measurement.completed + measurement.n_errors
    return Grid(head=("", "requests"), rows=(*rows, ("= offered", f"{total:,}")))


def traffic_rows(outcome: LoadOutcome) -> list[tuple[str, str]]:
    """Return what went over the wire: first steps, visits, handshakes, connections, bytes."""
    measurement = outcome.measurement
    rows = []
    if outcome.entrance is not None:
        rows.append(("first steps", _entrance_text(outcome.entrance, outcome.workload)))
    if visits := _visits_text(outcome):
        rows.append(("visits", visits))
    handshakes = measurement.handshakes_full + measurement.handshakes_resumed
    if handshakes:
        full, resumed = measurement.handshakes_full, measurement.handshakes_resumed
        rows.append(("TLS", f"{full:,} full handshakes, {resumed:,} resumed"))
    connects = plural(measurement.connects, "connect")
    sent, received = format_bytes(measurement.bytes_sent), format_bytes(measurement.bytes_received)
    rows.append(("traffic", f"{connects}, {sent} sent, {received} received"))
    return rows


def _entrance_text(entrance: Measurement, workload: Workload) -> str:
    n = n_entered(entrance, workload)
    took = format_duration(entrance.total_s)
    text = f"done by {n:,} of {plural(workload.connections, 'user')} in {took}, before the load"
    if not count(entrance.latency):
        return text
    return f"{text}; {format_duration(mean_s(entrance.latency))} each in the mean"


def _visits_text(outcome: LoadOutcome) -> str:
    visits, users, parts = outcome.measurement.visits, outcome.workload.users, []
    if visits.started and users.visit.mean_steps != 1:
        parts.append(f"{visits.started:,} started, {visits.finished:,} finished")
        parts.append(f"{visits.left:,} ended by a timeout, {visits.cut:,} cut off by the end")
    if visits.started and users.has_cookies:
        parts.append(
            f"{visits.new_users:,} by new users, {visits.returning_users:,} by returning ones"
        )
    return "; ".join(parts)


def client_text(outcome: LoadOutcome) -> str:
    """Return what the client itself used."""
    measurement = outcome.measurement
    share = client_cpu_share(measurement)
    text = f"{format_duration(measurement.client_cpu_s)} CPU, {share} of one core"
    return f"{text} of {outcome.host.n_cpus}"


def client_cpu_share(measurement: Measurement) -> str:
    """Return which part of a core the client used."""
    return format_percent(
        measurement.client_cpu_s / measurement.total_s if measurement.total_s else 0.0
    )


# How far the figures of a load test may be off, and where its warm-up ended.


def summary_of(outcome: LoadOutcome) -> Summary:
    """Return the figures with their intervals, or the reasons why there are none."""
    measurement = outcome.measurement
    return _summary(
        measurement.batches, measurement.measured_s, measurement.latency, measurement.censored
    )


@lru_cache(maxsize=8)
def _summary(
    batches: Batches, measured_s: float, latency: HistogramData, censored: HistogramData
) -> Summary:
    """Return it once for all reports of a test: it takes a tenth of a second."""
    return summarise(batches, measured_s=measured_s, latency=latency, censored=censored)


def half_width_text(outcome: LoadOutcome) -> str:
    """Return how far the throughput may be off, such as `9.1/s`; empty where nobody knows.

    It is that of the whole measured part; where a warm-up was cut, `warm_up_text` has the rest's.
    """
    summary = summary_of(outcome)
    rate = summary.throughput_per_s
    if rate.low is None or rate.high is None or summary.warm_up.n_cut:
        return ""
    return format_rate((rate.high - rate.low) / 2, toward="up")


def no_interval_text(outcome: LoadOutcome) -> str:
    """Return why the throughput has no interval; empty where it has one, or no value."""
    rate = summary_of(outcome).throughput_per_s
    return _why(rate.reason) if rate.low is None and rate.value else ""


def warm_up_text(outcome: LoadOutcome) -> str:
    """Return what the test shows without its warm-up; empty where none, or nothing else, is."""
    summary = summary_of(outcome)
    if not summary.warm_up.n_cut or not summary.throughput_per_s.value:
        return ""
    cut = format_duration(summary.warm_up.cut_s)
    rate = summary.throughput_per_s
    figures = [bounded_text(rate.value or 0.0, (rate.low, rate.high), format_rate)]
    figures += [
        f"{name} {format_duration(each.value)}"
        for name, each in summary.latency_s.items()
        if name in {"p50", "p99"} and each.value is not None
    ]
    return f"the first {cut} are unlike the rest; without them {', '.join(figures)}"


def unsteady_text(outcome: LoadOutcome) -> str:
    """Return why no part of the test is steady; empty where one is."""
    return _why(summary_of(outcome).warm_up.reason)


def interval_grid(outcome: LoadOutcome) -> Grid:
    """Return each figure with its interval, or the reason why there is none."""
    summary = summary_of(outcome)
    confidence = f"{summary.throughput_per_s.confidence * 100:g} % interval"
    rows = [_row("throughput", summary.throughput_per_s, format_rate)]
    rows += [_row(name, each, format_duration) for name, each in summary.latency_s.items()]
    note = _why(summary.warm_up.test)
    return Grid(head=("", "value", confidence), rows=rows, text_columns=3, note=note)


def _why(reason: Reason | None) -> str:
    return "" if reason is None else message.text(reason)


def _row(name: str, estimate: Estimate, text: Format) -> tuple[str, ...]:
    if estimate.value is None:
        return (name, NOTHING, f"none: {_why(estimate.reason)}")
    mark = "≥ " if estimate.is_lower_bound else ""
    interval = _bounds(estimate, text) or f"none: {_why(estimate.reason)}"
    return (name, f"{mark}{text(estimate.value)}", interval)


def _bounds(estimate: Estimate, text: Format) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return format_bounds(estimate.low, estimate.high, text)
