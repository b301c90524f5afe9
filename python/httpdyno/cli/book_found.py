"""What one way of an experiment came to, and what all ways share."""

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from httpdyno.book.experiment import Experiment, Word
from httpdyno.book.rule import borders, judged
from httpdyno.catalog import open_study
from httpdyno.cli.standard_streams import tell
from httpdyno.errors import AdapterError, TargetError
from httpdyno.experiment.one_start import Up, one_server
from httpdyno.host.runnable import own_program
from httpdyno.model import Level, RatioInterval, Study
from httpdyno.registry import load_target
from httpdyno.stats.sequence import ratio_interval
from httpdyno.stats.verdict import holds_border
from httpdyno.units import format_number

CONFIDENCE = 0.95
FEWEST = 6
"""Runs below which nothing is claimed; as with starts."""
_MOST = 200
_MOST_BAD = 2
"""Runs that are tried again; more that fail are no chance."""
_MANY = 100
_COMMAND_S = 120.0
_PIN = (
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9, 0, 0, 0); "
    "os.getppid() == int(sys.argv[1]) or os._exit(1); "
    "os.sched_setaffinity(0, {int(sys.argv[2])}); os.execv(sys.argv[3], sys.argv[3:])"
)
"""It is killed with this process, `PR_SET_PDEATHSIG`: nobody else would end a busy loop."""

Watch = Callable[[str], None]
"""Is told what is being done, many times."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """What one way came to."""

    word: Word
    says: str
    version: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """Of the result: `ratio`, `low`, `high`, `count`, `n_starts`, `moved`, `run_id`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """One experiment, and what running it may take."""

    each: Experiment
    budget_s: float
    seed: int
    watch: Watch = lambda _words: None


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
            tell(f"a run is tried again: {error}")
            continue
        longest_s = max(longest_s, clock() - began_s)
        if min(values) > 0:
            interval = ratio_interval([math.log(v) for v in values], confidence=CONFIDENCE)
        is_clear = interval is not None and not holds_border(interval, edges)
        is_over = len(values) >= _MOST or clock() + longest_s > end_s
        if len(values) >= FEWEST and (is_clear or is_over or min(values) <= 0):
            return values, interval if min(values) > 0 else None


def told(each: Experiment, values: list[float], interval: RatioInterval | None) -> Word:
    """Return what becomes of a ratio that a series measured."""
    if interval is not None and interval.low > 0:
        low, high = interval.low, interval.high
    elif max(values) <= 0:
        # Nothing at all in each run has no logarithm, but lies beyond all borders on that side.
        low = high = sys.float_info.min
    else:
        return "cannot tell"
    return judged(each.then, low, high, is_artefact=bool(each.artefact))


def ratio_figures(values: list[float], interval: RatioInterval | None) -> dict[str, Any]:
    """Return the figures of a series, as a result has them."""
    figures: dict[str, Any] = {"n_starts": len(values)}
    if interval is not None:
        high = interval.high if interval.high < math.inf else None
        figures |= {"ratio": interval.ratio, "low": interval.low, "high": high}
    return figures


def bounds_text(interval: RatioInterval, n: int, what: str) -> str:
    """Return `0.97 × (0.95 … 0.99; 6 starts)`."""
    high = ratio_text(interval.high) if interval.high < math.inf else "∞"
    return f"{ratio_text(interval.ratio)} × ({ratio_text(interval.low)} … {high}; {n} {what})"


def study_here(name: str) -> Study:
    """Return a bundled study whose server is here.

    Raises:
        AdapterError: Something that it needs is missing.
    """
    study = open_study(name)
    missing = load_target(study).missing(study.server)
    if missing:
        raise AdapterError(
            f"study {name} cannot run here: {'; '.join(missing)}",
            hint="`httpdyno doctor` says what each bundled study needs",
        )
    return study


def server_of(study: Study, at: Mapping[str, Level]) -> AbstractContextManager[Up]:
    """Return a fresh server of a study, alone, with these knobs not as it starts."""
    return one_server(load_target(study), study, study.start_configuration().with_values(at))


def version_of(study: Study) -> str:
    """Return what the study's server says of itself."""
    return load_target(study).version(study.server, Path(study.folder))


def ratio_text(value: float) -> str:
    """Return a ratio in three digits."""
    return f"{value:.3g}"


def number_text(value: float) -> str:
    """Return a number per second, or of bytes."""
    return format_number(value, 0 if value >= _MANY else 1)


def pinned(cpu: int, command: Sequence[str]) -> list[str]:
    """Return a command that runs on one core, as all that it begins, and ends with this process.

    Raises:
        AdapterError: Its program is not installed, or others than this user may write it.
    """
    # Before the program begins: what it begins itself inherits it.
    own = own_program(command[0])
    return [sys.executable, "-I", "-S", "-c", _PIN, f"{os.getpid()}", f"{cpu}", own, *command[1:]]


def output_of(command: Sequence[str], *, may_fail: bool = False) -> str:
    """Return what a command says on stdout; it is ended where it takes too long.

    Args:
        command: Program and arguments.
        may_fail: Whether one that said something may end as failed.

    Raises:
        TargetError: It did not run, failed, or took too long.
    """
    try:
        done = subprocess.run(  # noqa: S603 - our own commands
            command, capture_output=True, text=True, timeout=_COMMAND_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TargetError(f"`{command[0]}` did not end well: {error}") from error
    if done.returncode and not (may_fail and done.stdout):
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise TargetError(f"a command ended with {done.returncode}: {''.join(last)}")
    return done.stdout
