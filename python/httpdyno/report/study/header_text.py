"""What answers said in the header that a study counts, in words: how many, and which part."""

from collections.abc import Iterable, Sequence

from httpdyno.model import ArmSummary, HeaderWords
from httpdyno.report.shared.phrase import NOTHING
from httpdyno.units import format_percent

_MOST_WORDS = 3
"""A column has no room for more."""
_OTHERS = "others"
_WITHOUT = "without"
_UNCOUNTED = "not counted"


def words_text(found: HeaderWords | None) -> str:
    """Return `HIT 1,140 (95 %), MISS 60 (5 %)`, most frequent first; a dash without a count."""
    if found is None:
        return NOTHING
    n = found.n_answers
    if not n:
        return _UNCOUNTED
    ordered = sorted(found.counts.items(), key=lambda each: (-each[1], each[0]))
    rest = sum(count for _, count in ordered[_MOST_WORDS:])
    told = [*ordered[:_MOST_WORDS], (_OTHERS, rest), (_WITHOUT, found.n_without)]
    return ", ".join(
        f"{word} {count:,} ({format_percent(count / n)})" for word, count in told if count
    )


def header_name(arms: Iterable[ArmSummary]) -> str:
    """Return the header that was counted of some of them; empty where none was."""
    return next((arm.header_words.name for arm in arms if arm.header_words is not None), "")


def header_line(arms: Sequence[tuple[str, ArmSummary]]) -> str:
    """Return `X-Cache: off without 200 (100 %); disk HIT 200 (100 %)`; empty without a count."""
    name = header_name(arm for _, arm in arms)
    told = [
        f"{of} {words_text(arm.header_words)}" for of, arm in arms if arm.header_words is not None
    ]
    return f"{name}: {'; '.join(told)}" if told else ""


def uncounted_line(arms: Iterable[ArmSummary]) -> str:
    """Return why the header of some arm's answers was not counted; empty where all were."""
    for arm in arms:
        found = arm.header_words
        if found is not None and not found.n_answers and found.uncounted:
            return f"{found.name} was not counted of some answers: {found.uncounted}"
    return ""
