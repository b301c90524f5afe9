"""First words of a header as figures of starts, and what makes no ratio of them; pure."""

import math
from collections.abc import Iterable, Sequence

from httpdyno.experiment.nought import NoughtWords, nought_words
from httpdyno.model import HeaderWords, StartRecord
from httpdyno.model.answers import word_of_answers
from httpdyno.units import format_percent


def words_in(start: StartRecord, arm: int) -> HeaderWords | None:
    """Return what was counted of an arm in a start; None where nobody counts.

    With phases they are those of the phase that decides.
    """
    return start.header_words[arm] if start.header_words else None


def words_value(found: HeaderWords | None, ratio_name: str) -> float:
    """Return the share behind the name of a ratio of answers; NaN where there is none."""
    share = None if found is None else found.ratio_of(word_of_answers(ratio_name))
    return math.nan if share is None else share


def no_ratio_of_words(
    starts: Sequence[StartRecord], word: str, arms: Sequence[int], names: Sequence[str]
) -> str:
    """Return why no ratio of answers with a word may be made of these starts; empty where it may.

    Args:
        starts: Of all these arms.
        word: The first one of the header.
        arms: That are to have it.
        names: Of these arms, in their order; empty where nobody is to be named.
    """
    counted = [[_complete(start, arm) for start in starts] for arm in arms]
    return _uncounted(starts, arms) or _none_words(counted, word, names)


def _complete(start: StartRecord, arm: int) -> HeaderWords | None:
    return words_in(start, arm) if start.statuses[arm] == "complete" else None


def _uncounted(starts: Sequence[StartRecord], arms: Sequence[int]) -> str:
    """Return that one of the arms has no count in any start, and why; empty where all have."""
    for arm in arms:
        seen = [words_in(start, arm) for start in starts if start.statuses[arm] == "complete"]
        known = [each for each in seen if each is not None]
        if seen and not any(each.n_answers for each in known):
            why = next((each.uncounted for each in reversed(known) if each.uncounted), "nobody did")
            header = _header([known])
            return f"what answers say in {header} was not counted in {len(seen)} starts: {why}"
    return ""


def _none_words(
    counted: Sequence[Sequence[HeaderWords | None]], word: str, names: Sequence[str]
) -> str:
    says = f"`{word}` in {_header(counted)}"
    words = NoughtWords(
        none=f"no answer has {says}",
        some=f"in some starts no answer has {says}",
        figure=lambda name, mean: f"{format_percent(mean)} of {name}'s",
        what=f"answers have {says}",
        one_none="one of them has none of those",
    )
    return nought_words([[_share(each, word) for each in seen] for seen in counted], names, words)


def _share(found: HeaderWords | None, word: str) -> float | None:
    return None if found is None else found.ratio_of(word)


def _header(counted: Iterable[Iterable[HeaderWords | None]]) -> str:
    names = (each.name for seen in counted for each in seen if each is not None)
    name = next(names, "")
    return f"`{name}`" if name else "a header"
