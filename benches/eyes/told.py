"""What is said of figures, and whether they are within their bounds. Pure."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from httpdyno.stats.sequence import mean_interval, ratio_interval

CONFIDENCE = 0.95
_NONE = "so few bound nothing"


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line."""

    text: str
    is_met: bool = True
    """False where a bound is not shown."""

    def __str__(self) -> str:
        return self.text


def wall(name: str, seconds: Sequence[float], cpu_s: Sequence[float], *, most_s: float) -> Line:
    """Return what runs took, of which the longest counts.

    Args:
        name: Of what.
        seconds: From the shell and back; (n,).
        cpu_s: CPU time of each, which depends less on what else runs; (n,).
        most_s: The bound.
    """
    text = (
        f"longest of {len(seconds)} {max(seconds):.2f} s, median {statistics.median(seconds):.2f} s"
        f" with {statistics.median(cpu_s):.2f} s of CPU"
    )
    return _line(name, text, f"at most {most_s:g} s", is_met=max(seconds) <= most_s)


def share(name: str, ratios: Sequence[float], *, most: float | None = None) -> Line:
    """Return the share of a core that something takes, of shares that are alike.

    Args:
        name: Of what.
        ratios: CPU time over time; (n,).
        most: The bound on the whole interval; None where there is none.
    """
    bounds = mean_interval(ratios, alpha=1 - CONFIDENCE)
    within = f"({bounds[0]:.2%} … {bounds[1]:.2%}; {CONFIDENCE:.0%})" if bounds else f"({_NONE})"
    text = f"{statistics.mean(ratios):.2%} of a core {within}"
    if most is None:
        return _line(name, text)
    is_met = bounds is not None and bounds[1] <= most
    return _line(name, text, f"at most {most:.0%}", is_met=is_met)


def ratio(name: str, logs: Sequence[float], *, within: float) -> Line:
    """Return a ratio, of which the whole interval is to be as near to 1 as that.

    Args:
        name: Of what.
        logs: Logarithms, one of each batch; (n_batches,).
        within: As far as the interval may reach.
    """
    found = ratio_interval(logs, confidence=CONFIDENCE)
    aim = f"within ±{within:.1%}"
    if found is None:
        return _line(name, f"{len(logs)} batches: {_NONE}", aim, is_met=False)
    text = f"{found.ratio:.4f} × ({found.low:.4f} … {found.high:.4f}; {CONFIDENCE:.0%})"
    return _line(name, text, aim, is_met=1 - within <= found.low and found.high <= 1 + within)


def _line(name: str, text: str, aim: str = "", *, is_met: bool = True) -> Line:
    word = f"  {aim}: {'shown' if is_met else 'not shown'}" if aim else ""
    return Line(text=f"{name:<44} {text}{word}", is_met=is_met)
