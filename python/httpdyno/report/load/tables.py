"""The tables of a load test's summary, as names and cells: text and page show the same ones."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from httpdyno.load.entrance import n_entered
from httpdyno.model import HistogramData, LoadOutcome, Measurement, Portion, Workload
from httpdyno.report.shared.distribution import (
    FIGURE_NAMES,
    MIN,
    censored_service_time,
    figure,
    figures,
    time_text,
)
from httpdyno.report.shared.phrase import NOTHING, plural
from httpdyno.stats.histogram import count, mean_s
from httpdyno.units import format_bytes, format_duration, format_percent

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """A table: names of columns, then rows whose first cell is the row's name."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = field(default=())
    note: str = ""
    fold_at: int = 0
    """Before which column it is best broken, where it is too wide; 0 for none."""


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
        rows=tuple(tuple(row[i] for i in kept) for row in rows),
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
    return replace(table, rows=(*table.rows, counts))


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
    ratio = measurement.client_cpu_s / measurement.total_s if measurement.total_s else 0.0
    text = f"{format_duration(measurement.client_cpu_s)} CPU, {format_percent(ratio)} of one core"
    return f"{text} of {outcome.host.n_cpus}"
