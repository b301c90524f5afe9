"""Figure 10: how often 95 % intervals hold the truth, as `benches/coverage` counts it."""

import re
import sys
from dataclasses import dataclass

from benches.engine.figure import Figure, Part, exactly
from benches.engine.interval import CONFIDENCE, Estimate
from benches.engine.process import BenchError, run
from benches.engine.setting import REPOSITORY, Setting
from scipy import stats

LOWEST, HIGHEST = 92.0, 98.0
FIGURES = ("throughput", "p50", "p99")
N_RUNS, N_RUNS_QUICK = 200, 10
_PATIENCE_S = 7200.0
_REAL = "real, "
_COVERAGE = "  coverage "
_COUNT = re.compile(r"(\w+) (?:[\d.]+%[!^]? \(([\d,]+) of ([\d,]+)\)|–)")
_QUIET = "  quiet: "
_REFUSED = re.compile(r"; refused ([\d, ]+);")


@dataclass(frozen=True, kw_only=True, slots=True)
class Covered:
    """How often one figure's intervals held the truth in one case."""

    case: str
    figure: str
    is_real: bool
    """The engine against the oracle, rather than a simulation."""
    held: int
    given: int
    refused: int
    """Runs that got a reason instead of an interval."""

    @property
    def percent(self) -> Estimate | None:
        """The coverage of those given, with the exact interval; None where none was."""
        if not self.given:
            return None
        exact = stats.binomtest(self.held, self.given).proportion_ci(CONFIDENCE, method="exact")
        return Estimate(
            value=100 * self.held / self.given, low=100 * exact.low, high=100 * exact.high
        )

    @property
    def is_within(self) -> bool:
        """Whether the coverage is what it should be."""
        return self.percent is not None and LOWEST <= self.percent.value <= HIGHEST


def measure(setting: Setting) -> Figure:
    """Measure figure 10: judged in runs of the real engine, shown for simulated servers."""
    figure = Figure(number=10, name="coverage of 95 % intervals")
    n_runs = setting.sized(N_RUNS, N_RUNS_QUICK)
    program = str(REPOSITORY / "benches" / "coverage")
    command = [sys.executable, program, "--runs", str(n_runs), "--real-runs", str(n_runs)]
    ended = run(command, timeout_s=_PATIENCE_S)
    covered = read(ended.stdout)
    figure.raw = {"stdout": ended.stdout, **ended.record()}
    real = [each for each in covered if each.is_real]
    simulated = [each for each in covered if not each.is_real]
    if not real or not simulated:
        raise BenchError(f"benches/coverage counted nothing: {ended.stderr.strip()[-400:]}")
    figure.parts = [*map(_part, real), _summary(simulated)]
    figure.notes += quiet_notes(ended.stdout)
    figure.notes.append("coverage is of the runs that were given an interval")
    figure.command = f"benches/coverage --runs {n_runs} --real-runs {n_runs}"
    return figure


def quiet_notes(text: str) -> list[str]:
    """Return what `benches/coverage` said of repeated runs, each with the case it said it of."""
    notes, case = [], ""
    for line in text.splitlines():
        if line.startswith(_QUIET):
            notes.append(f"{_name(case)}: {line.removeprefix(_QUIET)}")
        elif not line.startswith(" "):
            case = line
    return notes


def read(text: str) -> list[Covered]:
    """Return the counts that `benches/coverage` printed, of the figures that are judged.

    Where a case is printed with two truths only the first one counts: that of a formula, if any.
    """
    found: list[Covered] = []
    seen: set[str] = set()
    case, is_real = "", False
    for line in text.splitlines():
        is_real = is_real or line.startswith(_REAL)
        if not line.startswith(" "):
            case = line
        elif line.startswith(_COVERAGE) and (key := f"{is_real} {_name(case)}") not in seen:
            seen.add(key)
            found += _counts(line, case, is_real=is_real)
    return found


def _counts(line: str, case: str, *, is_real: bool) -> list[Covered]:
    counts = _COUNT.findall(line.removeprefix(_COVERAGE).partition(";")[0])
    refused = _REFUSED.search(line)
    each_refused = refused.group(1).split(", ") if refused else []
    if tuple(name for name, *_ in counts) != FIGURES or len(each_refused) != len(FIGURES):
        raise BenchError(f"benches/coverage wrote what is not understood: {line}")
    return [
        Covered(
            case=case,
            figure=name,
            is_real=is_real,
            held=_number(held),
            given=_number(given),
            refused=_number(n_refused),
        )
        for (name, held, given), n_refused in zip(counts, each_refused, strict=True)
    ]


def _number(text: str) -> int:
    return int(text.replace(",", "") or "0")


def _name(case: str) -> str:
    return case.partition(";")[0]


def _part(covered: Covered) -> Part:
    # Where every run got a reason instead there is nothing to cover, and nothing was claimed.
    is_judged = covered.given > 0
    return Part(
        name=f"{covered.figure}: {_name(covered.case)}",
        estimate=covered.percent,
        unit=" %",
        at_least=LOWEST if is_judged else None,
        at_most=HIGHEST if is_judged else None,
        note=f"{covered.given} given, {covered.refused} refused;{covered.case.partition(';')[2]}",
    )


def _summary(simulated: list[Covered]) -> Part:
    mostly = [each for each in simulated if each.given >= each.refused]
    outside = [
        f"{each.figure} {100 * each.held / each.given:.1f} % ({each.case})"
        for each in mostly
        if not each.is_within
    ]
    return Part(
        name=f"simulated cases of {len(mostly)} within",
        estimate=exactly(len(mostly) - len(outside)),
        note=f"of those given in half of the runs; outside: {'; '.join(outside) or 'none'}",
    )
