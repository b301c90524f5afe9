"""Whether what a document found holds today: the rule behind the words; pure.

All of it on the logarithm of the ratio, so that half and twice are the same effect. The rule cuts
the line of all ratios at a few borders; what lies between two of them has one word. An interval
that holds a border has the weaker word of its two sides, so that more time may only add to what is
said, and two runs disagree no more often than their intervals err.
"""

import math

from httpdyno.book.experiment import Then, Word

FACTOR = 1.5
"""An effect is as large as then where its logarithm is within this factor of that of then."""
TWICE = math.log(2.0)
"""Nor is one as large that is half or twice of it: of large effects that is nearer."""
NOUGHT = math.log(1.05)
"""An effect that is no larger is none, or half of the one of then where that was smaller."""
PART = 10.0
"""Nor is it one of so large an effect of then, where its logarithm is no such part of that."""
RULE_ROWS: tuple[tuple[str, Word], ...] = (
    (
        "short of 5 % on the effect's side (of half of the effect, where that was below 10 %; of "
        "a tenth of it, where that was above 1.63 times), or on the other side of 1",
        "no longer",
    ),
    ("the same, where it is known what was seen instead", "was an artefact"),
    ("from there to 1/1.5 of the effect then, or to half of the ratio then", "holds, smaller"),
    ("from there to 1.5 times the effect then, or to twice the ratio then", "holds"),
    ("beyond", "holds, larger"),
)
"""Where today's ratio lies, and the word for it."""
RULE_NOTES = (
    "All of it is on the logarithm of the ratio, so that half and twice are the same effect.",
    "Where a document found that nothing depends on it, that holds within 1.25 times either way, "
    "of a part of all requests within 1.05, and no longer beyond. A number that is counted holds "
    "where it is the same, and is not comparable where something else is counted today.",
    "What lies in one place is the whole interval, which holds the truth at 95 % however often one "
    "looked. One that reaches over a border has the word that claims less: holds, where the effect "
    "is proven and only its size is open; cannot tell, where the effect itself is.",
    "Measuring goes on until the interval reaches over no border, or until its time is over.",
)
RULE = " ".join(
    ("; ".join(f"{where}: {word}" for where, word in RULE_ROWS).capitalize() + ".", *RULE_NOTES)
)


def borders(then: Then) -> tuple[float, ...]:
    """Return the ratios at which the word changes, in ascending order.

    Raises:
        ValueError: What was found is no ratio.
    """
    if then.is_flat:
        return 1 / then.within, then.within
    effect, sign = _effect(then)
    logs = (nought_of(effect), *_as_large(effect))
    return tuple(sorted(math.exp(sign * each) for each in logs))


def nought_of(effect: float) -> float:
    """Return what is no effect, as a logarithm, beside one of then."""
    return max(min(NOUGHT, effect / 2), effect / PART)


def _as_large(effect: float) -> tuple[float, float]:
    """Return between which logarithms an effect is as large as then."""
    return max(effect / FACTOR, effect - TWICE), min(effect * FACTOR, effect + TWICE)


def judged(then: Then, low: float, high: float, *, is_artefact: bool = False) -> Word:
    """Return what becomes of a ratio.

    Args:
        then: With the ratio that was found, or that there is none.
        low: Of today's interval, above 0.
        high: Of today's interval; may be infinite.
        is_artefact: Whether it is known what was seen then, if the effect is not there.

    Raises:
        ValueError: What was found is no ratio.
    """
    bottom, top = math.log(low), math.log(high)
    if then.is_flat:
        flat = math.log(then.within)
        if bottom >= -flat and top <= flat:
            return "holds"
        return "no longer" if bottom > flat or top < -flat else "cannot tell"
    effect, sign = _effect(then)
    if sign < 0:
        bottom, top = -top, -bottom
    nought = nought_of(effect)
    if top <= nought:
        return "was an artefact" if is_artefact else "no longer"
    if bottom <= nought:
        return "cannot tell"
    least, most = _as_large(effect)
    if bottom > most:
        return "holds, larger"
    return "holds, smaller" if top < least else "holds"


def _effect(then: Then) -> tuple[float, float]:
    """Return the effect of then as a logarithm without its sign, and the sign."""
    if then.ratio is None:
        raise ValueError("there is no ratio to be judged by")
    effect = math.log(then.ratio)
    return abs(effect), math.copysign(1.0, effect)


def judged_count(then: float, now: float) -> Word:
    """Return what becomes of a number that is counted: calls, variables."""
    if math.isclose(now, then, abs_tol=_HALF):
        return "holds"
    if now < _HALF or then < _HALF:
        return "no longer"
    return "holds, larger" if now > then else "holds, smaller"


_HALF = 0.5
"""Calls are means of some requests, and a second's turn may add one to one of them."""
