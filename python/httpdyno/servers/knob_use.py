"""Which knobs a text of a study uses. Pure."""

from collections.abc import Mapping
from dataclasses import replace

from httpdyno.model import Level, ServerSpec
from httpdyno.servers.limits.control_group import CONTROLLERS
from httpdyno.servers.render import Variables, render_argument


class _Watched(dict[str, Level]):
    """Levels that remember which of them were asked for."""

    def __init__(self, levels: Mapping[str, Level]) -> None:
        super().__init__(levels)
        self.used: set[str] = set()

    def __getitem__(self, name: str) -> Level:
        self.used.add(name)
        return super().__getitem__(name)


def rendered_with_use(part: str, variables: Variables, source: str) -> tuple[str, set[str]]:
    """Return an argument, rendered, and the knobs that it has.

    Raises:
        AdapterError: It cannot be rendered.
    """
    watched = _Watched(variables.knobs)
    text = render_argument(part, replace(variables, knobs=watched), source=source)
    return text, watched.used


def knobs_of_limits(spec: ServerSpec, variables: Variables) -> frozenset[str]:
    """Return the knobs that a server's limits have, of which the kernel tells.

    Raises:
        AdapterError: A limit cannot be rendered.
    """
    found: set[str] = set()
    for key in CONTROLLERS:
        found |= rendered_with_use(getattr(spec.limits, key), variables, f"limits.{key}")[1]
    return frozenset(found)
