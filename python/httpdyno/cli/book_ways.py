"""The ways in which experiments of the book are run here."""

import json
import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.client import HTTPConnection
from typing import Any

import msgspec
from msgspec import structs

from httpdyno.advice.bottleneck import differences
from httpdyno.advice.formula import FORMULAS
from httpdyno.advice.formula.evaluate import work_out
from httpdyno.book.experiment import (
    Arithmetic,
    Count,
    Experiment,
    Pair,
    Recipe,
    Said,
    Stat,
)
from httpdyno.book.result import Now
from httpdyno.book.rule import Word, judged, judged_count
from httpdyno.cli.find_study import open_study
from httpdyno.cli.running import outcome_of
from httpdyno.errors import AdapterError, TargetError
from httpdyno.experiment.call_count import with_calls
from httpdyno.experiment.caveat import is_unsteady
from httpdyno.experiment.one_start import Up, one_server
from httpdyno.experiment.planning import compare_plan, with_budget
from httpdyno.load.engine import Edge, LoadHandle, start_load
from httpdyno.load.window_plan import WindowPlan
from httpdyno.model import Comparison, Level, Look, Outcome, Study, Workload
from httpdyno.model.load_knob import with_load_knobs
from httpdyno.model.metric import METRIC_NAMES, RATIO_OF_METRIC
from httpdyno.registry import load_target
from httpdyno.stats.sequence import ratio_interval
from httpdyno.telemetry.host import host_facts
from httpdyno.telemetry.machine_card import MachineCard
from httpdyno.units import format_duration, format_number

CONFIDENCE = 0.95
_WARM_S = 0.5
_LOAD_S = 120.0
_ANSWER_S = 10.0
_STAT_CALLS = 100_000
_STAT = (
    "use Time::HiRes qw(time clock_gettime CLOCK_PROCESS_CPUTIME_ID); my $n = {n}; "
    "my $used = clock_gettime(CLOCK_PROCESS_CPUTIME_ID); my $began = time; "
    "stat('/foo') for 1..$n; my $passed = time - $began; "
    "$used = clock_gettime(CLOCK_PROCESS_CPUTIME_ID) - $used; "
    "printf '%.12f %.12f', $passed / $n, $used / $n"
)
_LOOP = "1 while 1"
_FEWEST = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """What one way came to."""

    word: Word
    says: str
    version: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)


def run_experiment(each: Experiment, card: MachineCard, *, budget_s: float, seed: int) -> Now:
    """Run one experiment that has a way; return what came of it.

    Args:
        each: The experiment.
        card: What the machine takes, to stand beside the result.
        budget_s: What its measuring may take.
        seed: Of all that is drawn.

    Raises:
        HttpdynoError: It cannot run here.
    """
    began_s, began_at = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    found = _WAYS[type(each.way)](each, budget_s, seed)
    host = host_facts()
    return Now(
        name=each.name,
        word=found.word,
        says=found.says,
        measured_at=began_at,
        duration_s=time.monotonic() - began_s,
        host=f"{host.n_cpus} × {host.cpu}, {host.kernel}",
        version=found.version,
        seed=seed,
        command=f"httpdyno book run {each.name}",
        machine=msgspec.to_builtins(card),
        **found.figures,
    )


def _study(name: str) -> Study:
    study = open_study(name)
    missing = load_target(study).missing(study.server)
    if missing:
        raise AdapterError(
            f"study {name} cannot run here: {'; '.join(missing)}",
            hint="`httpdyno doctor` says what each bundled study needs",
        )
    return study


def _pair(each: Experiment, budget_s: float, seed: int) -> _Found:
    way = each.way
    assert isinstance(way, Pair)  # noqa: S101 - by the table below
    study = _study(way.study)
    # What is asked is one figure; nothing else decides or shares its risk.
    objective = structs.replace(
        study.objective, metric=way.metric, tie_breaker="", second_metric="", also=()
    )
    study = structs.replace(study, objective=objective)
    start = study.start_configuration()
    a, b = start.with_values(way.a), start.with_values(way.b)
    outcome = outcome_of(with_budget(compare_plan(study, a, b, seed=seed), budget_s))
    return _of_outcome(each, way, outcome)


def _of_outcome(each: Experiment, way: Pair, outcome: Outcome) -> _Found:
    final = outcome.final
    figures: dict[str, Any] = {"run_id": outcome.id}
    interval = final.ratios.get(RATIO_OF_METRIC[way.metric]) if final else None
    is_proof = final is not None and _may_be_judged(final, way.metric)
    if final is None or interval is None or interval.low <= 0 or not is_proof:
        why = final.reason if final else outcome.message or outcome.status
        return _Found(word="cannot tell", says=why, version=outcome.host.server, figures=figures)
    word = judged(each.then, interval.low, interval.high, is_artefact=bool(each.artefact))
    is_bounded = interval.high < math.inf
    figures |= {
        "ratio": interval.ratio,
        "low": interval.low,
        "high": interval.high if is_bounded else None,
        "n_starts": final.n_starts,
        "moved": _moved(final),
    }
    bounds = f"{_ratio(interval.low)} … {_ratio(interval.high) if is_bounded else '∞'}"
    return _Found(
        word=word,
        says=f"{METRIC_NAMES[way.metric]} {_ratio(interval.ratio)} × ({bounds}; "
        f"{final.n_starts} starts): {_levels(final, way)}",
        version=outcome.host.server,
        figures=figures,
    )


def _may_be_judged(final: Comparison, metric: str) -> bool:
    """Whether its ratios prove anything: an arm that failed, or a load unlike itself, does not."""
    is_doubted = metric == "throughput_per_s" and is_unsteady(final.caveats)
    return final.verdict not in {"failed", "not_measured"} and not is_doubted


def _levels(final: Comparison, way: Pair) -> str:
    """Return both sides' figures, in their own units."""
    a, b = final.a, final.b
    if way.metric == "throughput_per_s":
        return f"{_number(a.throughput_per_s)} → {_number(b.throughput_per_s)} requests/s"
    if way.metric == "cpu_s_per_request":
        pair = (format_duration(arm.cpu_s_per_request) for arm in (a, b))
        return f"{' → '.join(pair)} of CPU for a request"
    if way.metric == "pss_bytes":
        pair = (f"{(arm.pss_bytes or 0) / 1e6:.1f}" for arm in (a, b))
        return f"{' → '.join(pair)} MB for the whole pool"
    return f"{_number(a.bytes_per_request)} → {_number(b.bytes_per_request)} bytes for a request"


def _moved(final: Comparison) -> tuple[str, ...]:
    if final.a.look is None or final.b.look is None:
        return ()
    return tuple(f"{d.name} {d.text}" for d in differences(final.a.look, final.b.look))


def _up(name: str, at: Mapping[str, Level]) -> tuple[Study, Any]:
    study = _study(name)
    configuration = study.start_configuration().with_values(at)
    return study, one_server(load_target(study), study, configuration)


def _count(each: Experiment, _budget_s: float, seed: int) -> _Found:
    way = each.way
    assert isinstance(way, Count)  # noqa: S101 - by the table below
    study, server = _up(way.study, way.at)
    load = with_load_knobs(study.workload, {"path": way.path} if way.path else {})
    with server as up:

        def start(workload: Workload, window: WindowPlan, on_edge: Edge | None) -> LoadHandle:
            return start_load(
                workload,
                up.running.addresses[:1],
                [window],
                networks=up.running.networks[:1],
                seed=seed,
                on_edge=on_edge,
            )

        start(load, WindowPlan(arm=0, lead_in_s=0.0, measure_s=_WARM_S), None).wait()
        look = with_calls(Look(seconds=0.0, n_samples=0), up.running.root_pids, load, start)
    if look.untraced:
        raise TargetError(f"system calls could not be counted: {look.untraced}")
    n = sum(look.calls.get(kind, 0.0) for kind in way.of)
    words = " + ".join(f"{look.calls.get(kind, 0.0):.3g} {kind}" for kind in way.of)
    return _counted(
        each, n, f"{words} for a request, counted over {look.n_traced}", _version(study)
    )


def _said(each: Experiment, _budget_s: float, _seed: int) -> _Found:
    way = each.way
    assert isinstance(way, Said)  # noqa: S101 - by the table below
    study, server = _up(way.study, way.at)
    with server as up, closing(HTTPConnection(up.running.addresses[0], timeout=_ANSWER_S)) as asked:
        asked.request("GET", way.path)
        number, _, words = asked.getresponse().read().decode().strip().partition(" ")
    if not number.isdecimal():
        raise TargetError(f"{way.path} of study {way.study} answers with no number: {number}")
    return _counted(each, float(number), f"{number}: {words}", _version(study))


def _counted(each: Experiment, n: float, says: str, version: str = "") -> _Found:
    if each.then.count is None:
        raise ValueError(f"{each.name} has no count of then")
    word = judged_count(each.then.count, n)
    return _Found(word=word, says=says, version=version, figures={"count": n})


def _recipe(each: Experiment, _budget_s: float, seed: int) -> _Found:
    way = each.way
    assert isinstance(way, Recipe)  # noqa: S101 - by the table below
    study, server = _up(way.study, way.at)
    path = way.path or study.workload.requests[0].path
    with server as up:
        told = _load(up, path, (*way.words, "--seed", str(seed)))
    values, says = _RECIPES[way.figure](told)
    low, high = min(values), max(values)
    # Nothing at all is no ratio to be judged: what was found then is not there.
    word = judged(each.then, low, high) if low > 0 else "no longer"
    # One run has no interval, and none is told.
    figures = {"ratio": sum(values) / len(values)}
    return _Found(word=word, says=says, version=_version(study), figures=figures)


def _load(up: Up, path: str, words: tuple[str, ...]) -> dict[str, Any]:
    """Return what `httpdyno load` says in JSON; it may end with 1 where requests failed."""
    url = f"http://{up.running.addresses[0]}{path}"
    command = [sys.executable, "-m", "httpdyno", "load", url, *words, "--json", "-"]
    done = subprocess.run(  # noqa: S603 - ourselves
        command, capture_output=True, text=True, timeout=_LOAD_S, check=False
    )
    try:
        return dict(json.loads(done.stdout))
    except ValueError as error:
        raise TargetError(f"the load test said no figures: {done.stderr.strip()}") from error


def _refused(told: dict[str, Any]) -> tuple[list[float], str]:
    offered, completed = told["offered"], told["completed"]
    words = f"{completed:,} of {offered:,} requests completed: a wrong answer is none"
    return [(offered - completed) / offered], words


def _answered(told: dict[str, Any]) -> tuple[list[float], str]:
    offered, completed = told["offered"], told["completed"]
    return [completed / offered], f"{completed:,} of {offered:,} that were due answered in time"


def _little(told: dict[str, Any]) -> tuple[list[float], str]:
    latency_s, rate = told["latency_s"]["mean"], told["throughput_per_s"]
    n = told["provenance"]["workload"]["connections"]
    under_way = latency_s * rate
    words = (
        f"{format_duration(latency_s)} × {_number(rate)}/s: {under_way:.2f} of {n} were under way"
    )
    return [under_way / n], words


_RECIPES: Mapping[str, Callable[[dict[str, Any]], tuple[list[float], str]]] = {
    "refused": _refused,
    "answered": _answered,
    "little": _little,
}


def _stat(each: Experiment, budget_s: float, seed: int) -> _Found:
    way = each.way
    assert isinstance(way, Stat)  # noqa: S101 - by the table below
    cpu = min(os.sched_getaffinity(0))
    draw = random.Random(seed)
    logs: list[float] = []
    cpu_logs: list[float] = []
    alone_s: list[float] = []
    end_s = time.monotonic() + min(budget_s, _STAT_BUDGET_S)
    while len(logs) < _FEWEST or (time.monotonic() < end_s and len(logs) < _MOST):
        seen = {n: _stat_s(cpu, n) for n in draw.sample((0, way.n_beside), 2)}
        logs.append(math.log(seen[way.n_beside][0] / seen[0][0]))
        cpu_logs.append(math.log(seen[way.n_beside][1] / seen[0][1]))
        alone_s.append(seen[0][0])
    wall, used = (ratio_interval(each_log, confidence=CONFIDENCE) for each_log in (logs, cpu_logs))
    if wall is None or used is None:
        return _Found(word="cannot tell", says="so few runs bound nothing")
    says = (
        f"wall time {_ratio(wall.ratio)} × ({_ratio(wall.low)} … {_ratio(wall.high)}; {len(logs)} "
        f"runs) of {format_duration(sorted(alone_s)[len(alone_s) // 2])} alone; CPU time of a call "
        f"{_ratio(used.ratio)} × ({_ratio(used.low)} … {_ratio(used.high)})"
    )
    figures = {"ratio": wall.ratio, "low": wall.low, "high": wall.high, "n_starts": len(logs)}
    return _Found(word=judged(each.then, wall.low, wall.high), says=says, figures=figures)


_STAT_BUDGET_S = 15.0
_MOST = 60


def _stat_s(cpu: int, n_beside: int) -> tuple[float, float]:
    """Return wall and CPU seconds of a call on one core, beside so many busy loops."""

    def perl(code: str, **settings: Any) -> "subprocess.Popen[str]":  # noqa: ANN401 - Popen's
        # Pinned before it begins; the kernel shares the core evenly between sessions or processes.
        pinned = f"import os; os.sched_setaffinity(0, {{{cpu}}}); os.execvp('perl', ['perl', '-e', "
        return subprocess.Popen(  # noqa: S603 - our own code
            [sys.executable, "-I", "-S", "-c", f"{pinned}{code!r}])"], text=True, **settings
        )

    loops = [perl(_LOOP) for _ in range(n_beside)]
    try:
        # The first slices are those of programs that begin.
        time.sleep(_BEGUN_S)
        measured = perl(_STAT.format(n=_STAT_CALLS), stdout=subprocess.PIPE)
        text, _ = measured.communicate(timeout=_LOAD_S)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    wall_s, cpu_s = map(float, text.split())
    return wall_s, cpu_s


_BEGUN_S = 0.05


def _arithmetic(each: Experiment, _budget_s: float, _seed: int) -> _Found:
    way = each.way
    assert isinstance(way, Arithmetic)  # noqa: S101 - by the table below
    worked = work_out(FORMULAS[way.formula], way.given)
    value = next(figure.value for figure in worked.figures if figure.name == way.figure)
    return _counted(each, float(value), f"{value:g}. {worked.answer}")


def _version(study: Study) -> str:
    from pathlib import Path  # noqa: PLC0415

    return load_target(study).version(study.server, Path(study.folder))


def _ratio(value: float) -> str:
    return f"{value:.3g}"


def _number(value: float) -> str:
    return format_number(value, 0 if value >= _MANY else 1)


_MANY = 100
_WAYS: Mapping[type, Callable[[Experiment, float, int], _Found]] = {
    Pair: _pair,
    Count: _count,
    Said: _said,
    Recipe: _recipe,
    Stat: _stat,
    Arithmetic: _arithmetic,
}
