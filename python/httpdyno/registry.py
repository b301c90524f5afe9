"""Find plug-in parts through entry points; the bundled ones are registered the same way.

A distribution adds a server by naming a class under the group `httpdyno.servers`; the class takes
no arguments and its instances fulfil `servers.adapter.ServerAdapter`. Servers as people run them
are named under `httpdyno.sites` in the same way, and fulfil `servers.site.adapter.SiteAdapter`.
"""

from functools import cache
from importlib.metadata import entry_points

from httpdyno.errors import AdapterError, UsageError
from httpdyno.servers.adapter import ServerAdapter
from httpdyno.servers.site.adapter import SiteAdapter

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
