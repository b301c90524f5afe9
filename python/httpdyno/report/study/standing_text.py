"""Where an unfinished comparison stands, for those who watch it."""

from httpdyno.metrics import named
from httpdyno.model import RatioInterval, SecondClaim, Verdict
from httpdyno.report.shared.phrase import plural
from httpdyno.report.study.verdict_text import PROVEN, ratio_bounds_text
from httpdyno.units import format_guess


def standing_text(
    n_starts: int, interval: RatioInterval | None, second: SecondClaim | None = None
) -> str:
    """Return `12 starts  1.08 × (0.97 … 1.20)`, with what is proven of the second metric."""
    where = "no interval yet" if interval is None else ratio_bounds_text(interval)
    if second is not None and second.verdict in PROVEN:
        where += f", {named(second.metric).short} {second.verdict}"
    return f"{plural(n_starts, 'start')}  {where}"


def outlook_text(
    verdict: Verdict,
    open_metric: str,
    *,
    decides_in_s: float | None,
    allowed_s: float,
    is_few: bool,
) -> str:
    """Return what may be said already, and when the rest would be: `decided in about 12 s`.

    Args:
        verdict: At this look.
        open_metric: The metric that has not spoken yet; empty where the verdict stands.
        decides_in_s: Time until it would be decided; None: out of sight.
        allowed_s: What the comparison may still use.
        is_few: Nothing is claimed of so few starts.
    """
    word = verdict.replace("_", " ")
    if not open_metric:
        return f"{word}, and still narrowing" if allowed_s > 0 else word
    # The tie breaker is open where the metric itself has spoken.
    what = "" if verdict == "inconclusive" else f"{word}, {named(open_metric).short} "
    if decides_in_s is None:
        return f"{what}no end in sight"
    time = format_guess(decides_in_s)
    if is_few:
        return f"{what}decided in {time} at the earliest"
    if decides_in_s > allowed_s:
        return f"{what}would take about {time}"
    return f"{what}decided in about {time}"
