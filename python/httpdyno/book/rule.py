"""Whether what a document found holds today: the rule behind the words; pure.

All of it on the logarithm of the ratio, so that half and twice are the same effect.
"""

import math
from typing import Literal

from httpdyno.book.experiment import Then

Word = Literal[
    "holds",
    "holds, larger",
    "holds, smaller",
    "no longer",
    "was an artefact",
    "cannot tell",
]
FACTOR = 1.5
"""An effect is as large as then where its logarithm is within this factor of that of then."""
FLAT = math.log(1.25)
"""What is within is no effect worth the name, where none was found then."""
NOUGHT = math.log(1.05)
"""An interval that lies within: the effect of then is gone."""
RULE = (
    "A document's effect holds where the whole interval of today lies on its side of 1: as it was "
    "where some of the interval has between 1/1.5 and 1.5 times the effect then (its logarithm), "
    "else larger or smaller. It is no longer there where the interval lies within ±5 % of 1 (or "
    "within half of the effect, where that was smaller), or on the other side of it; that was an "
    "artefact where it is known what was seen instead. Where a document found that nothing depends "
    "on it, that holds while the interval lies within 1.25 times either way, and no longer where "
    "it lies beyond. A count holds where it is the same. All else cannot be told."
)


def judged(then: Then, low: float, high: float, *, is_artefact: bool = False) -> Word:
    """Return what becomes of a ratio.

    Args:
        then: With the ratio that was found, or that there is none.
        low: Of today's interval, above 0.
        high: Of today's interval; may be infinite.
        is_artefact: Whether it is known what was seen then, if the effect is not there.
    """
    bottom, top = math.log(low), math.log(high)
    if then.is_flat:
        if bottom >= -FLAT and top <= FLAT:
            return "holds"
        return "no longer" if bottom > FLAT or top < -FLAT else "cannot tell"
    if then.ratio is None:
        raise ValueError("there is no ratio to be judged by")
    effect = math.log(then.ratio)
    if effect < 0:
        effect, bottom, top = -effect, -top, -bottom
    nought = min(NOUGHT, effect / 2)
    if top < 0 or (bottom >= -nought and top <= nought):
        return "was an artefact" if is_artefact else "no longer"
    if bottom <= 0:
        return "cannot tell"
    if bottom > effect * FACTOR:
        return "holds, larger"
    return "holds, smaller" if top < effect / FACTOR else "holds"


def judged_count(then: float, now: float) -> Word:
    """Return what becomes of a number that is counted: calls, variables."""
    if math.isclose(now, then, abs_tol=_HALF):
        return "holds"
    if now < _HALF:
        return "no longer"
    return "holds, larger" if now > then else "holds, smaller"


_HALF = 0.5
"""Calls are means of some requests, and a second's turn may add one to one of them."""
