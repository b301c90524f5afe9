"""What the rehearsed copy of a site answered, kept with its study: what all later starts must be.

A copy may be rehearsed in one way and measured in another, a folder that it may not write in say;
then it is an error page that would be tuned. The answers may hold what is personal, so their file
is for its owner only.

Between then and now numbers and dates may change where they stand. What servers of one moment
answer differently varies; what all of them answer otherwise was changed, and is refused. A part
that differs each time tells by its length whether it is a page of the same kind.
"""

import zlib
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from pathlib import Path

import msgspec
from msgspec import structs

from httpdyno.errors import AdapterError, StudyFileError
from httpdyno.experiment.answer.ask import (
    MOST_OF_LOG,
    Answer,
    Question,
    Reached,
    answers,
    asked_requests,
    questions,
)
from httpdyno.experiment.answer.coding import MOST_BYTES, decoded
from httpdyno.experiment.answer.likeness import Likeness
from httpdyno.experiment.answer.reading import readings
from httpdyno.host.foreign_files import NewFolder, is_there, read_regular
from httpdyno.host.foreign_text import reason
from httpdyno.model import (
    Record,
    RequestSpec,
    ServerLimits,
    SideCommand,
    Site,
    Study,
    Workload,
)

ANSWERS = "rehearsal-answers.json"
"""In the study's folder."""

_SAFE = ("GET", "HEAD")
_MOST_REQUESTS = 2000
_LIMIT_S = 30.0
"""For what a start is asked."""
_MOST_KEPT_BYTES = 64 << 20
"""Of all bodies, compressed; what comes after them is not kept."""
_LARGEST_BYTES = 96 << 20
_MOST_READ_BYTES = 1 << 30
"""Of all bodies together, as they are compared."""
_NEW_ONES = "`httpdyno adopt` makes new ones"
WAY_OUT = (
    "where your pages or data changed since, adopt them again: `httpdyno adopt … -o DIR`; what may "
    'differ is named in the study file, `may_differ = ["PATTERN"]` in [workload]; where neither is '
    "so, the copy may not write or reach what the rehearsed one could"
)


class UnlikeRehearsalError(AdapterError):
    """A copy answers otherwise than the one that was rehearsed."""


class KeptAnswer(Record, frozen=True):
    """One answer, as it is compared: decoded, without what only that asking put in."""

    path: str
    method: str
    headers: tuple[tuple[str, str], ...]
    user: int
    is_plain: bool
    status: int
    kind: str
    location: str
    cookies: tuple[str, ...]
    body: bytes
    """Compressed (zlib)."""

    @property
    def answer(self) -> Answer:
        """The answer."""
        request = RequestSpec(
            path=self.path, method=self.method, headers=self.headers, expect_status=self.status
        )
        return Answer(
            question=Question(request=request, user=self.user, is_plain=self.is_plain),
            status=self.status,
            kind=self.kind,
            location=self.location,
            cookies=self.cookies,
            body=zlib.decompressobj().decompress(self.body, MOST_BYTES),
        )


class KeptAnswers(Record, frozen=True):
    """What stands in the file."""

    rehearsed_at: str
    """UTC, ISO 8601."""
    site: Site
    """As it was rehearsed."""
    before: tuple[SideCommand, ...]
    """What prepared it."""
    answers: tuple[KeptAnswer, ...]
    """The same may have been asked several times: what differs then, may."""

    def write(self, folder: NewFolder) -> None:
        """Write the file into a new study's folder, for its owner only.

        Raises:
            OSError: It cannot be written, or is there.
        """
        folder.write([ANSWERS], msgspec.json.encode(self))


class Asked:
    """Asks a server what a study asks, round by round, and keeps what it answers."""

    def __init__(self, workload: Workload) -> None:
        """Take the load whose requests are asked, those that change nothing."""
        self._workload = workload
        requests = [each for each in asked_requests(workload) if each.method in _SAFE]
        # A start is asked the first ones.
        self._of_starts = requests[:MOST_OF_LOG]
        self._all = requests[:_MOST_REQUESTS]
        self.found: list[Answer] = []

    def round(self, running: Reached) -> None:
        """Ask each question once that a start is asked."""
        asked = questions(self._workload, self._of_starts)
        self.found += self._answers(running, asked, limit_s=_LIMIT_S)

    def whole_round(self, running: Reached) -> list[Answer]:
        """Ask for all there is; return what each request was answered, to the first of users."""
        asked = questions(self._workload, self._all)
        found = self._answers(running, asked, limit_s=inf)
        kept = {each.bare for each in questions(self._workload, self._of_starts)}
        self.found += [each for each in found if each.question.bare in kept]
        return [each for each in found if each.question.is_usual]

    def _answers(
        self, running: Reached, asked: Sequence[Question], *, limit_s: float
    ) -> list[Answer]:
        return list(answers(running, self._workload, asked, limit_s=limit_s, goes_on=True))

    def kept(self, site: Site, before: Sequence[SideCommand], *, at: str) -> KeptAnswers:
        """Return the right ones, each once, for as long as there is room.

        Args:
            site: Whose copy it was.
            before: What prepared it.
            at: When, UTC, ISO 8601.
        """
        kept: dict[KeptAnswer, None] = {}
        n_bytes = 0
        for answer in self.found:
            each = _kept(answer) if answer.is_right else None
            if each is None or each in kept or n_bytes + len(each.body) > _MOST_KEPT_BYTES:
                continue
            n_bytes += len(each.body)
            kept[each] = None
        return KeptAnswers(rehearsed_at=at, site=site, before=tuple(before), answers=tuple(kept))


class Rehearsed:
    """What the copy that was rehearsed answers, beside what a later one does."""

    def __init__(self, kept: KeptAnswers, may_differ: Sequence[str]) -> None:
        """Take what was kept.

        Raises:
            StudyFileError: A body is none.
            UsageError: The patterns take too long on it.
        """
        self.day = kept.rehearsed_at[:10]
        self.likeness = Likeness()
        self.likeness.learn(readings(_answers(kept), may_differ))

    def words(self, study: Study, difference: str) -> str:
        """Return a difference as it is told."""
        return (
            f"wrong response: a copy of {study.name} answers otherwise than in its rehearsal of "
            f"{self.day}: {difference}"
        )


def rehearsed_of(study: Study) -> Rehearsed | None:
    """Return what the rehearsed copy of a study's site answered.

    None where nothing was kept, or something else was rehearsed (`not_rehearsed`).

    Raises:
        StudyFileError: What was kept cannot be read.
        UsageError: Patterns of the study take too long.
    """
    kept = _kept_of(study)
    if kept is None or _changed(study, kept):
        return None
    return Rehearsed(kept, study.may_differ)


def not_rehearsed(study: Study) -> str:
    """Return why starts of an adopted study are not compared with its rehearsal; empty if they are.

    Raises:
        StudyFileError: What was kept cannot be read.
    """
    kept = _kept_of(study)
    if study.site is None or kept is None:
        return ""
    if changed := _changed(study, kept):
        return (
            f"its answers are not compared with its rehearsal of {kept.rehearsed_at[:10]}, which "
            f"had another {changed}"
        )
    return ""


def difference_now(running: Reached, study: Study, workload: Workload) -> str:
    """Return in words how a server of a study answers otherwise than the rehearsed one; else empty.

    Raises:
        StudyFileError: What was kept cannot be read.
        UsageError: Patterns of the study take too long.
    """
    rehearsed = rehearsed_of(study)
    if rehearsed is None:
        return ""
    asked = Asked(workload)
    asked.round(running)
    found = rehearsed.likeness.drift(readings(asked.found, study.may_differ))
    return rehearsed.words(study, found) if found else ""


def difference_from_own(copy: Asked, own: Asked) -> str:
    """Return in words how a copy answers otherwise than the server that it is of; else empty.

    Args:
        copy: Asked at least twice, so that it is known what differs anyway; what it answers wrong
            is told elsewhere.
        own: The server itself, asked at least twice. Whatever it answers is right.
    """
    real = Likeness()
    real.learn(readings([_as_right(each) for each in own.found if each.status], ()))
    found = readings(copy.found, ())
    beside = Likeness()
    beside.learn(found)
    real.allow_as(beside)
    return real.drift(found)


def _answers(kept: KeptAnswers) -> list[Answer]:
    found: list[Answer] = []
    n_bytes = 0
    for each in kept.answers:
        try:
            found.append(each.answer)
        except zlib.error as error:
            raise StudyFileError(
                f"`{ANSWERS}` holds a body that cannot be read: {error}", hint=_NEW_ONES
            ) from error
        n_bytes += len(found[-1].body)
        if n_bytes > _MOST_READ_BYTES:
            raise StudyFileError(
                f"`{ANSWERS}` holds bodies of more than {_MOST_READ_BYTES >> 20:,} MiB",
                hint=_NEW_ONES,
            )
    return found


def _kept(answer: Answer) -> KeptAnswer | None:
    """Return an answer as it is kept; None where nothing here reads its body."""
    try:
        body = b"" if answer.question.request.method == "HEAD" else answer.body
        body = answer.without_own(decoded(body, answer.coding))
    except ValueError:  # it is not what its coding says, or nothing here undoes that
        return None
    request = answer.question.request

    def without_own(text: str) -> str:
        return answer.without_own(text.encode("latin-1", "replace")).decode("latin-1")

    return KeptAnswer(
        path=request.path,
        method=request.method,
        headers=request.headers,
        user=answer.question.user,
        is_plain=answer.question.is_plain,
        status=answer.status,
        kind=without_own(answer.kind),
        location=without_own(answer.location),
        cookies=tuple(map(without_own, answer.cookies)),
        body=zlib.compress(body),
    )


def _as_right(answer: Answer) -> Answer:
    request = structs.replace(
        answer.question.request, expect_status=answer.status, expect_length=None
    )
    return replace(answer, question=replace(answer.question, request=request))


def _kept_of(study: Study) -> KeptAnswers | None:
    file = Path(study.folder) / ANSWERS
    if study.site is None or not is_there(file):
        return None
    try:
        return msgspec.json.decode(read_regular(file, limit_bytes=_LARGEST_BYTES), type=KeptAnswers)
    except OSError as error:
        raise StudyFileError(
            f"the rehearsal's answers in `{file}` cannot be read: {reason(error)}",
            hint=_NEW_ONES,
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StudyFileError(
            f"`{file}` holds no answers of a rehearsal: {error}",
            hint=_NEW_ONES,
        ) from error


def _changed(study: Study, kept: KeptAnswers) -> str:
    """Return what of the study is not what was rehearsed, by its key; empty where all is."""
    site, then = study.site, kept.site
    if site is None:
        return ""
    users = study.workload.users
    differing = {
        "`members`": [structs.replace(m, limits=ServerLimits()) for m in site.members]
        != [structs.replace(m, limits=ServerLimits()) for m in then.members],
        "`listener`": site.listener != then.listener,
        "`host`": site.host != then.host,
        "`doors`": site.doors != then.doors,
        "`prepare`": study.server.before != kept.before,
        "`workload.first`": bool(study.workload.first),
        "`users`": users.has_cookies,
    }
    return next((name for name, differs in differing.items() if differs), "")
