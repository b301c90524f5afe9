"""What servers said of their answers in a header, such as `X-Cache: HIT from localhost`."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from httpdyno.model.base import Record
from httpdyno.reason import Reason, because

FIRST_WORD = re.compile(r"[^\s,;]+")
LONGEST_WORD = 32
"""Of longer ones the beginning is counted."""


def is_word(text: str) -> bool:
    """Tell whether a header's first word, as it is counted, may be this text."""
    return len(text) <= LONGEST_WORD and FIRST_WORD.fullmatch(text) is not None


class HeaderWords(Record, frozen=True, omit_defaults=True):
    """How many answers had which first word in a header, counted beside the windows.

    Of the same requests as in a window, from as many users, through something that reads heads. So
    nothing timed is in it, and what is counted is in no other figure.
    """

    name: str
    """Of the header, as the study has it."""
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    """First word → answers; `other` for what comes after the first sixteen words."""
    n_without: int = 0
    """Answers that had no such header."""
    beside: dict[str, "HeaderWords"] = msgspec.field(default_factory=dict)
    """The same of the phases that do not decide, by their names."""
    uncounted: tuple[Reason, ...] = ()
    """Why nothing was counted, or in how many of several starts and why."""

    @property
    def n_answers(self) -> int:
        """All that were looked at."""
        return sum(self.counts.values()) + self.n_without

    def ratio_of(self, word: str) -> float | None:
        """Return the share of the answers that began with a word; None where none were counted."""
        return self.counts.get(word, 0) / self.n_answers if self.n_answers else None


def words_together(parts: Iterable[HeaderWords | None]) -> HeaderWords | None:
    """Return what the counts of several starts come to; None where there are none. Pure.

    Where no answer was looked at in some of them, it says in how many, and why.
    """
    every = [each for each in parts if each is not None]
    if len(every) < _SEVERAL:
        return every[0] if every else None
    phases = dict.fromkeys(name for each in every for name in each.beside)
    together = {name: words_together(each.beside.get(name) for each in every) for name in phases}
    return HeaderWords(
        name=every[0].name,
        counts=dict(sum((Counter(each.counts) for each in every), Counter())),
        n_without=sum(each.n_without for each in every),
        beside={name: each for name, each in together.items() if each is not None},
        uncounted=_uncounted(every),
    )


_SEVERAL = 2


def _uncounted(starts: Sequence[HeaderWords]) -> tuple[Reason, ...]:
    """Return `in 2 of 6 starts: no answer came`; empty where all have counts."""
    missing = [each for each in starts if not each.n_answers]
    if not missing:
        return ()
    why = list(dict.fromkeys(reason for each in missing for reason in each.uncounted))
    told = because(
        "experiment.uncounted_because" if why else "experiment.uncounted",
        n=len(missing),
        of=len(starts),
        why=why,
    )
    return (told,)
