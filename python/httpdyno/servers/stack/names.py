"""Names of a stack's services and of their knobs, as studies and runs have them.

Knobs of a server that templates make have plain names, which templates of all its services may use.
Those of a companion begin with its name, as in `db:shared_buffers`; its own templates use them
without it. Knobs of a copied service are `MEMBER:NAME[@SCOPE]`. Pure.

Which of a site's listeners is loaded, and how a client reaches it. Pure.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import structs

from httpdyno.errors import AdapterError, UsageError
from httpdyno.model import (
    Companion,
    Configuration,
    KnobInfo,
    Level,
    Listener,
    Member,
    ServerSpec,
    Site,
)
from httpdyno.servers.render import Variables, render_text

SERVER = "server"
"""What the server that the study is about is called beside its companions."""
SEPARATOR = ":"
_VARIABLE = re.compile(r"env\.([A-Za-z_][A-Za-z0-9_]*)")
_KNOB = re.compile(r"\bknob(?:\.(\w+)|\[\s*['\"]([^'\"]+)['\"]\s*\])")
_SAYS = {"true": True, "false": False}


def knob_name(member: str, name: str) -> str:
    """Return the whole name of a companion's or a member's knob."""
    return f"{member}{SEPARATOR}{name}"


def variable_knob(variable: str) -> str:
    """Return a member's own name of the knob that is a variable of its environment."""
    return f"env.{variable}"


def variable_of(name: str) -> str:
    """Return the variable that a knob is, named with its member or without; empty for none."""
    found = _VARIABLE.fullmatch(name.rpartition(SEPARATOR)[2])
    return found[1] if found else ""


def by_member(
    values: Mapping[str, Level], members: Sequence[Member]
) -> dict[str, dict[str, Level]]:
    """Return each member's values under its own names; every member is there.

    Raises:
        UsageError: A name says no member of the site.
    """
    found: dict[str, dict[str, Level]] = {member.name: {} for member in members}
    for whole, value in values.items():
        member, _, name = whole.partition(SEPARATOR)
        if member not in found:
            known = ", ".join(f"`{each}{SEPARATOR}…`" for each in found)
            raise UsageError(
                f"the knob `{whole}` says no member of the site", hint=f"begin it with one: {known}"
            )
        found[member][name] = value
    return found


def known_knobs(
    server: Mapping[str, KnobInfo], companions: Mapping[str, Mapping[str, KnobInfo]]
) -> dict[str, KnobInfo]:
    """Return what is known of all settings, under the names that a study has for them. Pure."""
    found = dict(server)
    for companion, infos in companions.items():
        for name, info in infos.items():
            whole = knob_name(companion, name)
            found[whole] = structs.replace(info, name=whole)
    return found


def own_values(
    configuration: Configuration, companion: str, taken: frozenset[str]
) -> Configuration:
    """Return what one of the servers gets of a configuration.

    Args:
        configuration: Of all of them.
        companion: Its name; empty is the server.
        taken: The server's own settings: a companion of the same kind has its own.
    """
    if not companion:
        values = {n: v for n, v in configuration.values.items() if SEPARATOR not in n}
        return Configuration(values=values)
    prefix = f"{companion}{SEPARATOR}"
    plain = {
        name: value
        for name, value in configuration.values.items()
        if SEPARATOR not in name and name not in taken
    }
    own = {
        name.removeprefix(prefix): value
        for name, value in configuration.values.items()
        if name.startswith(prefix)
    }
    return Configuration(values={**plain, **own})


def shaping_knobs(spec: ServerSpec) -> tuple[str, ...]:
    """Return the knobs that say which servers there are, which is loaded, and of their network."""
    texts = (spec.loaded, *(each.when for each in spec.companions))
    return tuple(dict.fromkeys((*_named(texts), *network_knobs(spec))))


def network_knobs(spec: ServerSpec) -> tuple[str, ...]:
    """Return the knobs that say what the network is that all servers are in."""
    return () if spec.network is None else tuple(dict.fromkeys(_named(spec.network.templates)))


def _named(texts: Iterable[str]) -> Iterator[str]:
    """Yield the knobs that are named in texts."""
    return (name for text in texts for found in _KNOB.findall(text) for name in found if name)


def those_there(spec: ServerSpec, values: Mapping[str, Level]) -> tuple[Companion, ...]:
    """Return the companions that a configuration has, in the order in which they are written.

    Raises:
        AdapterError: What says so is no template, or says something else.
    """
    return tuple(each for each in spec.companions if _is_there(each, values))


def loaded_name(spec: ServerSpec, values: Mapping[str, Level]) -> str:
    """Return which of them is loaded: `server`, or a companion that is there.

    Raises:
        AdapterError: There is none of that name.
    """
    name = _said(spec.loaded, values, "workload.target") or SERVER
    there = [SERVER, *(each.name for each in those_there(spec, values))]
    if name not in there:
        raise AdapterError(
            f"the load is for `{name}`, and no server of that name is there",
            hint=f"There are: {', '.join(there)}.",
        )
    return name


def _is_there(companion: Companion, values: Mapping[str, Level]) -> bool:
    if not companion.when:
        return True
    key = f"companions.{companion.name}.when"
    said = _said(companion.when, values, key)
    if said.lower() not in _SAYS:
        raise AdapterError(
            f"`{key}` says `{said}`, neither true nor false",
            hint="Compare, as in `{{ knob.front == 'nginx' }}`.",
        )
    return _SAYS[said.lower()]


def _said(text: str, values: Mapping[str, Level], source: str) -> str:
    variables = Variables(
        knobs=values, settings={}, run="", memory="", port="", server_user="", shared=""
    )
    return render_text(text, variables, source=source).strip()


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
