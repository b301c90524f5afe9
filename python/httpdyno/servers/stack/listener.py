"""Which of a site's listeners is loaded, and how a client reaches it. Pure."""

from collections.abc import Sequence

from httpdyno.errors import UsageError
from httpdyno.model import Listener, Site

UNIX = "unix:"
_LOOPBACK = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]", "*": "127.0.0.1", "": "127.0.0.1"}  # noqa: S104 - read


def loaded_listener(site: Site, listeners: Sequence[Listener]) -> Listener:
    """Return the listener that the site names, else the first that the load speaks to, best plain.

    Raises:
        UsageError: There is none, or not the one that is named.
    """
    known = ", ".join(f"`{each.address}`" for each in listeners) or "none"
    if not site.listener:
        spoken = [each for each in listeners if not each.is_proxied]
        plain = [each for each in spoken if not each.is_tls] or spoken
        if not listeners:
            raise UsageError(
                "nothing is known of where the site listens",
                hint='name it: `--listener 8080`, in the study `listener = "8080"`',
            )
        return (plain or list(listeners))[0]
    for each in listeners:
        if site.listener in {each.address, _port(each.address)}:
            return each
    if site.listener.isdigit():
        return Listener(address=f"127.0.0.1:{site.listener}")
    if not listeners and (_port(site.listener).isdigit() or site.listener.startswith(f"{UNIX}/")):
        # Of a program that says nothing of it, who named it knows.
        return Listener(address=site.listener)
    raise UsageError(
        f"the site does not listen at `{site.listener}`", hint=f"its listeners are {known}"
    )


def reached_at(address: str) -> str:
    """Return where a client on the same machine connects to for an address of a listener."""
    if address.startswith(UNIX):
        return address
    host, _, port = address.rpartition(":")
    return f"{_LOOPBACK.get(host, host)}:{port}"


def _port(address: str) -> str:
    return "" if address.startswith(UNIX) else address.rpartition(":")[2]
