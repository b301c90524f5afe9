"""Why something is as it is: a code with its parameters, and no words.

What decides returns reasons; what is shown to people makes sentences of them
(`httpdyno.report.shared.message`), so that no code has to read a sentence.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

Param: TypeAlias = "bool | int | float | str | Reason | tuple[str | Reason, ...] | None"
"""What a message can name: quantities in SI base units, names, other reasons."""


class Reason(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One reason. Two equal ones are the same."""

    code: str
    """`ROOM.NAME`: a row of `report/messages/ROOM.toml`."""
    params: dict[str, Param] = msgspec.field(default_factory=dict)
    """By the names that the row has in braces."""

    def __hash__(self) -> int:
        """Return the same for equal ones."""
        return hash((self.code, *sorted(self.params.items(), key=lambda item: item[0])))

    def mapped(self, change: Callable[[str], str]) -> "Reason":
        """Return the same with all texts in it changed so."""
        return Reason(self.code, {n: _mapped(each, change) for n, each in self.params.items()})

    def codes(self) -> frozenset[str]:
        """Return its code, and those of all reasons in it."""
        inner = (value if isinstance(value, tuple) else (value,) for value in self.params.values())
        found = (each.codes() for values in inner for each in values if isinstance(each, Reason))
        return frozenset((self.code,)).union(*found)

    def __str__(self) -> str:
        """Return the code with its parameters: for a debugger, not for people."""
        return f"{self.code}({', '.join(f'{name}={each}' for name, each in self.params.items())})"


def because(code: str, /, **params: "Param | Sequence[str | Reason]") -> Reason:
    """Return the reason of this code; lists become tuples."""
    return Reason(code, {name: _held(each) for name, each in params.items()})


def _mapped(value: Param, change: Callable[[str], str]) -> Param:
    if isinstance(value, tuple):
        return tuple(e.mapped(change) if isinstance(e, Reason) else change(e) for e in value)
    if isinstance(value, Reason):
        return value.mapped(change)
    return change(value) if isinstance(value, str) else value


def _held(value: "Param | Sequence[str | Reason]") -> Param:
    if isinstance(value, bool | int | float | str | Reason | tuple | None):
        return value
    return tuple(value)
