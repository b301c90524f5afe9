"""Commands run on fresh servers, one after the other, until the word of their figure is told."""

import math
import random
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from fnmatch import fnmatchcase

from httpdyno.book.count import counted
from httpdyno.book.experiment import Experiment, Script, Seen, Then, Word
from httpdyno.book.figures import figures_of
from httpdyno.book.found import (
    CONFIDENCE,
    Asked,
    Found,
    bounds_text,
    interval_figures,
    number_text,
    server_of,
    study_here,
    version_of,
)
from httpdyno.book.rule import borders, judged
from httpdyno.errors import TargetError
from httpdyno.model import RatioInterval, Study
from httpdyno.report.shared.message import error_text
from httpdyno.stats.sequence import ratio_interval
from httpdyno.stats.verdict import holds_border
from httpdyno.units import format_duration, format_percent

FEWEST = 6
"""Runs below which nothing is claimed; as with starts."""
_MOST = 200
_MOST_BAD = 2
"""Runs that are tried again; more that fail are no chance."""
_SEEDS = 1 << 32
_SECONDS = re.compile(r"(?<!_per)_s(\.|$)")

Run = Mapping[str, float]
"""Figures of all commands on one fresh server, as `COMMAND.FIGURE`."""


def script(asked: Asked, way: Script) -> Found:
    """Return what the commands' figure came to.

    Raises:
        AdapterError: The study's server is not here, or does not come up.
        TargetError: More than two runs gave no figure.
    """
    study = study_here(way.study) if way.study else None
    draw = random.Random(asked.seed)
    runs: list[Run] = []

    def one(number: int) -> float:
        run = _run(way, study, draw, (asked.seed + number) % _SEEDS)
        value = _value(run, way.figure)
        # Of whole runs only: one that failed on the way counts for nothing.
        runs.append(run)
        return value

    server = version_of(study) if study else ""
    if asked.each.then.count is not None:
        n = one(0)
        figures = {"count": n}
        words = f"{n:g} {way.says}"
        return Found(verdict=counted(asked.each, n), says=words, server=server, figures=figures)
    values, interval = series_of(asked, one)
    return Found(
        verdict=told(asked.each, values, interval),
        says=_says(way, runs, values, interval),
        server=server,
        figures={
            "n_starts": len(values),
            **(interval_figures(interval) if interval else {}),
            "evidence": tuple(_seen(asked.each, each, runs) for each in way.seen),
        },
    )


def _run(way: Script, study: Study | None, draw: random.Random, seed: int) -> Run:
    """Return the figures of all commands, in an order drawn, on one fresh server."""
    with ExitStack() as stack:
        places = {"seed": f"{seed}"}
        if study is not None:
            up = stack.enter_context(server_of(study, way.at))
            places["server"] = f"http://{up.running.addresses[0]}"
            places["url"] = places["server"] + study.workload.requests[0].path
        run: dict[str, float] = {}
        for name in draw.sample(list(way.commands), len(way.commands)):
            found = figures_of(way.commands[name], places, has_one_core=way.has_one_core)
            run |= {f"{name}.{figure}": value for figure, value in found.items()}
    return run


def _value(run: Run, of: Sequence[str]) -> float:
    """Return a figure, or one over another.

    Raises:
        TargetError: The command has none, or 0 to divide by.
    """
    missing = next((each for each in of if each not in run), "")
    if missing:
        command, _, figure = missing.partition(".")
        raise TargetError(f"{command} got no right answer: it has no {figure}")
    over, under = run[of[0]], run[of[1]] if len(of) > 1 else 1.0
    if not under:
        raise TargetError(f"{of[1].partition('.')[0]} got no right answer")
    return over / under


def series_of(
    asked: Asked,
    one: Callable[[int], float],
    *,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[list[float], RatioInterval | None]:
    """Measure a ratio again and again until its word is told, or the time is over.

    Args:
        asked: Its budget ends the series, but never before the fewest runs.
        one: Measures it on something fresh, by the run's number.
        clock: In seconds.

    Returns:
        What each run came to, and the interval; None where one of them came to nothing.

    Raises:
        TargetError: More than two runs could not be had.
    """
    edges, end_s = borders(asked.each.then), clock() + asked.budget_s
    values: list[float] = []
    interval, longest_s, n_bad = None, 0.0, 0
    while True:
        began_s = clock()
        left = max(0.0, end_s - began_s)
        asked.watch(f"run {len(values) + 1} of at least {FEWEST}, at most {left:.0f} s more")
        try:
            values.append(one(len(values)))
        except TargetError as error:
            n_bad += 1
            if n_bad > _MOST_BAD:
                raise
            asked.host.tell(f"a run is tried again: {error_text(error)}")
            continue
        longest_s = max(longest_s, clock() - began_s)
        interval = _interval(values)
        is_clear = interval is not None and not holds_border(interval, edges)
        is_over = len(values) >= _MOST or clock() + longest_s > end_s
        if len(values) >= FEWEST and (is_clear or is_over or min(values) <= 0):
            return values, interval


def _interval(values: Sequence[float]) -> RatioInterval | None:
    if min(values) <= 0:
        return None
    return ratio_interval([math.log(each) for each in values], confidence=CONFIDENCE)


def told(each: Experiment, values: Sequence[float], interval: RatioInterval | None) -> Word:
    """Return what becomes of a ratio that a series measured."""
    if interval is not None and interval.low > 0:
        low, high = interval.low, interval.high
    elif max(values) <= 0:
        # Nothing at all in each run has no logarithm, but lies beyond all borders on that side.
        low = high = sys.float_info.min
    else:
        return "cannot tell"
    return judged(each.then, low, high, is_artefact=bool(each.artefact))


def _says(
    way: Script, runs: Sequence[Run], values: Sequence[float], interval: RatioInterval | None
) -> str:
    n = f"{len(values)} {'fresh servers' if way.study else 'runs'}"
    ratio = bounds_text(interval, f"; {n}") if interval else f"{_mean(values):.3g} × ({n})"
    words = f"{way.says} {ratio}"
    if len(way.figure) == 1:
        return words
    both = " and ".join(_text(name, _mean([run[name] for run in runs])) for name in way.figure)
    return f"{words}: {both}"


def _seen(each: Experiment, seen: Seen, runs: Sequence[Run]) -> str:
    """Return figures beside the one that is judged, in words: means of all runs."""
    if len(seen.of) > 1:
        ratios = [_value(run, seen.of) for run in runs]
        interval = _interval(ratios)
        words = bounds_text(interval) if interval else "nothing that so few runs bound"
        if seen.then is not None:
            then = Then(says="", ratio=seen.then)
            low, high = (interval.low, interval.high) if interval else (0.0, 0.0)
            word = judged(then, low, high, is_artefact=bool(each.artefact)) if low > 0 else ""
            words += f", {seen.then:.3g} × then" + (f": {word}" if word else "")
        return f"{seen.says} {words}"
    [pattern] = seen.of
    names = dict.fromkeys(name for run in runs for name in run if fnmatchcase(name, pattern))
    before, star, after = pattern.partition("*")
    parts = []
    for name in sorted(names, key=_order) if star else names:
        known = [run[name] for run in runs if name in run]
        value = max(known) if name.endswith(".max") else sum(known) / len(runs)
        label = f"{name[len(before) : len(name) - len(after)]}: " if star else ""
        parts.append(f"{label}{_text(name, value)}")
    return f"{seen.says} {', '.join(parts) or 'none'}"


def _order(name: str) -> tuple[float, str]:
    """Return numbers by size, before words."""
    digits = "".join(filter(str.isdecimal, name))
    return (float(digits) if digits else math.inf, name)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _text(name: str, value: float) -> str:
    """Return a figure in the unit that its name says."""
    if name.endswith("_ratio"):
        return format_percent(value)
    return format_duration(value) if _SECONDS.search(name) else number_text(value)
