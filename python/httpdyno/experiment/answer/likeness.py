"""Whether answers are like those before: of this run's servers, or of the smoke test.

Two answers of one and the same configuration may differ: a date, a number of the request. What
differs between them is learnt, a piece of the text each, and is not compared. Where they differ by
more than pieces, as lists of other lengths do, nothing of that part is.

What a site's copy answered in its smoke test is kept with its study: so all later starts must be.
A copy may be rehearsed in one way and measured in another, a folder that it may not write in say;
then it is an error page that would be tuned. The answers may hold what is personal, so their file
is for its owner only.

Between then and now numbers and dates may change where they stand. What servers of one moment
answer differently varies; what all of them answer otherwise was changed, and is refused. A part
that differs each time tells by its length whether it is a page of the same kind.
"""

import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path

import msgspec
from msgspec import structs

from httpdyno.errors import AdapterError, StudyFileError
from httpdyno.experiment.answer.ask import (
    MOST_BYTES,
    MOST_OF_LOG,
    Answer,
    Question,
    Reached,
    answers,
    asked_requests,
    decoded,
    questions,
)
from httpdyno.experiment.answer.reading import BODY, Reading, Text, differing, is_of_time, readings
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
from httpdyno.reason import Reason, because

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
    seen: tuple[str | Reason, str | Reason] = ("", "")
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
    ) -> Reason | None:
        """Return the first answer that is another one; None where none is.

        Args:
            found: Answers of another configuration.
            leave_out: Questions that say nothing now.
        """
        return next(
            (
                because("experiment.answers", name=reading.name, how=how)
                for reading in found
                if reading.question not in leave_out and (how := self._other(reading))
            ),
            None,
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

    def drift(self, found: Iterable[Reading], *, is_loaded: bool = False) -> Reason | None:
        """Return the first answer that time alone does not explain; None where none is.

        Between an earlier day and now numbers, dates and ids may become others where they stand.

        Args:
            found: Answers of another day.
            is_loaded: After a load, which may leave marks: pages say so by their kind alone.
        """
        return next(
            (
                because("experiment.answers", name=reading.name, how=how)
                for reading in found
                if (how := self._drifted(reading, is_loaded=is_loaded))
            ),
            None,
        )

    def uncompared(self) -> tuple[Reason, ...]:
        """Return what is not compared, one by one."""
        loose = [
            because(
                "experiment.another_each_time",
                name=known.name,
                part=_named(part),
                once=known.seen[0],
                then=known.seen[1],
            )
            for (_, part), known in self._known.items()
            if not known.is_steady
        ]
        unknown = [
            because("experiment.coding_unknown", name=name, coding=coding)
            for name, coding in self._unknown.items()
        ]
        return (*loose, *unknown)

    def varied(self) -> tuple[Reason, ...]:
        """Return which words differ between its answers, but for which all is compared."""
        return tuple(
            because(
                "experiment.words_vary",
                name=known.name,
                part=_named(part),
                of=len(known.text.pieces),
                n=len(known.varied),
                once=known.seen[0],
                then=known.seen[1],
            )
            for (_, part), known in self._known.items()
            if known.varied and known.is_steady
        )

    def _beside(self, reading: Reading) -> Iterator[tuple[_Known, Text]]:
        for part, text in reading.parts.items():
            key = reading.question, part
            yield self._known.setdefault(key, _Known(reading.name, text)), text

    def _other(self, reading: Reading) -> Reason | None:
        # Whether it is right at all is for the load to say, of both.
        if all((reading.question, part) not in self._known for part in reading.parts):
            return None
        if reading.fault and reading.question not in self._faulty:
            return reading.fault
        for part, text in reading.parts.items():
            known = self._known.get((reading.question, part))
            if known is None or not known.is_steady:
                continue
            for place in differing(known.text, text):
                if place not in known.varied:
                    return _difference(part, known.text, text, place)
        return None

    def _drifted(self, reading: Reading, *, is_loaded: bool) -> Reason | None:
        for part, text in reading.parts.items():
            known = self._known.get((reading.question, part))
            if known is None:
                continue
            if part == BODY and (is_loaded or not known.is_steady):
                how = _other_kind(known.lengths, text.n_bytes, may_grow=is_loaded)
            else:
                how = _not_of_time(part, known, text) if known.is_steady else None
            if how:
                return how
        return None


def _not_of_time(part: str, known: _Known, text: Text) -> Reason | None:
    """Return how a part differs by more than time makes; None where it does not."""
    places = [place for place in differing(known.text, text) if place not in known.varied]
    if not places:
        return None
    old, new = known.text.pieces, text.pieces
    if len(old) != len(new) or part not in _WITH_TIMES:
        return _difference(part, known.text, text, places[0])
    other = next((each for each in places if not is_of_time(old[each], new[each])), None)
    if other is not None:
        return _difference(part, known.text, text, other)
    # Where half of the words are other ones, it is the numbers that the page is about.
    n_words = sum(not each.isspace() for each in old)
    if len(places) < _MOST_VARIED * n_words:
        return None
    return _difference(part, known.text, text, places[0])


def _other_kind(lengths: tuple[int, int], n_bytes: int, *, may_grow: bool) -> Reason | None:
    """Return that a page's length is not of those that were seen; None where it is."""
    least, most = lengths
    is_short = n_bytes * _OTHER_KIND < least and least - n_bytes > _FEW_BYTES
    is_long = n_bytes > most * _OTHER_KIND and n_bytes - most > _FEW_BYTES
    if is_short or (is_long and not may_grow):
        return because(
            "experiment.other_kind" if least == most else "experiment.other_kind_than_all",
            n_bytes=n_bytes,
            least=least,
            most=most,
        )
    return None


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


def _first_seen(old: Text, new: Text) -> tuple[str | Reason, str | Reason]:
    place = next(differing(old, new))
    return old.shown(place), new.shown(place)


def _named(part: str) -> Reason:
    if part == BODY:
        return because("experiment.its_body")
    if part == "status":
        return because("experiment.its_status")
    return because("experiment.its_header", name=part)


def _difference(part: str, old: Text, new: Text, place: int) -> Reason:
    if part == "status":
        was, now = old.whole.decode(), new.whole.decode()
        return because("experiment.other_status", now=now, was=was)
    if part != BODY:
        return because("experiment.other_header", name=part, now=new.shown(0), was=old.shown(0))
    return because(
        "experiment.other_body",
        at=new.begin(place) + 1,
        now=new.shown(place),
        was=old.shown(place),
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


class UnlikeRehearsalError(AdapterError):
    """A copy answers otherwise than the one that was rehearsed."""

    def __init__(self, how: Reason) -> None:
        """Take the difference, as `Rehearsed.beside` returns it."""
        super().__init__(
            "wrong response",
            hint="where your pages or data changed since, adopt them again: `httpdyno adopt … -o "
            'DIR`; what may differ is named in the study file, `may_differ = ["PATTERN"]` in '
            "[workload]; where neither is so, the copy may not write or reach what the one of the "
            "smoke test could",
            why=[how],
        )


class _AnswersError(StudyFileError):
    """What was kept of the rehearsal cannot be read."""

    def __init__(self, message: str) -> None:
        super().__init__(message, hint="`httpdyno adopt` makes new ones")


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

    def beside(self, study: Study, difference: Reason) -> Reason:
        """Return a difference with what it is one of."""
        return because(
            "experiment.unlike_rehearsal", study=study.name, day=self.day, why=difference
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


def not_rehearsed(study: Study) -> Reason | None:
    """Return why starts of an adopted study are not compared with its rehearsal; None if they are.

    Raises:
        StudyFileError: What was kept cannot be read.
    """
    kept = _kept_of(study)
    if study.site is None or kept is None:
        return None
    if changed := _changed(study, kept):
        day = kept.rehearsed_at[:10]
        return because("experiment.not_rehearsed", day=day, changed=changed)
    return None


def difference_now(running: Reached, study: Study, workload: Workload) -> Reason | None:
    """Return how a server of a study answers otherwise than the rehearsed one; else None.

    Raises:
        StudyFileError: What was kept cannot be read.
        UsageError: Patterns of the study take too long.
    """
    rehearsed = rehearsed_of(study)
    if rehearsed is None:
        return None
    asked = Asked(workload)
    asked.round(running)
    found = rehearsed.likeness.drift(readings(asked.found, study.may_differ))
    if found is None:
        return None
    return because("experiment.wrong_response", why=rehearsed.beside(study, found))


def difference_from_own(copy: Asked, own: Asked) -> Reason | None:
    """Return how a copy answers otherwise than the server that it is of; else None.

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
            raise _AnswersError(f"`{ANSWERS}` holds a body that cannot be read: {error}") from error
        n_bytes += len(found[-1].body)
        if n_bytes > _MOST_READ_BYTES:
            raise _AnswersError(
                f"`{ANSWERS}` holds bodies of more than {_MOST_READ_BYTES >> 20:,} MiB"
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
        raise _AnswersError(
            f"the rehearsal's answers in `{file}` cannot be read: {reason(error)}"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _AnswersError(f"`{file}` holds no answers of a rehearsal: {error}") from error


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
