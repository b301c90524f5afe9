"""Variables of a program's environment that a person named, made known to its survey."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from httpdyno.adopt.gather import Gathered
from httpdyno.servers.stack.adapter import ServerAdapter
from httpdyno.servers.stack.names import knob_name, variable_knob, variable_of
from httpdyno.servers.stack.snapshot import Found
from httpdyno.study.server import whole_name


def with_variables(
    gathered: Gathered, names: Collection[str], adapters: Mapping[str, ServerAdapter]
) -> Gathered:
    """Return the site, in which the named knobs `[MEMBER:]env.NAME` are known.

    Raises:
        AdapterError: One cannot be set from outside, or its value cannot be read.
    """
    members = [found.member.name for found in gathered.members]
    whole = {whole_name(name, members, ()): variable_of(name) for name in names}
    return replace(
        gathered, members=tuple(_told(found, whole, adapters) for found in gathered.members)
    )


def _told(found: Found, whole: Mapping[str, str], adapters: Mapping[str, ServerAdapter]) -> Found:
    adapter = adapters[found.member.kind]
    own: Sequence[str] = [
        variable
        for name, variable in whole.items()
        if variable and name == knob_name(found.member.name, variable_knob(variable))
    ]
    if not own:
        return found
    return replace(found, survey=adapter.with_variables(found.member, found.survey, own))
