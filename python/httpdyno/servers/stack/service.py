"""One service of a stack that runs: readiness, what is really in force, and the end."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import structs

from httpdyno.model import (
    Configuration,
    Effective,
    Member,
    ServerSpec,
    SideCommand,
    ValueEvidence,
    level_text,
)
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning, Place, exited, own_words, with_words
from httpdyno.servers.limits.limit_group import effective_limits, limit_hit
from httpdyno.servers.link import is_device, seen_file
from httpdyno.servers.network.address import HeldPort
from httpdyno.servers.network.listening import listening
from httpdyno.servers.network.probe import Patience, StatusPage
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.ready import (
    Readiness,
    accepts,
    application_settings,
    await_answer,
    await_sign,
    until_next_look,
)
from httpdyno.servers.render import MEMORY_PLACEHOLDER, RUN_PLACEHOLDER
from httpdyno.servers.run.folder import remove_place
from httpdyno.servers.sandbox.evaluator import PatternError, fits
from httpdyno.servers.stack.adapter import Insight
from httpdyno.servers.stack.names import SERVER, UNIX, knob_name

_APPLICATION_S = 5.0
_WORDS_LINES = 5


class RunningService(ABC):
    """One service of a stack that was started: its process tree, and what is known of it.

    What it returns names it where the stack has others.
    """

    def __init__(self, name: str, process: ServerProcess, insight: Insight | None) -> None:
        self.name = name
        """`server`, or that of a companion or a member."""
        self.process = process
        self._insight = insight
        self._title = ""
        self._last_words: str | None = None
        self._spawned_s = time.monotonic()
        self.ready_s: float | None = None
        """How long it took from its spawning on to be all there, s; None before."""

    @property
    @abstractmethod
    def addresses(self) -> tuple[str, ...]:
        """Where it listens, `ip:port` or `unix:/path` each."""

    @property
    @abstractmethod
    def network(self) -> str:
        """The network namespace that it listens in, as a path; empty is httpdyno's own."""

    @abstractmethod
    def whole(self, knob: str) -> str:
        """Return the name that the study has for a knob of its own."""

    @abstractmethod
    def error_logs(self) -> tuple[Path, ...]:
        """Return the files that it logs and prints to as long as it runs, as seen from here."""

    @abstractmethod
    def _awaited(self, patience: Patience) -> NotRunning | None:
        """Wait for the sign that it is ready, where it has one; return why it is not."""

    @abstractmethod
    def _checked(self, effective: Effective) -> NotRunning | Effective:
        """Return what is in force, with what others than the adapter say, compared."""

    def is_titled(self, title: str) -> None:
        """Have it named so in what it returns; empty where it is the only one, or the server."""
        self._title = title

    def named(self, words: str) -> str:
        """Return words of it, which say whose they are."""
        return f"{self._title}: {words}" if self._title and words else words

    def named_sources(self, sources: tuple[Reason, ...]) -> tuple[Reason, ...]:
        """Return what says what is in force, which say of whom."""
        if not self._title or not sources:
            return sources
        return (because("servers.source_of", name=self._title, sources=sources),)

    def await_there(self, patience: Patience) -> NotRunning | None:
        """Wait until it is ready and all of its processes are up; return why it is not."""
        failed = self._awaited(patience) or self._await_processes(patience)
        if failed is not None:
            return self._named(failed)
        self.ready_s = time.monotonic() - self._spawned_s
        return None

    def effective(self) -> NotRunning | Effective:
        """Return what is in force and what was asked, under its own names."""
        found = self._insight.effective() if self._insight is not None else Effective()
        if not isinstance(found, NotRunning):
            found = self._checked(found)
        elif not self.process.is_alive():
            # One that dies just after its first answer says more by its exit.
            found = self._exited()
        return self._named(found) if isinstance(found, NotRunning) else found

    def exited(self) -> NotRunning:
        """Return how it ended, with its own last words."""
        return self._named(self._exited())

    def _await_processes(self, patience: Patience) -> NotRunning | None:
        while True:
            is_last = patience.is_over
            if not self.process.is_alive():
                return self._exited()
            lacking = self._insight.lacking() if self._insight is not None else None
            if lacking is None:
                return None
            if is_last:
                late = because("servers.still_lacking", what=lacking, after_s=patience.timeout_s)
                words = self.last_words()
                return NotRunning(status="hung", detail=self._why(with_words(late, words), words))
            until_next_look()

    def _exited(self) -> NotRunning:
        words = self.last_words()
        exit_code = self.process.exit_code
        if self._insight is not None and self._insight.refusal(exit_code, words):
            return NotRunning(status="refused", detail=self._why(own_words(words), words))
        return NotRunning(status="crashed", detail=self._why(exited(exit_code, words), words))

    def _why(self, detail: Reason, words: str) -> Reason:
        why = self._insight.why(words) if self._insight is not None else None
        return because("servers.and_why", what=detail, why=why) if why else detail

    def _named(self, failed: NotRunning) -> NotRunning:
        return replace(failed, detail=self._of(failed.detail))

    def _of(self, why: Reason) -> Reason:
        return because("servers.of", name=self._title, why=why) if self._title else why

    def last_words(self) -> str:
        """Return the end of what it said."""
        if self._last_words is not None:
            return self._last_words
        if self._insight is not None:
            return self._insight.words()
        return "\n".join(self.process.last_words().splitlines()[-_WORDS_LINES:])

    def status_pages(self) -> tuple[StatusPage, ...]:
        """Return the status pages that its configuration in force has."""
        return () if self._insight is None else self._insight.status_pages()

    def limit_hit(self) -> Reason | None:
        """Return how it ran into its memory limit; None where it did not."""
        hit = limit_hit(self.process.limits)
        return None if hit is None else self._of(hit)

    def act(self, command: SideCommand) -> Reason | None:
        """Run a command of the study in its folder; return what was wrong with it."""
        del command
        return because("servers.takes_no_command")

    def stop(self) -> None:
        """End the whole tree, and give up what is its own; idempotent.

        Raises:
            RevertError: A process could not be ended, or a file not be removed.
            AdapterError: What the study runs after a start failed.
        """
        self.process.stop()
        self.keep_words()

    def keep_words(self) -> None:
        """Remember its last words: what it wrote is about to be removed."""
        if self._last_words is None:
            self._last_words = self.last_words()


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What a service that templates make was started for."""

    spec: ServerSpec
    configuration: Configuration
    known: frozenset[str]
    """Knobs that are the server's own; the others are its application's."""
    of_limits: frozenset[str] = frozenset()
    """Knobs that its limits have, of which the kernel tells."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Listening:
    """Where a service listens."""

    addresses: tuple[str, ...]
    """`ip:port` or `unix:/path` each; the first is the one that is loaded."""
    port: HeldPort
    """Released when it has ended."""


class MadeService(RunningService):
    """A service that a study's templates made. Owns its process, its port and its place."""

    def __init__(  # noqa: PLR0913 - all that it owns
        self,
        *,
        name: str = SERVER,
        process: ServerProcess,
        listening: Listening,
        place: Place,
        asked: Asked,
        insight: Insight | None,
        error_logs: Sequence[str] = (),
        act: Callable[[SideCommand], Reason | None] | None = None,
        finish: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(name, process, insight)
        self.is_titled("" if name == SERVER else name)
        self._listening = listening
        self._place = place
        self._asked = asked
        self._error_logs = tuple(map(Path, error_logs))
        self._act = act
        self._finish = finish

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where it listens; the first is the one that is loaded."""
        return self._listening.addresses

    @property
    def network(self) -> str:
        """The network namespace of its place."""
        return self._place.network

    def whole(self, knob: str) -> str:
        """Return the name that the study has for a knob of its own: plain for the server."""
        return knob if self.name == SERVER else knob_name(self.name, knob)

    def error_logs(self) -> tuple[Path, ...]:
        """Return the files that it logs and prints to as long as it runs, as seen from here."""
        return (self.process.log, *self._error_logs)

    def act(self, command: SideCommand) -> Reason | None:
        """Run a command of the study in its folder; return what was wrong with it."""
        return super().act(command) if self._act is None else self._act(command)

    def stop(self) -> None:
        """End the whole tree, run what follows, free the port and remove the place; idempotent."""
        super().stop()
        finish, self._finish = self._finish, None
        try:
            if finish is not None:
                finish()
        finally:
            remove_place(self._place)
            self._listening.port.release()

    def _awaited(self, patience: Patience) -> NotRunning | None:
        readiness = self._readiness(patience)
        if readiness.kind == "answers":
            return None
        if readiness.kind == "exited":
            return self._exited()
        return not_ready(readiness, self.last_words(), self._elsewhere(readiness))

    def _readiness(self, patience: Patience) -> Readiness:
        """Wait for the sign of readiness that the study names."""
        spec, process, address = self._asked.spec, self.process, self.addresses[0]
        if spec.ready == "tcp":
            what = because("servers.connection_to", address=address)
            return await_sign(
                lambda: accepts(address, self.network), what, process.is_alive, patience
            )
        if spec.ready.startswith("log "):
            line = spec.ready.removeprefix("log ")
            is_there = _LineInLog(line, process)
            what = because("servers.line_in_log", line=line)
            return await_sign(is_there, what, process.is_alive, patience)
        return await_answer(
            address,
            spec.ready_path,
            process.is_alive,
            patience,
            status=spec.ready_status,
            network=self.network,
            is_tls=spec.tls,
        )

    def _elsewhere(self, readiness: Readiness) -> Reason | None:
        """Return that it listens, but not where it was told to; None when not so."""
        if readiness.kind != "silent":
            return None
        pids = [process.pid for process in self.process.members()]
        told = [each for each in self.addresses if not each.startswith(UNIX)]
        ports = {each.rpartition(":")[2] for each in told}
        at = sorted({each.address for each in listening(pids)})
        if not told or not at or any(each.rpartition(":")[2] in ports for each in at):
            return None
        return because("servers.listens_elsewhere", at=at, asked=told[0])

    def _checked(self, effective: Effective) -> NotRunning | Effective:
        return self._with_application(self._with_limits(self._without_folders(effective)))

    def _without_folders(self, effective: Effective) -> Effective:
        """Write the service's own folders as in diffs, so that starts can be compared."""
        folders = {
            str(self._place.folder): RUN_PLACEHOLDER,
            str(self._place.memory_folder): MEMORY_PLACEHOLDER,
        }

        def written(texts: Mapping[str, str]) -> dict[str, str]:
            found = dict(texts)
            for folder, placeholder in folders.items():
                found = {name: text.replace(folder, placeholder) for name, text in found.items()}
            return found

        return structs.replace(
            effective, values=written(effective.values), asked=written(effective.asked)
        )

    def _with_limits(self, effective: Effective) -> Effective:
        """Add what the kernel says of the limits: they were read back when they were set."""
        limits = self.process.limits
        if limits is None:
            return effective
        levels = self._asked.configuration.values
        of_limits = {name: level_text(levels[name]) for name in sorted(self._asked.of_limits)}
        return structs.replace(
            effective,
            values={**effective.values, **of_limits, **effective_limits(limits.values)},
            asked={**effective.asked, **of_limits, **effective_limits(limits.values)},
            sources=(*effective.sources, because("servers.source_control_group")),
        )

    def _with_application(self, effective: Effective) -> NotRunning | Effective:
        """Add what the application says of its own knobs, and compare."""
        path = self._asked.spec.effective_path
        levels, shape = self._asked.configuration.values, self._asked.spec.shape
        own = {n: level_text(level) for n, level in levels.items() if n not in self._asked.known}
        if not path:
            unseen = tuple(name for name in own if name not in {*effective.asked, *shape})
            effective = structs.replace(effective, unverified=unseen)
        else:
            found = application_settings(
                self.addresses[0],
                path,
                timeout_s=_APPLICATION_S,
                network=self.network,
                is_tls=self._asked.spec.tls,
            )
            if isinstance(found, Reason):
                return NotRunning(status="refused", detail=found)
            told = {name: text for name, text in found.items() if name not in self._asked.known}
            untold = [name for name in own if name not in {*told, *effective.asked, *shape}]
            if untold:
                why = because("servers.knobs_not_told", path=path, names=untold)
                return NotRunning(status="refused", detail=why)
            own = {name: text for name, text in own.items() if name in told}
            effective = Effective(
                # What the application itself says is worth more than what was seen from outside.
                values={**effective.values, **told},
                asked={**effective.asked, **own},
                sources=(*effective.sources, because("servers.source_application", path=path)),
            )
        if different := difference(effective.values, effective.asked):
            names = [n for n in effective.asked if effective.values.get(n) != effective.asked[n]]
            lines = self.last_words().splitlines()
            line = next((each for each in lines if any(name in each for name in names)), "")
            return NotRunning(status="refused", detail=with_words(different, line))
        return effective


class _LineInLog:
    """Whether a server has written a line that fits a pattern; tried once on what it wrote."""

    def __init__(self, pattern: str, process: ServerProcess) -> None:
        self._pattern = pattern
        self._process = process
        self._tried = ""

    def __call__(self) -> bool:
        """Return whether it is there by now.

        Raises:
            PatternError: The pattern takes too long on the log.
        """
        words = self._process.first_words()
        if words == self._tried:
            return False
        self._tried = words
        try:
            return fits(self._pattern, words)
        except PatternError as error:
            raise PatternError(
                f"`server.ready` is `log {self._pattern}`: {error}", hint=error.hint
            ) from error


class CopiedService(RunningService):
    """A private copy of a service that people run; its seat is its stack's."""

    def __init__(  # noqa: PLR0913 - all that is known of it
        self,
        *,
        member: Member,
        process: ServerProcess,
        insight: Insight | None,
        asked: tuple[str, ...],
        evidence: Mapping[str, ValueEvidence],
        error_logs: Sequence[str] = (),
    ) -> None:
        """Take what was started.

        Args:
            member: As the study has it.
            process: Its own.
            insight: What is asked of it.
            asked: Knobs that are asked of it, under its own names.
            evidence: How what is in force of them is known.
            error_logs: Files, as seen in its seat.
        """
        super().__init__(member.name, process, insight)
        self.member = member
        self._asked = asked
        self._evidence = evidence
        self._error_logs = [each for each in error_logs if not is_device(each)]

    @property
    def addresses(self) -> tuple[str, ...]:
        """Nothing: where the load goes is the stack's to say."""
        return ()

    @property
    def network(self) -> str:
        """Nothing: that is its seat's."""
        return ""

    def whole(self, knob: str) -> str:
        """Return the name that the study has for a knob of its own, `MEMBER:NAME`."""
        return knob_name(self.name, knob)

    def error_logs(self) -> tuple[Path, ...]:
        """Return the files that it logs and prints to as long as it runs, as seen from here."""
        seen = (seen_file(each, self.process.pid) for each in self._error_logs)
        return (self.process.log, *seen)

    def _awaited(self, patience: Patience) -> NotRunning | None:
        del patience
        return None  # what answers is the front, once all are there

    def _checked(self, effective: Effective) -> NotRunning | Effective:
        values = {self.whole(key): text for key, text in effective.values.items()}
        asked = {self.whole(key): text for key, text in effective.asked.items()}
        if different := difference(values, asked):
            detail = with_words(different, self.last_words())
            return NotRunning(status="refused", detail=detail)
        limits = self.process.limits
        of_limits = {} if limits is None else effective_limits(limits.values)
        return structs.replace(
            effective,
            values={**effective.values, **of_limits},
            evidence={key: how for key, how in self._evidence.items() if key in effective.values},
            unverified=tuple(key for key in self._asked if key not in effective.asked),
        )


def not_ready(readiness: Readiness, words: str, also: Reason | None = None) -> NotRunning:
    """Return that one is not ready which runs, with what it said and what else is seen of it."""
    detail = own_words("") if readiness.why is None else readiness.why
    if also is not None:
        detail = because("servers.and_also", why=detail, also=also)
    return NotRunning(
        status="refused" if readiness.kind == "fails" else "hung",
        detail=with_words(detail, words),
    )


def difference(values: Mapping[str, str], asked: Mapping[str, str]) -> Reason | None:
    """Return where what is in force is not what was asked; None when all is."""
    found = [
        because("servers.is_other", name=name, value=values[name], asked=wanted)
        if name in values
        else because("servers.is_not_set", name=name, asked=wanted)
        for name, wanted in asked.items()
        if values.get(name) != wanted
    ]
    return because("servers.difference", all=found) if found else None
