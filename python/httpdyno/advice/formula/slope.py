"""What measured pairs say of respawning children and of growing ones: fits with intervals."""

import math
from collections.abc import Sequence

import numpy as np

from httpdyno.advice.curve.pool import CONFIDENCE, respawn_line
from httpdyno.advice.formula.declaration import (
    HANDOUT,
    AsPrinted,
    Fitted,
    Formula,
    Input,
    Requirement,
    Step,
)
from httpdyno.advice.formula.quantity import write
from httpdyno.errors import UsageError
from httpdyno.stats.dependence import Floats
from httpdyno.stats.least_squares import LineFit, fit_line
from httpdyno.stats.saturation import Saturation, fit_saturation

_SURE = "95 % confidence"

_LEAST_PAIRS = 4
"""Of sizes: a curve that levels off has three figures."""
_UNTOLD = "whether it leaks besides cannot be told"

Pairs = Sequence[tuple[float, float]]


def _respawn(pairs: Pairs) -> Fitted:
    n, per_s = _columns(pairs, "seen")
    if len(set(n)) < 2 or n.min() < 1:  # noqa: PLR2004 - a line takes two points
        raise UsageError(
            "`--seen` needs rates at two limits or more, each 1 or more",
            hint="Such as `--seen 5=2.83,5000=28`.",
        )
    line = respawn_line(n.tolist(), per_s.tolist())
    return Fitted(
        values={"serve": line.intercept, "spawn": line.slope},
        working=(
            f"1/rps = serve + spawn/n, least squares of relative errors over {len(n)} pairs",
            f"serve = {_between(line.intercept, line.intercept_low, line.intercept_high)}",
            f"spawn = {_between(line.slope, line.slope_low, line.slope_high)}",
            *(
                f"n = {limit:,.0f}: measured {write(rate, 'rate')}, the fit gives "
                f"{write(1 / (line.intercept + line.slope / limit), 'rate')}"
                for limit, rate in zip(n, per_s, strict=True)
            ),
        ),
        caveats=() if len(n) > 2 else ("two pairs give a line and no interval",),  # noqa: PLR2004
        figures=_line_ends(line),
    )


def _line_ends(line: LineFit) -> dict[str, float | None]:
    ends = {
        "serve_low": line.intercept_low,
        "serve_high": line.intercept_high,
        "spawn_low": line.slope_low,
        "spawn_high": line.slope_high,
    }
    return {name: _finite(end) for name, end in ends.items()}


def _between(value: float, low: float, high: float) -> str:
    text = write(value, "duration")
    if not math.isfinite(high):
        return text
    ends = f"{write(max(0.0, low), 'duration')} … {write(high, 'duration')}"
    return f"{text} ({ends}; {_SURE})"


def _unsharing(pairs: Pairs) -> Fitted:
    n, size = _columns(pairs, "seen")
    if len(set(n)) < _LEAST_PAIRS:
        raise UsageError(
            f"`--seen` needs sizes at {_LEAST_PAIRS} counts of requests or more",
            hint="Such as `--seen 0=350kB,25=8.6MB,150=19.3MB,525=20.4MB`.",
        )
    if size.min() == size.max():
        return _still(n, size)
    level = fit_saturation(n, size, has_slope=False, confidence=CONFIDENCE)
    slope = fit_saturation(n, size, has_slope=True, confidence=CONFIDENCE)
    figures: dict[str, float | None] = {
        "leak_low": _finite(slope.low),
        "leak_high": _finite(slope.high),
        "level_low": None,
        "level_high": None,
    }
    if slope.low > 0 and math.isfinite(slope.high):
        return _leaking(slope, n, size, figures)
    if level.n_scale > n.max() / 2:
        return _unbent(n, size, figures)
    figures |= {"level_low": _finite(level.low), "level_high": _finite(level.high)}
    ends = ""
    if math.isfinite(level.high):
        ends = f" ({_size(level.low)} … {_size(level.high)}; {_SURE})"
    if math.isfinite(slope.high):
        leak = f"no leak is proven: {_size(slope.low)} … {_size(slope.high)} a request, {_SURE}"
    elif len(set(n)) == _LEAST_PAIRS:
        leak = f"{_UNTOLD}: that takes five counts or more"
    else:
        leak = f"{_UNTOLD}: that takes counts further beyond the bend"
    return Fitted(
        values=_values(level.start, level.level, level.n_scale),
        working=_fit_lines("a + b (1 − e^(−n/c))", level, n, size),
        answer=f"unsharing ends at {{level}}{ends}, 95 % of it after {{done}} requests; {leak}",
        figures=figures,
    )


def _leaking(
    curve: Saturation, n: Floats, size: Floats, figures: dict[str, float | None]
) -> Fitted:
    ends = f"{_size(curve.low)} … {_size(curve.high)}; {_SURE}"
    return Fitted(
        values=_values(curve.start, curve.level, curve.n_scale, curve.slope),
        working=_fit_lines("a + b (1 − e^(−n/c)) + d n", curve, n, size),
        answer=f"it leaks {{leak}} a request ({ends}), beside {{level}} that are unshared, "
        "95 % of them after {done} requests: {at_limit} after {limit}",
        figures=figures,
    )


def _still(n: Floats, size: Floats) -> Fitted:
    """Return that it stays the same: of a curve that does not rise no figure means anything."""
    ends = ("leak_low", "leak_high", "level_low", "level_high")
    return Fitted(
        values=_values(float(size.max()), float(size.max()), 0.0),
        working=(f"{len(n)} pairs, and all are {_size(float(size.max()))}",),
        answer=f"it has not grown by {n.max():,.0f} requests: {{level}}",
        figures=dict.fromkeys(ends),
    )


def _unbent(n: Floats, size: Floats, figures: dict[str, float | None]) -> Fitted:
    """Return a straight line: what may be slow unsharing or a leak, and is taken for the worse.

    Unless chance alone may have made it rise.
    """
    line = fit_line(n, size, np.ones_like(n), confidence=CONFIDENCE)
    if line.slope_low <= 0:
        ends = f"{_size(line.slope_low)} … {_size(line.slope_high)}"
        return Fitted(
            values=_values(float(size.max()), float(size.max()), float(n.max())),
            working=(
                f"a straight line over {len(n)} pairs: d = {_size(line.slope)} a request ({ends}; "
                f"{_SURE})",
            ),
            answer=f"no growth is proven by {n.max():,.0f} requests: {ends} a request, {_SURE}; "
            "{level} at most so far",
            figures=figures,
        )
    return Fitted(
        values=_values(line.intercept, line.intercept, float(n.max()), max(0.0, line.slope)),
        working=(
            f"a straight line over {len(n)} pairs: a = {_size(line.intercept)}, "
            f"d = {_size(line.slope)} a request",
        ),
        answer=f"it grows by {{leak}} a request and has not levelled off by {n.max():,.0f}: slow "
        "unsharing or a leak, which cannot be told apart yet; measure further",
        figures=figures,
    )


def _values(start: float, level: float, n_scale: float, leak: float = 0.0) -> dict[str, float]:
    return {"start": start, "level": level, "n_scale": n_scale, "leak": leak}


def _fit_lines(form: str, curve: Saturation, n: Floats, size: Floats) -> tuple[str, ...]:
    leak = f", d = {_size(curve.slope)} a request" if curve.slope else ""
    return (
        f"{form}, least squares over {len(n)} pairs",
        f"a = {_size(curve.start)}, b = {_size(curve.rise)}, "
        f"c = {write(curve.n_scale, 'number')} requests{leak}",
        *(
            f"n = {count:,.0f}: measured {_size(seen)}, the fit gives {_size(curve.at(count))}"
            for count, seen in zip(n, size, strict=True)
        ),
    )


def _columns(pairs: Pairs, name: str) -> tuple[Floats, Floats]:
    n = np.array([pair[0] for pair in pairs], dtype=float)
    figures = np.array([pair[1] for pair in pairs], dtype=float)
    if not figures.all():
        raise UsageError(f"`--{name}` has a figure of 0", hint="Leave out what did not answer.")
    return n, figures


def _size(value: float) -> str:
    return write(value, "size")


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


_RESPAWN = Formula(
    name="respawn",
    title="What respawning children costs",
    question="How many requests must a child serve before its start no longer costs much?",
    inputs=(
        Input(
            name="seen",
            kind="rate by count",
            meaning="Rates measured at some values of MaxConnectionsPerChild; may be repeated",
            example="5=2.83,10=5.47,20=8.92,5000=28.01",
        ),
        Input(
            name="loss",
            kind="share",
            meaning="The share of the rate that may be lost to it",
            example="5%",
            default="5%",
        ),
    ),
    expression="1/rps = serve + spawn/n; n = spawn × (1 − loss) / (serve × loss)",
    requires=(
        Requirement(
            expression="1 - loss",
            complaint="a loss of {loss} leaves nothing",
            blames="loss",
        ),
    ),
    fit=_respawn,
    fitted=(
        Step(
            name="serve",
            expression="the fit's value at 1/n = 0",
            kind="duration",
            meaning="The server's time for a request, without respawning",
        ),
        Step(
            name="spawn",
            expression="the fit's slope over 1/n",
            kind="duration",
            meaning="The server's time for a child's end and the next one's start",
        ),
    ),
    steps=(
        Step(
            name="most",
            expression="1 / serve",
            kind="rate",
            meaning="The rate without respawning",
        ),
        Step(
            name="limit",
            expression="ceil(spawn * (1 - loss) / (serve * loss))",
            kind="count",
            meaning="MaxConnectionsPerChild that loses that share",
        ),
        Step(
            name="at_one",
            expression="1 / (serve + spawn)",
            kind="rate",
            meaning="The rate with a process for each request",
        ),
    ),
    answer="MaxConnectionsPerChild {limit} or more loses at most {loss} of {most}",
    printed=(
        AsPrinted(
            source=f"{HANDOUT}, 2.22.1",
            text="2.83, 5.47, 8.92 and 28.01/s with 5, 10, 20 and 5,000 requests for each child",
            printed="the table without a fit",
            verdict="unsupported",
            remark="It follows 1/rps = 0.035 s + 1.53 s / n within 4 %; one request for each child "
            "would give 0.64/s, less than the 1.14/s of its mod_cgi",
        ),
    ),
    caveats=(
        "the times are those of the whole server: with other cores or another start measure again",
        "a limit bounds what a leak may grow to: see `unsharing` for the other side",
    ),
)

_UNSHARING = Formula(
    name="unsharing",
    title="Unsharing and leaks",
    question="Does a child's private memory level off, or does it leak?",
    inputs=(
        Input(
            name="seen",
            kind="size by count",
            meaning="Private memory of a child after so many requests; may be repeated",
            example="0=350kB,25=8.6MB,150=19.3MB,525=20.4MB",
        ),
        Input(
            name="limit",
            kind="count",
            meaning="Requests of a child's life, for what it comes to",
            example="",
            default="1000",
        ),
    ),
    expression="private = a + b × (1 − e^(−n/c)) [+ d × n]",
    fit=_unsharing,
    fitted=(
        Step(
            name="start",
            expression="a of the fit; `level` where it has no bend",
            kind="size",
            meaning="Private memory of a child that has served nothing yet",
        ),
        Step(
            name="level",
            expression="a + b of the fit",
            kind="size",
            meaning="Private memory when all is unshared that ever is",
        ),
        Step(
            name="n_scale",
            expression="c of the fit",
            kind="number",
            meaning="Requests after which 63 % of it is done",
        ),
        Step(
            name="leak",
            expression="d of the fit; 0 where it is not proven",
            kind="size",
            meaning="What each request adds for good",
        ),
    ),
    steps=(
        Step(
            name="done",
            expression="ceil(3 * n_scale)",
            kind="count",
            meaning="Requests after which 95 % of it is done",
        ),
        Step(
            name="at_limit",
            expression="level + leak * limit",
            kind="size",
            meaning="Private memory at the end of a child's life, at most",
        ),
    ),
    answer="{level} after {done} requests",
    printed=(
        AsPrinted(
            source=f"{HANDOUT}, 2.22.4 and 2.22.7",
            text="shared and largest size as constants",
            printed="MaxRequestsPerChild as large as possible",
            verdict="unsupported",
            remark="What is shared falls with each request served: MaxClients and "
            "MaxRequestsPerChild are one question",
        ),
    ),
    caveats=(
        "take private memory (Private_* in smaps_rollup), not RSS: RSS grows also by touching "
        "pages that stay shared",
        "what is proven of one child under one load need not hold for others",
    ),
)

FORMULAS = (_RESPAWN, _UNSHARING)
