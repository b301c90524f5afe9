"""Whether answers are like those that were given before, and in which words not; pure.

Two answers of one and the same configuration may differ: a date, a number of the request. What
differs between them is learnt, a piece of the text each, and is not compared. Where they differ by
more than pieces, as lists of other lengths do, nothing of that part is.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from httpdyno.experiment.answer.ask import Question
from httpdyno.experiment.answer.piece import Text, differing, is_of_time
from httpdyno.experiment.answer.reading import BODY, Reading

_MOST_VARIED = 0.5
"""Share of a text's pieces that vary beyond which what is left of it tells nothing."""
_OTHER_KIND = 4
"""So many times shorter or longer than all that was seen is a page of another kind: an error page,
a login, whatever else it says."""
_WITH_TIMES = (BODY, "Location", "Set-Cookie")
"""Parts that may hold dates and numbers of their own."""
_FEW_BYTES = 256
"""A difference in length that says nothing of a page."""


@dataclass(slots=True)
class _Known:
    """What is known of one part of an answer."""

    name: str
    text: Text
    varied: set[int] = field(default_factory=set)
    """Pieces in which answers of the same configuration differ."""
    seen: tuple[str, str] = ("", "")
    """Where two of them first differed, as both are shown."""
    is_loose: bool = False
    """Whether two of them differed by more than pieces."""
    lengths: tuple[int, int] = (0, 0)
    """The least and the most bytes that were learnt."""

    def __post_init__(self) -> None:
        self.lengths = (self.text.n_bytes, self.text.n_bytes)

    @property
    def is_steady(self) -> bool:
        return not self.is_loose and len(self.varied) <= _MOST_VARIED * len(self.text.pieces)


class Likeness:
    """What a configuration answers, learnt from a few answers to each question."""

    def __init__(self) -> None:
        self._known: dict[tuple[Question, str], _Known] = {}
        self._faulty: set[Question] = set()
        """Whose coding is wrong in itself already."""
        self._unknown: dict[str, str] = {}
        """Codings that nothing here undoes, by the name of what is answered so."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was learnt yet."""
        return not self._known

    def learn(self, found: Iterable[Reading]) -> None:
        """Take in answers of the configuration."""
        for reading in found:
            if reading.fault:
                self._faulty.add(reading.question)
            if reading.unknown_coding:
                self._unknown[reading.name] = reading.unknown_coding
            for known, text in self._beside(reading):
                least, most = known.lengths
                known.lengths = min(least, text.n_bytes), max(most, text.n_bytes)
                if not _learnt(known, text) and not known.is_loose:
                    known.is_loose, known.seen = True, _first_seen(known.text, text)

    def follow(self, found: Iterable[Reading]) -> frozenset[Question]:
        """Take in what its answers differ in after a load; return to what it answers otherwise.

        What differs in a few pieces is no other answer, and what does is none to a fresh server.
        """
        return frozenset(
            reading.question
            for reading in found
            # Each of its parts, for what is learnt of it.
            if False in {_learnt(known, text) for known, text in self._beside(reading)}
        )

    def difference(
        self, found: Iterable[Reading], leave_out: Collection[Question] = frozenset()
    ) -> str:
        """Return in words the first answer that is another one; empty where none is.

        Args:
            found: Answers of another configuration.
            leave_out: Questions that say nothing now.
        """
        return next(
            (
                f"{reading.name} {words}"
                for reading in found
                if reading.question not in leave_out and (words := self._other(reading))
            ),
            "",
        )

    def allow_as(self, other: "Likeness") -> None:
        """Let that differ in which another one's answers to the same differ among themselves."""
        for key, known in self._known.items():
            beside = other._known.get(key)
            if beside is None:
                continue
            known.is_loose |= beside.is_loose
            if len(beside.text.pieces) == len(known.text.pieces):
                known.varied |= beside.varied

    def drift(self, found: Iterable[Reading], *, is_loaded: bool = False) -> str:
        """Return in words the first answer that time alone does not explain; empty where none is.

        Between an earlier day and now numbers, dates and ids may become others where they stand.

        Args:
            found: Answers of another day.
            is_loaded: After a load, which may leave marks: pages say so by their kind alone.
        """
        return next(
            (
                f"{reading.name} {words}"
                for reading in found
                if (words := self._drifted(reading, is_loaded=is_loaded))
            ),
            "",
        )

    def uncompared(self) -> tuple[str, ...]:
        """Return what is not compared, a sentence each."""
        loose = [
            f"{known.name}: {_named(part)} is another one each time, {known.seen[0]} and then "
            f"{known.seen[1]}, and is not compared"
            for (_, part), known in self._known.items()
            if not known.is_steady
        ]
        unknown = [
            f"{name}: nothing here undoes its coding `{coding}`, so its body is not compared"
            for name, coding in self._unknown.items()
        ]
        return (*loose, *unknown)

    def varied(self) -> tuple[str, ...]:
        """Return which words differ between its answers, but for which all is compared."""
        return tuple(
            f"{known.name}: of {len(known.text.pieces):,} words of {_named(part)} "
            f"{len(known.varied):,} may differ, as in {known.seen[0]} and {known.seen[1]}"
            for (_, part), known in self._known.items()
            if known.varied and known.is_steady
        )

    def _beside(self, reading: Reading) -> Iterator[tuple[_Known, Text]]:
        for part, text in reading.parts.items():
            key = reading.question, part
            yield self._known.setdefault(key, _Known(reading.name, text)), text

    def _other(self, reading: Reading) -> str:
        # Whether it is right at all is for the load to say, of both.
        if all((reading.question, part) not in self._known for part in reading.parts):
            return ""
        if reading.fault and reading.question not in self._faulty:
            return reading.fault
        for part, text in reading.parts.items():
            known = self._known.get((reading.question, part))
            if known is None or not known.is_steady:
                continue
            for place in differing(known.text, text):
                if place not in known.varied:
                    return _words(part, known.text, text, place)
        return ""

    def _drifted(self, reading: Reading, *, is_loaded: bool) -> str:
        for part, text in reading.parts.items():
            known = self._known.get((reading.question, part))
            if known is None:
                continue
            if part == BODY and (is_loaded or not known.is_steady):
                words = _other_kind(known.lengths, text.n_bytes, may_grow=is_loaded)
            else:
                words = _not_of_time(part, known, text) if known.is_steady else ""
            if words:
                return words
        return ""


def _not_of_time(part: str, known: _Known, text: Text) -> str:
    """Return in which words a part differs by more than time makes; empty where it does not."""
    places = [place for place in differing(known.text, text) if place not in known.varied]
    if not places:
        return ""
    old, new = known.text.pieces, text.pieces
    if len(old) != len(new) or part not in _WITH_TIMES:
        return _words(part, known.text, text, places[0])
    other = next((each for each in places if not is_of_time(old[each], new[each])), None)
    if other is not None:
        return _words(part, known.text, text, other)
    # Where half of the words are other ones, it is the numbers that the page is about.
    n_words = sum(not each.isspace() for each in old)
    return "" if len(places) < _MOST_VARIED * n_words else _words(part, known.text, text, places[0])


def _other_kind(lengths: tuple[int, int], n_bytes: int, *, may_grow: bool) -> str:
    """Return in words that a page's length is not of those that were seen; empty where it is."""
    least, most = lengths
    is_short = n_bytes * _OTHER_KIND < least and least - n_bytes > _FEW_BYTES
    is_long = n_bytes > most * _OTHER_KIND and n_bytes - most > _FEW_BYTES
    if is_short or (is_long and not may_grow):
        seen = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        return f"with a body of another kind: {n_bytes:,} bytes in place of {seen}"
    return ""


def _learnt(known: _Known, text: Text) -> bool:
    """Take in the pieces that differ; return False where it is more than pieces."""
    places = list(differing(known.text, text))
    if not places:
        return True
    in_pieces = len(known.text.pieces) == len(text.pieces)
    if in_pieces:
        if not known.varied:
            known.seen = known.text.shown_piece(places[0]), text.shown_piece(places[0])
        known.varied.update(places)
    return in_pieces


def _first_seen(old: Text, new: Text) -> tuple[str, str]:
    place = next(differing(old, new))
    return old.shown(place), new.shown(place)


def _named(part: str) -> str:
    return "its body" if part == BODY else "its status" if part == "status" else f"its `{part}`"


def _words(part: str, old: Text, new: Text, place: int) -> str:
    if part == "status":
        return f"with status {new.whole.decode()} in place of {old.whole.decode()}"
    if part != BODY:
        return f"with another `{part}`: {new.shown(0)} in place of {old.shown(0)}"
    at = f"at byte {new.begin(place) + 1:,}"
    shown = f"{new.shown(place)} in place of {old.shown(place)}"
    return f"with another body: the first difference is {at}: {shown}"
