"""How knobs reach a program: the arguments and variables that they are in. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from httpdyno.model import ServerSpec
from httpdyno.servers.knob_use import rendered_with_use
from httpdyno.servers.render import Variables


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """One knob's way to a program."""

    arguments: tuple[str, ...] = ()
    """Arguments that it is in, as they were given."""
    environment: Mapping[str, str]
    """Variables that it is in, as they were given."""

    @property
    def is_nowhere(self) -> bool:
        """Whether it is in neither: a template or a command before the start may have it."""
        return not self.arguments and not self.environment


def reaches(spec: ServerSpec, variables: Variables) -> dict[str, Reach]:
    """Return for each knob where it went.

    Args:
        spec: The target.
        variables: Of one start.

    Raises:
        AdapterError: An argument or a variable cannot be rendered.
    """
    arguments: dict[str, list[str]] = {name: [] for name in variables.knobs}
    environment: dict[str, dict[str, str]] = {name: {} for name in variables.knobs}
    for part in spec.command:
        text, used = rendered_with_use(part, variables, "command")
        for name in used:
            arguments[name].append(text)
    for variable, value in spec.environment.items():
        text, used = rendered_with_use(value, variables, f"environment.{variable}")
        for name in used:
            environment[name][variable] = text
    return {
        name: Reach(arguments=tuple(arguments[name]), environment=environment[name])
        for name in variables.knobs
    }
