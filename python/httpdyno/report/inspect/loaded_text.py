"""What was seen of a server under load, as rows of its paragraph."""

import statistics
from collections.abc import Iterator

from httpdyno.advice.curve import ALIKE_RATIO, MOST_LOST_RATIO, HighWater, LifeRow, PrivateCurve
from httpdyno.report.inspect.loaded import Loaded
from httpdyno.report.inspect.loaded_beside import beside_rows
from httpdyno.report.shared import message
from httpdyno.report.shared.bottleneck import WHAT_LIMITED, WHAT_MAY_HELP, verdict_rows
from httpdyno.report.shared.phrase import oxford, plural
from httpdyno.report.shared.unseen import COUNTERS
from httpdyno.telemetry.observed import WorkerReading
from httpdyno.units import (
    format_bounds,
    format_bytes,
    format_duration,
    format_percent,
    format_rate,
)

LOADED_LABELS = (
    *("loaded", WHAT_LIMITED, WHAT_MAY_HELP),
    *("looks", "aged", "growth", "unshares", "life", "together", "fattens"),
)
_N_AGES = 6


def loaded_rows(loaded: Loaded) -> Iterator[tuple[str, str]]:
    """Yield what is said of a load and of the looks beside it."""
    yield "loaded", _load(loaded)
    if loaded.look is not None and loaded.bottleneck is not None:
        yield from verdict_rows(loaded.look, loaded.bottleneck)
    yield "looks", _looks(loaded)
    yield from beside_rows(loaded)
    if ages := _ages(loaded.seen.readings):
        since = "" if loaded.seen.counted_by == "status page" else " since the first look"
        yield "aged", f"own by requests{since}: {ages}"
    yield "growth", _growth(loaded)
    if loaded.growth.curve is not None and loaded.growth.curve.rise_bytes > 0:
        yield "unshares", _unshares(loaded.growth.curve)
    if loaded.lives:
        yield "life", _lives(loaded)
    if loaded.joint is not None:
        yield "together", _joint(loaded.joint)
    if loaded.high_water:
        yield "fattens", oxford([_step(each) for each in loaded.high_water])


def _load(loaded: Loaded) -> str:
    rate = format_rate(loaded.n_completed / loaded.seconds) if loaded.seconds > 0 else ""
    return (
        f"{oxford(loaded.urls)} for {format_duration(loaded.seconds)} over "
        f"{plural(loaded.connections, 'connection')}: {loaded.n_completed:,} right answers, "
        f"{rate}, {plural(loaded.n_errors, 'error')}"
    )


def _looks(loaded: Loaded) -> str:
    seen = loaded.seen
    share = seen.looks_cost_s / loaded.seconds if loaded.seconds > 0 else 0.0
    born = f", of which {seen.n_born:,} came meanwhile" if seen.n_born else ""
    return (
        f"{plural(len(seen.readings), 'reading')} of {plural(len(seen.of_workers()), 'worker')}"
        f"{born}, for {format_percent(share)} of a core; requests of each by "
        f"{COUNTERS[seen.counted_by]}"
    )


def _ages(readings: tuple[WorkerReading, ...]) -> str:
    """Return medians over readings of about the same age: that of the workers' own sizes."""
    ordered = sorted(readings, key=lambda each: each.n_requests)
    if len(ordered) < 2 * _N_AGES:
        return ""
    size = len(ordered) / _N_AGES
    said = []
    for k in range(_N_AGES):
        part = ordered[round(k * size) : round((k + 1) * size)]
        n = statistics.median(each.n_requests for each in part)
        own = statistics.median(each.uss_bytes for each in part)
        said.append(f"{n:,.0f} {format_bytes(own)}")
    return ", ".join(said)


def _growth(loaded: Loaded) -> str:
    growth = loaded.growth
    word = {"leak": "a leak", "cannot_tell": "cannot tell yet"}.get(growth.verdict, growth.verdict)
    more = growth.more_requests
    advice = f"; look on for {more:,} more requests of each worker" if more else ""
    return f"{word}: {message.text(growth.reason)}{advice}"


def _unshares(curve: PrivateCurve) -> str:
    ends = ""
    if curve.rise_low_bytes is not None and curve.rise_high_bytes is not None:
        low, high = format_bytes(curve.rise_low_bytes), format_bytes(curve.rise_high_bytes)
        ends = f" ({low} … {high}, 95 % over workers)"
    return (
        f"from {format_bytes(curve.start_bytes)} by {format_bytes(curve.rise_bytes)}{ends}, 95 % "
        f"of it after {curve.n_risen:,} requests"
    )


def room_at_end(loaded: Loaded) -> Iterator[str]:
    """Yield for each configured life how many workers fit at the end of it."""
    for life in dict.fromkeys((each.n, each.unit) for each in loaded.configured):
        n, unit = life
        names = oxford([each.setting for each in loaded.configured if (each.n, each.unit) == life])
        row = next((each for each in loaded.lives if each.n_requests == n), None)
        if n is None:
            own = f"u of a worker that nothing ends ({names} 0)"
        else:
            own = f"u at the age where {names} ends it ({n:,} {unit})"
        if row is None:
            yield f"{own} is not known, since its growth is not"
        elif row.each_bytes is None:
            yield f"{own} has no bound: it leaks"
        else:
            yield f"{_fit(row)} with {own}, {format_bytes(row.each_bytes)} with the kernel's part"


def _lives(loaded: Loaded) -> str:
    told = [
        after
        for before, after in zip((None, *loaded.lives), loaded.lives, strict=False)
        if before is None
        or after.configured
        or _has_cost(loaded)
        or before.n_workers != after.n_workers
    ]
    rows = "; ".join(_life(each) for each in told)
    if told[-1] is not loaded.lives[-1]:
        rows += ", and as many of any longer life"
    connections = [each.setting for each in loaded.configured if each.unit == "connections"]
    kept = (
        f"; {oxford(connections)} counts connections, here taken for a request each: of one that "
        "is kept alive a worker serves several"
        if connections and any(each.n for each in loaded.configured)
        else ""
    )
    return (
        f"{rows}; with {format_bytes(loaded.reserve_bytes)} in reserve{kept}; {_respawning(loaded)}"
    )


def _respawning(loaded: Loaded) -> str:
    cost = loaded.respawn
    if cost is None:
        return "what respawning costs is not known (`--respawn`)"
    ends = ""
    if cost.spawn_low_s is not None and cost.spawn_high_s is not None:
        low, high = max(0.0, cost.spawn_low_s), max(0.0, cost.spawn_high_s)
        ends = f" ({format_bounds(low, high, format_duration)}, 95 %)"
    return (
        f"of the server's time the end of a worker and the next one's birth take "
        f"{format_duration(cost.spawn_s)}{ends}, a request {format_duration(cost.serve_s)}"
    )


def _joint(row: LifeRow) -> str:
    lives = "for good" if row.n_requests is None else f"for {row.n_requests:,} requests"
    return (
        f"{_fit(row)} that live {lives} each: the most that fit of lives whose births take "
        f"{format_percent(MOST_LOST_RATIO)} of the rate at most, or as good as that "
        f"({format_percent(ALIKE_RATIO)}) and longer"
    )


def _has_cost(loaded: Loaded) -> bool:
    return any(each.kept_ratio is not None for each in loaded.lives)


def _life(row: LifeRow) -> str:
    name = "for good" if row.n_requests is None else f"{row.n_requests:,} requests"
    if row.configured:
        name += f" (as configured: {oxford(row.configured)})"
    if row.each_bytes is None:
        return f"{name} no bound: it leaks"
    kept = "" if row.kept_ratio is None else f" at {format_percent(row.kept_ratio)} of the rate"
    return f"{name} {_fit(row)} of {format_bytes(row.each_bytes)}{kept}"


def _fit(row: LifeRow) -> str:
    return "any number" if row.n_workers is None else plural(row.n_workers, "worker")


def _step(each: HighWater) -> str:
    sign = "−" if each.step_bytes < 0 else "+"
    return f"{each.url} {sign}{format_bytes(abs(each.step_bytes))}"
