"""The ways that were written down, each a function that sets the stage and has root come by."""

from collections.abc import Callable
from dataclasses import dataclass

from benches.faults.rights.stage import Stage


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """One of them."""

    name: str
    about: str
    go: Callable[[Stage], None]

    def is_called(self, word: str) -> bool:
        """Whether a word is in its name, or is that of its module."""
        return word in self.name or self.go.__module__.endswith(f".{word}")


WAYS: list[Way] = []
"""All of them, in the order in which their modules were imported."""


def way(go: Callable[[Stage], None]) -> Callable[[Stage], None]:
    """Write a way down; its docstring says what the attacker does."""
    about = (go.__doc__ or "").strip().partition("\n")[0]
    WAYS.append(Way(name=go.__name__.strip("_").replace("_", " "), about=about, go=go))
    return go
