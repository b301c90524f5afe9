"""The first stage of a run, its calibration, and the last one, its final claim.

What a few starts of the present configuration against itself say of noise and time.

The A/A starts are stored like all others, so a resumed run derives the same figures again.

The last claim: what was found against the start, on starts that nothing was chosen by.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from httpdyno.experiment.decide.evidence import arm_summary, log_ratios, noise, window_noise
from httpdyno.experiment.decide.usable import limit_broken
from httpdyno.experiment.decide.warning import window_warnings
from httpdyno.experiment.design.plan import MAX_STARTS, comparisons_ahead
from httpdyno.experiment.method.comparison import (
    Allowance,
    comparison_so_far,
    run_comparison,
    unaffordable,
)
from httpdyno.experiment.method.session import FINAL, FinalDone, GrowingOutcome, Session, Stage
from httpdyno.experiment.trial.bench import CALIBRATION_INDEX
from httpdyno.experiment.trial.budget import FINAL_SLACK, N_CALIBRATION_STARTS
from httpdyno.metrics.table import named
from httpdyno.model import Comparison, Configuration, Objective, Record, StartRecord, Study, Verdict
from httpdyno.reason import Reason, because
from httpdyno.stats.sequence import half_width_factor
from httpdyno.stats.spread import stdev

SAFETY = 0.92
"""Share of the budget that is planned for; the rest is for stops, reports and surprises."""


class StartCost(Record, frozen=True):
    """What one start of two arms takes, so that every comparison can have its starts."""

    n_blocks: int
    first_s: float
    """Expected time of a comparison's first start, which is alone, with that many blocks. What is
    looked at in it is not in it: that comes once for each configuration (`Session.looks_s`)."""
    start_s: float
    """The same of each of the others, of which several are up side by side."""
    figures: dict[str, float]
    """What the calibration found, for the report."""
    step_s: float = 0.0
    """What the comparisons of two arms took so far, in the mean; 0 where there was none."""


def calibrate(session: Session, outcome: GrowingOutcome, *, n_comparisons: int) -> StartCost:
    """Measure the starting configuration against itself, and return what a start costs.

    Args:
        session: Its first stage.
        outcome: Takes in what the calibration found and raises.
        n_comparisons: Comparisons to come.
    """
    study = session.plan.study
    session.stage = "calibration"
    session.watch(
        Stage(
            name="calibration",
            detail=because("experiment.start_against_itself"),
            elapsed_s=session.spent_s,
            left_s=None if study.is_until_decided else study.budget_s,
        )
    )
    start = study.start_configuration()
    blocks = min(study.method.blocks_per_start, max(2, study.method.blocks_per_start // 2))
    starts = [
        record
        for n_starts in (1, N_CALIBRATION_STARTS - 1)
        for record in session.sound_starts(
            CALIBRATION_INDEX, (start, start), blocks, n_starts, references=(0, 1)
        )
    ]
    outcome.warn(*session.dropped_warnings(CALIBRATION_INDEX))
    looks_s = session.looks_s(*comparisons_ahead(session.plan))
    cost = start_cost(starts, study, n_comparisons=n_comparisons, looks_s=looks_s)
    outcome.note(calibration=cost.figures)
    outcome.warn(*window_warnings(starts, "calibration"))
    broken = limit_broken(arm_summary(starts, 0, start), study.objective)
    if broken is not None:
        outcome.warn(because("experiment.start_breaks_limit", why=broken))
    return cost


def calibrated(cost: StartCost, budget_s: float) -> Reason:
    """Return what a start takes, and what can be proven in the budget."""
    detectable = cost.figures.get("detectable_ratio")
    if detectable is not None:
        is_endless = math.isinf(budget_s)
        return because(
            "experiment.detectable_in_starts" if is_endless else "experiment.detectable",
            start_s=cost.start_s,
            ratio=detectable,
            budget_s=0.0 if is_endless else budget_s,
            most=MAX_STARTS,
        )
    is_alike = "aa_ratio" in cost.figures
    return because(
        "experiment.start_takes_alike" if is_alike else "experiment.start_takes",
        start_s=cost.start_s,
    )


def start_cost(
    starts: Sequence[StartRecord], study: Study, *, n_comparisons: int, looks_s: float = 0.0
) -> StartCost:
    """Return the blocks per start that let every comparison have its starts within the budget.

    Args:
        starts: The A/A starts; (≥ 1,).
        study: Its method gives the most blocks that a start may have.
        n_comparisons: Comparisons to come.
        looks_s: What looks at their servers take, in all.
    """
    method = study.method
    window_s = [w.measurement.total_s for start in starts for w in start.windows]
    n_arms = max(1, len(starts[0].statuses))
    block_s = fmean(window_s) * n_arms if window_s else method.window_s * n_arms
    overheads_s = [max(0.0, each.measuring_s - block_s * _blocks(each, n_arms)) for each in starts]
    alone_s = overheads_s[0]
    overhead_s = fmean(overheads_s[1:]) if len(starts) > 1 else alone_s
    left_s = study.budget_s * SAFETY - math.fsum(start.duration_s for start in starts)
    left_s -= n_comparisons * (alone_s - overhead_s) + looks_s
    per_start_s = left_s / max(1, n_comparisons * method.min_starts)
    affordable = (per_start_s - overhead_s) / block_s if block_s > 0 else 1
    n_blocks = max(1, int(min(method.blocks_per_start, affordable)))
    start_s = overhead_s + n_blocks * block_s
    figures = {"overhead_s": overhead_s, "block_s": block_s, "n_blocks": float(n_blocks)}
    figures |= _noise_figures(starts, study, start_s, n_comparisons)
    return StartCost(
        n_blocks=n_blocks,
        first_s=alone_s + n_blocks * block_s,
        start_s=start_s,
        figures=figures,
    )


def _blocks(start: StartRecord, n_arms: int) -> float:
    return len(start.windows) / n_arms


def _noise_figures(
    starts: Sequence[StartRecord], study: Study, start_s: float, n_comparisons: int
) -> dict[str, float]:
    name = named(study.objective.metric).ratio
    ratios = log_ratios(starts, name)
    if len(starts[0].statuses) != 2 or len(ratios) < 2:  # noqa: PLR2004 - an A/A pair, and a spread
        return {}
    spread = noise(starts, ratios)
    affordable = study.budget_s * SAFETY / n_comparisons / start_s
    n_starts = max(study.method.min_starts, int(min(MAX_STARTS, affordable)))
    # What no single window has a figure of, such as memory, strays by what starts say of it.
    of_windows = window_noise(starts, name) or 0.0
    per_start = max(
        _spread_at_most(ratios), of_windows / math.sqrt(max(1.0, _blocks(starts[0], 2)))
    )
    alpha = 1 - study.objective.confidence_of(study.objective.metric)
    detectable = math.exp(per_start * half_width_factor(n_starts, alpha=alpha))
    # Counts may well be the same each time: no spread was seen, and so none is promised.
    proven = {} if per_start < _ALIKE else {"detectable_ratio": detectable}
    return {
        "aa_ratio": math.exp(fmean(ratios)),
        "between_starts_sd": stdev(ratios),
        "between_windows_sd": spread.get("between_windows", math.nan),
        **proven,
        "starts_per_comparison": float(n_starts),
    }


_ALIKE = 1e-12
"""What the logarithm of a ratio strays by less than this is the arithmetic's."""

_NORMAL_AT_FIFTH = -0.8416
"""The standard normal distribution's value that a fifth lies below."""


def _spread_at_most(log_ratios: Sequence[float]) -> float:
    """Return what the standard deviation of a start is at most, in four of five calibrations.

    The starts are few, and two that happen to agree must not promise that everything can be proven.
    Both arms are the same, so the ratios spread around nothing but 1.

    Source:
        Chi-squared quantiles by Wilson and Hilferty, PNAS 17 (1931).
    """
    n = len(log_ratios)
    square = math.fsum(value**2 for value in log_ratios)
    part = 2 / (9 * n)
    quantile = n * (1 - part + _NORMAL_AT_FIFTH * math.sqrt(part)) ** 3
    return math.sqrt(square / quantile)


FINAL_LOG_RATIO = 0.05
"""The final claim goes on, as time allows, until its interval is about ±5 %."""


def fewest_s(session: Session, cost: StartCost) -> float:
    """Return the time that a comparison's fewest starts take, without looks at their servers."""
    return cost.first_s + (session.plan.study.method.min_starts - 1) * cost.start_s


def final_reserve_s(session: Session, cost: StartCost) -> float:
    """Return the time that is kept for the starts of the final claim."""
    return fewest_s(session, cost) * FINAL_SLACK


def final_comparison(
    session: Session,
    outcome: GrowingOutcome,
    cost: StartCost,
    best: Configuration,
    objective: Objective,
) -> Comparison | None:
    """Compare the best proven configuration with the start on fresh starts.

    Fresh, because the steps that were kept are those that came out well: their product is an
    optimist. None if nothing was kept. Where its fewest starts do not fit into what is left of the
    budget, it is `not_measured`, and says what it takes. Where it is interrupted, the outcome has
    what it proves so far.
    """
    start = session.plan.study.start_configuration()
    if best == start:
        return None
    was_begun = session.has_stored(FINAL, (start, best))
    index = session.begin(FINAL, (start, best))
    is_until_decided = session.plan.study.is_until_decided
    needed_s = fewest_s(session, cost) + session.looks_s((start, best))
    left_s = max(0.0, min(session.left_s, final_reserve_s(session, cost)))
    session.watch(
        Stage(
            name=session.stage,
            detail=because("experiment.start_against_best"),
            elapsed_s=session.spent_s,
            left_s=None if is_until_decided else left_s,
        )
    )
    # Where decisions end the run and no time, none is left over for more than that.
    precise = None if is_until_decided else FINAL_LOG_RATIO
    # Its time was set aside; what went wrong on the way may have used some of it up.
    is_affordable = needed_s <= session.overtime_s
    arms = start, best
    if not is_affordable and not was_begun:
        result = unaffordable(session, index, arms, needed_s)
        session.watch(FinalDone(comparison=result))
        return result
    allowance = Allowance(
        time_s=max(session.left_s, needed_s),
        limit_s=session.left_s,
        whole_s=session.overtime_s,
        n_blocks=cost.n_blocks,
        is_last=True,
        precise_log_ratio=precise,
    )
    try:
        result = run_comparison(session, index, arms, allowance, objective)
    except KeyboardInterrupt:
        if so_far := comparison_so_far(session, index, arms, objective):
            outcome.conclude(so_far)
        raise
    session.watch(FinalDone(comparison=result))
    return result


def withdrawn(final: Comparison | None, broken: Reason | None, what: Reason) -> Reason | None:
    """Return why the start stays although a better one was found on the way; None if it does not.

    What the steps found is chosen because it came out well; the final claim, on fresh starts, is
    what one may believe. Without its word nothing is settled on but the start.
    """
    if final is None or (final.verdict == "better" and broken is None):
        return None
    if broken is not None:
        return because("experiment.withdrawn_for_limit", what=what, why=broken)
    return because(
        "experiment.withdrawn_by_metric" if final.ratios else "experiment.withdrawn",
        what=what,
        found=_NOT_BETTER.get(final.verdict, because("experiment.could_not_be_proven")),
        metric=final.decided_by or final.metric,
        why=final.reasons,
    )


_NOT_BETTER: Mapping[Verdict, Reason] = {
    "worse": because("experiment.came_out_worse"),
    "equivalent": because("experiment.made_no_difference"),
    "failed": because("experiment.failed_on_fresh_starts"),
}
