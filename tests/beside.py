"""Companions of servers, for tests that have a server for them already."""

from typing import Any

from httpdyno.model import Companion, ServerSpec


def beside(spec: ServerSpec, **known: Any) -> Companion:
    """Return the companion that is run as a server would be: its name, side and when are given."""
    own = {name: getattr(spec, name) for name in ServerSpec.__struct_fields__}
    return Companion(**own, **known)
