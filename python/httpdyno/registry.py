"""Find plug-in parts through entry points; the bundled ones are registered the same way.

A distribution adds a server by naming a class under the group `httpdyno.servers`; the class takes
no arguments and its instances fulfil `servers.adapter.ServerAdapter`.
"""

from importlib.metadata import entry_points

from httpdyno.errors import AdapterError, UsageError
from httpdyno.servers.adapter import ServerAdapter

SERVER_GROUP = "httpdyno.servers"


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
