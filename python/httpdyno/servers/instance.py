"""A started server: readiness, what is really in force, and the end. The same for all adapters."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from msgspec import structs

from httpdyno.model import Configuration, Effective, ServerSpec, SideCommand, level_text
from httpdyno.servers.adapter import NotRunning, Place, exited_words
from httpdyno.servers.limits.limit_group import LimitGroups, effective_limits, hit_words
from httpdyno.servers.network.address import HeldPort
from httpdyno.servers.network.listening import listening
from httpdyno.servers.network.probe import Patience, StatusPage, status_pages_of
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

_APPLICATION_S = 5.0


class Insight(Protocol):
    """What only an adapter knows of its own server."""

    def words(self) -> str:
        """Return the end of its error log."""

    def refusal(self, exit_code: int | None, words: str) -> bool:
        """Whether it exited because it refused its configuration, as against crashed."""

    def lacking(self) -> str:
        """Return in words which of its processes are not up yet; empty when all are."""

    def effective(self) -> Effective | NotRunning:
        """Return what the running server says is in force, with what was asked of it."""


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What an instance was started for."""

    spec: ServerSpec
    configuration: Configuration
    known: frozenset[str]
    """Knobs that are the server's own; the others are its application's."""
    of_limits: frozenset[str] = frozenset()
    """Knobs that its limits have, of which the kernel tells."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Listening:
    """Where an instance listens."""

    addresses: tuple[str, ...]
    """`ip:port` or `unix:/path` each; the first is the one that is loaded."""
    port: HeldPort
    """Released when it has ended."""


class Instance:
    """A spawned server, as `Running` asks. Owns its processes, its port and its place."""

    def __init__(  # noqa: PLR0913 - all that it owns
        self,
        *,
        process: ServerProcess,
        listening: Listening,
        place: Place,
        asked: Asked,
        insight: Insight,
        error_logs: Sequence[Path] = (),
        act: Callable[[SideCommand], str] | None = None,
        finish: Callable[[], None] | None = None,
    ) -> None:
        self._process = process
        self._listening = listening
        self._place = place
        self._asked = asked
        self._insight = insight
        self._error_logs = tuple(error_logs)
        self._act = act
        self._finish = finish
        self._lock = threading.Lock()
        self._last_words: str | None = None
        self._spawned_s = time.monotonic()
        self._ready_s: float | None = None

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where it listens, `ip:port` or `unix:/path` each; the first is the one that is loaded."""
        return self._listening.addresses

    @property
    def networks(self) -> tuple[str, ...]:
        """The network namespace of each address: that of its place."""
        return (self._place.network,) * len(self.addresses)

    @property
    def root_pids(self) -> tuple[int, ...]:
        """The process whose tree is the server; also its session and process group id."""
        return (self._process.pid,)

    @property
    def keeper_pids(self) -> tuple[int, ...]:
        """Its parent, which takes over what loses its own."""
        return (self._process.keeper_pid,)

    @property
    def groups(self) -> tuple[Path, ...]:
        """The control group that the server is alone in; empty where there is none."""
        group = self._process.group
        return () if group is None else (group,)

    @property
    def limits(self) -> tuple[LimitGroups, ...]:
        """What limits it; empty where nothing does."""
        limits = self._process.limits
        return () if limits is None else (limits,)

    def limit_hit(self) -> str:
        """Return in words how it ran into its memory limit; empty where it did not."""
        return hit_words(self._process.limits)

    @property
    def ready_s(self) -> float | None:
        """How long it took from its spawning on to answer and be all there; None before."""
        return self._ready_s

    def await_ready(self, timeout_s: float) -> NotRunning | Effective:
        """Wait until it answers and is all there, then read the effective configuration back."""
        answer = self._ready(timeout_s)
        # Whatever came of it, that was why.
        if isinstance(answer, NotRunning) and (words := self.limit_hit()):
            return NotRunning(status="infeasible", detail=words)
        return answer

    def _ready(self, timeout_s: float) -> NotRunning | Effective:
        patience = Patience(timeout_s)
        readiness = self._awaited(patience)
        if readiness.kind == "exited":
            return self._exited()
        if readiness.kind != "answers":
            words = "\n".join(filter(None, [self._elsewhere(readiness), self.last_words()]))
            detail = f"{readiness.detail}\n{words}".strip()
            return NotRunning(
                status="refused" if readiness.kind == "fails" else "hung", detail=detail
            )
        is_last = False
        while self._process.is_alive() and (lacking := self._insight.lacking()):
            if is_last:
                detail = f"{lacking} after {timeout_s:g} s\n{self.last_words()}".strip()
                return NotRunning(status="hung", detail=detail)
            is_last = patience.is_over
            until_next_look()
        self._ready_s = time.monotonic() - self._spawned_s
        effective = self._insight.effective()
        if isinstance(effective, NotRunning):
            # One that dies just after its first answer says more by its exit.
            return effective if self._process.is_alive() else self._exited()
        return self._with_application(self._with_limits(self._without_folders(effective)))

    def _awaited(self, patience: Patience) -> Readiness:
        """Wait for the sign of readiness that the study names."""
        spec, process, address = self._asked.spec, self._process, self.addresses[0]
        network = self._place.network
        if spec.ready == "tcp":
            what = f"connection to {address}"
            return await_sign(lambda: accepts(address, network), what, process.is_alive, patience)
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
            network=network,
            is_tls=spec.tls,
        )

    def act(self, command: SideCommand) -> str:
        """Run a command of the study in its folder; return what was wrong with it."""
        return "no command can be run at it" if self._act is None else self._act(command)

    def is_alive(self) -> bool:
        """Whether the root process still runs."""
        return self._process.is_alive()

    def last_words(self) -> str:
        """The end of the server's error log, for messages; never more than a few lines."""
        return self._insight.words() if self._last_words is None else self._last_words

    def error_logs(self) -> tuple[Path, ...]:
        """Return the files that it logs and prints to as long as it runs, as seen from here."""
        return (self._process.log, *self._error_logs)

    def status_pages(self) -> tuple[StatusPage, ...]:
        """Return the status pages that its configuration in force has."""
        return status_pages_of(self._insight)

    def stop(self) -> None:
        """End the whole tree, free the port and remove the place; idempotent, from any thread.

        Raises:
            RevertError: A process could not be ended, or a file not be removed.
            AdapterError: What the study runs after a start failed.
        """
        with self._lock:
            self._process.stop()
            if self._last_words is None:
                self._last_words = self._insight.words()
            finish, self._finish = self._finish, None
            try:
                if finish is not None:
                    finish()
            finally:
                remove_place(self._place)
                self._listening.port.release()

    def _elsewhere(self, readiness: Readiness) -> str:
        """Return in words that it listens, but not where it was told to; empty when not so."""
        if readiness.kind != "silent":
            return ""
        pids = [process.pid for process in self._process.members()]
        told = [each for each in self.addresses if not each.startswith("unix:")]
        ports = {each.rpartition(":")[2] for each in told}
        at = sorted({each.address for each in listening(pids)})
        if not told or not at or any(each.rpartition(":")[2] in ports for each in at):
            return ""
        return f"it listens at {', '.join(at)}, where {told[0]} was asked"

    def _exited(self) -> NotRunning:
        words = self.last_words()
        exit_code = self._process.exit_code
        if self._insight.refusal(exit_code, words):
            return NotRunning(status="refused", detail=words)
        return NotRunning(status="crashed", detail=exited_words(exit_code, words))

    def _without_folders(self, effective: Effective) -> Effective:
        """Write the instance's own folders as in diffs, so that starts can be compared."""
        folders = {
            str(self._place.folder): RUN_PLACEHOLDER,
            str(self._place.memory_folder): MEMORY_PLACEHOLDER,
        }

        def written(texts: Mapping[str, str]) -> dict[str, str]:
            found = dict(texts)
            for folder, placeholder in folders.items():
                found = {name: text.replace(folder, placeholder) for name, text in found.items()}
            return found

        return Effective(
            values=written(effective.values),
            asked=written(effective.asked),
            source=effective.source,
            unverified=effective.unverified,
        )

    def _with_limits(self, effective: Effective) -> Effective:
        """Add what the kernel says of the limits: they were read back when they were set."""
        limits = self._process.limits
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
                network=self._place.network,
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


def differences(values: Mapping[str, str], asked: Mapping[str, str]) -> str:
    """Return in words where what is in force is not what was asked; empty when all is."""
    return "; ".join(
        f"{name} is {values.get(name, 'not set')} where {wanted} was asked"
        for name, wanted in asked.items()
        if values.get(name) != wanted
    )
