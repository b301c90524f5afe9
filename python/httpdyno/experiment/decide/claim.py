"""What may be said of a comparison after some starts, and how long it goes on; pure.

How long it still goes on is a guess: the geometric mean of the starts that a decision needs by what
was seen, and of those that there are. The first alone jumps about; a comparison that has been open
for so long is often open for as long again.

A tie breaker decides a step only where the metric is proven to lose little: a tenth of the start,
over the whole ladder. Each step that it keeps uses up what the low end of the metric's interval may
have lost, and gains of other steps do not make up for it. Where intervals are wide, few steps use
it up: of eight changes that save a tenth of the CPU time each and cost no throughput, on
`FakeBench`, 3 or 4 were kept where starts differ by 0.5 %, 1 or 2 at 2 %, 1 at 4 %.

A comparison may have to end on one side of other ratios than 1 (`placed`). One that ends as soon as
1 is excluded does not serve that: how wide its interval is by then is chance.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from statistics import fmean

from msgspec import structs

from httpdyno.experiment.decide.evidence import (
    arm_status,
    arm_summary,
    doubt_about,
    log_ratios,
    no_figure,
    noise,
    ratio_intervals,
    with_slack,
)
from httpdyno.experiment.decide.usable import failing, forbidden, limit_broken
from httpdyno.experiment.decide.warning import window_warnings
from httpdyno.metrics import named
from httpdyno.metrics.metric import lost_between_looks, no_width
from httpdyno.metrics.totals import arm_windows
from httpdyno.model import (
    Comparison,
    Configuration,
    Objective,
    RatioInterval,
    RequestSpec,
    SecondClaim,
    StartRecord,
    TrialStatus,
    Verdict,
)
from httpdyno.reason import Reason, because
from httpdyno.stats.sequence import (
    FARTHEST,
    IntervalOf,
    half_width_factor,
    ratio_interval,
    starts_needed,
)
from httpdyno.stats.spread import stdev
from httpdyno.stats.verdict import distance_to_border, distance_to_decision, holds_border, verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """Where a comparison stands after some starts."""

    verdict: Verdict
    reasons: tuple[Reason, ...]
    """Why; what else bears on it."""
    n_starts: int
    """All of them, those without a figure too."""
    interval: RatioInterval | None = None
    starts_needed: int | None = None
    """Starts that a decision is expected to take in all; None: out of sight."""
    starts_at_best: int | None = None
    """The same where the truth lies a standard error nearer to a decision than what was seen, as
    it does in one case of six: time that may decide something else is not spent on less."""
    starts_at_luckiest: int | None = None
    """The same for two standard errors, one case of 44: time that decides nothing else is."""
    decided_by: str = ""
    """The tie breaker, where it decided."""
    is_doubted: bool = False
    """The figures contradict each other by more than lets anything be claimed."""
    slack: float = 0.0
    """By how much more than chance does the log ratio may be off, to either side: the interval has
    it in it. Infinite where nobody knows by how much: then nothing may rest on the interval."""
    may_change: bool = False
    """The metric has spoken, but its tie breaker may still."""
    second: SecondClaim | None = None
    """What the second metric says for itself. It changes nothing of the rest."""
    also: tuple[SecondClaim, ...] = ()
    """What further metrics say, each for itself."""

    @property
    def by_chance(self) -> RatioInterval | None:
        """The interval as far as more starts make it narrower: without what all may be off by."""
        return self.interval and with_slack(self.interval, -self.slack)

    @property
    def is_decided(self) -> bool:
        """Whether more starts are not needed for a verdict."""
        return self.verdict != "inconclusive" and not self.may_change


MAY_LOSE = 0.1
"""The tie breaker may decide when the metric is proven to lose less than this.

Not when it is merely undecided: where little is known, much may be lost. And not only when it is
equivalent: a hundredth takes many times the starts, for a change whose worth is proven already.
Over a whole ladder it is what all steps together may lose against the start.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """What a claim is made by."""

    objective: Objective
    min_starts: int
    """Below, no figure is claimed."""
    requests: tuple[RequestSpec, ...] = ()
    """Of the workload, for the words of what failed."""
    may_lose_ratio: float = MAY_LOSE
    """The tie breaker may decide where the metric is proven to lose no more than this."""
    most_starts: int | None = None
    """What cannot even at best be decided with so many ends undecided; None: time ends it."""
    unit: str = "start"
    """What gives one ratio; `period` of servers that run, which were not started here."""
    interval_of: IntervalOf = ratio_interval
    """Makes the interval of these ratios."""


def claim(starts: Sequence[StartRecord], terms: Terms) -> Claim:
    """Return what may be said of arm 1 against arm 0 after these starts.

    In each of them arm 0 ran as it should. The objective's metric decides. Where it shows no
    difference, or none yet, its tie breaker may. The second metric has its own claim beside, by the
    same rules, and so have further ones; the risk is shared so that all together keep the
    objective's confidence.
    """
    objective = terms.objective
    failure = _failure(starts, terms)
    if failure is not None:
        return Claim(verdict="failed", reasons=(failure,), n_starts=len(starts))
    first = _claim(starts, terms, objective.metric)
    also = tuple(_told(metric, _claim(starts, terms, metric)) for metric in objective.also)
    if not objective.second:
        return replace(first, also=also)
    second = _claim(starts, terms, objective.second)
    if objective.tie_breaker:
        first = _by_tie_breaker(first, second, starts, terms)
    return replace(first, second=_told(objective.second, second), also=also)


def _told(metric: str, state: Claim) -> SecondClaim:
    return SecondClaim(metric=metric, verdict=state.verdict, reasons=state.reasons)


def _by_tie_breaker(
    first: Claim, second: Claim, starts: Sequence[StartRecord], terms: Terms
) -> Claim:
    """Return the metric's claim, or that of its tie breaker where that decides."""
    objective = terms.objective
    if first.verdict in {"better", "worse", "not_measured"}:
        return first
    is_told = second.verdict in {"better", "worse"}
    # What is off by nobody knows how much proves nothing, so not that little is lost either.
    is_bound = first.interval is not None and math.isfinite(first.slack)
    loss = _loss(first.interval, objective) if first.interval and is_bound else 1.0
    if not is_told or loss > terms.may_lose_ratio:
        return replace(
            first,
            starts_needed=_needed(first, second, starts, terms),
            starts_at_best=_needed(first, second, starts, terms, n_errors=1),
            starts_at_luckiest=_needed(first, second, starts, terms, n_errors=2),
            may_change=not second.is_decided,
        )
    tied = because(
        "experiment.is_equivalent" if first.verdict == "equivalent" else "experiment.loses_at_most",
        metric=objective.metric,
        # Not rounded below what it is.
        loss=math.ceil(loss * 1000) / 1000,
    )
    doubt = doubt_about(starts, named(objective.metric).ratio)
    decides = because(
        "experiment.tie_breaker_decides", metric=objective.tie_breaker, why=second.reasons
    )
    return replace(
        second,
        interval=first.interval,
        slack=first.slack,
        decided_by=objective.tie_breaker,
        reasons=(tied, *doubt.notes, decides),
    )


def _failure(starts: Sequence[StartRecord], terms: Terms) -> Reason | None:
    """Return how the candidate failed; None where it ran."""
    status, detail = arm_status(starts, 1)
    if status != "complete":
        return _failed_as(status, detail)
    windows = [window for start in starts for window in arm_windows(start, 1)]
    asked = windows, terms.objective, terms.requests
    why = failing(*asked) or forbidden(*asked)
    return None if why is None else _failed_as("infeasible", (why,))


def _failed_as(status: TrialStatus, why: tuple[Reason, ...]) -> Reason:
    return because(
        "experiment.candidate_failed_because" if why else "experiment.candidate_failed",
        status=status,
        why=why,
    )


def worst_ratio(interval: RatioInterval, objective: Objective) -> float:
    """Return the least that the metric keeps, by its interval; below 1 where it may lose."""
    return interval.low if named(objective.metric).is_more_better else 1 / interval.high


def _loss(interval: RatioInterval, objective: Objective) -> float:
    return max(0.0, 1 - worst_ratio(interval, objective))


def _needed(
    first: Claim,
    second: Claim,
    starts: Sequence[StartRecord],
    terms: Terms,
    *,
    n_errors: int = 0,
) -> int | None:
    """Return the starts after which the metric alone, or both together, are expected to decide.

    Where the truth lies so many standard errors nearer to that than what was seen: at most 2.
    """
    objective = terms.objective
    alone, other = (
        (each.starts_needed, each.starts_at_best, each.starts_at_luckiest)[n_errors]
        for each in (first, second)
    )
    if first.is_decided:
        return other  # it is equivalent, and only the tie breaker is open
    is_mute = second.is_decided and second.verdict not in {"better", "worse"}
    ratios = log_ratios(starts, named(objective.metric).ratio)
    is_bound = math.isfinite(first.slack) and not is_mute and second.interval is not None
    if not is_bound or len(ratios) < 2:  # noqa: PLR2004 - a spread takes two
        return alone
    spread = stdev(ratios)
    gain = fmean(ratios) if named(objective.metric).is_more_better else -fmean(ratios)
    room = gain - math.log1p(-terms.may_lose_ratio) - first.slack
    room += n_errors * spread / math.sqrt(len(ratios))
    if room <= 0:
        return alone
    alpha = 1 - objective.confidence_of(objective.metric)
    little = _in_starts(starts_needed(spread, room, alpha=alpha), len(ratios), len(starts))
    other = len(starts) if second.is_decided else other
    together = None if little is None or other is None else max(little, other)
    return _soonest(alone, together)


_LASTING = 2
"""Times the fewest starts, after which figures that contradict each other end a comparison. Before,
it may be chance: simulated with independent starts (standard deviation of the logarithm of their
own ratio 10 %), an arm without fault is doubted at some look from the sixth start on in 1.8 %, from
the twelfth on in 0.4 %."""


def _claim(starts: Sequence[StartRecord], terms: Terms, metric: str) -> Claim:
    objective, min_starts = terms.objective, terms.min_starts
    name = named(metric).ratio
    ratios = log_ratios(starts, name)
    confidence = objective.confidence_of(metric)
    if (missing := no_figure(starts, metric, min_starts)) is not None:
        return Claim(verdict="not_measured", reasons=(missing,), n_starts=len(starts))
    seen = terms.interval_of(ratios, confidence=confidence)
    lost = lost_between_looks(starts, named(metric))
    doubt = doubt_about(starts, name)
    slack = doubt.slack(0, 1)
    interval = seen and with_slack(lost.in_interval(seen), slack)
    n, n_starts = len(ratios), len(starts)
    if n < min_starts or interval is None:
        few = because(
            "experiment.few_starts" if n == n_starts else "experiment.few_figures",
            n=n,
            of=n_starts,
            fewest=min_starts,
            unit=terms.unit,
        )
        more = max(_in_starts(min_starts, n, n_starts) or 0, n_starts + 1)
        return Claim(
            verdict="inconclusive",
            reasons=(few,),
            interval=interval,
            n_starts=n_starts,
            starts_needed=min_starts if n_starts < min_starts else None,
            starts_at_best=more,
            starts_at_luckiest=more,
            slack=slack,
        )
    lasting = _LASTING * min_starts
    until = lasting if n_starts < lasting else None
    if doubt.is_unbounded:
        return Claim(
            verdict="inconclusive",
            reasons=doubt.complaints,
            interval=interval,
            n_starts=n_starts,
            starts_at_best=until,
            starts_at_luckiest=until,
            is_doubted=True,
            slack=slack,
        )
    word = verdict(
        interval,
        margin_ratio=objective.margin_ratio,
        more_is_better=named(metric).is_more_better,
    )
    spread, margin, alpha = stdev(ratios), objective.margin_ratio, 1 - confidence
    error = spread / math.sqrt(n)
    # No number of starts makes that smaller which all of them lose, or are off by.
    wanted = (
        distance_to_decision(interval, margin_ratio=margin, error=k * error) - lost.log - slack
        for k in range(3)
    )
    needed, at_best, at_luckiest = (
        _in_starts(starts_needed(spread, each, alpha=alpha), n, n_starts) for each in wanted
    )
    is_doubted = word == "inconclusive" and bool(doubt.complaints)
    if is_doubted:
        # More starts may bring the decision, or show that chance had made the doubt.
        at_best, at_luckiest = (_soonest(each, until) for each in (at_best, at_luckiest))
    notes = (*no_width(named(metric), spread, n), *lost.notes, *doubt.notes)
    told = (*_told_by(word, interval, terms, (n, needed)), *notes)
    return Claim(
        verdict=word,
        reasons=doubt.complaints if is_doubted else told,
        interval=interval,
        n_starts=n_starts,
        starts_needed=needed,
        starts_at_best=at_best,
        starts_at_luckiest=at_luckiest,
        is_doubted=is_doubted,
        slack=slack,
    )


def _soonest(*n_starts: int | None) -> int | None:
    return min((each for each in n_starts if each is not None), default=None)


def _in_starts(n_figures: int | None, n_with: int, n_starts: int) -> int | None:
    """Return the starts that so many figures take, where not every start gives one.

    Args:
        n_figures: That are wanted; None: more than anybody counts.
        n_with: Starts that gave one.
        n_starts: Of so many.
    """
    return None if n_figures is None else math.ceil(n_figures * n_starts / max(1, n_with))


_FAR = because("experiment.far")


def _told_by(
    word: Verdict, interval: RatioInterval, terms: Terms, starts: tuple[int, int | None]
) -> tuple[Reason, ...]:
    """Return why an interval has its verdict.

    Args:
        word: The verdict.
        interval: It was made by.
        terms: Of the claim.
        starts: That gave a figure, and those that a decision is expected to take; None: too many.
    """
    n, needed = starts
    if word == "equivalent":
        return (because("experiment.within_margin", margin=terms.objective.margin_ratio),)
    if word == "inconclusive":
        # How much more would decide is told as time, by `needed_s`: nobody buys starts.
        holds_1 = because("experiment.holds_1", n=n, unit=terms.unit)
        return (holds_1,) if needed else (holds_1, _FAR)
    side = because(
        "experiment.above_1" if interval.low > 1 else "experiment.below_1", n=n, unit=terms.unit
    )
    return (side,)


def _end(at_best: int | None, n_starts: int, per_start_s: float, most: int) -> Reason:
    """Return why a comparison that no time limits ended undecided, with what it would take.

    Args:
        at_best: Starts that a decision takes even at best; None: more than anybody counts.
        n_starts: That there were.
        per_start_s: What each took.
        most: That there may be.
    """
    if n_starts >= most:
        return because("experiment.most_starts", most=most)
    n = FARTHEST if at_best is None else at_best
    return because(
        "experiment.out_of_reach_far" if at_best is None else "experiment.out_of_reach",
        n=n,
        more_s=(n - n_starts) * per_start_s,
        most=most,
    )


_WITHIN_LIMITS = frozenset({"better", "equivalent", "inconclusive"})
"""Words that nobody may have who is beyond a limit, or more of them could lead to one."""


def comparison(
    index: int,
    starts: Sequence[StartRecord],
    configurations: tuple[Configuration, Configuration],
    terms: Terms,
) -> Comparison:
    """Return the comparison that these starts make, all that there will be."""
    objective, min_starts = terms.objective, terms.min_starts
    state = claim(starts, terms)
    second, also = state.second, state.also
    ratios = log_ratios(starts, named(objective.metric).ratio)
    duration_s = math.fsum(start.duration_s for start in starts)
    if state.verdict == "inconclusive" and len(starts) < min_starts:
        over = because(
            "experiment.time_was_over", n=len(starts), fewest=min_starts, unit=terms.unit
        )
        state = replace(state, verdict="not_measured", reasons=(over,), starts_needed=min_starts)
    if len(starts) < min_starts:
        second = second and _unmeasured(second)
        also = tuple(_unmeasured(each) for each in also)
    b = arm_summary(starts, 1, configurations[1], objective.named)
    if state.verdict in _WITHIN_LIMITS and (broken := limit_broken(b, objective)):
        failed = _failed_as("infeasible", (broken,))
        state = replace(state, verdict="failed", reasons=(failed,), decided_by="")
        b = structs.replace(b, status="infeasible", detail=(broken,))
    left = (state.starts_needed or 0) - len(starts)
    measuring_s = math.fsum(start.measuring_s for start in starts)
    per_start_s = measuring_s / len(starts) if starts else 0.0
    undecided = state.verdict in {"inconclusive", "not_measured"}
    needed_s = left * per_start_s if undecided and state.starts_needed and left > 0 else None
    reasons = state.reasons
    if state.verdict == "inconclusive" and terms.most_starts is not None:
        needed_s = None  # time did not end it, so more of it would not decide it
        if not state.is_doubted:
            end = _end(state.starts_at_best, len(starts), per_start_s, terms.most_starts)
            reasons = (*(each for each in reasons if each != _FAR), end)
    if state.verdict == "failed" and b.status == "complete":
        b = structs.replace(b, status="infeasible", detail=state.reasons)
    return Comparison(
        index=index,
        a=arm_summary(starts, 0, configurations[0], objective.named),
        b=b,
        verdict=state.verdict,
        reasons=reasons,
        metric=objective.metric,
        decided_by=state.decided_by,
        n_starts=len(starts),
        second=second,
        also=also,
        ratios=ratio_intervals(starts, objective, terms.interval_of),
        per_start_ratio=tuple(math.exp(value) for value in ratios),
        noise=noise(starts, ratios),
        needed_s=needed_s,
        is_doubted=state.is_doubted,
        duration_s=duration_s,
        warnings=window_warnings(starts),
    )


def _unmeasured(told: SecondClaim) -> SecondClaim:
    """Return a claim with another word where it was to have more starts, and has not."""
    is_open = told.verdict == "inconclusive"
    return structs.replace(told, verdict="not_measured") if is_open else told


@dataclass(frozen=True, kw_only=True, slots=True)
class Placed(Claim):
    """A claim that is open for as long as its interval holds one of the borders.

    Its starts needed are those after which it is expected to hold none.
    """

    is_clear: bool

    @property
    def is_decided(self) -> bool:
        """Whether the interval lies between two borders, or beyond all."""
        return self.is_clear


def placed(
    state: Claim, starts: Sequence[StartRecord], terms: Terms, borders: Sequence[float]
) -> Claim:
    """Return a claim as open as the borders leave it; as it is where there are none.

    It is as it is, too, where there are too few starts, or figures that contradict each other.

    Args:
        state: Of these starts.
        starts: That ended; (n_starts,).
        terms: The claim was made by.
        borders: Ratios of the metric, b over a.
    """
    objective, interval = terms.objective, state.interval
    ratios = log_ratios(starts, named(objective.metric).ratio)
    n = len(ratios)
    is_told = state.verdict not in {"failed", "not_measured"} and not state.is_doubted
    if not borders or interval is None or n < terms.min_starts or not is_told:
        return state
    spread, alpha = stdev(ratios), 1 - objective.confidence_of(objective.metric)

    def needed(n_errors: int) -> int | None:
        error = n_errors * spread / math.sqrt(n)
        # No number of starts makes that smaller which all of them are off by.
        wanted = distance_to_border(fmean(ratios), borders, error=error) - state.slack
        n_figures = starts_needed(spread, wanted, alpha=alpha)
        # Not every start gives a figure.
        return None if n_figures is None else math.ceil(n_figures * len(starts) / n)

    known = {each.name: getattr(state, each.name) for each in fields(state)}
    known |= {"starts_needed": needed(0), "starts_at_best": needed(1)}
    known |= {"starts_at_luckiest": needed(2), "may_change": False}
    return Placed(**known, is_clear=not holds_border(interval, borders))


@dataclass(frozen=True, kw_only=True, slots=True)
class Course:
    """How far a comparison is, and what is before it."""

    n_starts: int
    """All that count, with a figure or without."""
    fewest: int
    """Below so many starts nothing is claimed."""
    start_s: float
    """What each further start is expected to take."""
    allowed_s: float
    """What the comparison may still use; infinite where no time ends it."""
    most: int | None = None
    """Starts that end it, decided or not; None: time alone does."""
    precise_log_ratio: float | None = None
    """It goes on after the decision until the half-width is this small."""


def decides_in_s(state: Claim, course: Course) -> float | None:
    """Return the time until a decision, at what was seen so far; None: out of sight, 0: decided."""
    if state.is_decided:
        return 0.0
    if course.n_starts < course.fewest:
        return (course.fewest - course.n_starts) * course.start_s
    return _time_to(state.starts_needed, course)


def time_left_s(state: Claim, course: Course) -> float:
    """Return the time that the comparison is expected to go on: no more than it may."""
    soon_s = decides_in_s(state, course)
    if state.is_decided and course.precise_log_ratio is not None and state.by_chance is not None:
        needed = precise_after(state.by_chance, state.n_starts, course.precise_log_ratio)
        soon_s = _time_to(needed, course)
    ends_s = [course.allowed_s] if soon_s is None else [course.allowed_s, soon_s]
    if course.most is not None:
        ends_s.append((course.most - course.n_starts) * course.start_s)
    return max(0.0, min(ends_s))


def _time_to(needed: int | None, course: Course) -> float | None:
    """Return the time until so many starts in all are there, as a guess that few looks unsettle.

    What a decision needs by the effect and the spread that were seen jumps about, because a few
    starts tell little of either. That what was open for so long stays so for as long again is no
    worse a guess, and a steady one. Their geometric mean, at half of what it then took: within a
    factor of two in 7 to 8 of 10 simulated sequences whose effect is 0.3 to 1 standard deviations
    of a start, where the needed starts alone are in 5 of 10.
    """
    if needed is None:
        return None
    missing = max(1, needed - course.n_starts)
    return math.sqrt(missing * max(1, course.n_starts)) * course.start_s


def precise_after(interval: RatioInterval, n_starts: int, log_ratio: float) -> int | None:
    """Return the starts after which the interval's half-width is expected to be so small."""
    if interval.low <= 0 or not math.isfinite(interval.high):
        return None
    alpha = 1 - interval.confidence
    half_width = math.log(interval.high / interval.low) / 2
    spread = half_width / half_width_factor(n_starts, alpha=alpha)
    return starts_needed(spread, math.log1p(log_ratio), alpha=alpha)
