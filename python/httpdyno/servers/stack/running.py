"""A stack that runs: its services are waited for, asked what is in force, and ended as one."""

import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import structs

from httpdyno.host.interruption import cleaning
from httpdyno.model import (
    Configuration,
    Effective,
    Member,
    ServerSpec,
    SideCommand,
    ValueEvidence,
    level_text,
)
from httpdyno.servers.adapter import NotRunning, Place, Running, exited_words
from httpdyno.servers.limits.limit_group import LimitGroups, effective_limits, hit_words
from httpdyno.servers.link import is_device, seen_file
from httpdyno.servers.network.address import HeldPort, held_socket, unix_address
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
from httpdyno.servers.sandbox.attempts import Refusals
from httpdyno.servers.sandbox.evaluator import PatternError, fits
from httpdyno.servers.stack.adapter import Insight
from httpdyno.servers.stack.beside import Beside
from httpdyno.servers.stack.names import SERVER, UNIX, knob_name
from httpdyno.servers.stack.seats import OpenSeat

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

    @property
    def running(self) -> "Running":
        """It, as a server of its own."""
        return _Alone(self)

    def is_titled(self, title: str) -> None:
        """Have it named so in what it returns; empty where it is the only one, or the server."""
        self._title = title

    def named(self, words: str) -> str:
        """Return words of it, which say whose they are."""
        return f"{self._title}: {words}" if self._title and words else words

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
            lacking = self._insight.lacking() if self._insight is not None else ""
            if not lacking:
                return None
            if is_last:
                detail = f"{lacking} after {patience.timeout_s:g} s\n{self.last_words()}".strip()
                return NotRunning(status="hung", detail=detail)
            until_next_look()

    def _exited(self) -> NotRunning:
        words = self.last_words()
        exit_code = self.process.exit_code
        if self._insight is not None and self._insight.refusal(exit_code, words):
            return NotRunning(status="refused", detail=words)
        return NotRunning(status="crashed", detail=exited_words(exit_code, words))

    def _named(self, failed: NotRunning) -> NotRunning:
        return replace(failed, detail=self.named(failed.detail))

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

    def limit_hit(self) -> str:
        """Return in words how it ran into its memory limit; empty where it did not."""
        return self.named(hit_words(self.process.limits))

    def act(self, command: SideCommand) -> str:
        """Run a command of the study in its folder; return what was wrong with it."""
        del command
        return "no command can be run at it"

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
        act: Callable[[SideCommand], str] | None = None,
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

    def act(self, command: SideCommand) -> str:
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
        words = "\n".join(filter(None, [self._elsewhere(readiness), self.last_words()]))
        return NotRunning(
            status="refused" if readiness.kind == "fails" else "hung",
            detail=f"{readiness.detail}\n{words}".strip(),
        )

    def _readiness(self, patience: Patience) -> Readiness:
        """Wait for the sign of readiness that the study names."""
        spec, process, address = self._asked.spec, self.process, self.addresses[0]
        if spec.ready == "tcp":
            what = f"connection to {address}"
            return await_sign(
                lambda: accepts(address, self.network), what, process.is_alive, patience
            )
        if spec.ready.startswith("log "):
            line = spec.ready.removeprefix("log ")
            is_there = _LineInLog(line, process)
            return await_sign(is_there, f"line `{line}` in its log", process.is_alive, patience)
        return await_answer(
            address,
            spec.ready_path,
            process.is_alive,
            patience,
            status=spec.ready_status,
            network=self.network,
            is_tls=spec.tls,
        )

    def _elsewhere(self, readiness: Readiness) -> str:
        """Return in words that it listens, but not where it was told to; empty when not so."""
        if readiness.kind != "silent":
            return ""
        pids = [process.pid for process in self.process.members()]
        told = [each for each in self.addresses if not each.startswith(UNIX)]
        ports = {each.rpartition(":")[2] for each in told}
        at = sorted({each.address for each in listening(pids)})
        if not told or not at or any(each.rpartition(":")[2] in ports for each in at):
            return ""
        return f"it listens at {', '.join(at)}, where {told[0]} was asked"

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
            source=f"{effective.source}, control group".removeprefix(", "),
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
            said = application_settings(
                self.addresses[0],
                path,
                timeout_s=_APPLICATION_S,
                network=self.network,
                is_tls=self._asked.spec.tls,
            )
            if isinstance(said, str):
                return NotRunning(status="refused", detail=said)
            said = {name: text for name, text in said.items() if name not in self._asked.known}
            untold = [name for name in own if name not in {*said, *effective.asked, *shape}]
            if untold:
                return NotRunning(
                    status="refused",
                    detail=f"GET {path} does not say {', '.join(untold)}: "
                    "an `effective_path` tells every knob of the application",
                )
            own = {name: text for name, text in own.items() if name in said}
            effective = Effective(
                # What the application itself says is worth more than what was seen from outside.
                values={**effective.values, **said},
                asked={**effective.asked, **own},
                source=f"{effective.source}, GET {path}".removeprefix(", "),
            )
        different = differences(effective.values, effective.asked)
        if different:
            names = [n for n in effective.asked if effective.values.get(n) != effective.asked[n]]
            words = self.last_words().splitlines()
            why = [line for line in words if any(name in line for name in names)]
            return NotRunning(status="refused", detail="\n".join([different, *why[:1]]))
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
        if different := differences(values, asked):
            detail = f"{different}\n{self.last_words()}".strip()
            return NotRunning(status="refused", detail=detail)
        limits = self.process.limits
        of_limits = {} if limits is None else effective_limits(limits.values)
        return structs.replace(
            effective,
            values={**effective.values, **of_limits},
            evidence={key: how for key, how in self._evidence.items() if key in effective.values},
            unverified=tuple(key for key in self._asked if key not in effective.asked),
        )


class RunningStack(Running):
    """All services of a stack, in the order in which they were started; owns them."""

    def __init__(
        self,
        services: Sequence[RunningService],
        *,
        loaded: str = SERVER,
        shape: Mapping[str, str] | None = None,
        passing: Collection[str] = (),
    ) -> None:
        """Own them.

        Args:
            services: All that were started, in that order: back to front.
            loaded: The name of the one that gets the load.
            shape: Plain knobs that say which services there are and which is loaded.
            passing: The names of those between the one that is loaded and the server.
        """
        self._services = tuple(services)
        self._loaded = loaded
        self._passing = frozenset(passing)
        # Whoever is loaded comes first wherever one of several is asked for.
        self._by_load = sorted(self._services, key=lambda each: each.name != loaded)
        self._shape = dict(shape or {})
        self._lock = threading.Lock()

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where they listen, the one that is loaded first."""
        return tuple(address for each in self._by_load for address in each.addresses)

    @property
    def networks(self) -> tuple[str, ...]:
        """The network namespace of each address."""
        return tuple(each.network for each in self._by_load for _ in each.addresses)

    @property
    def root_pids(self) -> tuple[int, ...]:
        """The processes whose trees they are, the loaded one's first."""
        return tuple(each.process.pid for each in self._by_load)

    @property
    def keeper_pids(self) -> tuple[int, ...]:
        """The parent of each, which takes over what loses its own."""
        return tuple(each.process.keeper_pid for each in self._by_load)

    @property
    def groups(self) -> tuple[Path, ...]:
        """The control group of each; empty where one of them is alone in none."""
        groups = [each.process.group for each in self._by_load]
        own = tuple(group for group in groups if group is not None)
        return own if len(own) == len(groups) else ()

    @property
    def limits(self) -> tuple[LimitGroups, ...]:
        """What limits those of them that have limits."""
        limits = (each.process.limits for each in self._by_load)
        return tuple(each for each in limits if each is not None)

    def limit_hit(self) -> str:
        """Return in words which of them ran into their memory limits, and how."""
        return "; ".join(filter(None, (each.limit_hit() for each in self._by_load)))

    @property
    def ready_s(self) -> float | None:
        """How long it took to be ready, of one service alone; None before."""
        return self._services[0].ready_s if len(self._services) == 1 else None

    def await_ready(self, timeout_s: float) -> NotRunning | Effective:
        """Wait for each, back to front, and read back what is in force in all of them."""
        answer = self._ready(timeout_s)
        # Whatever came of it, that was why.
        if isinstance(answer, NotRunning) and (words := self.limit_hit()):
            return NotRunning(status="infeasible", detail=words)
        return answer

    def _ready(self, timeout_s: float) -> NotRunning | Effective:
        patience = Patience(timeout_s)
        for each in self._services:
            if failed := each.await_there(patience):
                return failed
        return self._effective()

    def _effective(self) -> NotRunning | Effective:
        values, asked, sources = dict(self._shape), dict(self._shape), list[str]()
        evidence: dict[str, ValueEvidence] = {}
        unverified: list[str] = []
        for each in self._services:
            found = each.effective()
            if isinstance(found, NotRunning):
                return found
            values |= {each.whole(name): text for name, text in found.values.items()}
            asked |= {each.whole(name): text for name, text in found.asked.items()}
            evidence |= {each.whole(name): how for name, how in found.evidence.items()}
            unverified += map(each.whole, found.unverified)
            sources += [each.named(found.source)] if found.source else []
        return Effective(
            values=values,
            asked=asked,
            source=", ".join(sources),
            evidence=evidence,
            unverified=tuple(unverified),
        )

    def act(self, command: SideCommand) -> str:
        """Run a command at the server that the study is about; return what was wrong with it."""
        served = [each for each in self._services if each.name == SERVER]
        return served[0].act(command) if served else super().act(command)

    def is_alive(self) -> bool:
        """Whether all of them run."""
        return all(each.process.is_alive() for each in self._services)

    def last_words(self) -> str:
        """Return the ends of their error logs, the loaded one's first."""
        said = (each.named(each.last_words()) for each in self._by_load)
        return "\n".join(filter(None, said))

    def error_logs(self) -> tuple[Path, ...]:
        """Return the files that they log and print to as long as they run, as seen from here."""
        return tuple(path for each in self._by_load for path in each.error_logs())

    def companions(self) -> Mapping[str, Running]:
        """Return those who answer none of the load: all but who is loaded and whom it stands for.

        One in front passes on to the server, whose workers answer, and may do so through others;
        what is behind the server, and what nobody sends requests to, such as one that cleans up,
        answers nobody. Of copies nobody knows.
        """
        names = [each.name for each in self._services]
        if SERVER not in names:
            return {}
        is_in_front = self._loaded in names[names.index(SERVER) :]
        answering = {self._loaded, *self._passing, *([SERVER] if is_in_front else [])}
        return {each.name: each.running for each in self._services if each.name not in answering}

    def status_pages(self) -> tuple[StatusPage, ...]:
        """Return the status pages that their configurations in force have."""
        return tuple(page for each in self._by_load for page in each.status_pages())

    def stop(self) -> None:
        """End all of them, front to back, and all that they have; idempotent.

        Raises:
            RevertError: A process could not be ended, or a file not be removed.
            AdapterError: What the study runs after a start failed.
        """
        with cleaning(), self._lock, ExitStack() as stack:
            stack.callback(self._close)
            # Called in the opposite order, all of them whatever one of them raises.
            for each in self._services:
                stack.callback(each.stop)

    def _close(self) -> None:
        """Give up what all of them had in common; idempotent."""


class _Alone(RunningStack):
    """One service of a stack, for whoever looks at it alone; its stack owns it."""

    def __init__(self, service: RunningService) -> None:
        super().__init__([service], loaded=service.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Loaded:
    """Where load goes, and what says that it is ready."""

    address: str
    host: str
    ready_path: str
    ready_status: int | None = None
    is_tls: bool = False


class RunningCopy(RunningStack):
    """All services of a private copy; owns their seat and their place as well."""

    def __init__(  # noqa: PLR0913 - all that it owns
        self,
        services: Sequence[CopiedService],
        *,
        seat: OpenSeat,
        place: Place,
        beside: Beside,
        refusals: Refusals | None,
        loaded: Loaded,
    ) -> None:
        """Own them; they are given in the order in which they were started, back to front."""
        super().__init__(services, loaded=services[-1].name)
        # Told of front to back, as the study has them.
        self._by_load = list(reversed(services))
        for each in services:
            each.is_titled(each.name if len(services) > 1 else "")
        self._seat = seat
        self._place = place
        self._beside = beside
        self._refusals = refusals
        self._is_finished = False
        self._load = loaded
        self._socket: int | None = None
        self._least_s = max(each.member.ready_timeout_s for each in services)
        path = loaded.address.removeprefix(UNIX)
        if seat.kind == "cell" and path.startswith("/"):
            there = seen_file(path, services[-1].process.pid)
            self._load = replace(loaded, address=unix_address(str(there)))

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where the front listens, in its seat's network."""
        return (self._load.address,)

    @property
    def networks(self) -> tuple[str, ...]:
        """The network namespace of each address."""
        return (self._seat.network,)

    @property
    def prepare_s(self) -> float:
        """How long the study's commands took, before services and once they were up."""
        return self._beside.prepare_s

    @property
    def ready_s(self) -> float | None:
        """Nothing: a copy's time has the study's commands in it."""
        return None

    @property
    def loaded(self) -> Loaded:
        """Where load goes."""
        return self._load

    @property
    def seat(self) -> OpenSeat:
        """Where it sits."""
        return self._seat

    def await_ready(self, timeout_s: float) -> NotRunning | Effective:
        """Wait for each service, back to front, and read back what is in force."""
        answer = super().await_ready(max(timeout_s, self._least_s))
        if self._refusals:
            self._refusals.begin()
        return answer

    def _ready(self, timeout_s: float) -> NotRunning | Effective:
        patience = Patience(timeout_s)
        for each in self._services:
            if failed := each.await_there(patience):
                return failed
        # The time of those is their own, and no service's.
        before_s = self.prepare_s
        if failed := self._beside.prepare("up"):
            return failed
        if self.prepare_s > before_s:
            patience = Patience(timeout_s)
        return self._await_answer(patience) or self._effective()

    def tried(self) -> tuple[str, ...]:
        """Return what the copy tried to reach outside; while it runs."""
        return self._refusals.told() if self._refusals else ()

    def stop(self) -> None:
        """End the services, front to back, and take the seat and the place down; idempotent.

        Raises:
            RevertError: A process could not be ended, or a file not be removed.
            AdapterError: What the study runs after a start failed.
        """
        with cleaning():
            for each in self._by_load:
                each.keep_words()
            for each in self._by_load:
                each.process.request_stop()
            super().stop()

    def _close(self) -> None:
        if self._refusals:
            self._refusals.close()
            self._refusals = None
        try:
            if not self._is_finished:
                self._is_finished = True
                self._beside.finish()
        finally:
            if self._socket is not None:
                os.close(self._socket)
                self._socket = None
            self._seat.close()
            remove_place(self._place)

    def _await_answer(self, patience: Patience) -> NotRunning | None:
        loaded = self._load
        readiness = await_answer(
            loaded.address,
            loaded.ready_path,
            self.is_alive,
            patience,
            status=loaded.ready_status,
            network=self._seat.network,
            host=loaded.host,
            is_tls=loaded.is_tls,
        )
        if readiness.kind == "answers":
            self._hold_socket()
            return None
        if readiness.kind == "exited":
            return next(e for e in self._by_load if not e.process.is_alive()).exited()
        return NotRunning(
            status="refused" if readiness.kind == "fails" else "hung",
            detail=f"{readiness.detail}\n{self.last_words()}".strip(),
        )

    def _hold_socket(self) -> None:
        """Keep who listens at a unix socket of the copy's own, by whatever links its path led."""
        path = self._load.address.removeprefix(UNIX)
        if path.startswith("/proc/") and self._socket is None:
            with held_socket(path) as handle:
                self._socket = os.dup(handle)
            own = unix_address(f"/proc/self/fd/{self._socket}")
            self._load = replace(self._load, address=own)


def differences(values: Mapping[str, str], asked: Mapping[str, str]) -> str:
    """Return in words where what is in force is not what was asked; empty when all is."""
    return "; ".join(
        f"{name} is {values.get(name, 'not set')} where {wanted} was asked"
        for name, wanted in asked.items()
        if values.get(name) != wanted
    )
