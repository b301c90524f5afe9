"""The `[site]` of a study file, and what requests need to find it."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath

from msgspec import structs

from httpdyno.errors import StudyFileError
from httpdyno.host.foreign_text import is_there
from httpdyno.model.knob import KnobInfo
from httpdyno.model.side_command import SideCommand
from httpdyno.model.site import Member, Site
from httpdyno.model.study import ServerSpec
from httpdyno.model.workload import RequestSpec, TlsSpec, Workload
from httpdyno.study.limits import check_limits
from httpdyno.study.side_command import NOT_OF_A_COPY, OF_A_COPY, check_site_commands
from httpdyno.study.workload import NO_NAME

SITE_ADAPTER = "site"
"""The adapter of all sites: it asks the adapters of their members."""

SiteKnobInfos = Callable[[Site, Path], Mapping[str, KnobInfo]]
"""From a site and its study's folder to what can be set, by whole name `MEMBER:NAME[@SCOPE]`.

Raises HttpdynoError where that is not known. Defaults are the values as they were found.
"""

Wrong = Callable[[str, object, str], StudyFileError]

_MEMBER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_PATH = re.compile(r"/[!-~]*")
_HIGHEST_STATUS = 599
_LOWEST_STATUS = 100


def no_site_knobs(_site: Site, _folder: Path) -> Mapping[str, KnobInfo]:
    """Refuse: nobody said who knows the settings of a site.

    Raises:
        StudyFileError: Always.
    """
    raise StudyFileError(
        "a study of your own site ([site]) cannot be read here: nothing knows what its servers "
        "can be set to",
        hint="give it a [server], as bundled studies have",
    )


def check_site(site: Site, folder: Path, wrong: Wrong) -> None:
    """Refuse a site that makes no sense.

    Raises:
        StudyFileError: With the key.
    """
    if not site.members:
        raise wrong("site.members", [], "at least one [[site.members]]")
    names = [member.name for member in site.members]
    for index, member in enumerate(site.members):
        _check_member(f"site.members[{index}]", member, names[:index], wrong)
    _check_paths("site.writes", site.writes, wrong)
    for index, door in enumerate(site.doors):
        if not door.to:
            expected = "an address, such as unix:/run/db.sock"
            raise wrong(f"site.doors[{index}].to", door.to, expected)
    snapshot = folder / site.snapshot
    if not (site.snapshot and is_there(snapshot) and snapshot.is_dir()):
        raise wrong("site.snapshot", site.snapshot, f"a folder in {folder}")
    check_ready("site.ready", site.ready, site.ready_status, wrong)
    check_site_commands("site.prepare", site.prepare, names, wrong)
    check_site_commands("site.finish", site.finish, names, wrong)


def site_server(site: Site) -> ServerSpec:
    """Return what load and readiness need to know of a site, and what runs beside it."""
    return ServerSpec(
        adapter=SITE_ADAPTER,
        ready_path=site.ready,
        ready_status=site.ready_status,
        before=tuple(SideCommand(**structs.asdict(each)) for each in site.prepare),
        finish=tuple(SideCommand(**structs.asdict(each)) for each in site.finish),
    )


def reached(workload: Workload, site: Site) -> Workload:
    """Return the workload as the site's loaded host is asked for it.

    Requests that name no host get the site's. A private copy shows the certificate of the real
    host, so that is not checked.
    """
    return reached_as(workload, site.host, is_tls=site.tls)


def reached_as(workload: Workload, host: str, *, is_tls: bool) -> Workload:
    """Return the workload as a site is asked for this host; an empty one is its address."""
    tls = workload.tls
    if is_tls and tls is None:
        # A listener without a name of its own is asked for some name: TLS takes none for none.
        tls = TlsSpec(server_name=host or NO_NAME, is_verified=False)
    requests = workload.requests
    if host:
        requests = tuple(_of_host(each, host) for each in requests)
    return structs.replace(workload, requests=requests, tls=tls)


def check_ready(key: str, path: str, status: int | None, wrong: Wrong) -> None:
    """Refuse a path or a status that no request can have.

    Raises:
        StudyFileError: With the key.
    """
    if not _PATH.fullmatch(path):
        raise wrong(key, path, "a path from `/` on, in ASCII, no spaces")
    if status is not None and not _LOWEST_STATUS <= status <= _HIGHEST_STATUS:
        name = f"{key.removesuffix('_path')}_status"
        raise wrong(name, status, f"{_LOWEST_STATUS} to {_HIGHEST_STATUS}")


def whole_name(name: str, members: Sequence[str], known: Collection[str]) -> str:
    """Return a knob's name as `MEMBER:NAME[@SCOPE]`, where something was left out of it.

    The member may be left out where there is one, the scope where the setting has one. A name
    that cannot be told stays as it is, and so does one of no site.
    """
    has_member = name.partition(":")[0] in members
    whole = name if has_member or len(members) != 1 else f"{members[0]}:{name}"
    if whole in known:
        return whole
    scoped = [each for each in known if each.startswith(f"{whole}@")]
    return scoped[0] if len(scoped) == 1 else whole


def _check_member(key: str, member: Member, before: Sequence[str], wrong: Wrong) -> None:
    if not _MEMBER.fullmatch(member.name):
        raise wrong(f"{key}.name", member.name, "letters, digits, `-`, `_` and `.`")
    if member.name in before:
        raise wrong(f"{key}.name", member.name, "a name that no other member has")
    if not (member.main or member.command):
        raise wrong(
            f"{key}.main", "", "the path of its main configuration file, or its command beside it"
        )
    for name, path in (
        ("main", member.main),
        ("folder", member.folder),
        ("prefix", member.prefix),
    ):
        if path:
            _check_paths(f"{key}.{name}", (path,), wrong)
    for name, text in member.environment.items():
        if NOT_OF_A_COPY.search(text):
            raise wrong(f"{key}.environment.{name}", text, OF_A_COPY)
    check_limits(member.limits, f"{key}.limits", wrong, has_knobs=False)


def _check_paths(key: str, paths: Sequence[str], wrong: Wrong) -> None:
    for path in paths:
        if not PurePosixPath(path).is_absolute():
            raise wrong(key, path, "whole paths, from `/` on")


def _of_host(request: RequestSpec, host: str) -> RequestSpec:
    if any(name.lower() == "host" for name, _ in request.headers):
        return request
    return structs.replace(request, headers=(*request.headers, ("Host", host)))
