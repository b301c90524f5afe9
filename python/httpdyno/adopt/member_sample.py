"""The processes of a site's members, read once from outside, with whose pool each is in."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from httpdyno.adopt.pool_room import MemberSample
from httpdyno.servers.php_fpm.survey import pool_names
from httpdyno.servers.site.running import SiteRunning
from httpdyno.servers.site.snapshot import Found
from httpdyno.telemetry.worker import Sample, WorkerSampler


def copy_sampled(members: Sequence[Found], running: SiteRunning) -> tuple[MemberSample, ...]:
    """Return the processes of a copy that runs.

    Args:
        members: All of the site, front to back.
        running: Their copy.
    """
    pairs = zip(members, running.root_pids, strict=True)
    return tuple(member_sample(each, WorkerSampler([pid]).read()) for each, pid in pairs)


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
