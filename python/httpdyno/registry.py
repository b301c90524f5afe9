"""Find plug-in parts through entry points; the bundled ones are registered the same way.

A distribution adds a kind of server by naming a class under the group `httpdyno.servers`; the class
takes no arguments and is a `servers.stack.adapter.ServerAdapter`.
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from httpdyno.errors import AdapterError, UsageError
from httpdyno.model import KnobInfo, Site, Study
from httpdyno.servers.fragments import FragmentTarget
from httpdyno.servers.own_network.server import WithNetwork
from httpdyno.servers.stack.adapter import ServerAdapter
from httpdyno.servers.stack.copies import CopyStack
from httpdyno.servers.stack.seats import seat_maker
from httpdyno.servers.stack.snapshot import load_snapshot
from httpdyno.servers.stack.stack import Stack
from httpdyno.servers.stack.templates import TemplateStack

SERVER_GROUP = "httpdyno.servers"


def adapter_names() -> tuple[str, ...]:
    """Return the names of the servers that studies can make, sorted.

    One that cannot be imported is among them: who loads it hears why.
    """
    return tuple(name for name, entry in _entries().items() if _is_made(entry))


def site_adapters() -> tuple[ServerAdapter, ...]:
    """Return the adapters of all kinds of servers, by name.

    Raises:
        AdapterError: One is registered, but cannot be imported.
    """
    return tuple(_adapters().values())


def load_adapter(name: str) -> ServerAdapter:
    """Return the adapter of a kind of server that studies can make.

    Raises:
        UsageError: No such adapter has that name.
        AdapterError: It is registered, but cannot be imported.
    """
    entry = _entries().get(name)
    adapter = None if entry is None else _loaded(entry)
    if adapter is None or not adapter.is_made:
        known = ", ".join(f"`{each}`" for each in adapter_names()) or "none"
        raise UsageError(
            f"no server adapter is called `{name}`", hint=f"the known ones are {known}"
        )
    return adapter


def site_adapter(kind: str) -> ServerAdapter:
    """Return the adapter of that kind.

    Raises:
        UsageError: No adapter has that kind.
        AdapterError: One is registered, but cannot be imported.
    """
    if kind in _entries():
        return _adapters()[kind]
    known = ", ".join(f"`{each}`" for each in _entries()) or "none"
    raise UsageError(
        f"`{kind}` is not known as a server of a person's own", hint=f"the known ones are {known}"
    )


@cache
def _adapters() -> Mapping[str, ServerAdapter]:
    return {name: _loaded(entry) for name, entry in _entries().items()}


@cache
def _entries() -> Mapping[str, EntryPoint]:
    found = sorted(entry_points(group=SERVER_GROUP), key=lambda each: each.name)
    return {each.name: each for each in found}


def _is_made(entry: EntryPoint) -> bool:
    try:
        return _loaded(entry).is_made
    except AdapterError:
        return True


def _loaded(entry: EntryPoint) -> ServerAdapter:
    try:
        adapter: ServerAdapter = entry.load()()
    except (ImportError, AttributeError) as error:
        raise AdapterError(
            f"the server adapter `{entry.name}` ({entry.value}) cannot be imported: {error}",
            hint="install the package it comes from again",
        ) from error
    return adapter


def load_target(study: Study) -> Stack:
    """Return what starts a study's services: made from its templates, or copies of its site.

    Of a study about code it is what starts the program that repeats it.

    Raises:
        UsageError: Nothing is called so.
        StudyFileError: The site's snapshot cannot be read.
        AdapterError: It is registered, but cannot be imported.
    """
    if study.fragments is not None:
        return FragmentTarget(study.fragments)
    if study.site is None:
        others = {each.name: load_adapter(each.adapter) for each in study.server.companions}
        stack = TemplateStack(load_adapter(study.server.adapter), others)
        return stack if study.server.network is None else WithNetwork(stack)
    return site_server(study.site, Path(study.folder))


def site_knob_infos(site: Site, folder: Path) -> Mapping[str, KnobInfo]:
    """Return what can be set in a site, from its snapshot below a study's folder.

    Raises:
        UsageError: A member is of an unknown kind.
        StudyFileError: The snapshot cannot be read.
    """
    return site_server(site, folder).knobs()


def site_server(site: Site, folder: Path) -> CopyStack:
    """Return what makes private copies of a site whose snapshot is below a study's folder.

    Raises:
        UsageError: A member is of an unknown kind.
        StudyFileError: The snapshot cannot be read.
    """
    adapters = {member.kind: site_adapter(member.kind) for member in site.members}
    snapshot = load_snapshot(folder / site.snapshot, site.members)
    return CopyStack(site, snapshot, adapters, seat_maker(site.isolation))
