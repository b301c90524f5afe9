"""Why something is as it is: a code with its parameters, and no words.

What decides returns reasons; what is shown to people makes sentences of them
(`httpdyno.report.shared.message`), so that no code has to read a sentence.
"""

from collections.abc import Sequence
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

    def __str__(self) -> str:
        """Return the code with its parameters: for a debugger, not for people."""
        return f"{self.code}({', '.join(f'{name}={each}' for name, each in self.params.items())})"


def because(code: str, /, **params: "Param | Sequence[str | Reason]") -> Reason:
    """Return the reason of this code; lists become tuples."""
    return Reason(code, {name: _held(each) for name, each in params.items()})


def _held(value: "Param | Sequence[str | Reason]") -> Param:
    if isinstance(value, bool | int | float | str | Reason | tuple | None):
        return value
    return tuple(value)
