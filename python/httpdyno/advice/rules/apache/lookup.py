"""Names of clients that Apache asks a name server for, while they wait."""

import re
from collections.abc import Iterator

from httpdyno.advice.rules.declaration import (
    BOOK,
    HTTPD,
    Proposes,
    Rule,
    Seen,
    where_said,
)
from httpdyno.advice.rules.facts import Facts, where, words
from httpdyno.model import Reading

_ASKING = frozenset({"on", "double"})
_ADDRESS = re.compile(r"[\d./]+|[0-9a-f:./]*:[0-9a-f:./]*", re.IGNORECASE)
_NO_NAME = re.compile(r"all|env=.*", re.IGNORECASE)


def _names(facts: Facts) -> Iterator[Seen]:
    found = [r for r in facts.said("HostnameLookups") if r.text.lower() in _ASKING]
    if found:
        yield Seen(
            what="the name server is asked for the name of each client, and the client waits"
            + (" twice" if any(r.text.lower() == "double" for r in found) else ""),
            evidence=(*_asked(facts), *map(where, found)),
            proposes=where_said(found, "HostnameLookups", "Off"),
        )


def _by_name(facts: Facts) -> Iterator[Seen]:
    found = [r for r in (*facts.said("Allow"), *facts.said("Deny")) if _has_name(r)]
    found += [r for r in facts.said("Require") if _is_host(r)]
    if found:
        yield Seen(
            what="who may ask is told by names of hosts: the name server is asked twice for each "
            "client, though `HostnameLookups` is off",
            evidence=(*_asked(facts), *map(where, found)),
        )


def _asked(facts: Facts) -> Iterator[str]:
    """Yield whom requests were seen to ask for names, besides what else the server asks for."""
    calls = facts.calls
    if calls is not None:
        counts = {"opens of /etc/hosts": calls.hosts_opens}
        yield calls.seen({**counts, "connections to name servers": calls.name_servers})


def _has_name(reading: Reading) -> bool:
    given = words(reading.text)
    return given[:1] == ["from"] and any(
        not _ADDRESS.fullmatch(word) and not _NO_NAME.fullmatch(word) for word in given[1:]
    )


def _is_host(reading: Reading) -> bool:
    given = [word.lower() for word in words(reading.text)]
    return (given[1:2] if given[:1] == ["not"] else given[:1]) == ["host"]


RULES = (
    Rule(
        name="name-lookups",
        kinds=("apache",),
        severity="doubtful",
        checks="`HostnameLookups On` or `Double`",
        matters="Each client's address is looked up before it is answered; a name server that "
        "does not answer holds the worker for seconds.",
        needs="The directive is written somewhere.",
        do="turn `HostnameLookups` off, and look names up in the log afterwards with `logresolve`",
        risks="logs and CGI scripts see addresses",
        wrong="an application needs `REMOTE_HOST`, and its clients are a few in one network",
        source=f"{BOOK}; {HTTPD}mod/core.html#hostnamelookups",
        look=_names,
        proposes=(Proposes(knob="HostnameLookups", value="Off, wherever it is on"),),
    ),
    Rule(
        name="access-by-name",
        kinds=("apache",),
        severity="doubtful",
        checks="Names of hosts in `Require host`, `Allow from` or `Deny from`",
        matters="The client's address is looked up, and the name that is found once more, for "
        "each request to that place.",
        needs="One of these directives with a name that is no address.",
        do="name addresses or networks: `Require ip 192.0.2.0/24`",
        risks="addresses that change have to be changed there too",
        wrong="the place is asked for rarely, such as a status page",
        source=f"{BOOK}; {HTTPD}mod/mod_authz_host.html#reqhost",
        look=_by_name,
    ),
)
