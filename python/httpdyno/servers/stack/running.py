"""A stack that runs: its services are waited for, asked what is in force, and ended as one."""

import os
import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from httpdyno.host.interruption import cleaning
from httpdyno.model import (
    Effective,
    SideCommand,
    ValueEvidence,
)
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning, Place, Running
from httpdyno.servers.limits.limit_group import LimitGroups
from httpdyno.servers.link import seen_file
from httpdyno.servers.network.address import held_socket, unix_address
from httpdyno.servers.network.probe import Patience, StatusPage
from httpdyno.servers.ready import (
    await_answer,
)
from httpdyno.servers.run.folder import remove_place
from httpdyno.servers.sandbox.attempts import Refusals
from httpdyno.servers.sandbox.sandbox import OpenSandbox
from httpdyno.servers.stack.beside import Beside
from httpdyno.servers.stack.names import SERVER, UNIX
from httpdyno.servers.stack.service import CopiedService, RunningService, not_ready


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

    def limit_hit(self) -> Reason | None:
        """Return which of them ran into their memory limits, and how; None where none did."""
        hits = [hit for each in self._by_load if (hit := each.limit_hit())]
        return because("servers.of_several", all=hits) if hits[1:] else next(iter(hits), None)

    @property
    def ready_s(self) -> float | None:
        """How long it took to be ready, of one service alone; None before."""
        return self._services[0].ready_s if len(self._services) == 1 else None

    def await_ready(self, timeout_s: float) -> NotRunning | Effective:
        """Wait for each, back to front, and read back what is in force in all of them."""
        answer = self._ready(timeout_s)
        # Whatever came of it, that was why.
        if isinstance(answer, NotRunning) and (hit := self.limit_hit()):
            return NotRunning(status="infeasible", detail=hit)
        return answer

    def _ready(self, timeout_s: float) -> NotRunning | Effective:
        patience = Patience(timeout_s)
        for each in self._services:
            if failed := each.await_there(patience):
                return failed
        return self._effective()

    def _effective(self) -> NotRunning | Effective:
        values, asked, sources = dict(self._shape), dict(self._shape), list[Reason]()
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
            sources += each.named_sources(found.sources)
        return Effective(
            values=values,
            asked=asked,
            sources=tuple(sources),
            evidence=evidence,
            unverified=tuple(unverified),
        )

    def act(self, command: SideCommand) -> Reason | None:
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
        return {
            each.name: RunningStack([each], loaded=each.name)
            for each in self._services
            if each.name not in answering
        }

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
        seat: OpenSandbox,
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
    def seat(self) -> OpenSandbox:
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

    def tried(self) -> tuple[str | Reason, ...]:
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
        return not_ready(readiness, self.last_words())

    def _hold_socket(self) -> None:
        """Keep who listens at a unix socket of the copy's own, by whatever links its path led."""
        path = self._load.address.removeprefix(UNIX)
        if path.startswith("/proc/") and self._socket is None:
            with held_socket(path) as handle:
                self._socket = os.dup(handle)
            own = unix_address(f"/proc/self/fd/{self._socket}")
            self._load = replace(self._load, address=own)
