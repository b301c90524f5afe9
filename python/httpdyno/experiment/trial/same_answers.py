"""Servers of a start asked, before and after their load, whether they answer the same.

A faster server that serves other pages is no better one. What is right in its length and its status
may still be another page: one without what its query asked for, another user's, an apology.

Right answers are compared; the load's counts say whether an answer is right. Two users ask where
the workload tells users apart, so that a cache which serves one's page to the other shows; a client
without codings asks where it accepts some. Random numbers are new each time. What only one asking
put in (numbers, the server's address, cookies) has a placeholder. Pages after the load count only
where no request changes what the server keeps, and where the start's own stayed.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

from httpdyno.experiment.answer.ask import (
    MOST_OF_LOG,
    Answer,
    Question,
    answers,
    asked_requests,
    questions,
)
from httpdyno.experiment.answer.likeness import (
    Likeness,
    UnlikeRehearsalError,
    rehearsed_of,
)
from httpdyno.experiment.answer.reading import Reading, readings
from httpdyno.experiment.trial.arm import READY_TIMEOUT_S, Arm
from httpdyno.model import Configuration, RequestSpec, Study
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning, Running

_LIMIT_S = 10.0
"""For all questions to a server: what takes longer is compared as far as it came."""
_AGAIN_S = 2.0
"""The same where its configuration was found alike before: time is for measuring."""
_AT_ONCE = 16
_SAFE = ("GET", "HEAD")

Spawn = Callable[[Configuration], Running | NotRunning]
"""Another start of a configuration, for whoever asked to end."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A server that is asked."""

    arm: Arm
    configuration: Configuration


class Sameness:
    """What the servers of a run answer, beside what one configuration of it does.

    That is the study's start wherever it is among the arms, else the arm that the others are
    compared with. What it answers is learnt from all of its starts, and must itself be what the
    rehearsed copy answered, where the study has a rehearsal.
    """

    def __init__(self, study: Study, spawn: Spawn) -> None:
        """Take a study, and who starts a server of it once more.

        Raises:
            StudyFileError: What its rehearsed copy answered cannot be read.
            UsageError: A pattern of the study takes too long.
        """
        self._study = study
        self._rehearsed = rehearsed_of(study)
        self._is_as_rehearsed = False
        """Whether some server was found so."""
        self._spawn = spawn
        self._known = Likeness()
        self._n_lives = 0
        """Starts of that configuration that were asked."""
        self._alike: set[str] = set()
        """Configurations of which a server was found alike."""

    def uncompared(self) -> tuple[Reason, ...]:
        """Return what is not compared, one by one."""
        return self._known.uncompared()

    def varied(self) -> tuple[Reason, ...]:
        """Return in which words of what is compared answers of one configuration differ."""
        return self._known.varied()

    def before_load(self, arms: Sequence[Configuration], starts: Sequence[Sequence[Arm]]) -> None:
        """See those as failed that answer unlike the start, before anything is timed.

        Servers that are to be loaded fresh are asked afterwards only.

        Raises:
            UsageError: A pattern of the study takes too long.
            UnlikeRehearsalError: None of the run's servers was as rehearsed yet.
        """
        if not self._study.method.is_fresh:
            self._compare(arms, starts, is_loaded=False)

    def after_load(self, arms: Sequence[Configuration], starts: Sequence[Sequence[Arm]]) -> None:
        """The same once their load is over.

        Where requests change what the server keeps, other answers are to be expected then.
        """
        if all(each.method in _SAFE for arm in arms for each in self._requests(arm)):
            self._compare(arms, starts, is_loaded=not self._study.method.is_fresh)

    def _compare(
        self, arms: Sequence[Configuration], starts: Sequence[Sequence[Arm]], *, is_loaded: bool
    ) -> None:
        start = self._study.start_configuration()
        own = start if start in arms else arms[0]
        up = [
            _Asked(arm, configuration)
            for each in starts
            for arm, configuration in zip(each, arms, strict=True)
            if arm.is_up
        ]
        is_own = [each.configuration == own for each in up]
        if not any(is_own) and (self._known.is_empty or is_loaded):
            return
        self._n_lives += 0 if is_loaded else sum(is_own)
        # The first time once more: one and the same server may answer otherwise each time.
        rounds = [self._read(up) for _ in range(2 if self._known.is_empty else 1)]
        moved = self._take_in(rounds, is_own, is_loaded=is_loaded)
        self._compare_with_rehearsal(up, rounds, is_own, own, is_loaded=is_loaded)
        doubted = [
            (each, found)
            for found_once in rounds
            for each, found, control in zip(up, found_once, is_own, strict=True)
            if not control and self._known.difference(found, moved)
        ]
        self._alike.update(each.configuration.label() for each in up)
        if not doubted:
            return
        self._alike.difference_update(each.configuration.label() for each, _ in doubted)
        moved |= self._take_in([self._read(up)], is_own, is_loaded=is_loaded)
        self._take_in_another(own)
        for each, found in doubted:
            how = self._known.difference(found, moved)
            if how and each.arm.is_up:
                how = _at_its_time(how, is_loaded=is_loaded)
                each.arm.fail("unlike", how, because("experiment.may_differ"))

    def _compare_with_rehearsal(
        self,
        up: Sequence[_Asked],
        rounds: Sequence[Sequence[Sequence[Reading]]],
        is_own: Sequence[bool],
        own: Configuration,
        *,
        is_loaded: bool,
    ) -> None:
        """See the configuration's own servers as failed that are not as the rehearsed one was.

        The first such server ends the run: whatever would be measured is not the site.
        """
        if self._rehearsed is None or not any(is_own):
            return
        known = self._rehearsed.likeness
        # What servers of one moment answer otherwise varies; what all of them do was changed.
        now = Likeness()
        for found_once in rounds:
            _learn_own(now, found_once, is_own)
        known.allow_as(now)
        doubted = [
            (each, found)
            for found_once in rounds
            for each, found, control in zip(up, found_once, is_own, strict=True)
            if control and known.drift(found, is_loaded=is_loaded)
        ]
        if doubted and not is_loaded:
            _learn_own(now, self._read(up), is_own)
            now.learn(self._of_another(own))
            known.allow_as(now)
        for each, found in doubted:
            if how := known.drift(found, is_loaded=is_loaded):
                how = _at_its_time(how, is_loaded=is_loaded)
                told = self._rehearsed.beside(self._study, how)
                if not self._is_as_rehearsed:
                    raise UnlikeRehearsalError(told)
                wrong = because("experiment.wrong_response", why=told)
                each.arm.fail("unlike", wrong, because("experiment.adopt_anew"))
        self._is_as_rehearsed |= any(
            each.arm.is_up for each, control in zip(up, is_own, strict=True) if control
        )

    def _take_in(
        self,
        rounds: Sequence[Sequence[Sequence[Reading]]],
        is_own: Sequence[bool],
        *,
        is_loaded: bool,
    ) -> frozenset[Question]:
        """Learn from the configuration's own answers; return which mean nothing after a load."""
        moved: frozenset[Question] = frozenset()
        for found_once in rounds:
            for found, control in zip(found_once, is_own, strict=True):
                if control and is_loaded:
                    moved |= self._known.follow(found)
                elif control:
                    self._known.learn(found)
        return moved

    def _take_in_another(self, own: Configuration) -> None:
        """Learn what differs from one start of the configuration to the next."""
        if self._n_lives > 1:
            return
        if found := self._of_another(own):
            self._n_lives += 1
            self._known.learn(found)

    def _of_another(self, own: Configuration) -> list[Reading]:
        """Return what one more server of the configuration answers; nothing where none comes up."""
        running = self._spawn(own)
        if isinstance(running, NotRunning):
            return []
        try:
            if isinstance(running.await_ready(READY_TIMEOUT_S), NotRunning):
                return []
            return readings(self._answers(running, own), self._study.may_differ)
        finally:
            running.stop()

    def _read(self, up: Sequence[_Asked]) -> list[list[Reading]]:
        """Return the right answers of each server, all asked at the same time; (n_up,)."""

        def asked(each: _Asked) -> list[Answer]:
            running = each.arm.running
            return [] if running is None else self._answers(running, each.configuration)

        with ThreadPoolExecutor(max_workers=_AT_ONCE) as askers:
            found = [[a for a in each if a.is_right] for each in askers.map(asked, up)]
        # All at once: looking for what may differ takes a process.
        read = iter(readings([a for each in found for a in each], self._study.may_differ))
        return [list(islice(read, len(each))) for each in found]

    def _answers(self, running: Running, configuration: Configuration) -> list[Answer]:
        load = self._study.load_of(configuration)
        asked = questions(load, self._requests(configuration))
        limit_s = _AGAIN_S if configuration.label() in self._alike else _LIMIT_S
        return list(answers(running, load, asked, limit_s=limit_s))

    def _requests(self, configuration: Configuration) -> Sequence[RequestSpec]:
        return asked_requests(self._study.load_of(configuration))[:MOST_OF_LOG]


def _at_its_time(difference: Reason, *, is_loaded: bool) -> Reason:
    """Return a difference with when it was seen, where that was not before the load."""
    return because("experiment.after_its_load", why=difference) if is_loaded else difference


def _learn_own(
    known: Likeness, found_once: Sequence[Sequence[Reading]], is_own: Sequence[bool]
) -> None:
    for found, control in zip(found_once, is_own, strict=True):
        if control:
            known.learn(found)
