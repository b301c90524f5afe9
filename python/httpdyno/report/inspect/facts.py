"""From a server that was looked at to what rules may know of it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from msgspec import structs

from httpdyno.advice.rules.facts import (
    CallFacts,
    Facts,
    Front,
    Measured,
    PerlFacts,
    PoolFacts,
    WorkerSize,
    configured,
)
from httpdyno.host.sock_diag import ListenQueue
from httpdyno.report.shared.unseen import BOUNDS
from httpdyno.servers.apache.perl import PerlFiles
from httpdyno.servers.apache.survey import is_whole
from httpdyno.servers.discover.inspection import Inspected
from httpdyno.telemetry.observed import Observed
from httpdyno.telemetry.syscalls.count import SyscallProfile

ENVIRONMENT = "environment"
"""In what is hidden, where the names of its variables are."""
_HOSTS = "/etc/hosts"


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What requests to a server took, one at a time."""

    url: str
    census: SyscallProfile
    answers: tuple[tuple[int, int], ...]
    """(status, how often), with those that came before the first that counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Surroundings:
    """What of the machine a server's settings are judged beside."""

    n_cpus: int | None = None
    """That it may run on; None where it does not run, or that is not known."""
    filesystems: Mapping[str, str] = field(default_factory=dict)
    """Folder of its settings → type, such as `tmpfs`."""
    real_paths: Mapping[str, str] = field(default_factory=dict)
    """Folder of its settings → where it lies, links followed."""
    perl: PerlFiles | None = None
    """None of a server without Perl inside."""
    fronts: tuple[Front, ...] = ()
    """Proxies that keep connections to it, of those that were looked at with it."""


NOTHING_KNOWN = Surroundings()
NOT_MEASURED = Measured()


def facts_of(
    seen: Inspected,
    observed: Observed | None,
    surroundings: Surroundings,
    asked: Asked | None = None,
    measured: Measured = NOT_MEASURED,
) -> Facts | None:
    """Return what is known; None of a server whose configuration is not.

    Args:
        seen: What it is configured to.
        observed: Its processes; None where it does not run.
        surroundings: What of the machine it is beside.
        asked: A census of it; None where there is none.
        measured: Of its workers.
    """
    survey, found = seen.survey, seen.found
    if survey is None:
        return None
    told = configured(found.member, survey, is_whole=is_whole(survey), n_cpus=surroundings.n_cpus)
    limit = found.open_files_limit
    is_hidden = ENVIRONMENT in found.hidden
    return structs.replace(
        told,
        environment_names=None if is_hidden else told.environment_names,
        filesystems=dict(surroundings.filesystems),
        real_paths=dict(surroundings.real_paths),
        open_files_limit=int(limit) if limit.isdecimal() else None,
        pool=_pool(observed) if observed else None,
        queues=_queues(observed) if observed else (),
        calls=_calls(asked) if asked else None,
        growth=measured.growth,
        lives=measured.lives,
        respawn=measured.respawn,
        kept=measured.kept,
        perl=_perl(surroundings.perl) if surroundings.perl else None,
        fronts=surroundings.fronts,
    )


def _perl(files: PerlFiles) -> PerlFacts:
    return PerlFacts(has_smaps=files.has_smaps, startup=dict(files.startup))


def _calls(asked: Asked) -> CallFacts | None:
    census, path = asked.census, unquote(urlsplit(asked.url).path)
    if census.warnings:
        return None
    missing = [
        each.path
        for each in census.files
        if each.is_missing and "stat" in each.kinds and each.path.endswith(path)
    ]
    return CallFacts(
        url=asked.url,
        stats=census.of("stat").mean,
        lstats=census.of("lstat").mean,
        htaccess_opens=census.htaccess_opens.mean,
        hosts_opens=sum(
            each.calls.mean for each in census.files if each.path == _HOSTS and "open" in each.kinds
        ),
        name_servers=census.name_servers.mean,
        missing_file=missing[0] if missing and path != "/" else "",
    )


def _pool(observed: Observed) -> PoolFacts:
    workers = [
        each for each in observed.workers if each.pid != observed.root_pid and not each.is_zombie
    ]
    bound = observed.bound
    return PoolFacts(
        n_workers=observed.pool.n_workers,
        names=tuple(dict.fromkeys(each.name for each in workers)),
        n_fit=bound.n if bound else None,
        each_bytes=bound.each_bytes if bound else 0,
        available_bytes=bound.available_bytes if bound else 0,
        limited_by=BOUNDS[bound.limited_by] if bound else "",
        # The parent is one more process that the kernel keeps something for.
        room_bytes=bound.available_bytes
        - bound.reserve_bytes
        - bound.once_bytes
        - bound.kernel_bytes
        if bound
        else 0,
        kernel_bytes=bound.kernel_bytes if bound else 0,
        sizes=tuple(
            WorkerSize(
                pid=each.pid,
                own_bytes=each.memory.uss_bytes,
                statm_bytes=observed.statm_bytes[each.pid],
            )
            for each in workers
            if each.memory is not None and each.pid in observed.statm_bytes
        ),
    )


def _queues(observed: Observed) -> tuple[ListenQueue, ...]:
    return observed.sockets.queues if observed.sockets else ()
