"""Variables of a program's environment that a person named as knobs, with the values as found.

Values of a service's variables are nobody's to store, but for those that a person wants changed:
their start stands in the study then, beside the levels that were given.
"""

from collections.abc import Collection

from httpdyno.errors import AdapterError
from httpdyno.model import Member, Reading, Survey
from httpdyno.servers.command.site_knob import VARIABLE, VARIABLES, set_by
from httpdyno.servers.site.environment import own_variables
from httpdyno.servers.staging import INHERITED

_OF_COPIES = frozenset({*INHERITED, "HOME"})


def named_variables(member: Member, survey: Survey, names: Collection[str]) -> tuple[Reading, ...]:
    """Return a reading for each variable that was named.

    Raises:
        AdapterError: One is set elsewhere, or its value cannot be read.
    """
    for name in names:
        _check(member, survey, name)
    own = own_variables(member) if set(names) & set(member.environment_names) else {}
    return tuple(
        Reading(name=name, scope=VARIABLE, text=own.get(name, ""), evidence="seen")
        for name in dict.fromkeys(names)
    )


def _check(member: Member, survey: Survey, name: str) -> None:
    if name in VARIABLES and survey.reading(name) is not None:
        raise AdapterError(
            f"the variable `{name}` of {member.name} is a knob under its own name",
            hint=f"`--knob {member.name}:{name}=…`",
        )
    if name in _OF_COPIES:
        raise AdapterError(
            f"the variable `{name}` of {member.name} cannot be tried: copies get one of their own",
            hint="name a variable that the program alone looks at",
        )
    if name in set_by(member.command):
        raise AdapterError(
            f"the command of {member.name} sets `{name}` itself, whatever its environment has",
            hint=f"leave `{name}=…` out of the command, and give it as a level",
        )
