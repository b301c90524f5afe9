"""What answers said in the header that a study counts, in words: how many, and which part."""

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from httpdyno.model import ArmSummary, HeaderWords, Outcome
from httpdyno.report.shared.message import joined
from httpdyno.report.shared.phrase import NOTHING
from httpdyno.report.shared.prose import Prose
from httpdyno.report.study.factorial_words import factorial_arms
from httpdyno.units import format_percent

Arms = Sequence[tuple[str, ArmSummary]]

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


def header_line(arms: Arms) -> str:
    """Return `off: without 200 (100 %); disk: HIT 200 (100 %)`; empty without a count."""
    return "; ".join(f"{of}: {text}" for of, text in _told(arms))


def header_table(arms: Arms) -> list[RenderableType]:
    """Return the same as lines, an arm to each, with what they are; empty without a count."""
    notes = header_notes(arm for _, arm in arms)
    if not notes:
        return []
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_header=False)
    table.add_column(justify="right")
    for of, text in _told(arms):
        table.add_row(Text(of), Text(text))  # what a server said is no markup
    return [*(Prose(Text(note)) for note in notes), table]


def header_notes(arms: Iterable[ArmSummary]) -> list[str]:
    """Return what the words are of, and why some are missing; empty where nothing was counted."""
    found = [arm.header_words for arm in arms if arm.header_words is not None]
    if not found:
        return []
    name = found[0].name
    why = [joined(each.uncounted) for each in found]
    why += [
        f"phase {of}, {joined(s.uncounted)}"
        for w in found
        for of, s in w.beside.items()
        if s.uncounted
    ]
    return [
        f"{name}: its first word, in answers to the same load after the windows",
        *(f"{name} was not counted of some answers: {each}" for each in dict.fromkeys(why) if each),
    ]


def header_sentences(outcome: Outcome) -> list[str]:
    """Return the same of a whole outcome, as sentences."""
    compared = [step.comparison for step in outcome.steps]
    compared += [] if outcome.final is None else [outcome.final]
    arms = [arm for each in compared for arm in (each.a, each.b)]
    if outcome.sweep is not None:
        arms += [point.arm for point in outcome.sweep.points]
    if outcome.factorial is not None:
        arms += [arm for _, arm in factorial_arms(outcome.factorial)]
    return [f"{note}." for note in header_notes(arms)]


def _told(arms: Arms) -> list[tuple[str, str]]:
    return [(of, words_text(arm.header_words)) for of, arm in arms if arm.header_words is not None]
