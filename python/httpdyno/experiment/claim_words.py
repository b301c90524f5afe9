"""What a claim of two configurations says of itself; pure."""

from httpdyno.model import RatioInterval, Verdict
from httpdyno.stats.sequence import FARTHEST
from httpdyno.units import format_guess

STATUS_WORDS = {
    "refused": "was refused by the server",
    "crashed": "crashed",
    "hung": "stopped answering",
    "unstable": "was unstable",
    "unlike": "answers unlike the start",
    "infeasible": "broke a limit",
}


FAR = "; deciding it would take far too long"


def reason_words(
    word: Verdict, interval: RatioInterval, margin_ratio: float, starts: tuple[int, int | None]
) -> str:
    """Return why an interval has its verdict.

    Args:
        word: The verdict.
        interval: It was made by.
        margin_ratio: Of `equivalent`.
        starts: That gave a figure, and those that a decision is expected to take; None: too many.
    """
    n, needed = starts
    if word == "equivalent":
        return f"the whole interval lies within ±{margin_ratio * 100:g} %"
    if word == "inconclusive":
        # How much more would decide is told as time, by `needed_s`: nobody buys starts.
        never = "" if needed else FAR
        return f"the interval still holds 1, no difference, after {n} starts{never}"
    side = "above" if interval.low > 1 else "below"
    return f"the whole interval lies {side} 1 after {n} starts"


def end_words(at_best: int | None, n_starts: int, per_start_s: float, most: int) -> str:
    """Return why a comparison that no time limits ended undecided, with what it would take.

    Args:
        at_best: Starts that a decision takes even at best; None: more than anybody counts.
        n_starts: That there were.
        per_start_s: What each took.
        most: That there may be.
    """
    if n_starts >= most:
        return f"{most} starts are the most"
    starts = f"more than {FARTHEST:,}" if at_best is None else f"{at_best:,}"
    more_s = ((FARTHEST if at_best is None else at_best) - n_starts) * per_start_s
    return (
        f"out of reach: even at best it takes {starts} starts, {format_guess(more_s)} more, "
        f"and {most} are the most"
    )
