"""What a comparison says of the metrics that somebody asked for beside the objective's, in words.

Each has a verdict of its own, which is told whatever it is: they were named to be answered.
"""

from httpdyno.metrics import named
from httpdyno.model import Comparison, SecondClaim
from httpdyno.report.shared.message import joined
from httpdyno.report.study.second_text import second_claim, second_figure
from httpdyno.report.study.verdict_text import decider, metric_is

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
