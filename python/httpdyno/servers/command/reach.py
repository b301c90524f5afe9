"""How knobs reach a program: the arguments and variables that they are in. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from httpdyno.model import Level, ServerSpec
from httpdyno.servers.render import Variables, render_argument


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


class _Watched(dict[str, Level]):
    """Levels that remember which of them were asked for."""

    def __init__(self, levels: Mapping[str, Level]) -> None:
        super().__init__(levels)
        self.used: set[str] = set()

    def __getitem__(self, name: str) -> Level:
        self.used.add(name)
        return super().__getitem__(name)


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
        text, used = _rendered(part, variables, "command")
        for name in used:
            arguments[name].append(text)
    for variable, value in spec.environment.items():
        text, used = _rendered(value, variables, f"environment.{variable}")
        for name in used:
            environment[name][variable] = text
    return {
        name: Reach(arguments=tuple(arguments[name]), environment=environment[name])
        for name in variables.knobs
    }


def _rendered(part: str, variables: Variables, source: str) -> tuple[str, set[str]]:
    watched = _Watched(variables.knobs)
    text = render_argument(part, replace(variables, knobs=watched), source=source)
    return text, watched.used
