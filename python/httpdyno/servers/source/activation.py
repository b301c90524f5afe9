"""Servers whose sockets systemd or a supervisor opens and hands to them: where copies listen. Pure.

Nobody hands a copy a socket, so it is told on its command line to open the same ones.
"""

from collections.abc import Sequence

from msgspec import structs

from httpdyno.model import Member
from httpdyno.servers.option_words import option, with_values

_GUNICORN = ("-b", "--bind")
_UVICORN = ("--fd", "--uds", "--host", "--port")


def is_handed(member: Member) -> bool:
    """Whether its command says that its socket is one that somebody else has opened."""
    return member.kind == "uvicorn" and bool(option(member.command, "--fd"))


def activated(member: Member, addresses: Sequence[str]) -> Member | None:
    """Return a member that opens by itself what systemd opens for it; None: nobody knows how.

    Args:
        member: As its unit starts it.
        addresses: Of the sockets, `ip:port` or `unix:/path`.
    """
    if member.kind == "gunicorn":
        words = with_values(member.command, lambda _: None, *_GUNICORN)
        words += [word for each in addresses for word in ("--bind", each)]
        return structs.replace(member, command=tuple(words))
    if member.kind == "uvicorn" and len(addresses) == 1:
        words = with_values(member.command, lambda _: None, *_UVICORN)
        host, _, port = addresses[0].rpartition(":")
        path = addresses[0].removeprefix("unix:")
        is_tcp = path == addresses[0]
        words += ["--host", host.strip("[]"), "--port", port] if is_tcp else ["--uds", path]
        return structs.replace(member, command=tuple(words))
    return None
