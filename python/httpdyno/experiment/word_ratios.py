"""First words of a header as figures of starts, and what makes no ratio of them; pure.

A start in which no answer of an arm says the word has no logarithm, so where there is one there is
no ratio: an interval of the other starts would be of those that came out otherwise.
"""

import math
from collections.abc import Iterable, Sequence

from httpdyno.model import HeaderWords, StartRecord
from httpdyno.model.answers import word_of_answers
from httpdyno.units import format_percent

_PAIR = 2


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
    shares = [[_share(each, word) for each in seen] for seen in counted]
    known = [[share for share in each if share is not None] for each in shares]
    every = [share for each in known for share in each]
    says = f"`{word}` in {_header(counted)}"
    if all(every):
        return ""
    if not any(every):
        return f"no answer has {says}, so there is no ratio of them"
    named = [*zip(names, known, strict=True)] if names else []
    if len(named) != _PAIR:
        without = ", ".join(name for name, each in named if not all(each))
        those = f" (those with {without})" if without else ""
        return f"in some starts no answer has {says}{those}, so there is no ratio to them"
    parts = [f"{format_percent(_mean(each))} of {name}'s" for name, each in named if each]
    in_starts = [*zip(*shares, strict=True)]
    n_none = sum(any(share == 0 for share in each) for each in in_starts)
    return (
        f"{' and '.join(parts)} answers have {says}, and in {n_none} of {len(in_starts)} starts "
        "one of them has none of those, so there is no ratio of them"
    )


def _share(found: HeaderWords | None, word: str) -> float | None:
    return None if found is None else found.ratio_of(word)


def _mean(shares: Sequence[float]) -> float:
    return math.fsum(shares) / len(shares)


def _header(counted: Iterable[Iterable[HeaderWords | None]]) -> str:
    names = (each.name for seen in counted for each in seen if each is not None)
    name = next(names, "")
    return f"`{name}`" if name else "a header"
