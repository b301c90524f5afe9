"""One comparison: starts of both arms until it is decided, hopeless, or out of time.

Without a budget a comparison ends as `inconclusive` once it would take more than `MAX_STARTS` even
if the truth lay a standard error nearer to a decision. One whose figures contradict each other by
as much as the ratio ends if they do so at twice the fewest starts: before, chance may have made the
doubt.

How many blocks of windows the next starts have: the study's, or half as many.

A start costs the same to come up, however long it is measured. Where starts differ more than their
windows do, or where so little is left open that the fewest starts decide it anyway, half of the
blocks decide sooner. Both spreads are known from the starts that ended; the choice is made before
the next ones begin, so each of them is a fair draw whatever was chosen.

More blocks than the default four never paid (`research/blocks`): while starts are few, another one
narrows the interval by more than what it measures, because it tells the spread too; and starts of
many blocks beside those of few count no more than they.

In the model of `research/blocks` +40 % takes 4.6 s in place of 6.2 s. +3 %, where starts differ by
6 %, takes 46 s in place of 51 s. Percentiles, their limits and tie breakers keep all blocks.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from msgspec import structs

from httpdyno.experiment.decide.claim import (
    MAY_LOSE,
    Claim,
    Course,
    Terms,
    claim,
    comparison,
    decides_in_s,
    placed,
    precise_after,
    time_left_s,
)
from httpdyno.experiment.decide.evidence import block_log_ratios, log_ratios
from httpdyno.experiment.design.plan import MAX_STARTS
from httpdyno.experiment.method.session import Session, StartDone
from httpdyno.experiment.trial.budget import Needed, too_short
from httpdyno.metrics import named
from httpdyno.model import Comparison, Configuration, Objective, StartRecord, Study
from httpdyno.reason import because
from httpdyno.stats.sequence import starts_needed
from httpdyno.stats.spread import stdev, variance
from httpdyno.stats.verdict import distance, distance_to_border
from httpdyno.units import format_guess

PRIOR_STARTS = 3
"""As many starts the guess weighs that the two spreads are such that half of the time is best spent
on either: a few starts may agree by chance."""
LEAST = 2
"""Blocks of a start: one says nothing of how windows differ."""
WORTH = 0.8
"""Half of the blocks are chosen where they decide in at most so much of the time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StartTimes:
    """What a start takes."""

    overhead_s: float
    """Coming up, warming up and ending, its share where several do so at the same time; and
    counting its system calls, or coming up by itself, where that belongs to each start."""
    block_s: float
    """Of all arms' windows in one block."""

    def start_s(self, n_blocks: int) -> float:
        """Return the time of a start."""
        return self.overhead_s + n_blocks * self.block_s


def start_times(last: Sequence[StartRecord], room: int) -> StartTimes:
    """Return what each of the next starts is expected to take, from those that ended last.

    Args:
        last: Starts that were up at the same time; (≥ 1,).
        room: How many of the next ones may be.
    """
    mean_s = math.fsum(start.measuring_s for start in last) / len(last)
    windows = [window for start in last for window in start.windows]
    load_s = math.fsum(window.measurement.total_s for window in windows) / len(last)
    own_s = math.fsum(start.one_by_one_s for start in last) / len(last)
    # All else than the windows and that is done for all of them at the same time.
    share = room if len(last) == 1 else 1
    overhead_s = max(0.0, mean_s - load_s - own_s) / share + own_s
    return StartTimes(overhead_s=overhead_s, block_s=load_s / max(1, blocks_of(last)))


def blocks_of(starts: Sequence[StartRecord]) -> int:
    """Return the most blocks that an arm of these starts has."""
    return max(
        (window.block + 1 for start in starts for window in start.windows),
        default=0,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """Standard deviations of log ratios."""

    between_starts: float
    """What more blocks would not take away."""
    between_blocks: float

    def of_start(self, n_blocks: int) -> float:
        """Return that of whole starts of so many blocks."""
        return math.hypot(self.between_starts, self.between_blocks / math.sqrt(n_blocks))


def spread_of(starts: Sequence[StartRecord], ratio_name: str, times: StartTimes) -> Spread | None:
    """Return both spreads of a ratio; None where no start has two blocks with it."""
    rows = [row for row in block_log_ratios(starts, ratio_name) if len(row) > 1]
    if not rows:
        return None
    within = fmean(variance(row) for row in rows)
    ratios = log_ratios(starts, ratio_name)
    n_more = len(ratios) - 1
    seen = variance(ratios) - within / fmean(len(row) for row in rows) if n_more else 0.0
    guess = within * times.block_s / times.overhead_s if times.overhead_s else within
    between = (PRIOR_STARTS * guess + n_more * max(0.0, seen)) / (PRIOR_STARTS + n_more)
    return Spread(between_starts=math.sqrt(between), between_blocks=math.sqrt(within))


def choose_blocks(  # noqa: PLR0913 - what is known, what is wanted, and what may be chosen
    starts: Sequence[StartRecord],
    objective: Objective,
    times: StartTimes,
    *,
    base: int,
    fewest_starts: int,
    precise_log_ratio: float | None = None,
    borders: Sequence[float] = (),
) -> int:
    """Return the blocks of each of the next starts: `base`, or half of it.

    Args:
        starts: That ended; (≥ 1,).
        objective: What is to be decided.
        times: What a start takes.
        base: The study's blocks.
        fewest_starts: Of which something may be claimed.
        precise_log_ratio: Half-width that is wanted besides the decision.
        borders: Ratios that the interval is to hold none of, in place of being decided.
    """
    name = named(objective.metric).ratio
    ratios = log_ratios(starts, name)
    spread = spread_of(starts, name, times) if ratios else None
    half = base // 2
    if spread is None or half < LEAST or is_long_needed(objective):
        return base
    n = len(ratios)
    # By a standard error less than it seems: what is not there must not be counted on.
    sd = spread.of_start(blocks_of(starts[:1])) if n == 1 else stdev(ratios)
    error = sd / math.sqrt(n)
    if borders:
        wanted = max(0.0, distance_to_border(fmean(ratios), borders) - error)
    else:
        effect = max(0.0, abs(fmean(ratios)) - error)
        wanted = distance(effect, margin_ratio=objective.margin_ratio)
    if precise_log_ratio is not None:
        wanted = min(wanted, math.log1p(precise_log_ratio))
    alpha = 1 - objective.confidence_of(objective.metric)

    def takes_s(n_blocks: int) -> float:
        needed = starts_needed(spread.of_start(n_blocks), wanted, alpha=alpha)
        if needed is None:
            return math.inf
        return max(1, needed - n, fewest_starts - n) * times.start_s(n_blocks)

    return half if takes_s(half) < WORTH * takes_s(base) else base


def is_long_needed(objective: Objective) -> bool:
    """Tell whether fewer blocks could be too few requests for what is asked of percentiles."""
    asked = {objective.metric, *objective.also}
    is_percentile = any(named(metric).distribution for metric in asked)
    return is_percentile or bool(objective.tie_breaker) or objective.max_p99_s is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Allowance:
    """What a comparison may use."""

    time_s: float
    limit_s: float
    """What it may borrow from later steps, in all, when a decision is that near."""
    n_blocks: int
    whole_s: float = 0.0
    """What its fewest starts may use, in all: half of them prove nothing, so they go before what
    comes later and is not begun."""
    after_s: float = 0.0
    """Planned for what comes after it, for an honest time left."""
    must_decide: bool = False
    """Refuse to go on when the fewest starts cannot fit: there is nothing else to gain."""
    n_alike: int = 1
    """Comparisons of its size that there must be time for, it among them, where it must decide."""
    looks_s: float = 0.0
    """What looks at servers take in those that come after it."""
    is_last: bool = False
    """Nothing comes after it: what it does not use decides nothing else."""
    is_left_over: bool = False
    """Its time decides nothing else: it is not ended while even great luck may decide it."""
    precise_log_ratio: float | None = None
    """Go on after the decision until the half-width is this small, as time allows."""
    borders: tuple[float, ...] = ()
    """It goes on until the interval of the ratio holds none of these, in place of a verdict."""
    may_lose_ratio: float = MAY_LOSE
    """What of the metric the tie breaker may give away for what it decides by."""


def run_comparison(
    session: Session,
    index: int,
    arms: tuple[Configuration, Configuration],
    allowance: Allowance,
    objective: Objective | None = None,
) -> Comparison:
    """Measure starts of both arms until the comparison is decided, hopeless, or out of time.

    One that was begun before goes on with what it has. Looking after every start is allowed: the
    interval is valid at all of them together. The study's objective decides unless another is
    given.

    Raises:
        TargetError: The reference itself does not run.
    """
    terms = terms_of(session.plan.study, allowance.may_lose_ratio, objective)
    starts = session.sound_so_far(index)
    began_s = session.spent_s
    n_more = session.n_side_by_side(arms) if starts else 1
    n_blocks = allowance.n_blocks
    while True:
        more = session.sound_starts(index, arms, n_blocks, n_more)
        more += session.rest_of_batch(index, arms, n_blocks)
        starts += more
        used_s = session.spent_s - began_s
        state = placed(claim(starts, terms), starts, terms, allowance.borders)
        room = session.n_side_by_side(arms)
        n_blocks, next_s = next_start(starts, more, (n_blocks, room), (allowance, terms))
        is_first = len(starts) == 1 and not session.n_stored(index)
        if is_first and allowance.must_decide and not state.is_decided:
            require_budget(session, more[0], next_s, allowance)
        went_on = session.went_on(index)
        times_s, rules = (used_s, next_s), (allowance, terms)
        is_over = not went_on and _is_over(state, times_s, starts, rules)
        allowed_s = 0.0 if is_over else max(0.0, _allowed_s(state, times_s, rules) - used_s)
        course = Course(
            n_starts=len(starts),
            fewest=terms.min_starts,
            start_s=next_s,
            allowed_s=allowed_s,
            most=terms.most_starts,
            precise_log_ratio=allowance.precise_log_ratio,
        )
        more_s = time_left_s(state, course) + allowance.after_s
        session.watch(
            StartDone(
                stage=session.stage,
                n_starts=len(starts),
                fewest=terms.min_starts,
                interval=state.interval,
                verdict=state.verdict,
                open_metric=_open_metric(state, terms),
                decides_in_s=decides_in_s(state, course),
                allowed_s=allowed_s,
                elapsed_s=session.spent_s,
                left_s=min(more_s, max(0.0, session.left_s)),
                second=state.second,
            )
        )
        if is_over:
            break
        # What is stored is looked at where it was, and there were no fewer starts between.
        n_more = 1 if went_on else _n_more(state, times_s, rules, room)
    result = comparison(index, starts, arms, terms)
    return structs.replace(result, warnings=(*result.warnings, *session.dropped_warnings(index)))


def comparison_so_far(
    session: Session,
    index: int,
    arms: tuple[Configuration, Configuration],
    objective: Objective | None = None,
) -> Comparison | None:
    """Return what the starts of a comparison prove that was cut off; None where it is nothing.

    Looking is allowed at any time, and so is stopping.
    """
    starts = session.sound_so_far(index)
    terms = replace(terms_of(session.plan.study, objective=objective), most_starts=None)
    if len(starts) < terms.min_starts:
        return None
    result = comparison(index, starts, arms, terms)
    return structs.replace(result, warnings=(*result.warnings, *session.dropped_warnings(index)))


def terms_of(
    study: Study, may_lose_ratio: float = MAY_LOSE, objective: Objective | None = None
) -> Terms:
    """Return what a claim of this study is made by; its objective decides unless one is given."""
    return Terms(
        objective=objective or study.objective,
        min_starts=study.method.min_starts,
        requests=study.workload.requests,
        may_lose_ratio=may_lose_ratio,
        most_starts=MAX_STARTS if study.is_until_decided else None,
    )


def unaffordable(
    session: Session,
    index: int,
    arms: tuple[Configuration, Configuration],
    needed_s: float,
) -> Comparison:
    """Return a comparison for which there is no time, saying what it takes."""
    terms = terms_of(session.plan.study)
    reason = because("experiment.no_time_left", fewest=terms.min_starts, needed_s=needed_s)
    return structs.replace(comparison(index, [], arms, terms), reasons=(reason,), needed_s=needed_s)


def next_start(
    starts: Sequence[StartRecord],
    last: Sequence[StartRecord],
    known: tuple[int, int],
    rules: tuple[Allowance, Terms],
) -> tuple[int, float]:
    """Return the blocks of each of the next starts, and the time that one is expected to take.

    Args:
        starts: All that ended; (≥ 1,).
        last: Those of them that were up at the same time, at last; (≥ 1,).
        known: The blocks that these were to have, and how many of the next ones may be up.
        rules: What the comparison may use, and what it is made by.
    """
    (asked, room), (allowance, terms) = known, rules
    times = start_times(last, room)
    n_blocks = choose_blocks(
        starts,
        terms.objective,
        times,
        base=allowance.n_blocks,
        fewest_starts=terms.min_starts,
        precise_log_ratio=allowance.precise_log_ratio,
        borders=allowance.borders,
    )
    # Where long latencies asked for fewer and longer windows, they do so again.
    had = blocks_of(last)
    return n_blocks, times.start_s(min(n_blocks, had) if had < asked else n_blocks)


def _n_more(
    state: Claim, times_s: tuple[float, float], rules: tuple[Allowance, Terms], room: int
) -> int:
    """Return how many starts to measure before the next look: no more than may be needed."""
    allowance, terms = rules
    used_s, next_s = times_s
    needed = max(terms.min_starts, _needed(state, allowance) or MAX_STARTS) - state.n_starts
    fitting: float = room
    if next_s:
        # What only the fewest starts may use is for no more than them.
        to_fewest = min(terms.min_starts - state.n_starts, (allowance.whole_s - used_s) / next_s)
        fitting = max((_allowed_s(state, times_s, rules) - used_s) / next_s, to_fewest)
    most = math.inf if terms.most_starts is None else terms.most_starts - state.n_starts
    return max(1, int(min(room, needed, fitting, most)))


def _needed(state: Claim, allowance: Allowance) -> int | None:
    """Return the starts after which it is expected to be decided, and as precise as it is to be."""
    precise = allowance.precise_log_ratio
    if state.is_decided and precise is not None and state.by_chance is not None:
        return precise_after(state.by_chance, state.n_starts, precise)
    return state.starts_needed


def require_budget(
    session: Session, first: StartRecord, next_s: float, allowance: Allowance
) -> None:
    """Refuse a budget in which nothing can be claimed, once the cost of a start is known.

    Raises:
        UsageError: With the time that it takes.
    """
    study = session.plan.study
    n_starts = study.method.min_starts * allowance.n_alike
    more_s = (n_starts - 1) * next_s + allowance.looks_s
    if more_s > session.left_s:
        one_s = study.method.min_starts * max(first.measuring_s, next_s)
        n_alike, is_many = allowance.n_alike, allowance.n_alike > 1
        others_s = (n_starts - 1) * max(first.measuring_s, next_s)
        raise too_short(
            study.budget_s,
            f"one comparison takes about {format_guess(one_s)} here, "
            f"{study.method.min_starts} starts of both" + f", and there are {n_alike}" * is_many,
            Needed.at_once(first.duration_s + others_s + allowance.looks_s),
        )


def _is_over(
    state: Claim,
    times_s: tuple[float, float],
    starts: Sequence[StartRecord],
    rules: tuple[Allowance, Terms],
) -> bool:
    allowance, terms = rules
    used_s, mean_s = times_s
    is_timed = terms.most_starts is None
    is_long = len(starts) >= MAX_STARTS and not (allowance.is_last and is_timed)
    if state.verdict in {"failed", "not_measured"} or is_long:
        return True
    # The next start must fit; the fewest starts are given while there is time for them at all.
    if len(starts) < terms.min_starts:
        left = terms.min_starts - len(starts)
        return used_s + mean_s * left > max(allowance.time_s, allowance.whole_s)
    allowed_s = _allowed_s(state, times_s, rules)
    if used_s + mean_s > allowed_s:
        return True
    if state.is_decided:
        return allowance.precise_log_ratio is None or _is_precise(state, allowance)
    if terms.most_starts is not None:
        return not can_be_decided(state, terms.most_starts)
    left_s, is_left_over = allowed_s - used_s, allowance.is_left_over
    return not allowance.is_last and not is_within_reach(
        state, left_s, mean_s, is_left_over=is_left_over
    )


def can_be_decided(state: Claim, most_starts: int) -> bool:
    """Tell whether a comparison that no time ends may still be decided in so many starts."""
    return state.starts_at_best is not None and state.starts_at_best <= most_starts


def nearest(states: Mapping[int, Claim], left_s: float, start_s: float) -> int | None:
    """Return which undecided comparison takes the fewest more starts; None: all are out of reach.

    Args:
        states: Where each stands, by its number.
        left_s: What one of them may still use; it decides nothing else.
        start_s: What each further start is expected to take.
    """
    near = {
        number: (state.starts_at_luckiest or 0) - state.n_starts
        for number, state in states.items()
        if is_within_reach(state, left_s, start_s, is_left_over=True)
    }
    return min(near, key=lambda number: (near[number], number), default=None)


def is_within_reach(
    state: Claim, left_s: float, start_s: float, *, is_left_over: bool = False
) -> bool:
    """Tell whether a comparison may still be decided in the time that it has.

    One that may not is ended early: the time decides others. It stays `inconclusive`, with its
    interval, so nothing is claimed by it.

    Args:
        state: Where it stands.
        left_s: What it may still use.
        start_s: What each further start is expected to take.
        is_left_over: Whether that time decides nothing else; then more luck is counted on.
    """
    needed = state.starts_at_luckiest if is_left_over else state.starts_at_best
    return needed is not None and (needed - state.n_starts) * start_s <= left_s


def _allowed_s(state: Claim, times_s: tuple[float, float], rules: tuple[Allowance, Terms]) -> float:
    """Return what a comparison may use in all: more than its share where a decision is near."""
    allowance, terms = rules
    used_s, next_s = times_s
    margin = math.log1p(terms.objective.margin_ratio)
    is_near = _may_borrow(state, next_s, used_s, allowance, margin)
    return max(allowance.time_s, allowance.limit_s) if is_near else allowance.time_s


def _may_borrow(
    state: Claim, mean_s: float, used_s: float, allowance: Allowance, margin: float
) -> bool:
    """Tell whether a few more starts, within the limit, are expected to bring the decision."""
    if state.is_decided or state.starts_needed is None or state.interval is None:
        return False
    if abs(math.log(state.interval.ratio)) <= margin:
        return False  # what is heading for `equivalent` is worth its own time, not others'
    missing = max(1, state.starts_needed - state.n_starts)
    return missing <= state.n_starts and used_s + missing * mean_s <= allowance.limit_s


def _is_precise(state: Claim, allowance: Allowance) -> bool:
    if state.by_chance is None or allowance.precise_log_ratio is None:
        return True
    spread = state.by_chance.high / state.by_chance.low
    return spread <= (1 + allowance.precise_log_ratio) ** 2


def _open_metric(state: Claim, terms: Terms) -> str:
    """Return the metric that has not spoken yet; empty where nothing is open."""
    if state.is_decided:
        return ""
    return terms.objective.tie_breaker if state.may_change else terms.objective.metric
