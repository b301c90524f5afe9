"""What a comparison proves of the objective's second metric, in words.

It decides nothing, so it never comes first; where the metric says the same it is a word or two.
"""

from collections.abc import Sequence

from httpdyno.metrics import named
from httpdyno.model import Comparison, SecondClaim
from httpdyno.report.shared.phrase import confidence_percent
from httpdyno.report.study.verdict_text import (
    metric_is,
    proven_second,
    ratio_bounds_text,
)

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
