"""Experiments of the book that count, ask or work out, and the one that times a call."""

import math
import os
import random
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from http.client import HTTPConnection, HTTPException
from typing import NamedTuple

from msgspec import structs

from httpdyno.advice.formula import formulas
from httpdyno.advice.formula.evaluate import work_out
from httpdyno.book.experiment import Arithmetic, Count, Experiment, Said, Stat, Then, Word
from httpdyno.book.rule import judged_count
from httpdyno.cli.book_found import (
    CONFIDENCE,
    Asked,
    Found,
    bounds_text,
    output_of,
    pinned,
    ratio_figures,
    ratio_text,
    series_of,
    server_of,
    study_here,
    told,
    version_of,
)
from httpdyno.errors import TargetError
from httpdyno.experiment.call_count import with_calls
from httpdyno.load.engine import Edge, LoadHandle, start_load
from httpdyno.load.message import WindowPlan
from httpdyno.model import Level, Look, RatioInterval, Study, Workload, level_text
from httpdyno.model.knob import with_load_knobs
from httpdyno.stats.sequence import ratio_interval
from httpdyno.units import format_duration

_WARM_S = 0.5
_ANSWER_S = 10.0
_BEGUN_S = 0.05
_STAT_CALLS = 100_000
_STAT = (
    "use Time::HiRes qw(time clock_gettime CLOCK_PROCESS_CPUTIME_ID); my $n = {n}; "
    "my $used = clock_gettime(CLOCK_PROCESS_CPUTIME_ID); my $began = time; "
    "stat('/foo') for 1..$n; my $passed = time - $began; "
    "$used = clock_gettime(CLOCK_PROCESS_CPUTIME_ID) - $used; "
    "printf '%.12f %.12f', $passed / $n, $used / $n"
)
_LOOP = "1 while 1"


def count(asked: Asked) -> Found:
    """Count system calls of an answer, of one fresh server for each configuration."""
    way = asked.each.way
    assert isinstance(way, Count)  # noqa: S101 - by the table of ways
    study = study_here(way.study)
    look = _calls(asked, study, way.at)
    n, words = _added(look, way.of)
    says = f"{words} for a request, counted over {look.n_traced}"
    found = _counted(asked.each, n, says, version_of(study))
    beside = []
    for each in way.beside:
        other, words = _added(_calls(asked, study, way.at | each.at), each.of)
        knobs = ", ".join(f"{name}={level_text(level)}" for name, level in each.at.items())
        word = "" if asked.each.footing else f": {judged_count(each.then, other)}"
        beside.append(f"{words} with {knobs}, {each.then:g} then{word}")
    return replace(found, figures={**found.figures, "moved": tuple(beside)})


def _calls(asked: Asked, study: Study, at: Mapping[str, Level]) -> Look:
    """Return the system calls of an answer, of one fresh server.

    Raises:
        TargetError: They could not be counted.
    """
    path = asked.each.way.path if isinstance(asked.each.way, Count) else ""
    load = with_load_knobs(study.workload, {"path": path} if path else {})
    with server_of(study, at) as up:

        def start(workload: Workload, window: WindowPlan, on_edge: Edge | None) -> LoadHandle:
            return start_load(
                workload,
                up.running.addresses[:1],
                [window],
                networks=up.running.networks[:1],
                seed=asked.seed,
                on_edge=on_edge,
            )

        start(load, WindowPlan(arm=0, lead_in_s=0.0, measure_s=_WARM_S), None).wait()
        look = with_calls(Look(seconds=0.0, n_samples=0), up.running.root_pids, load, start)
    if look.untraced:
        raise TargetError(f"system calls could not be counted: {look.untraced}")
    return look


def _added(look: Look, kinds: Sequence[str]) -> tuple[float, str]:
    """Return calls of these kinds added up, and each of them in words."""
    n_of = {kind: look.calls.get(kind, 0.0) for kind in kinds}
    return sum(n_of.values()), " + ".join(f"{n:.3g} {kind}" for kind, n in n_of.items())


def said(asked: Asked) -> Found:
    """Ask a fresh server for a number."""
    way = asked.each.way
    assert isinstance(way, Said)  # noqa: S101 - by the table of ways
    study = study_here(way.study)
    with server_of(study, way.at) as up:
        answer = _answer(up.running.addresses[0], way.path)
    number, _, words = answer.strip().partition(" ")
    if not number.isdecimal():
        raise TargetError(f"{way.path} of study {way.study} answers with no number: {number}")
    return _counted(asked.each, float(number), f"{number}: {words}", version_of(study))


def _answer(address: str, path: str) -> str:
    try:
        with closing(HTTPConnection(address, timeout=_ANSWER_S)) as connection:
            connection.request("GET", path)
            return connection.getresponse().read().decode(errors="replace")
    except (OSError, HTTPException) as error:
        raise TargetError(f"{path} got no answer: {error}") from error


def _counted(each: Experiment, n: float, says: str, version: str = "") -> Found:
    if each.then.count is None:
        raise ValueError(f"{each.name} has no count of then")
    word: Word = "not comparable" if each.footing else judged_count(each.then.count, n)
    return Found(word=word, says=says, version=version, figures={"count": n})


def arithmetic(asked: Asked) -> Found:
    """Work out a formula again."""
    way = asked.each.way
    assert isinstance(way, Arithmetic)  # noqa: S101 - by the table of ways
    worked = work_out(formulas()[way.formula], way.given)
    value = next(figure.value for figure in worked.figures if figure.name == way.figure)
    return _counted(asked.each, float(value), f"{value:g}, by the same division")


class CallTime(NamedTuple):
    """What a call took, on average of many."""

    wall_s: float
    cpu_s: float


def stat(asked: Asked, *, call: Callable[[int, int], CallTime] | None = None) -> Found:
    """Time a call of the kernel on one core, alone and beside busy loops, in an order drawn."""
    way = asked.each.way
    assert isinstance(way, Stat)  # noqa: S101 - by the table of ways
    cpu, draw, timed = min(os.sched_getaffinity(0)), random.Random(asked.seed), call or _stat_s
    beside = (way.n_beside, *(each.n_beside for each in way.further))
    runs: list[Mapping[int, CallTime]] = []

    def one(_number: int) -> float:
        runs.append({n: timed(cpu, n) for n in draw.sample((0, *beside), 1 + len(beside))})
        return runs[-1][way.n_beside].wall_s / runs[-1][0].wall_s

    values, wall = series_of(asked, one)
    if wall is None:
        return Found(word="cannot tell", says="so few runs bound nothing")
    alone_s = sorted(run[0].wall_s for run in runs)[len(runs) // 2]
    says = f"wall time {bounds_text(wall, len(values), 'runs')} of {format_duration(alone_s)} alone"
    moved = [f"CPU time of a call {_bounded([r[way.n_beside].cpu_s / r[0].cpu_s for r in runs])}"]
    for each in way.further:
        n = each.n_beside
        ratios = [run[n].wall_s / run[0].wall_s for run in runs]
        then = structs.replace(asked.each, then=Then(says="", ratio=each.then))
        moved.append(
            f"beside {n} busy loops wall time {_bounded(ratios)}, {each.then:.3g} × then: "
            f"{told(then, ratios, _interval(ratios))}; "
            f"CPU time of a call {_bounded([r[n].cpu_s / r[0].cpu_s for r in runs])}"
        )
    figures = ratio_figures(values, wall) | {"moved": tuple(moved)}
    return Found(word=told(asked.each, values, wall), says=says, figures=figures)


def _interval(ratios: Sequence[float]) -> RatioInterval | None:
    return ratio_interval([math.log(each) for each in ratios], confidence=CONFIDENCE)


def _bounded(ratios: Sequence[float]) -> str:
    """Return `0.97 × (0.95 … 0.99)`, of some runs."""
    found = _interval(ratios)
    if found is None:
        return "nothing that so few runs bound"
    high = ratio_text(found.high) if found.high < math.inf else "∞"
    return f"{ratio_text(found.ratio)} × ({ratio_text(found.low)} … {high})"


def _stat_s(cpu: int, n_beside: int) -> CallTime:
    """Return what a call takes on one core, beside so many busy loops."""
    loops: list[subprocess.Popen[bytes]] = []
    command = pinned(cpu, ("perl", "-e", _LOOP))
    try:
        for _ in range(n_beside):
            loop = subprocess.Popen(command, stderr=subprocess.DEVNULL)  # noqa: S603 - our own code
            loops.append(loop)
        # The first slices are those of programs that begin.
        time.sleep(_BEGUN_S)
        code = _STAT.format(n=_STAT_CALLS)
        wall_s, cpu_s = output_of(pinned(cpu, ("perl", "-e", code))).split()
        if any(loop.poll() is not None for loop in loops):
            raise TargetError("a busy loop ended before the calls beside it")
        return CallTime(float(wall_s), float(cpu_s))
    except ValueError as error:
        raise TargetError(f"perl said no times: {error}") from error
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
