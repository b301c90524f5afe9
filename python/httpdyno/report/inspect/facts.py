"""From a server that was looked at to what rules may know of it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from msgspec import structs

from httpdyno.advice.rules.facts import CallFacts, Facts, PoolFacts, Queue, configured
from httpdyno.servers.apache_site.survey import is_whole
from httpdyno.servers.source.inspection import Inspected
from httpdyno.telemetry.census.record import Census
from httpdyno.telemetry.observed import Observed

_ENVIRONMENT = "environment"
_HOSTS = "/etc/hosts"


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What requests to a server took, one at a time."""

    url: str
    census: Census
    answers: tuple[tuple[int, int], ...]
    """(status, how often), with those that came before the first that counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Surroundings:
    """What of the machine a server's settings are judged beside."""

    n_cpus: int | None = None
    """That it may run on; None where it does not run, or that is not known."""
    filesystems: Mapping[str, str] = field(default_factory=dict)
    """Folder of its settings → type, such as `tmpfs`."""


NOTHING_KNOWN = Surroundings()


def facts_of(
    seen: Inspected,
    observed: Observed | None,
    surroundings: Surroundings,
    asked: Asked | None = None,
) -> Facts | None:
    """Return what is known; None of a server whose configuration is not.

    Args:
        seen: What it is configured to.
        observed: Its processes; None where it does not run.
        surroundings: What of the machine it is beside.
        asked: A census of it; None where there is none.
    """
    survey, found = seen.survey, seen.found
    if survey is None:
        return None
    told = configured(found.member, survey, is_whole=is_whole(survey), n_cpus=surroundings.n_cpus)
    limit = found.open_files_limit
    is_hidden = _ENVIRONMENT in found.hidden
    return structs.replace(
        told,
        environment_names=None if is_hidden else told.environment_names,
        filesystems=dict(surroundings.filesystems),
        open_files_limit=int(limit) if limit.isdecimal() else None,
        pool=_pool(observed) if observed else None,
        queues=_queues(observed) if observed else (),
        calls=_calls(asked) if asked else None,
    )


def _calls(asked: Asked) -> CallFacts | None:
    census, path = asked.census, unquote(urlsplit(asked.url).path)
    if census.doubts:
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
        limited_by=bound.limited_by if bound else "",
    )


def _queues(observed: Observed) -> tuple[Queue, ...]:
    queues = observed.sockets.queues if observed.sockets else ()
    return tuple(
        Queue(address=each.address, waiting=each.waiting, backlog=each.backlog) for each in queues
    )
