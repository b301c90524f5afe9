"""The metric of what answers say in a header that is counted: how many begin with one word; pure.

`answers_ratio of HIT` is the share of the answers whose header began with `HIT`. Which words there
are a server decides, so any may be asked for; which way is better the word itself says.
"""

from collections.abc import Collection

from httpdyno.model.header_words import is_word

ANSWERS = "answers_ratio"
_OF_WORD = f"{ANSWERS} of "
ANSWERS_OF_ANY = f"{_OF_WORD}WORD"
"""What lists of metrics have in place of those of all words."""
_HIT = "hit"


def answers_with(word: str) -> str:
    """Return the metric of answers that begin with a word, which is its ratio's key too."""
    return f"{_OF_WORD}{word}"


def word_of_answers(metric: str) -> str:
    """Return the word that a metric, or a ratio, of answers is of; empty of all others."""
    word = metric.removeprefix(_OF_WORD)
    return word if word != metric and is_word(word) else ""


def is_among(metric: str, metrics: Collection[str]) -> bool:
    """Whether a metric is one of these: of answers any word is, where that of any is."""
    return metric in metrics or (ANSWERS_OF_ANY in metrics and word_of_answers(metric) != "")


def means_hit(word: str) -> bool:
    """Whether a word says that a cache had the answer, so that more of it is better.

    By its letters alone: in lower case it is or ends in `hit`, as `HIT`, `TCP_MEM_HIT` do.
    """
    return word.lower().endswith(_HIT)
