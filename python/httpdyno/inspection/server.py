"""Servers as `inspect` shows them: what each is set to and at, with what is around it."""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from httpdyno.advice.rules.apache_perl import linked_folders
from httpdyno.advice.rules.facts import Front
from httpdyno.advice.rules.programs import folders_of
from httpdyno.errors import TargetError, UsageError
from httpdyno.inspection.status import kept_workers, worker_status
from httpdyno.load.one_by_one import OneByOne
from httpdyno.load.target import check_permitted, parse_url, resolve
from httpdyno.reason import Reason, because
from httpdyno.report.inspect.facts import (
    ENVIRONMENT,
    NOTHING_KNOWN,
    Asked,
    Surroundings,
    facts_of,
)
from httpdyno.report.inspect.front import fronts_of
from httpdyno.report.inspect.json import inspect_json
from httpdyno.report.inspect.page import Page, Server
from httpdyno.report.inspect.text import inspect_text
from httpdyno.servers.apache.perl import perl_files
from httpdyno.servers.discover.contained import contained
from httpdyno.servers.discover.find import Found, configured, find, running
from httpdyno.servers.discover.inspection import (
    Inspected,
    looked_at,
    name_of,
    named,
    serving,
    with_backends,
)
from httpdyno.servers.discover.machine import Machine
from httpdyno.servers.discover.process import ProcessFacts
from httpdyno.servers.discover.source import Source, parse_source
from httpdyno.servers.sandbox.available import possible
from httpdyno.telemetry.host import filesystems
from httpdyno.telemetry.observed import observed
from httpdyno.telemetry.syscalls.strace import census_of

DEFAULT_CONNECTIONS = 4
DEFAULT_DURATION = "20s"


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadAsked:
    """All that was said of the load."""

    urls: Sequence[str]
    duration: str | None = None
    connections: int | None = None
    status: str | None = None
    respawn: Sequence[str] = ()

    def require_load(self) -> None:
        """Refuse what is for a load where there is none.

        Raises:
            UsageError: With the option.
        """
        words = {
            "--for": self.duration,
            "-c": self.connections,
            "--respawn": self.respawn or None,
        }
        given = next((option for option, value in words.items() if value is not None), "")
        if given and not self.urls:
            raise UsageError(
                f"`{given}` is for `--load`, without which nothing is sent",
                hint="name what may be loaded: `--load http://127.0.0.1:8000/`",
            )


def page_of(
    source: Source | None,
    machine: Machine,
    tell: Callable[[Reason], None],
    *,
    census: str | None = None,
    n_requests: int = 0,
) -> Page:
    """Return a page of the servers that are meant; of those that run, else of those configured.

    Args:
        source: What is meant; None: all.
        machine: Where they are looked for.
        census: A URL whose requests' system calls are counted, if any.
        n_requests: So many are counted.
        tell: Takes what is done to a server.

    Raises:
        UsageError: What is meant makes no sense.
        TargetError: It does not answer, or may not be traced.
    """
    found = running(machine) or configured(machine) if source is None else find(source, machine)
    took = None if census is None else _traced(census, n_requests, found, tell)
    seen = with_backends([looked_at(each, machine) for each in found], machine)
    isolation, reason = possible() if seen else ("", None)
    if isolation == "cell":
        is_root = os.geteuid() == 0
        reason = because("sandbox.by_root" if is_root else "sandbox.by_user_namespace")
    asked_for = () if source is None else found
    return Page(
        servers=tuple(
            _server(each, machine, seen, is_named=each.found in asked_for, took=took)
            for each in seen
        ),
        now_s=time.time(),
        isolation=isolation,
        isolation_reason=reason,
        passed_over=machine.passed_over,
    )


def with_status(page: Page, url: str, *, is_named: bool) -> Page:
    """Return the page with what the one server that was meant says of its workers."""
    meant, root = meant_server(page, "--status", is_named=is_named)
    told = worker_status(url)() or {}
    # Those that began since are looked at, too.
    now = observed(
        root.pid, {each.inode for each in meant.seen.found.listens} if is_named else None
    )
    if now is None or not told.keys() & {each.pid for each in now.workers}:
        raise TargetError(
            f"`--status {url}` tells of other processes than those of {meant.seen.found}",
            hint="name the server whose page it is; php-fpm's is asked through a web server",
        )
    return with_server(page, meant, replace(meant, told=told, observed=now, kept=kept_workers(url)))


def meant_server(page: Page, option: str, *, is_named: bool) -> tuple[Server, ProcessFacts]:
    """Return the one server that was meant, and the process that it began as.

    Raises:
        UsageError: There are several, or it does not run.
    """
    meant = [each for each in page.servers if each.is_named or not is_named]
    if len(meant) != 1:
        raise UsageError(
            f"`{option}` takes one server, and {len(meant)} were found",
            hint="name it: `pid:1234`, or `:8080` for whoever listens there",
        )
    root = meant[0].seen.found.root
    if root is None:
        raise UsageError(f"`{option}` takes a server that runs, and this one does not")
    return meant[0], root


def with_server(page: Page, server: Server, now: Server) -> Page:
    """Return the page with a server as it is now."""
    return replace(page, servers=tuple(now if each is server else each for each in page.servers))


def _server(
    seen: Inspected,
    machine: Machine,
    all_seen: Sequence[Inspected],
    *,
    is_named: bool,
    took: Asked | None,
) -> Server:
    """Return a server with what is around it; one that cannot be looked at is what was seen."""
    name = name_of(seen.found)
    root = seen.found.root
    allowance = machine.allowance(root.user) if root else None
    looked = contained(
        lambda: _looked(seen, machine, all_seen, is_named=is_named, took=took),
        name,
        allowance=allowance,
    )
    if isinstance(looked, Reason):
        return Server(seen=replace(seen, trouble=looked, survey=None), is_named=is_named)
    # What is made of it belongs to the look: whatever is said of one is said here first.
    alone = Page(servers=(looked,), now_s=time.time())
    said = contained(lambda: (inspect_text(alone), inspect_json(alone)), name, allowance=allowance)
    if isinstance(said, Reason):
        return Server(seen=Inspected(found=seen.found, trouble=said), is_named=is_named)
    return looked


def _looked(
    seen: Inspected,
    machine: Machine,
    all_seen: Sequence[Inspected],
    *,
    is_named: bool,
    took: Asked | None,
) -> Server:
    root = seen.found.root
    inodes = {each.inode for each in seen.found.listens} if is_named else None
    backends: dict[str, str] = {}
    for backend in seen.survey.backends if seen.survey else ():
        backends[backend.to] = named(serving(backend, machine))
    # What is wrong with a front of it may be wrong with that alone.
    around = contained(
        lambda: surroundings_of(
            seen, fronts_of(seen, all_seen, lambda backend: serving(backend, machine))
        ),
        name_of(seen.found),
    )
    return Server(
        seen=seen,
        is_named=is_named,
        observed=observed(root.pid, inodes) if root else None,
        surroundings=NOTHING_KNOWN if isinstance(around, Reason) else around,
        asked=took if is_named and root else None,
        backends=tuple(backends.items()),
    )


def listening_at(url: str, source: Source | None) -> Source:
    """Return the server that is traced: the one that is named, else whoever listens at the URL.

    Raises:
        UsageError: The URL is none, or may not be asked.
        TargetError: Its host has no address.
    """
    target = parse_url(url)
    check_permitted(target, resolve(target), allowed_host=None)
    return source or parse_source([f":{target.port}"], Path.cwd())


def _traced(url: str, n: int, found: Sequence[Found], tell: Callable[[Reason], None]) -> Asked:
    """Ask the server for a URL some times, one request after the other, and count its calls.

    Args:
        url: What is asked for; it may be (`source_of`).
        n: So many requests are counted.
        found: The server; it must be one, and run.

    Raises:
        UsageError: It is not one that runs.
        TargetError: It did not answer, or may not be traced.
        RevertError: It is still traced.
    """
    target = parse_url(url)
    roots = [(each.member.kind, each.root.pid) for each in found if each.root is not None]
    if len(roots) != 1:
        raise UsageError(
            f"a census is taken of one server that runs, and {len(roots):,} of these do",
            hint="name one: `pid:N`, or `:PORT` for whoever listens there",
        )
    [(kind, pid)] = roots
    one_by_one = OneByOne(target)
    one_by_one.ask()
    tell(because("inspection.traces", kind=kind, pid=pid))
    census = census_of([pid], one_by_one.ask, n)
    return Asked(url=target.url, census=census, answers=tuple(sorted(one_by_one.answers.items())))


def surroundings_of(seen: Inspected, fronts: tuple[Front, ...] = ()) -> Surroundings:
    """Return what of the machine a server's settings are judged beside.

    Args:
        seen: The server.
        fronts: Proxies before it.
    """
    root = seen.found.root
    n_cpus = None
    with suppress(OSError):
        n_cpus = len(os.sched_getaffinity(root.pid)) if root else None
    if seen.survey is None:
        return Surroundings(n_cpus=n_cpus)
    is_hidden = ENVIRONMENT in seen.found.hidden
    names = None if is_hidden else seen.found.member.environment_names
    told = Surroundings(n_cpus=n_cpus, perl=perl_files(seen.survey, names), fronts=fronts)
    facts = facts_of(seen, None, told)
    if facts is None:
        return told
    folders = folders_of(facts)
    return replace(
        told,
        filesystems=filesystems(folders, root.pid if root else None) if folders else {},
        real_paths={each: os.path.realpath(each) for each in linked_folders(facts)},
    )
