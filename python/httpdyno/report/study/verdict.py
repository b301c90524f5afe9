"""What a comparison showed, in words and figures: verdict, ratio, interval, other metrics."""

from collections.abc import Sequence

from rich.text import Text

from httpdyno.metrics import named
from httpdyno.model import (
    ArmSummary,
    Comparison,
    LadderStep,
    RatioInterval,
    SecondClaim,
    Sweep,
    SweepPoint,
    TrialStatus,
    Verdict,
)
from httpdyno.report.shared.interval import interval_ratio_text, interval_text, ratio_bounds_text
from httpdyno.report.shared.message import STATUSES, joined, texts
from httpdyno.report.shared.phrase import confidence_percent
from httpdyno.stats.histogram import is_median_between
from httpdyno.units import format_bounds, format_guess

# What a comparison showed, in words and figures: verdict, ratio, interval.

PROVEN: frozenset[Verdict] = frozenset({"better", "worse", "equivalent"})
"""The verdicts that an interval proves."""
_UNBOUNDED = 1e5
"""Times a level's figure: an interval that reaches so far has no upper end yet."""


def decider(comparison: Comparison) -> str:
    """Return the metric that the verdict rests on: the tie breaker, where that decided."""
    return comparison.decided_by or comparison.metric


def deciding(comparison: Comparison) -> RatioInterval | None:
    """Return the interval that the verdict rests on; None when nothing was measured."""
    return shown_ratios(comparison).get(named(decider(comparison)).ratio)


def of_objective(comparison: Comparison) -> RatioInterval | None:
    """Return the interval of the objective's metric, which ladders multiply; None as above."""
    return shown_ratios(comparison).get(named(comparison.metric).ratio)


STATUS_BADGES: dict[TrialStatus, str] = {
    "infeasible": "broke a limit",
    "unlike": "other answers",
}
"""How a candidate's status is shown where its own word would say too little."""


def has_figure(comparison: Comparison) -> bool:
    """Tell whether there is anything to show but why there is not."""
    return comparison.verdict not in {"failed", "not_measured"}


def proven_second(comparison: Comparison) -> SecondClaim | None:
    """Return the claim of the second metric where it proves something; else None."""
    second = comparison.second
    if second is None or second.verdict not in PROVEN:
        return None
    is_shown = comparison.verdict != "failed"
    return second if is_shown and named(second.metric).ratio in comparison.ratios else None


def shown_ratios(comparison: Comparison) -> dict[str, RatioInterval]:
    """Return the ratios that reports may show.

    Where an arm was not measured to the end none; where only the metric could not be, what is
    proven of those beside it. None of medians that lie between two unlike kinds of requests, where
    nobody asked for them.
    """
    if has_figure(comparison):
        is_between = any(is_median_between(arm.latency) for arm in (comparison.a, comparison.b))
        is_left_out = is_between and decider(comparison) != "latency_p50_s"
        return {
            key: each
            for key, each in comparison.ratios.items()
            if not (is_left_out and key == "latency_p50")
        }
    second = proven_second(comparison)
    keys = [] if second is None else [named(second.metric).ratio]
    if comparison.verdict != "failed":
        proven = [each.metric for each in comparison.also if each.verdict in PROVEN]
        keys += [key for metric in proven if (key := named(metric).ratio) in comparison.ratios]
    return {key: comparison.ratios[key] for key in keys}


def verdict_badge(comparison: Comparison) -> str:
    """Return `better`, `refused`, `not measured`: a word or two for a badge."""
    verdict = comparison.verdict
    if verdict == "failed":
        return status_badge(comparison.b.status)
    return verdict.replace("_", " ")


def status_badge(status: TrialStatus) -> str:
    """Return how an arm came out, in a word or two; what is complete has failed otherwise."""
    return "failed" if status == "complete" else STATUS_BADGES.get(status, status)


def verdict_words(comparison: Comparison) -> str:
    """Return `better`, or `better by CPU` where the tie breaker decided."""
    words = verdict_badge(comparison)
    by = comparison.decided_by
    return f"{words} by {named(by).short}" if by else words


def failure_text(arm: ArmSummary) -> str:
    """Return what became of an arm that did not run: `was refused: AH00180: …`."""
    said = STATUSES.get(arm.status, "failed")
    why = first_line(detail_text(arm))
    return f"{said}: {why}" if why else said


def detail_text(arm: ArmSummary) -> str:
    """Return why an arm is not complete, a line or more each; empty where it is."""
    return "\n".join(texts(arm.detail))


def failed_line(arm: ArmSummary) -> str:
    """Return `refused: AH00180: …`: how an arm came out that is not complete, and why."""
    why = detail_text(arm)
    return f"{arm.status}: {why}" if why else arm.status


def words_without_figure(comparison: Comparison) -> str:
    """Return why there is no figure: the server's own words in full, or the reason."""
    if comparison.verdict == "failed":
        return detail_text(comparison.b)
    return joined(comparison.reasons)


def first_line(text: str) -> str:
    """Return the first line of a server's words, marked where there are more."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "" if not lines else lines[0] + " …" * (len(lines) > 1)


def evidence_text(comparison: Comparison, *, is_brief: bool = False) -> str:
    """Return the ratio that decided; where there is none, why.

    After a tie it is named, and the metric's own ratio stands beside it:
    `by CPU per request: 0.81 × (0.75 … 0.87), throughput 1.00 × (0.97 … 1.03)`.
    """
    interval = deciding(comparison)
    if interval is None:
        return first_line(words_without_figure(comparison)) or "no reason was recorded"
    figure = (
        ratio_bounds_text(interval) if is_brief else interval_text(interval, comparison.n_starts)
    )
    if not comparison.decided_by:
        return figure
    name, tied = named(comparison.decided_by).label, ratio_bounds_text(of_objective(comparison))
    return f"by {name}: {figure}, {named(comparison.metric).label} {tied}"


def metric_is(metric: str) -> str:
    """Return `CPU per request is`, `system calls per request are`: the start of a sentence."""
    name = named(metric).label
    counted, per, _ = name.partition(" per ")
    return f"{name} are" if per and counted.endswith("s") else f"{name} is"


def step_name(step: LadderStep) -> str:
    """Return the knob's or candidate's name, marked where the step was tried again."""
    return f"{step.name}, again" if step.attempt > 1 else step.name


def has_run(point: SweepPoint) -> bool:
    """Tell whether a level was measured; the best one has no ratio to itself."""
    return point.arm.status == "complete" and point.arm.throughput_per_s > 0


def point_bounds(point: SweepPoint) -> tuple[float, float] | None:
    """Return a level's interval; None while the data bound nothing."""
    low, high = point.low, point.high
    return (low, high) if 0 < low <= high < point.value * _UNBOUNDED else None


def point_bounds_text(point: SweepPoint, metric: str) -> str:
    """Return `6,116/s … 6,265/s`; `unbounded` where the data bound nothing yet."""
    bounds = point_bounds(point)
    return "unbounded" if bounds is None else format_bounds(*bounds, named(metric).write)


def at_text(point: SweepPoint, metric: str) -> str:
    """Return what a level comes to: `6,190/s`, or with its name what is no throughput."""
    text = named(metric).write(point.value)
    return text if metric == "throughput_per_s" else f"{named(metric).label} {text}"


def of_best_text(point: SweepPoint, sweep: Sweep) -> str:
    """Return a level's ratio to the best one, which has itself no ratio."""
    if point.level == sweep.best:
        return "1"
    return interval_ratio_text(point.ratio_to_best)


def taken_word(sweep: Sweep) -> str:
    """Return what is said of the level that a sweep comes to."""
    return "taken" if sweep.is_of_words else "knee"


def p99_of(point: SweepPoint) -> float | None:
    """Return a level's p99 in seconds; None where the sample does not carry one."""
    return point.latency_p99_s if has_run(point) and point.latency_p99_s > 0 else None


def needed_text(comparison: Comparison) -> str:
    """Return how long an undecided comparison would still take; empty when it is decided."""
    is_open = comparison.verdict in {"inconclusive", "not_measured"}
    if not is_open or comparison.needed_s is None:
        return ""
    return f"about {format_guess(comparison.needed_s)} more would decide it"


# Verdicts as they stand on a terminal.

VERDICT_STYLES: dict[Verdict, str] = {
    "better": "green",
    "worse": "red",
    "equivalent": "dim",
    "inconclusive": "yellow",
    "failed": "red",
    "not_measured": "yellow",
}


def styled_verdict(comparison: Comparison) -> Text:
    """Return the verdict, coloured where colour is to be had."""
    return Text(verdict_badge(comparison), VERDICT_STYLES[comparison.verdict])


# What a comparison proves of the objective's second metric, in words. It decides nothing, so it
# never comes first; where the metric says the same it is a word or two.

MARKS = {"better": "*", "worse": "*", "equivalent": "="}
"""Before a ratio of which that is proven, in narrow tables; without colour, and one column wide."""
_MARK_WORDS = {"*": "proven better or worse", "=": "proven equivalent"}


def second_claim(comparison: Comparison) -> SecondClaim | None:
    """Return what is proven of the second metric; None where that is nothing, or decided."""
    second = proven_second(comparison)
    return None if second is None or second.metric == comparison.decided_by else second


def says_the_same(comparison: Comparison) -> bool:
    """Tell whether the second metric proves what the first one does."""
    second = second_claim(comparison)
    return second is not None and second.verdict == comparison.verdict


def second_figure(comparison: Comparison, second: SecondClaim) -> str:
    """Return `0.91 × (0.88 … 0.94; 99 % confidence)`."""
    interval = comparison.ratios[named(second.metric).ratio]
    figure = ratio_bounds_text(interval).removesuffix(")")
    return f"{figure}; {confidence_percent(interval.confidence)} confidence)"


def second_clause(comparison: Comparison) -> str:
    """Return `CPU per request is proven better: 0.91 × (0.88 … 0.94; 99 % confidence)`.

    Where the metric says the same, `CPU per request is better too: …`; empty where nothing is
    proven of it, or where it has decided.
    """
    second = second_claim(comparison)
    if second is None:
        return ""
    is_too = says_the_same(comparison)
    words = f"{second.verdict} too" if is_too else f"proven {second.verdict}"
    return f"{metric_is(second.metric)} {words}: {second_figure(comparison, second)}"


def differing_clause(comparison: Comparison) -> str:
    """Return the clause after `; `, to add to a sentence of the metric; empty where they agree."""
    clause = "" if says_the_same(comparison) else second_clause(comparison)
    return f"; {clause}" if clause else ""


def brief_clause(comparison: Comparison) -> str:
    """Return the clause for one line of progress; `, CPU per request too` where that is all."""
    second = second_claim(comparison)
    if second is None or not says_the_same(comparison):
        return differing_clause(comparison)
    return f", {named(second.metric).label} too"


def mark(comparison: Comparison, ratio: str) -> str:
    """Return what stands before that ratio in a narrow table: `*`, `=`, or nothing.

    Args:
        comparison: Of which the table shows ratios.
        ratio: The key of one of them.
    """
    second = proven_second(comparison)
    told = [] if second is None else [second]
    if comparison.verdict != "failed":
        told += [each for each in comparison.also if each.verdict in MARKS]
    return next((MARKS[each.verdict] for each in told if named(each.metric).ratio == ratio), "")


def marks_text(comparisons: Sequence[Comparison], ratios: Sequence[str]) -> str:
    """Return what the marks in a table mean: `* proven better or worse (99 % confidence)`.

    Only of those that are in it; empty where none is. With every confidence that a marked row has:
    a tie breaker has another one in the steps than in a final claim that it does not decide.

    Args:
        comparisons: The rows.
        ratios: Keys of the columns.
    """
    marked = [
        (sign, row.ratios[ratio].confidence)
        for row in comparisons
        for ratio in ratios
        if (sign := mark(row, ratio))
    ]
    if not marked:
        return ""
    signs = {sign for sign, _ in marked}
    meanings = [f"{each} {words}" for each, words in _MARK_WORDS.items() if each in signs]
    return f"{', '.join(meanings)} ({confidences_text([each for _, each in marked])} confidence)"


def confidences_text(confidences: Sequence[float]) -> str:
    """Return `96 %`; `97.5 % or 96 %` where intervals differ in it, in their order."""
    return " or ".join(dict.fromkeys(map(confidence_percent, confidences)))


# What a comparison says of the metrics that somebody asked for beside the objective's, in words.
# Each has a verdict of its own, which is told whatever it is: they were named to be answered.

_NO_WIDTH = 1e-9
"""Of the ratio: an interval that is narrower has no width but the arithmetic's."""


def also_claims(comparison: Comparison) -> tuple[SecondClaim, ...]:
    """Return the claims to tell; none where the candidate failed."""
    return () if comparison.verdict == "failed" else comparison.also


def also_words(comparison: Comparison, claim: SecondClaim) -> str:
    """Return what comes after the verdict: its figure, or the reason why there is none."""
    if claim.verdict == "not_measured" or named(claim.metric).ratio not in comparison.ratios:
        return joined(claim.reasons)
    figure = second_figure(comparison, claim)
    interval = comparison.ratios[named(claim.metric).ratio]
    is_alike = interval.high - interval.low < _NO_WIDTH * interval.ratio
    if named(claim.metric).is_counted and is_alike:
        return f"{figure}, the same in each start"
    return figure


def also_clauses(comparison: Comparison) -> list[str]:
    """Return `p99 latency is inconclusive: 0.97 × (0.80 … 1.17; 99 % confidence)` for each."""
    return [
        f"{metric_is(each.metric)} {each.verdict.replace('_', ' ')}: {also_words(comparison, each)}"
        for each in also_claims(comparison)
    ]


def said_ratios(comparison: Comparison) -> frozenset[str]:
    """Return the ratios that a comparison's sentences have: who lists the others leaves them out.

    The metric's, the one that decided, the second metric's where anything is proven of it, and
    those that were asked for besides.
    """
    second = second_claim(comparison)
    claims = (*([] if second is None else [second]), *also_claims(comparison))
    metrics = (comparison.metric, decider(comparison), *(each.metric for each in claims))
    return frozenset(named(each).ratio for each in metrics)
