"""A site's private copy that runs: its members are waited for, told of and ended as one."""

import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from httpdyno.host.interruption import cleaning
from httpdyno.model import Effective, Member, ValueEvidence
from httpdyno.servers.adapter import NotRunning, Place, exited_words
from httpdyno.servers.instance import Insight, differences
from httpdyno.servers.limits.limit_group import LimitGroups, effective_limits, hit_words
from httpdyno.servers.link import is_device, seen_file
from httpdyno.servers.network.address import held_socket, unix_address
from httpdyno.servers.network.probe import Patience, StatusPage, status_pages_of
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.ready import await_answer
from httpdyno.servers.run.folder import remove_place
from httpdyno.servers.sandbox.attempts import Refusals
from httpdyno.servers.sandbox.sandbox import OpenSandbox
from httpdyno.servers.site.beside import Beside
from httpdyno.servers.site.knob_name import knob_name
from httpdyno.servers.site.listener import UNIX

_POLL_S = 0.005
_WORDS_LINES = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class RunningMember:
    """One member of a copy that was started."""

    member: Member
    process: ServerProcess
    insight: Insight | None
    asked: tuple[str, ...]
    """Knobs that are asked of it, under its own names."""
    evidence: Mapping[str, ValueEvidence] = field(default_factory=dict)
    """How what is in force of them is known."""
    error_log: str = ""
    """A file, as seen in its seat; empty where it has none beside what it prints."""

    def words(self) -> str:
        """Return the end of what it said."""
        if self.insight is not None:
            return self.insight.words()
        return "\n".join(self.process.last_words().splitlines()[-_WORDS_LINES:])

    def error_logs(self) -> tuple[Path, ...]:
        """Return the files that it logs and prints to as long as it runs, as seen from here."""
        if not self.error_log or is_device(self.error_log):
            return (self.process.log,)
        return self.process.log, seen_file(self.error_log, self.process.pid)


@dataclass(frozen=True, kw_only=True, slots=True)
class Loaded:
    """Where load goes, and what says that it is ready."""

    address: str
    host: str
    ready_path: str
    ready_status: int | None = None
    is_tls: bool = False


class SiteRunning:
    """All members of a copy, front to back; owns their processes, their seat and their place."""

    def __init__(  # noqa: PLR0913 - all that it owns
        self,
        members: Sequence[RunningMember],
        *,
        seat: OpenSandbox,
        place: Place,
        beside: Beside,
        refusals: Refusals | None,
        loaded: Loaded,
        site: Sequence[Member],
    ) -> None:
        self._members = tuple(members)
        self._seat = seat
        self._place = place
        self._beside = beside
        self._refusals = refusals
        self._is_finished = False
        self._loaded = loaded
        self._socket: int | None = None
        path = loaded.address.removeprefix(UNIX)
        if seat.kind == "cell" and path.startswith("/") and members:
            there = seen_file(path, members[0].process.pid)
            self._loaded = replace(loaded, address=unix_address(str(there)))
        self._site = site
        self._lock = threading.Lock()
        self._last_words: str | None = None

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where the front listens, in its seat's network."""
        return (self._loaded.address,)

    @property
    def networks(self) -> tuple[str, ...]:
        """The network namespace of each address."""
        return (self._seat.network,)

    @property
    def root_pids(self) -> tuple[int, ...]:
        """The members' root processes, the front's first."""
        return tuple(each.process.pid for each in self._members)

    @property
    def keeper_pids(self) -> tuple[int, ...]:
        """Their parents, one each, which take over what loses its own."""
        return tuple(each.process.keeper_pid for each in self._members)

    @property
    def groups(self) -> tuple[Path, ...]:
        """The control group of each member; empty where one of them has none."""
        groups = [each.process.group for each in self._members]
        own = tuple(group for group in groups if group is not None)
        return own if len(own) == len(groups) else ()

    @property
    def limits(self) -> tuple[LimitGroups, ...]:
        """What limits those members that have limits."""
        limits = (each.process.limits for each in self._members)
        return tuple(each for each in limits if each is not None)

    def limit_hit(self) -> str:
        """Return in words which members ran into their memory limits, and how."""
        said = ((each, hit_words(each.process.limits)) for each in self._members)
        return "; ".join(self._named(each, words) for each, words in said if words)

    @property
    def prepare_s(self) -> float:
        """How long the study's commands took, before members and once they were up."""
        return self._beside.prepare_s

    @property
    def loaded(self) -> Loaded:
        """Where load goes."""
        return self._loaded

    @property
    def seat(self) -> OpenSandbox:
        """Where it sits."""
        return self._seat

    def await_ready(self, timeout_s: float) -> NotRunning | Effective:
        """Wait for each member, back to front, and read back what is in force."""
        answer = self._ready(timeout_s)
        if self._refusals:
            self._refusals.begin()
        # Whatever came of it, that was why.
        if isinstance(answer, NotRunning) and (words := self.limit_hit()):
            return NotRunning(status="infeasible", detail=words)
        return answer

    def _ready(self, timeout_s: float) -> NotRunning | Effective:
        patience = Patience(max([timeout_s, *(e.member.ready_timeout_s for e in self._members)]))
        for each in reversed(self._members):
            if failed := self._await_all_there(each, patience):
                return failed
        # The time of those is their own, and no member's.
        before_s = self.prepare_s
        if failed := self._beside.prepare("up"):
            return failed
        if self.prepare_s > before_s:
            patience = Patience(patience.timeout_s)
        if failed := self._await_answer(patience):
            return failed
        return self._effective()

    def tried(self) -> tuple[str, ...]:
        """Return what the copy tried to reach outside; while it runs."""
        return self._refusals.told() if self._refusals else ()

    def is_alive(self) -> bool:
        """Whether every member's root process runs."""
        return all(each.process.is_alive() for each in self._members)

    def last_words(self) -> str:
        """The members' last words, each with its name where there are several."""
        if self._last_words is not None:
            return self._last_words
        if len(self._members) == 1:
            return self._members[0].words()
        said = [(each.member.name, each.words()) for each in self._members]
        return "\n".join(f"{name}: {words}" for name, words in said if words)

    def error_logs(self) -> tuple[Path, ...]:
        """Return the files that the members log and print to as long as they run."""
        return tuple(path for each in self._members for path in each.error_logs())

    def status_pages(self) -> tuple[StatusPage, ...]:
        """Return the status pages that the members' configurations in force have."""
        return tuple(page for each in self._members for page in status_pages_of(each.insight))

    def stop(self) -> None:
        """End the members, front to back, and take the seat and the place down; idempotent.

        Raises:
            RevertError: A process could not be ended, or a file not be removed.
            AdapterError: What the study runs after a start failed.
        """
        with cleaning(), self._lock:
            words = self.last_words()
            for each in self._members:
                each.process.request_stop()
            for each in self._members:
                each.process.finish_stop()
            self._last_words = words
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

    def _await_all_there(self, each: RunningMember, patience: Patience) -> NotRunning | None:
        while True:
            is_last = patience.is_over
            if not each.process.is_alive():
                return self._exited(each)
            lacking = each.insight.lacking() if each.insight is not None else ""
            if not lacking:
                return None
            if is_last:
                detail = f"{lacking} after {patience.timeout_s:g} s\n{each.words()}"
                return NotRunning(status="hung", detail=self._named(each, detail.strip()))
            time.sleep(_POLL_S)

    def _await_answer(self, patience: Patience) -> NotRunning | None:
        loaded = self._loaded
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
            return self._exited(next(e for e in self._members if not e.process.is_alive()))
        status = "refused" if readiness.kind == "fails" else "hung"
        return NotRunning(
            status="refused" if status == "refused" else "hung",
            detail=f"{readiness.detail}\n{self.last_words()}".strip(),
        )

    def _hold_socket(self) -> None:
        """Keep who listens at a unix socket of the copy's own, by whatever links its path led."""
        path = self._loaded.address.removeprefix(UNIX)
        if path.startswith("/proc/") and self._socket is None:
            with held_socket(path) as handle:
                self._socket = os.dup(handle)
            own = unix_address(f"/proc/self/fd/{self._socket}")
            self._loaded = replace(self._loaded, address=own)

    def _exited(self, each: RunningMember) -> NotRunning:
        words = each.words()
        exit_code = each.process.exit_code
        if each.insight is not None and each.insight.refusal(exit_code, words):
            return NotRunning(status="refused", detail=self._named(each, words))
        detail = exited_words(exit_code, words)
        return NotRunning(status="crashed", detail=self._named(each, detail))

    def _named(self, each: RunningMember, words: str) -> str:
        return words if len(self._site) == 1 else f"{each.member.name}: {words}"

    def _effective(self) -> NotRunning | Effective:
        values: dict[str, str] = {}
        asked: dict[str, str] = {}
        sources: list[str] = []
        evidence: dict[str, ValueEvidence] = {}
        unverified: list[str] = []
        for each in self._members:
            found = each.insight.effective() if each.insight is not None else Effective()
            if isinstance(found, NotRunning):
                detail = self._named(each, found.detail)
                return NotRunning(status=found.status, detail=detail)
            name = each.member.name
            values |= {knob_name(name, key): text for key, text in found.values.items()}
            values |= _limits_of(each)
            asked |= {knob_name(name, key): text for key, text in found.asked.items()}
            evidence |= {
                knob_name(name, key): how
                for key, how in each.evidence.items()
                if key in found.values
            }
            sources += [found.source] if found.source else []
            unverified += [knob_name(name, key) for key in each.asked if key not in found.asked]
        if different := differences(values, asked):
            return NotRunning(status="refused", detail=f"{different}\n{self.last_words()}".strip())
        return Effective(
            values=values,
            asked=asked,
            source=", ".join(dict.fromkeys(sources)),
            evidence=evidence,
            unverified=tuple(unverified),
        )


def _limits_of(each: RunningMember) -> dict[str, str]:
    """Return what the kernel says of a member's limits, by their names in a study."""
    limits = each.process.limits
    found = {} if limits is None else effective_limits(limits.values)
    return {knob_name(each.member.name, key): text for key, text in found.items()}
