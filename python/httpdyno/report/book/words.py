"""Words about what became of experiments; pure."""

import math

from httpdyno.book.experiment import Experiment, Then, Word
from httpdyno.book.result import Now
from httpdyno.book.rule import borders

_STYLES: dict[Word, str] = {
    "holds": "green",
    "holds, larger": "green",
    "holds, smaller": "green",
    "no longer": "red",
    "was an artefact": "yellow",
    "cannot tell": "dim",
    "not comparable": "dim",
}


def word_style(word: Word) -> str:
    """Return how the terminal shows it."""
    return _STYLES[word]


def why(one: Experiment, now: Now) -> str:
    """Return why it came out so; empty where that is not known, or nothing came out."""
    if now.word == "cannot tell":
        return ""
    if now.word == "not comparable":
        return one.footing
    told = one.because if now.word in one.explains else ""
    if now.word == "was an artefact":
        # Why something was seen then is one half of it; why nothing is seen now is the other.
        return "; ".join(filter(None, (one.artefact, told)))
    return told


def borders_words(then: Then) -> str:
    """Return where the word changes, in words; empty where nothing can be judged."""
    if then.count is not None:
        return f"holds at {then.count:g}"
    if then.ratio is None:
        return ""
    edges = [edge_text(each) for each in borders(then)]
    if then.is_flat:
        return f"holds from {edges[0]} to {edges[1]}, beyond that no longer"
    if math.log(then.ratio) > 0:
        return f"no longer up to {edges[0]}, smaller up to {edges[1]}, larger from {edges[2]} on"
    return f"larger up to {edges[0]}, smaller from {edges[1]} on, no longer from {edges[2]} on"


def edge_text(ratio: float) -> str:
    """Return a ratio at which a word changes; near 1 with the digits that tell two apart."""
    return f"{ratio:.4g}" if abs(math.log(ratio)) < _NEAR else f"{ratio:.3g}"


_NEAR = 0.1


def day(now: Now) -> str:
    """Return the day on which it was measured."""
    return now.measured_at[:10]
