"""Answers as they are compared: parts as texts, in pieces, without what may differ.

Where a text holds what may differ, as patterns say: looked for in a process of its own.

Python's patterns may take time without end on a text that nearly fits. So they are tried where
they can be ended from outside, and only on texts that differ at all.

A text in pieces, so that two answers can be compared but for a few words; pure.

What of an answer is compared: its parts as texts, and what is wrong with its coding.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest

from httpdyno.errors import UsageError
from httpdyno.experiment.answer.ask import (
    Answer,
    Question,
    UndecodableError,
    UnknownCodingError,
    decoded,
)
from httpdyno.reason import Reason, because

LIMIT_S = 5.0
"""For all patterns on all texts of a look, many times what they take."""

Spans = list[tuple[int, int]]

# Positions are of bytes; what is no UTF-8 stays as it is.
_PROGRAM = """
import json, re, sys
patterns, texts = json.load(sys.stdin)
rules = [re.compile(each) for each in patterns]
found = []
for text in texts:
    spans = sorted(m.span() for rule in rules for m in rule.finditer(text) if m.end() > m.start())
    at, n, out = 0, 0, []
    for begin, end in spans:
        if begin < at:
            continue
        n += len(text[at:begin].encode("utf-8", "surrogateescape"))
        size = len(text[begin:end].encode("utf-8", "surrogateescape"))
        out.append((n, n + size))
        n, at = n + size, end
    found.append(out)
json.dump(found, sys.stdout)
"""


def masked_spans(patterns: Sequence[str], texts: Sequence[bytes]) -> list[Spans]:
    """Return the parts of each text that fit a pattern, ascending, as (begin, end) in bytes.

    Raises:
        UsageError: The patterns take too long on them.
    """
    if not patterns or not texts:
        return [[] for _ in texts]
    asked = json.dumps([list(patterns), [t.decode("utf-8", "surrogateescape") for t in texts]])
    try:
        done = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-I", "-S", "-c", _PROGRAM],
            input=asked,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError(
            f"the patterns of `workload.may_differ` take more than {LIMIT_S:g} s on "
            f"{sum(map(len, texts)):,} bytes of answers",
            hint="repeat what cannot be split in several ways: `[0-9:]+`, not `(\\d+:?)+`",
        ) from error
    return [[(begin, end) for begin, end in spans] for spans in json.loads(done.stdout)]


# A time, an address, a number or an id is one piece, so that another one has as many.
_PIECE = re.compile(rb"(?:[0-9A-Za-z_+/.:%\x80-\xff-]|(?<=[0-9]),(?=[0-9]))+|\s+|.", re.DOTALL)
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_MOST_IN_WORDS = 1 << 20
"""A larger text is cut into lines: pieces take some fifty times the room of what they hold."""
_SHOWN_BYTES = 32
_OF_TIME = re.compile(
    rb".*[0-9].*"
    rb"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|mon|tue|wed|thu|fri|sat|sun"
    rb"|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    rb"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
    rb"|(?:second|sec|minute|min|hour|day|week|month|year)s?|[ap]m",
    re.IGNORECASE | re.DOTALL,
)
"""A number, a date or an id with a digit in it; names of days and months, units of ages."""


class Text:
    """A text in its pieces, without the parts of it that may differ."""

    def __init__(self, whole: bytes, left_out: Sequence[tuple[int, int]] = ()) -> None:
        """Take a text.

        Args:
            whole: All of it.
            left_out: Parts that may differ, (begin, end), ascending and apart.
        """
        self.whole = whole
        self._left_out = left_out

    @property
    def n_bytes(self) -> int:
        """How long it is without the parts that may differ."""
        return len(self.whole) - sum(end - begin for begin, end in self._left_out)

    @cached_property
    def pieces(self) -> list[bytes]:
        """What it consists of, from its beginning to its end."""
        return [match.group() for match in self._matches]

    def begin(self, index: int) -> int:
        """Return where a piece begins in the whole text; the text's length beyond the last one."""
        if index >= len(self._matches):
            return len(self.whole)
        at = self._matches[index].start()
        for begin, end in self._left_out:
            if begin > at:
                break
            at += end - begin
        return at

    def shown(self, index: int) -> str | Reason:
        """Return a few characters from a piece on, quoted; that it ends where there are none."""
        begin = self.begin(index)
        found = self.whole[begin : begin + _SHOWN_BYTES]
        more = "…" if len(self.whole) > begin + _SHOWN_BYTES else ""
        return f"`{_printable(found)}{more}`" if found else because("experiment.its_end")

    def shown_piece(self, index: int) -> str:
        """Return a piece, quoted."""
        return f"`{_printable(self.pieces[index][:_SHOWN_BYTES])}`"

    @cached_property
    def _matches(self) -> list[re.Match[bytes]]:
        kept, at = bytearray(), 0
        for begin, end in self._left_out:
            kept += self.whole[at:begin]
            at = end
        kept += self.whole[at:]
        rule = _PIECE if len(self.whole) <= _MOST_IN_WORDS else _LINE
        return list(rule.finditer(bytes(kept)))


def differing(one: Text, other: Text) -> Iterator[int]:
    """Yield the pieces in which two texts differ, by their number, and those that one has more."""
    if one.whole == other.whole:
        return
    for index, (a, b) in enumerate(zip_longest(one.pieces, other.pieces)):
        if a != b:
            yield index


def is_of_time(piece: bytes, other: bytes) -> bool:
    """Tell whether one piece may have become another one by time alone: numbers, dates, ids."""
    return all(_OF_TIME.fullmatch(each.strip(b".:-")) for each in (piece, other))


def _printable(text: bytes) -> str:
    return "".join(each if each.isprintable() else "·" for each in text.decode("utf-8", "replace"))


BODY = "body"


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """A right answer, as it is compared."""

    question: Question
    """Whose answers are to be alike."""
    name: str
    parts: dict[str, Text] = field(default_factory=dict)
    """By the part's name; without the body where nothing here undoes its coding."""
    unknown_coding: str = ""
    fault: Reason | None = None
    """What is wrong with its coding in itself; None where nothing is."""


def readings(answers: Sequence[Answer], may_differ: Sequence[str]) -> list[Reading]:
    """Return the right answers, decoded, without what only this asking put in. In their order.

    Args:
        answers: What was answered, of all that is to be compared.
        may_differ: Patterns of what is not compared of bodies.

    Raises:
        UsageError: The patterns take too long.
    """
    right = [(each, *_decoded(each)) for each in answers if each.is_right]
    texts = [answer.without_own(body) for answer, body, _, _ in right]
    spans = masked_spans(may_differ, texts)
    found = []
    for (answer, _, unknown, broken), text, masked in zip(right, texts, spans, strict=True):
        heads = {
            "status": str(answer.status),
            "Content-Type": answer.kind,
            "Location": answer.location,
            "Set-Cookie": "\n".join(answer.cookies),
        }
        parts = {
            name: Text(answer.without_own(words.encode("latin-1", "replace")))
            for name, words in heads.items()
        }
        if not unknown:
            parts[BODY] = Text(text, masked)
        found.append(
            Reading(
                question=answer.question.bare,
                name=answer.question.name,
                parts=parts,
                unknown_coding=unknown,
                fault=broken or _fault(answer),
            )
        )
    return found


def _decoded(answer: Answer) -> tuple[bytes, str, Reason | None]:
    """Return the decoded body, a coding that nothing here undoes, and why it cannot be undone."""
    if answer.question.request.method == "HEAD":
        return b"", "", None
    try:
        return decoded(answer.body, answer.coding), "", None
    except UnknownCodingError:
        return b"", answer.coding, None
    except UndecodableError as error:
        return b"", answer.coding, because("experiment.body_unreadable", words=str(error))


def _fault(answer: Answer) -> Reason | None:
    if answer.coding.strip().lower() in {"", "identity"}:
        return None
    if answer.question.is_plain:
        return because("experiment.coded_unasked", coding=answer.coding)
    named = {part.strip().lower() for part in answer.vary.split(",")}
    if answer.question.negotiates and not named & {"accept-encoding", "*"}:
        return because("experiment.coded_without_vary", coding=answer.coding)
    return None
