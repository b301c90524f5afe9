"""What the engine saw of a window, as a measurement: the one place where it is converted."""

from enum import Enum, auto

from httpdyno import _native
from httpdyno.model import (
    Batches,
    Cycles,
    HistogramData,
    LiveLoad,
    Measurement,
    Pages,
    Phases,
    Portion,
    Trace,
    Visits,
)
from httpdyno.model.measurement import (
    NO_BATCHES,
    NO_PAGES,
    NO_PHASES,
    NO_TRACE,
    NO_VALUES,
    NO_VISITS,
)


class Detail(Enum):
    """How much of a window is converted."""

    WINDOW = auto()
    """What a comparison of many windows needs and stores; of each request only counts, and those
    only where some failed."""
    WHOLE = auto()
    """All that one load test has to tell: phases, each request's part, time batches, a trace."""


def measurement(
    result: _native.WindowResult, detail: Detail = Detail.WINDOW, n_users: int = 0
) -> Measurement:
    """Return what one window of so many users saw."""
    is_whole = detail is Detail.WHOLE
    return Measurement(
        opened_s=result.opened_ns / 1e9,
        measured_s=(result.measure_end_ns - result.measure_start_ns) / 1e9,
        total_s=(result.closed_ns - result.opened_ns) / 1e9,
        offered=result.offered,
        completed=result.completed,
        errors=dict(result.errors),
        statuses={str(status): n for status, n in sorted(result.statuses.items())},
        measured_offered=result.measured_offered,
        measured_completed=result.measured_completed,
        measured_errors=result.measured_errors,
        connects=result.connects,
        handshakes_full=result.handshakes_full,
        handshakes_resumed=result.handshakes_resumed,
        bytes_sent=result.bytes_sent,
        bytes_received=result.bytes_received,
        latency=histogram(result.latency),
        service_time=histogram(result.service_time),
        lateness=histogram(result.lateness),
        censored=histogram(result.censored),
        phases=_phases(result) if is_whole else NO_PHASES,
        by_request=tuple(_portion(each) for each in result.by_request)
        if is_whole
        else _counts_by_request(result),
        by_population=_populations(result),
        pages=_pages(result),
        visits=_visits(result),
        series_interval_s=result.series_interval_s,
        series_completed=tuple(result.series_completed),
        series_errors=tuple(result.series_errors),
        series_latency_max_s=tuple(result.series_latency_max_s),
        batches=_batches(result) if is_whole else NO_BATCHES,
        trace=_trace(result) if is_whole else NO_TRACE,
        client_cpu_s=result.client_cpu_s,
        busy_connection_s=result.busy_connection_s,
        cycles=_cycles(result, n_users),
        limited_by=result.limited_by,
        evidence=dict(result.evidence),
    )


def histogram(native: _native.Histogram) -> HistogramData:
    """Return a distribution as sparse buckets."""
    if native.count == 0:
        return NO_VALUES
    bounds_ns, counts = native.buckets()
    return HistogramData(
        bounds_ns=tuple(bounds_ns),
        counts=tuple(counts),
        sum_s=native.sum_s,
        max_s=native.max_s,
    )


def live(run: _native.LoadRun) -> LiveLoad | None:
    """Return the window that is under way, so far; None when there is none."""
    seen = run.live()
    if seen is None:
        return None
    return LiveLoad(
        elapsed_s=seen.elapsed_s,
        offered=seen.offered,
        completed=seen.completed,
        errors=seen.errors,
        in_flight=seen.in_flight,
        latency=histogram(seen.latency),
    )


def _phases(result: _native.WindowResult) -> Phases:
    return Phases(**{name: histogram(each) for name, each in result.phases.items()})


def _portion(part: _native.Part) -> Portion:
    latency = part.latency
    return Portion(
        offered=part.offered,
        completed=part.completed,
        errors=dict(part.errors),
        latency=None if latency is None else histogram(latency),
        bytes_received=part.bytes_received,
    )


def _counts_by_request(result: _native.WindowResult) -> tuple[Portion, ...]:
    """Return what became of each request, where something failed: which one must be said."""
    if not result.measured_errors:
        return ()
    return tuple(
        Portion(
            offered=part.offered,
            completed=part.completed,
            errors=dict(part.errors),
            latency=None,
            bytes_received=part.bytes_received,
        )
        for part in result.by_request
    )


def _populations(result: _native.WindowResult) -> dict[str, Portion]:
    named = sorted(result.by_population.items(), key=lambda each: each[0] != "usual")
    return {name: _portion(part) for name, part in named}


def _pages(result: _native.WindowResult) -> Pages:
    pages = result.pages
    if pages.offered == 0:
        return NO_PAGES
    return Pages(
        offered=pages.offered,
        completed=pages.completed,
        failed=pages.failed,
        time=histogram(pages.time),
        censored=histogram(pages.censored),
    )


def _visits(result: _native.WindowResult) -> Visits:
    counts = result.visits
    return Visits(**counts) if any(counts.values()) else NO_VISITS


def _cycles(result: _native.WindowResult, n_users: int) -> Cycles | None:
    seen = result.cycles
    if seen is None:
        return None
    return Cycles(
        credit=seen["credit"],
        n_users=n_users,
        begun=int(seen["begun"]),
        begun_right=int(seen["begun_right"]),
        begun_s=seen["begun_s"],
        begun_s2=seen["begun_s2"],
        longest_s=seen["longest_s"],
        n_open=int(seen["open"]),
        n_starved=int(seen["starved"]),
        open_credit=seen["open_credit"],
        is_fresh=result.measure_start_ns <= result.opened_ns,
    )


def _batches(result: _native.WindowResult) -> Batches:
    batches = result.batches
    return Batches(
        interval_s=batches.interval_ns / 1e9,
        offered=tuple(batches.offered),
        completed=tuple(batches.completed),
        errors=tuple(batches.errors),
        latency=tuple(histogram(each) for each in batches.latency),
    )


def _trace(result: _native.WindowResult) -> Trace:
    trace = result.trace
    if trace is None:
        return NO_TRACE
    return Trace(
        due_ns=trace.due_ns,
        issued_ns=trace.issued_ns,
        written_ns=trace.written_ns,
        end_ns=trace.end_ns,
        request=trace.request,
        outcome=trace.outcome,
    )
