"""Find plug-in parts through entry points; the bundled ones are registered the same way.

A distribution adds a server by naming a class under the group `httpdyno.servers`; the class takes
no arguments and its instances fulfil `servers.adapter.ServerAdapter`. Servers as people run them
are named under `httpdyno.sites` in the same way, and fulfil `servers.site.adapter.SiteAdapter`.
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from httpdyno.errors import AdapterError, UsageError
from httpdyno.model import KnobInfo, Site, Study
from httpdyno.servers.adapter import ServerAdapter
from httpdyno.servers.companions.server import WithCompanions
from httpdyno.servers.fragments import FragmentTarget
from httpdyno.servers.own_network.server import WithNetwork
from httpdyno.servers.site.adapter import SiteAdapter
from httpdyno.servers.site.isolation import seat_maker
from httpdyno.servers.site.server import SiteServer
from httpdyno.servers.site.snapshot import load_snapshot

SERVER_GROUP = "httpdyno.servers"
SITE_GROUP = "httpdyno.sites"


def adapter_names() -> tuple[str, ...]:
    """Return the names of the servers that can be put on the dyno, sorted."""
    return tuple(sorted(entry_points(group=SERVER_GROUP).names))


def load_adapter(name: str) -> ServerAdapter:
    """Return the adapter of that name.

    Raises:
        UsageError: No adapter has that name.
        AdapterError: It is registered, but cannot be imported.
    """
    matches = tuple(entry_points(group=SERVER_GROUP, name=name))
    if not matches:
        known = ", ".join(f"`{each}`" for each in adapter_names()) or "none"
        raise UsageError(
            f"no server adapter is called `{name}`", hint=f"the known ones are {known}"
        )
    try:
        adapter: ServerAdapter = matches[0].load()()
    except (ImportError, AttributeError) as error:
        raise AdapterError(
            f"the server adapter `{name}` ({matches[0].value}) cannot be imported: {error}",
            hint="install the package it comes from again",
        ) from error
    return adapter


@cache
def site_adapters() -> tuple[SiteAdapter, ...]:
    """Return the adapters of servers as people run them, by name.

    Raises:
        AdapterError: One is registered, but cannot be imported.
    """
    found: list[SiteAdapter] = []
    for entry in sorted(entry_points(group=SITE_GROUP), key=lambda each: each.name):
        try:
            found.append(entry.load()())
        except (ImportError, AttributeError) as error:
            raise AdapterError(
                f"the site adapter `{entry.name}` ({entry.value}) cannot be imported: {error}",
                hint="install the package it comes from again",
            ) from error
    return tuple(found)


def site_adapter(kind: str) -> SiteAdapter:
    """Return the adapter of that kind.

    Raises:
        UsageError: No adapter has that kind.
        AdapterError: One is registered, but cannot be imported.
    """
    for adapter in site_adapters():
        if adapter.kind == kind:
            return adapter
    known = ", ".join(f"`{each.kind}`" for each in site_adapters()) or "none"
    raise UsageError(
        f"`{kind}` is not known as a server of a person's own", hint=f"the known ones are {known}"
    )


def load_target(study: Study) -> ServerAdapter:
    """Return what starts a study's servers: its adapters, or private copies of its site.

    Of a study about code it is what starts the program that repeats it.

    Raises:
        UsageError: Nothing is called so.
        StudyFileError: The site's snapshot cannot be read.
        AdapterError: It is registered, but cannot be imported.
    """
    if study.fragments is not None:
        return FragmentTarget(study.fragments)
    if study.site is None:
        adapter, others = load_adapter(study.server.adapter), study.server.companions
        if others:
            found = {each.name: load_adapter(each.adapter) for each in others}
            adapter = WithCompanions(adapter, found)
        return adapter if study.server.network is None else WithNetwork(adapter)
    return site_server(study.site, Path(study.folder))


def site_knob_infos(site: Site, folder: Path) -> Mapping[str, KnobInfo]:
    """Return what can be set in a site, from its snapshot below a study's folder.

    Raises:
        UsageError: A member is of an unknown kind.
        StudyFileError: The snapshot cannot be read.
    """
    return site_server(site, folder).knobs()


def site_server(site: Site, folder: Path) -> SiteServer:
    """Return what makes private copies of a site whose snapshot is below a study's folder.

    Raises:
        UsageError: A member is of an unknown kind.
        StudyFileError: The snapshot cannot be read.
    """
    adapters = {member.kind: site_adapter(member.kind) for member in site.members}
    snapshot = load_snapshot(folder / site.snapshot, site.members)
    return SiteServer(site, snapshot, adapters, seat_maker(site.isolation))
