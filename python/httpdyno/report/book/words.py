"""Words about what became of experiments; pure."""

from httpdyno.book.experiment import Experiment
from httpdyno.book.result import Now
from httpdyno.book.rule import Word

_STYLES: dict[Word, str] = {
    "holds": "green",
    "holds, larger": "green",
    "holds, smaller": "green",
    "no longer": "red",
    "was an artefact": "yellow",
    "cannot tell": "dim",
}


def word_style(word: Word) -> str:
    """Return how the terminal shows it."""
    return _STYLES[word]


def because(one: Experiment, now: Now) -> str:
    """Return why it came out so; empty where nothing is known, or nothing came out."""
    if now.word == "cannot tell":
        return ""
    return one.artefact if now.word == "was an artefact" else one.because
