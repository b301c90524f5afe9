"""From starts to what is told of each way: rows of plain numbers; pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from benches.engine.interval import Estimate
from benches.power.work.record import METRICS
from benches.power.work.way import SIZES, WAYS, Way
from research.duets.explained import (
    SETS,
    Explained,
    covariates,
    explained,
    kept_alone,
    quiet_blocks,
)
from research.duets.record import Part, Start
from research.duets.spread import (
    Line,
    line,
    mean,
    of_starts_alone,
    spread_ratio,
    toward_truth,
    within,
)

WITH_COVARIATES = ("turns", "turns-apart")


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """What a way is worth for a metric."""

    way: str
    metric: str
    is_disturbed: bool
    n_starts: int
    n_unusable: int
    """Starts in which not every request got the right answer."""
    within: float
    """Standard deviation of the log ratio between the blocks of a start."""
    n_blocks: float
    between: float
    """The same of whole starts, beside the line through them."""
    of_starts: float
    """What of that more blocks would not take away."""
    n_common: int
    """Starts that are usable in all ways: a way that fails when the machine is disturbed would
    otherwise be without its worst starts."""
    between_common: float
    of_common: float
    """The same two of those alone."""
    spread_ratio: Estimate
    """`between` over that of the first way, on the same starts."""
    side: Estimate
    """What the second arm is flattered by where nothing differs, in log units."""
    shrinking: Estimate
    """By how much of itself a difference comes out too large."""
    by_size: dict[str, Estimate]
    """Mean errors; above 0 a difference came out too large."""
    from_alone: Estimate | None
    """How much larger a difference comes out than in the way that loads one arm at a time."""
    took_s: float
    """For each start, without its servers' coming up."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CovariateRow:
    """What covariates are worth for a metric of a way."""

    way: str
    metric: str
    is_disturbed: bool
    covariates: str
    explained: Explained


@dataclass(frozen=True, kw_only=True, slots=True)
class QuietRow:
    """What it is worth to leave out blocks that others disturbed."""

    way: str
    metric: str
    is_disturbed: bool
    left_out: float
    """The part of the blocks."""
    spread_ratio: Estimate


class Sample:
    """Some starts, by way and condition."""

    def __init__(self, starts: Sequence[Start], *, is_disturbed: bool) -> None:
        self.is_disturbed = is_disturbed
        self._starts = starts
        self._parts: dict[str, dict[int, Part]] = {}
        self._unusable: dict[str, int] = {}
        for number, start in enumerate(starts):
            for part in start.parts:
                if part.is_disturbed != is_disturbed:
                    continue
                if part.is_usable:
                    self._parts.setdefault(part.way, {})[number] = part
                else:
                    self._unusable[part.way] = self._unusable.get(part.way, 0) + 1

    @property
    def ways(self) -> list[Way]:
        """Those that there is anything of, in their usual order."""
        return [way for way in WAYS.values() if way.name in self._parts]

    def truth(self, number: int, way: Way, metric: str) -> float:
        """Return a start's true log ratio."""
        return self._starts[number].truths[way.truth][metric]

    def errors(self, way: Way, metric: str) -> dict[int, float]:
        """Return each start's log ratio less the truth, by the start's number."""
        return {
            number: part.log_ratio(metric) - self.truth(number, way, metric)
            for number, part in self._parts[way.name].items()
        }

    def line(self, way: Way, metric: str, numbers: Sequence[int]) -> Line | None:
        """Return the line through the errors of some starts."""
        errors = self.errors(way, metric)
        return line([errors[n] for n in numbers], [self.truth(n, way, metric) for n in numbers])

    def row(self, way: Way, metric: str) -> Row | None:
        """Return what the way is worth; None where there are too few starts."""
        parts, errors = self._parts[way.name], self.errors(way, metric)
        numbers = sorted(parts)
        fitted = self.line(way, metric, numbers)
        if fitted is None:
            return None
        sd_within, n_blocks = self._within(way, metric, numbers)
        common = sorted(set.intersection(*(set(each) for each in self._parts.values())))
        of_all = self.line(way, metric, common)
        return Row(
            way=way.name,
            metric=metric,
            is_disturbed=self.is_disturbed,
            n_starts=len(numbers),
            n_unusable=self._unusable.get(way.name, 0),
            within=sd_within,
            n_blocks=n_blocks,
            between=fitted.sd,
            of_starts=of_starts_alone(fitted.sd, sd_within, n_blocks),
            n_common=len(common),
            between_common=math.nan if of_all is None else of_all.sd,
            of_common=math.nan if of_all is None else self._alone(way, metric, common, of_all),
            spread_ratio=self._spread_ratio(way, metric),
            side=fitted.side,
            shrinking=fitted.shrinking,
            by_size=self._by_size(way, metric, errors),
            from_alone=self._from_alone(way, metric),
            took_s=fmean(parts[n].took_s for n in numbers),
        )

    def _within(self, way: Way, metric: str, numbers: Sequence[int]) -> tuple[float, float]:
        """Return the standard deviation between the blocks of some starts, and their number."""
        parts = [self._parts[way.name][n] for n in numbers]
        rows = [part.block_log_ratios(metric) for part in parts] if metric != "p90" else []
        return within(rows), fmean(len(part.arm(0)) for part in parts)

    def _alone(self, way: Way, metric: str, numbers: Sequence[int], fitted: Line) -> float:
        return of_starts_alone(fitted.sd, *self._within(way, metric, numbers))

    def _spread_ratio(self, way: Way, metric: str) -> Estimate:
        first = next(each for each in self.ways if has_metric(each, metric))
        numbers = sorted(self._parts[way.name].keys() & self._parts[first.name].keys())
        ours, theirs = (self.line(each, metric, numbers) for each in (way, first))
        if ours is None or theirs is None:
            return Estimate(value=math.nan, low=math.nan, high=math.nan)
        return spread_ratio(ours.residuals, theirs.residuals)

    def _by_size(self, way: Way, metric: str, errors: dict[int, float]) -> dict[str, Estimate]:
        found = {}
        for size in SIZES:
            numbers = [n for n in errors if self._starts[n].size == size]
            if numbers:
                truths = [self.truth(n, way, metric) for n in numbers]
                found[size] = mean(toward_truth([errors[n] for n in numbers], truths))
        return found

    def _from_alone(self, way: Way, metric: str) -> Estimate | None:
        """Return by how much of itself a difference comes out larger than alone.

        It is the slope of the differences between the two ways over the truth, on the same
        servers: what these have of their own is not in it, nor is what is not known of the truth.
        """
        if way.alone not in self._parts:
            return None
        alone = WAYS[way.alone]
        numbers = sorted(self._parts[way.name].keys() & self._parts[alone.name].keys())
        ours, theirs = self._parts[way.name], self._parts[alone.name]
        more = [ours[n].log_ratio(metric) - theirs[n].log_ratio(metric) for n in numbers]
        fitted = line(more, [self.truth(n, alone, metric) for n in numbers])
        return None if fitted is None else fitted.shrinking

    def covariate_rows(self, way: Way, metric: str) -> list[CovariateRow]:
        """Return what each set of covariates is worth."""
        errors, parts = self._block_errors(way, metric)
        rows = []
        for name, names in SETS.items():
            found = explained(errors, [covariates(part, names) for part in parts])
            if found is not None:
                rows.append(
                    CovariateRow(
                        way=way.name,
                        metric=metric,
                        is_disturbed=self.is_disturbed,
                        covariates=name,
                        explained=found,
                    )
                )
        return rows

    def quiet_row(self, way: Way, metric: str) -> QuietRow | None:
        """Return what leaving out disturbed blocks is worth."""
        errors, parts = self._block_errors(way, metric)
        kept = [quiet_blocks(part) for part in parts]
        ratio = kept_alone(errors, kept)
        if ratio is None:
            return None
        return QuietRow(
            way=way.name,
            metric=metric,
            is_disturbed=self.is_disturbed,
            left_out=1 - fmean(each for mask in kept for each in mask),
            spread_ratio=ratio,
        )

    def _block_errors(
        self, way: Way, metric: str
    ) -> tuple[list[np.ndarray[tuple[int], np.dtype[np.float64]]], list[Part]]:
        """Return the errors of each start's blocks, and its part."""
        found = [
            (np.array(rows) - self.truth(number, way, metric), part)
            for number, part in sorted(self._parts[way.name].items())
            if (rows := part.block_log_ratios(metric))
        ]
        return [errors for errors, _ in found], [part for _, part in found]


def others_cores(start: Start) -> float:
    """Return how much of the machine others used in windows that were not to be disturbed.

    Of windows in turn alone: in a duet, the other arm's server is one of the others.
    """
    windows = [
        window
        for part in start.parts
        if not part.is_disturbed and not WAYS[part.way].is_together
        for window in part.windows
    ]
    total_s = sum(window.total_s for window in windows)
    return sum(window.others_s for window in windows) / total_s if total_s else math.nan


def has_metric(way: Way, metric: str) -> bool:
    """Return whether the way says anything of a metric: in open loop the rate is given."""
    return metric != "throughput" or way.kind == "closed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Findings:
    """All there is to tell."""

    rows: list[Row]
    covariates: list[CovariateRow]
    quiet: list[QuietRow]


def findings(starts: Sequence[Start]) -> Findings:
    """Return what the starts show, in quiet and disturbed."""
    found = Findings(rows=[], covariates=[], quiet=[])
    for is_disturbed in (False, True):
        sample = Sample(starts, is_disturbed=is_disturbed)
        for metric in METRICS:
            for way in sample.ways:
                if has_metric(way, metric) and (row := sample.row(way, metric)):
                    found.rows.append(row)
                if way.name in WITH_COVARIATES and metric != "p90":
                    found.covariates.extend(sample.covariate_rows(way, metric))
                    if quiet := sample.quiet_row(way, metric):
                        found.quiet.append(quiet)
    return found
