"""How a study's figures were made, and with what confidence they hold, in sentences."""

from collections.abc import Sequence

from httpdyno.metrics import named, sources
from httpdyno.model import Objective, Outcome
from httpdyno.report.shared.phrase import plural
from httpdyno.report.study.calls_text import method_words
from httpdyno.report.study.finding import final_label
from httpdyno.report.study.second_text import confidences_text
from httpdyno.report.study.verdict_text import of_objective
from httpdyno.units import format_duration


def method_sentences(outcome: Outcome) -> tuple[str, str]:
    """Return how the figures were made, in two sentences."""
    method, objective = outcome.plan.study.method, outcome.plan.study.objective
    arms = "the levels" if outcome.sweep is not None else "both configurations"
    arms = "all combinations" if outcome.factorial is not None else arms
    n_windows = int(outcome.calibration.get("n_blocks", method.blocks_per_start))
    windows = f"{plural(n_windows, 'window')} of {format_duration(method.window_s)} each"
    if method.phases:
        names = ", ".join(phase.name for phase in method.phases)
        windows = f"{plural(n_windows, 'turn')} each, through the phases {names}"
    elif not outcome.plan.study.workload.is_open_loop:
        windows = f"up to {windows}, fewer and longer ones where latencies demanded it"
    is_one_by_one = method.side_by_side == 1 or method.is_fresh or method.is_all_at_once
    together = "" if is_one_by_one else f", at most {method.side_by_side} such starts at a time"
    first = (
        f"Private instances of {arms} stood side by side and were loaded in turn, in random "
        f"order, {windows}{_in_turn(objective)}; then all were stopped and started "
        f"afresh{together}, and nothing is claimed from fewer than {method.min_starts} such starts."
    )
    if outcome.plan.study.fragments is not None:
        first = method_words(outcome)
    second = (
        f"Each start gives one ratio, and the interval around their geometric mean is "
        f"anytime-valid: {_confidence_words(outcome)}; differences within "
        f"±{objective.margin_ratio * 100:g} % are called equivalent."
    )
    return first, second


def _in_turn(objective: Objective) -> str:
    return (
        ", once they had come up one after the other"
        if "coming up" in sources(objective.named)
        else ""
    )


def _confidence_words(outcome: Outcome) -> str:
    """Return what the intervals hold with what confidence, and how two metrics share the risk."""
    objective = outcome.plan.objective
    whole = confidences_text([objective.confidence])
    always = "it holds the truth however often one looks"
    own = f"with {whole} confidence {always}"
    if objective.second:
        parts = [objective.confidence_of(each) for each in (objective.metric, objective.second)]
        role = "the tie breaker" if objective.tie_breaker else "which decides nothing"
        own = f"{always}, {_shared_words(objective, parts, role)}"
        own += _also_words(objective)
        both = "all" if objective.also else "both"
        own = f"{own}, so that with {whole} {both} are right; nothing is claimed by other ratios"
    elif objective.also:
        part = confidences_text([objective.confidence_of(objective.metric)])
        own = f"{always}, of {named(objective.metric).label} with {part} confidence"
        own += f"{_also_words(objective)}, so that with {whole} all are right"
    if outcome.factorial is not None:
        effects = f"{always}, of all effects and interactions with {whole} confidence together"
        return f"{effects}; for {final_label(outcome)}, {own}" if outcome.final else effects
    if outcome.sweep is None:
        return f"{own}{_final_confidence(outcome)}"
    where = ", on the curve" if outcome.sweep.word == "knee" else ""
    curve = f"{always}{where} with {whole} confidence for all levels together"
    return f"{curve}; for {final_label(outcome)}, {own}" if outcome.final is not None else curve


def _shared_words(objective: Objective, parts: Sequence[float], role: str) -> str:
    """Return which of two metrics holds with what confidence."""
    own, other = (confidences_text([each]) for each in parts)
    return (
        f"of {named(objective.metric).label} with {own} confidence and of "
        f"{named(objective.second).label}, {role}, with {other}"
    )


def _also_words(objective: Objective) -> str:
    """Return with what confidence what is told besides holds, each of it."""
    return "".join(
        f" and of {named(metric).label}, which decides nothing, with "
        f"{confidences_text([objective.confidence_of(metric)])}"
        for metric in objective.also
    )


def _final_confidence(outcome: Outcome) -> str:
    """Return what a final claim holds with where its tie breaker decided no step; else empty."""
    objective, final = outcome.plan.study.objective, outcome.final
    interval = of_objective(final) if final else None
    if final is None or interval is None or not objective.tie_breaker:
        return ""
    if interval.confidence == objective.confidence_of(objective.metric):
        return ""
    other = final.ratios.get(named(objective.second).ratio)
    why = "in the final claim, because the tie breaker decided no step"
    if final.second is None or other is None:
        own = confidences_text([interval.confidence])
        return f"; {why}, of {named(objective.metric).label} alone, with {own} confidence"
    parts = [interval.confidence, other.confidence]
    return f"; {why}, {_shared_words(objective, parts, 'which decides nothing there')}"
