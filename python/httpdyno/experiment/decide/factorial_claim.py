"""What may be said of a factorial after some starts: effects, interactions, the best; pure.

A combination that does not run takes nothing with it but itself: what can be told is told of those
that run, each effect says of which, and what cannot be told says why.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from msgspec import structs

from httpdyno.experiment.decide.claim import MAY_LOSE, worst_ratio
from httpdyno.experiment.decide.evidence import (
    Doubt,
    arm_status,
    arm_summary,
    carries,
    doubt_about,
    figure,
    has_figures,
    with_slack,
)
from httpdyno.experiment.decide.usable import within_limits
from httpdyno.experiment.design.plan import factorial_arms, ladder_steps
from httpdyno.metrics import named, of_ratio
from httpdyno.model import (
    ArmSummary,
    Configuration,
    Effect,
    Factorial,
    Level,
    RatioInterval,
    SimpleEffect,
    StartRecord,
    Study,
    TrialStatus,
    Verdict,
)
from httpdyno.reason import Reason, because
from httpdyno.stats.factorial import (
    Weights,
    contrast,
    effect,
    interaction,
    n_parts,
    pairs,
    risk_of_each,
    squares_gone,
)
from httpdyno.stats.sequence import ratio_interval
from httpdyno.stats.verdict import verdict

SILENT_STARTS = 2
"""Starts without any figure of a combination after which no further one is waited for."""

_PAIR = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Gone:
    """How a combination came out that does not run."""

    status: TrialStatus
    detail: tuple[Reason, ...]


def gone_of(starts: Sequence[StartRecord], study: Study) -> dict[int, Gone]:
    """Return the combinations that do not run, by their number."""
    name = named(study.objective.metric).ratio
    found = {}
    for arm in range(len(factorial_arms(study))):
        n_complete = sum(start.statuses[arm] == "complete" for start in starts)
        is_silent = not any(has_figures(start, (arm,), name) for start in starts)
        # First, because what is left out later has another status in those starts.
        if is_silent and n_complete >= SILENT_STARTS:
            has_other = any(has_figures(start, (arm,), "throughput") for start in starts)
            why = of_ratio(name).no_ratio(starts, (arm,)) if has_other else None
            why = why or because("experiment.no_figure_in_any_start", metric=of_ratio(name).name)
            found[arm] = Gone(status="unstable", detail=(why,))
            continue
        status, detail = arm_status(starts, arm)
        if status != "complete":
            found[arm] = Gone(status=status, detail=detail)
    return found


def whole_starts(
    starts: Sequence[StartRecord], study: Study, gone: Collection[int]
) -> list[StartRecord]:
    """Return the starts with a figure of every combination that runs."""
    arms = [arm for arm in range(len(factorial_arms(study))) if arm not in gone]
    names = [named(metric).ratio for metric in _deciding(study)]
    return [start for start in starts if all(has_figures(start, arms, name) for name in names)]


def factorial_of(starts: Sequence[StartRecord], study: Study) -> Factorial:
    """Return the effects that these starts show.

    A start in which some combination that runs gave no figure counts for none. All intervals are
    anytime-valid, and hold together; a tie breaker has half of the risk.
    """
    return _Shown(starts, study).factorial()


class _Shown:
    """All that is made of the same starts."""

    def __init__(self, starts: Sequence[StartRecord], study: Study) -> None:
        self._starts, self._study = starts, study
        self._gone = gone_of(starts, study)
        self._knobs = [step.knob for step in ladder_steps(study)]
        self._whole = whole_starts(starts, study, self._gone)
        metrics = _deciding(study)
        self._logs = {metric: all_logs(self._whole, metric, self._gone) for metric in metrics}
        risk = (1 - study.objective.confidence) / len(metrics)
        self._risks = risk_of_each(len(self._knobs), risk)
        arms = [arm for arm in range(2 ** len(self._knobs)) if arm not in self._gone]
        self._doubts = {metric: _unclaimed(starts, self._whole, metric, arms) for metric in metrics}
        self._off = {
            metric: doubt_about(self._whole, named(metric).ratio, arms) for metric in metrics
        }

    def factorial(self) -> Factorial:
        """Return what is told of them."""
        objective, n_knobs = self._study.objective, len(self._knobs)
        directed = [each for i, j in pairs(n_knobs) for each in ((i, j), (j, i))]
        return Factorial(
            levels=_levels(self._study),
            metric=objective.metric,
            n_starts=len(self._whole),
            arms=tuple(
                self._summary(arm, configuration)
                for arm, configuration in enumerate(factorial_arms(self._study))
            ),
            effects=(
                *(self._effect(knob) for knob in range(n_knobs)),
                *(self._interaction(one, other) for one, other in pairs(n_knobs)),
            ),
            simple=tuple(
                self._simple(knob, given, at) for knob, given in directed for at in (0, 1)
            ),
            unclaimed=self._doubts[objective.metric],
            gone=tuple(self._gone),
            tie_breaker=objective.tie_breaker,
        )

    def _summary(self, arm: int, configuration: Configuration) -> ArmSummary:
        summary = arm_summary(self._starts, arm, configuration, self._study.objective.named)
        gone = self._gone.get(arm)
        if gone is not None:
            return structs.replace(summary, status=gone.status, detail=gone.detail)
        return within_limits(summary, self._study.objective)

    def _effect(self, knob: int) -> Effect:
        weights = effect(len(self._knobs), knob, gone=self._gone.keys())
        of = (self._knobs[knob],)
        reasons = self._reasons(of, weights, 2 ** (len(self._knobs) - 1))
        objective = self._study.objective
        interval, word = self._told(weights, objective.metric)
        if not any(weights) or not objective.tie_breaker:
            return Effect(knobs=of, verdict=word, ratio=interval, reasons=reasons)
        tie, tie_word = self._told(weights, objective.tie_breaker)
        may_decide = (
            interval is not None
            and not self._doubts[objective.metric]
            and word in {"equivalent", "inconclusive"}
            and 1 - worst_ratio(interval, objective) <= MAY_LOSE
            and tie_word in {"better", "worse"}
        )
        return Effect(
            knobs=of,
            verdict=tie_word if may_decide else word,
            ratio=interval,
            reasons=reasons,
            decided_by=objective.tie_breaker if may_decide else "",
            tie=tie,
        )

    def _interaction(self, one: int, other: int) -> Effect:
        weights = interaction(len(self._knobs), one, other, gone=self._gone.keys())
        of = self._knobs[one], self._knobs[other]
        reasons = self._reasons(of, weights, 2 ** (len(self._knobs) - _PAIR))
        interval, word = self._told(weights, self._study.objective.metric)
        return Effect(knobs=of, verdict=word, ratio=interval, reasons=reasons)

    def _told(self, weights: Weights, metric: str) -> tuple[RatioInterval | None, Verdict]:
        if not any(weights):
            return None, "not_measured"
        interval = self._ratio(weights, metric, self._risks[0])
        if self._doubts[metric] or len(self._whole) < self._study.method.min_starts:
            return interval, "inconclusive"
        return interval, _word(interval, metric, self._study)

    def _simple(self, knob: int, given: int, at: int) -> SimpleEffect:
        n_knobs = len(self._knobs)
        gone = squares_gone(n_knobs, knob, given, self._gone.keys())
        weights = effect(n_knobs, knob, given, at=at, gone=gone)
        metric = self._study.objective.metric
        return SimpleEffect(
            knob=self._knobs[knob],
            given=self._knobs[given],
            is_given_changed=bool(at),
            ratio=self._ratio(weights, metric, self._risks[1]) if any(weights) else None,
        )

    def _ratio(self, weights: Weights, metric: str, risk: float) -> RatioInterval | None:
        rows = self._logs[metric]
        seen = ratio_interval([contrast(weights, row) for row in rows], confidence=1 - risk)
        return seen and with_slack(seen, self._slack(weights, metric))

    def _slack(self, weights: Weights, metric: str) -> float:
        """Return by how much more than chance does an effect's logarithm may be off."""
        return self._off[metric].slack_of(dict(enumerate(weights)))

    def _reasons(self, of: tuple[str, ...], weights: Weights, n_in_all: int) -> tuple[Reason, ...]:
        """Return over which combinations an effect is, and what its interval has in it."""
        found = _over(of, weights, n_in_all)
        slack = self._slack(weights, self._study.objective.metric)
        if not 0 < slack < math.inf:
            return found
        return (*found, because("experiment.effect_may_be_off", ratio=math.expm1(slack)))


def is_decided(found: Factorial, study: Study) -> bool:
    """Tell whether more starts are not needed for any word, a tie breaker's included.

    What cannot be told of these combinations no start can tell.
    """
    tied = [each.tie for each in found.effects if each.verdict == "equivalent" and each.tie]
    return all(each.verdict != "inconclusive" for each in found.effects) and all(
        _word(tie, study.objective.tie_breaker, study) != "inconclusive" for tie in tied
    )


def _word(interval: RatioInterval | None, metric: str, study: Study) -> Verdict:
    return verdict(
        interval,
        margin_ratio=study.objective.margin_ratio,
        more_is_better=named(metric).is_more_better,
    )


def best_of(starts: Sequence[StartRecord], found: Factorial, study: Study) -> Configuration:
    """Return the combination of fewest changes that is not proven to be below the best one.

    So a knob that brings nothing does not ride along. A tie breaker chooses among those that are
    proven to lose little against the best, by the same rule. The start where nothing may be
    claimed.
    """
    objective = study.objective
    able = [number for number, arm in enumerate(found.arms) if arm.status == "complete"]
    whole = whole_starts(starts, study, found.gone)
    if found.unclaimed or not able or not whole:
        return study.start_configuration()
    n_metrics = len(_deciding(study))
    risk = (1 - objective.confidence) / n_metrics / max(1, len(able) - 1)
    first = _Ranked.of(whole, objective.metric, found.gone, able, risk)
    level = [number for number in able if not first.is_below(number)]
    tie = objective.tie_breaker
    if tie and not _unclaimed(starts, whole, tie, able):
        near = [number for number in able if first.loses_at_most(number, MAY_LOSE)]
        second = _Ranked.of(whole, tie, found.gone, near, risk)
        level = [number for number in near if not second.is_below(number)]
    chosen = min(level, key=lambda number: (number.bit_count(), -first.mean(number)))
    return found.arms[chosen].configuration


@dataclass(frozen=True, kw_only=True, slots=True)
class _Ranked:
    """Combinations by what they come to in one metric."""

    gains: Mapping[int, Sequence[float]]
    """Of each the logarithm of its figure in each start, more being better."""
    best: int
    confidence: float
    doubt: Doubt
    """By how much each may be off."""

    @classmethod
    def of(
        cls,
        starts: Sequence[StartRecord],
        metric: str,
        gone: Collection[int],
        able: Collection[int],
        risk: float,
    ) -> "_Ranked":
        sign = 1 if named(metric).is_more_better else -1
        logs = all_logs(starts, metric, gone)
        doubt = doubt_about(starts, named(metric).ratio, [*able])
        gains = {number: [sign * row[number] for row in logs] for number in able}
        best = max(able, key=lambda number: fmean(gains[number]))
        return cls(gains=gains, best=best, confidence=1 - risk, doubt=doubt)

    def mean(self, number: int) -> float:
        return fmean(self.gains[number])

    def is_below(self, number: int) -> bool:
        interval = self._against_best(number)
        return interval is not None and interval.high < 1

    def loses_at_most(self, number: int, share: float) -> bool:
        interval = self._against_best(number)
        return number == self.best or (interval is not None and interval.low >= 1 - share)

    def _against_best(self, number: int) -> RatioInterval | None:
        if number == self.best:
            return None
        both = zip(self.gains[number], self.gains[self.best], strict=True)
        seen = ratio_interval([mine - top for mine, top in both], confidence=self.confidence)
        return seen and with_slack(seen, self.doubt.slack(number, self.best))


def _over(of: tuple[str, ...], weights: Weights, n_in_all: int) -> tuple[Reason, ...]:
    """Return over which combinations an effect is, or why there is none; empty where over all."""
    n = n_parts(weights, len(of))
    if n == n_in_all:
        return ()
    if len(of) == _PAIR and n_in_all == 1:
        return (because("experiment.one_of_four_does_not_run"),)
    if len(of) == _PAIR:
        told = because(
            "experiment.interaction_of_some" if n else "experiment.interaction_of_none",
            n=n,
            of=n_in_all,
        )
    else:
        told = because(
            "experiment.effect_of_some" if n else "experiment.effect_of_none", n=n, of=n_in_all
        )
    return (told,)


def _deciding(study: Study) -> tuple[str, ...]:
    objective = study.objective
    return tuple(filter(None, (objective.metric, objective.tie_breaker)))


def _levels(study: Study) -> dict[str, tuple[Level, Level]]:
    first, last = factorial_arms(study)[0], factorial_arms(study)[-1]
    return first.changes(last)


def all_logs(
    starts: Sequence[StartRecord], metric: str, gone: Collection[int]
) -> list[list[float]]:
    """Return the logarithms of all combinations' figures; 0 of those gone; (n_starts, 2^k)."""
    row = named(metric)
    return [
        [
            0.0 if arm in gone else math.log(figure(start, arm, row))
            for arm in range(len(start.statuses))
        ]
        for start in starts
    ]


def _unclaimed(
    starts: Sequence[StartRecord],
    whole: Sequence[StartRecord],
    metric: str,
    arms: Sequence[int],
) -> tuple[Reason, ...]:
    """Return why nothing may be claimed of a metric of these arms; empty where it may.

    Args:
        starts: All of them.
        whole: Those with a figure of every combination that runs.
        metric: Its name.
        arms: That run.
    """
    missing, name = named(metric).no_ratio(starts, arms), named(metric).ratio
    if missing is not None:
        return (missing,)
    doubt = doubt_about(whole, name, arms)
    if doubt.is_unbounded:
        return doubt.complaints
    return () if carries(whole, name, arms) else (because("experiment.too_few_for_percentile"),)
