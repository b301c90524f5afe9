"""What a few starts of the present configuration against itself say of noise and time.

The A/A starts are stored like all others, so a resumed run derives the same figures again.
"""

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from httpdyno.experiment.block_ratios import noise, window_noise
from httpdyno.experiment.comparison import MAX_STARTS
from httpdyno.experiment.event import Stage
from httpdyno.experiment.evidence import arm_summary, log_ratios
from httpdyno.experiment.limit import limit_broken
from httpdyno.experiment.outcome import GrowingOutcome
from httpdyno.experiment.planning import comparisons_ahead
from httpdyno.experiment.session import CALIBRATION_INDEX, Session
from httpdyno.experiment.short_budget import N_CALIBRATION_STARTS
from httpdyno.experiment.warning import window_warnings
from httpdyno.metrics.table import named
from httpdyno.model import Record, StartRecord, Study
from httpdyno.reason import Reason, because
from httpdyno.stats.sequence import half_width_factor

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
            detail="the starting configuration against itself",
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
