"""Looks at the memory of a copy's pools while it runs: its processes, and in whose pool each is."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from httpdyno.adopt.pool_room import MemberSample, RunningPools, rooms, unused
from httpdyno.advice.proposal import WorkerRoom
from httpdyno.servers.php_fpm.survey import pool_names
from httpdyno.servers.stack.running import RunningCopy
from httpdyno.servers.stack.snapshot import Found
from httpdyno.telemetry.worker import Sample, WorkerSampler


class PoolLooks:
    """At one copy, as often as somebody asks."""

    def __init__(
        self,
        members: Sequence[Found],
        free_bytes: int,
        running: Mapping[str, RunningPools] | None = None,
    ) -> None:
        """Look at nothing yet.

        Args:
            members: All of the site, front to back.
            free_bytes: What the machine has free before the copy is there; 0 where nobody knows.
            running: Member → what is known of the server that runs.
        """
        self._members = tuple(members)
        self._free_bytes = free_bytes
        self._running = running
        self._looks: list[tuple[MemberSample, ...]] = []

    def look(self, running: RunningCopy) -> None:
        """Take note of the copy's processes now."""
        if not self._free_bytes:
            return
        pairs = zip(self._members, running.root_pids, strict=True)
        self._looks.append(
            tuple(member_sample(each, WorkerSampler([pid]).read()) for each, pid in pairs)
        )

    def rooms(self) -> tuple[WorkerRoom, ...]:
        """Return how many workers of each pool memory has room for, by all looks."""
        return rooms(self._looks, self._free_bytes, running=self._running)

    def unused(self) -> tuple[str, ...]:
        """Return the pools of which no worker did anything between the first look and the last."""
        return unused(self._looks)


def member_sample(found: Found, sample: Sample) -> MemberSample:
    """Return a member's processes, which were read just now, with what they call themselves."""
    member = found.member
    pools = pool_names(found.survey) if member.kind == "php-fpm" else ()
    several = pools if len(pools) > 1 else ()
    return MemberSample(
        name=member.name,
        kind=member.kind,
        sample=sample,
        titles=_titles(each.pid for each in sample.workers) if several else {},
        pools=several,
    )


def _titles(pids: Iterable[int]) -> dict[int, str]:
    found = {}
    for pid in pids:
        with suppress(OSError):  # it ended meanwhile
            title = Path(f"/proc/{pid}/cmdline").read_bytes()
            found[pid] = title.rstrip(b"\0 ").decode(errors="replace")
    return found
