"""What of an answer is compared: its parts as texts, and what is wrong with its coding."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from httpdyno.experiment.answer.ask import Answer, Question
from httpdyno.experiment.answer.coding import UndecodableError, UnknownCodingError, decoded
from httpdyno.experiment.answer.mask import masked_spans
from httpdyno.experiment.answer.piece import Text

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
    fault: str = ""
    """What is wrong with its coding in itself, in words; empty where nothing is."""


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


def _decoded(answer: Answer) -> tuple[bytes, str, str]:
    """Return the decoded body, a coding that nothing here undoes, and why it cannot be undone."""
    if answer.question.request.method == "HEAD":
        return b"", "", ""
    try:
        return decoded(answer.body, answer.coding), "", ""
    except UnknownCodingError:
        return b"", answer.coding, ""
    except UndecodableError as error:
        return b"", answer.coding, f"with a body that nobody can read: {error}"


def _fault(answer: Answer) -> str:
    if answer.coding.strip().lower() in {"", "identity"}:
        return ""
    if answer.question.is_plain:
        return f"with `Content-Encoding: {answer.coding}`, to a client that accepts none"
    named = {part.strip().lower() for part in answer.vary.split(",")}
    if answer.question.negotiates and not named & {"accept-encoding", "*"}:
        return (
            f"with `Content-Encoding: {answer.coding}` and without `Vary: Accept-Encoding`: "
            "a cache would hand it to clients that cannot read it"
        )
    return ""
