"""Several servers that run as one: waited for, told of and ended together."""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from httpdyno.host.interruption import cleaning
from httpdyno.model import Effective, SideCommand
from httpdyno.servers.adapter import Acting, Limited, Logged, NotRunning, Prepared, Running
from httpdyno.servers.companions.names import SEPARATOR, SERVER
from httpdyno.servers.limits.limit_group import LimitGroups
from httpdyno.servers.network.probe import Patience, StatusPage, status_pages_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One of them."""

    name: str
    """`server`, or a companion's."""
    running: Running

    def named(self, words: str) -> str:
        """Return words of it, which say whose they are where it is a companion."""
        return words if self.name == SERVER or not words else f"{self.name}: {words}"


class Together:
    """All of them, in the order in which they were begun; owns them."""

    def __init__(
        self,
        parts: Sequence[Part],
        *,
        loaded: str,
        shape: Mapping[str, str],
        passing: Collection[str] = (),
    ) -> None:
        """Own them.

        Args:
            parts: All that were begun, in that order.
            loaded: The name of the one that gets the load.
            shape: The server's plain knobs that say who is there and who is loaded.
            passing: The names of those between who is loaded and the server.
        """
        self._parts = tuple(parts)
        self._loaded = loaded
        self._passing = frozenset(passing)
        # Whoever is loaded comes first wherever one of several is asked for.
        self._by_load = sorted(self._parts, key=lambda part: part.name != loaded)
        self._shape = dict(shape)
        self._lock = threading.Lock()

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where they listen, the one that is loaded first."""
        return tuple(a for part in self._by_load for a in part.running.addresses)

    @property
    def networks(self) -> tuple[str, ...]:
        """The network namespace of each address."""
        return tuple(n for part in self._by_load for n in part.running.networks)

    @property
    def root_pids(self) -> tuple[int, ...]:
        """Their root processes, those of the one that is loaded first."""
        return tuple(pid for part in self._by_load for pid in part.running.root_pids)

    @property
    def keeper_pids(self) -> tuple[int, ...]:
        """The keeper of each root process; empty where one of them has none."""
        keepers = tuple(pid for part in self._by_load for pid in part.running.keeper_pids)
        return keepers if len(keepers) == len(self.root_pids) else ()

    @property
    def groups(self) -> tuple[Path, ...]:
        """The control groups of all; empty where one of them has none."""
        groups = [part.running.groups for part in self._by_load]
        return tuple(group for own in groups for group in own) if all(groups) else ()

    @property
    def limits(self) -> tuple[LimitGroups, ...]:
        """What limits those of them that have limits."""
        limited = (p.running for p in self._by_load if isinstance(p.running, Limited))
        return tuple(groups for running in limited for groups in running.limits)

    def limit_hit(self) -> str:
        """Return in words which of them ran into their memory limits, and how."""
        said = [
            part.named(part.running.limit_hit())
            for part in self._by_load
            if isinstance(part.running, Limited)
        ]
        return "; ".join(words for words in said if words)

    @property
    def prepare_s(self) -> float:
        """What the study's commands before all of them took."""
        return sum(p.running.prepare_s for p in self._parts if isinstance(p.running, Prepared))

    def await_ready(self, timeout_s: float) -> NotRunning | Effective:
        """Wait for each, back to front, and read back what is in force in all of them."""
        patience = Patience(timeout_s)
        values, asked, sources = dict(self._shape), dict(self._shape), []
        unverified: list[str] = []
        for part in self._parts:
            found = part.running.await_ready(max(0.0, timeout_s - patience.spent_s))
            if isinstance(found, NotRunning):
                return NotRunning(status=found.status, detail=part.named(found.detail))
            whole = _whole_names(part.name)
            values |= {whole(name): text for name, text in found.values.items()}
            asked |= {whole(name): text for name, text in found.asked.items()}
            unverified += [whole(name) for name in found.unverified]
            sources += [part.named(found.source)] if found.source else []
        return Effective(
            values=values, asked=asked, source=", ".join(sources), unverified=tuple(unverified)
        )

    def act(self, command: SideCommand) -> str:
        """Run a command at the server that the study is about; return what was wrong with it."""
        server = next(part.running for part in self._parts if part.name == SERVER)
        return server.act(command) if isinstance(server, Acting) else "no command can be run at it"

    def is_alive(self) -> bool:
        """Whether all of them run."""
        return all(part.running.is_alive() for part in self._parts)

    def last_words(self) -> str:
        """Return the ends of their error logs, the loaded one's first."""
        said = [part.named(part.running.last_words()) for part in self._by_load]
        return "\n".join(words for words in said if words)

    def error_logs(self) -> tuple[Path, ...]:
        """Return the files that they log and print to as long as they run, as seen from here."""
        logged = (p.running for p in self._by_load if isinstance(p.running, Logged))
        return tuple(path for running in logged for path in running.error_logs())

    def companions(self) -> Mapping[str, Running]:
        """Return those who answer none of the load: all but who is loaded and whom it stands for.

        One in front passes on to the server, whose workers answer, and may do so through others;
        what is behind the server, and what nobody sends requests to, such as one that cleans up,
        answers nobody.
        """
        names = [part.name for part in self._parts]
        is_in_front = self._loaded in names[names.index(SERVER) :]
        answering = {self._loaded, *self._passing, *([SERVER] if is_in_front else [])}
        return {part.name: part.running for part in self._parts if part.name not in answering}

    def status_pages(self) -> tuple[StatusPage, ...]:
        """Return the status pages that their configurations in force have."""
        return tuple(page for p in self._by_load for page in status_pages_of(p.running))

    def stop(self) -> None:
        """End all of them, front to back, and remove their places; idempotent.

        Raises:
            RevertError: A process could not be ended, or a file not be removed.
            AdapterError: What the study runs after a start failed.
        """
        with cleaning(), self._lock, ExitStack() as stack:
            # Called in the opposite order, all of them whatever one of them raises.
            for part in self._parts:
                stack.callback(part.running.stop)


def _whole_names(part: str) -> Callable[[str], str]:
    """Return what makes a study's name of a server's own."""
    return lambda name: name if part == SERVER else f"{part}{SEPARATOR}{name}"
