"""Whole names of a site's knobs, as studies and runs have them: `MEMBER:NAME[@SCOPE]`. Pure."""

import re
from collections.abc import Mapping, Sequence

from httpdyno.errors import UsageError
from httpdyno.model import Level, Member

_SEPARATOR = ":"
_VARIABLE = re.compile(r"env\.([A-Za-z_][A-Za-z0-9_]*)")


def knob_name(member: str, name: str) -> str:
    """Return the whole name of a member's knob."""
    return f"{member}{_SEPARATOR}{name}"


def variable_knob(variable: str) -> str:
    """Return a member's own name of the knob that is a variable of its environment."""
    return f"env.{variable}"


def variable_of(name: str) -> str:
    """Return the variable that a knob is, named with its member or without; empty for none."""
    found = _VARIABLE.fullmatch(name.rpartition(_SEPARATOR)[2])
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
        member, _, name = whole.partition(_SEPARATOR)
        if member not in found:
            known = ", ".join(f"`{each}{_SEPARATOR}…`" for each in found)
            raise UsageError(
                f"the knob `{whole}` says no member of the site", hint=f"begin it with one: {known}"
            )
        found[member][name] = value
    return found
