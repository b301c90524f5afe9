"""Where Apache passes requests on to, given the copy's addresses in place of theirs. Pure."""

import re

from httpdyno.model import Reading, Survey
from httpdyno.servers.apache.lines import words
from httpdyno.servers.apache.surveyed import PROTOCOLS, with_port
from httpdyno.servers.stack.adapter import Seat

_PASSING = frozenset(
    {"proxypass", "proxypassmatch", "balancermember", "sethandler", "addhandler", "rewriterule"}
)
_ANSWERED = "proxypassreverse"
_BY_PROXY = re.compile(r"[\[,](P|proxy)[,\]]")
# Only what a word begins with: paths and queries may hold a URL of somebody else.
_URL = re.compile(
    r"(?:(?<![^\s\"'])|(?<=[\s\"']proxy:)|(?<=^proxy:))"
    r"(?:unix:(?P<socket>[^|\s\"']+)\|)?"
    r"(?P<scheme>" + "|".join(PROTOCOLS) + r")://(?P<place>[^/\s\"'$|]*)"
)


def passes_on(name: str, arguments: str) -> bool:
    """Whether a directive of this name, in lower case, names who answers in its stead."""
    if name == "rewriterule":
        return any(_BY_PROXY.search(flags) for flags in words(arguments)[2:])
    return name in _PASSING or name in {_ANSWERED, "<proxy"}


def passed_on(name: str, text: str, survey: Survey, seat: Seat) -> str:
    """Return the arguments of such a directive with the copy's addresses.

    What an address is rewritten to in answers is perhaps the site's own name: there only those
    that requests are passed to are others.
    """
    known = {backend.to for backend in survey.backends}

    def moved(url: re.Match[str]) -> str:
        whole = url[0]
        if socket := url["socket"]:
            address = f"unix:{socket}"
            new = seat.port(address).removeprefix("unix:")
            return whole.replace(socket, new, 1)
        place = url["place"].rpartition("@")[2]
        address = with_port(place, PROTOCOLS[url["scheme"]][1])
        if not place or "%" in place or (name == _ANSWERED and address not in known):
            return whole
        new = seat.port(address)
        return whole if new == address else whole[: len(whole) - len(place)] + new

    return _URL.sub(moved, text)


def with_addresses(reading: Reading, raw: str, survey: Survey, seat: Seat) -> str | None:
    """Return a line's new arguments; None where they stay, variables in them too.

    Args:
        reading: What the line says, its variables filled in.
        raw: The line's arguments as they are written.
        survey: What was found.
        seat: Where the copy sits.
    """
    name = reading.name.lower()
    text = reading.text if "${" in raw else raw
    if not passes_on(name, text):
        return None
    new = passed_on(name, text, survey, seat)
    return None if new == text else new
