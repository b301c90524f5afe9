"""Knobs and configurations."""

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from httpdyno.model.base import Level, Record

PoolRole = Literal["", "workers", "requests", "connections"]
"""What a knob sets of a pool of processes: how many work, or after how many requests or connections
one is replaced (0: never); empty where none of these."""


class KnobInfo(Record, frozen=True):
    """What a server adapter declares of a setting, once, for CLI, validation and docs."""

    name: str
    summary: str
    """What it does, in one line."""
    kind: Literal["integer", "number", "boolean", "choice", "text"]
    default: Level | None = None
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    source: str = ""
    scale: Literal["linear", "log", "choice"] = "choice"
    """How its levels lie: which one is next to which."""
    cost: Literal["", "live", "reload", "restart"] = ""
    """What it takes to apply it to a running server; empty where nobody looked."""
    effect: Literal["pure", "visible", "memory", "stale", "loss"] = "pure"
    """`pure`: only cost changes. `visible`: clients can see it. `memory`: bounded by memory.
    `stale`: answers may be out of date for a while. `loss`: log lines or data may be lost."""
    risk: str = ""
    """What may go wrong with it, in a sentence."""
    evidence: Literal["said", "seen", "read"] = "read"
    """How it is known what is in force."""
    changes_at_rest: bool = False
    """With it a server changes while nobody asks it anything, and the longer, the more."""
    pool: PoolRole = ""
    """What it sets of a pool of processes."""

    def bare(self) -> "KnobInfo":
        """Return what a knob of any server has, without what the rows of one server add to it."""
        return KnobInfo(**{name: getattr(self, name) for name in KnobInfo.__struct_fields__})

    def complaint(self, value: Level) -> str:
        """Return what is wrong with the value, as `expected …`; empty when nothing is."""
        if self.kind == "boolean":
            return "" if isinstance(value, bool) else "expected true or false"
        if self.kind in {"choice", "text"}:
            if not isinstance(value, str):
                return "expected text"
            if self.choices and value not in self.choices:
                return f"expected one of {', '.join(self.choices)}"
            return ""
        return self._number_complaint(value)

    def _number_complaint(self, value: Level) -> str:
        accepted = (int,) if self.kind == "integer" else (int, float)
        if isinstance(value, bool) or not isinstance(value, accepted):
            return "expected a whole number" if self.kind == "integer" else "expected a number"
        if self.minimum is not None and value < self.minimum:
            return f"expected at least {self.minimum:g}"
        if self.maximum is not None and value > self.maximum:
            return f"expected at most {self.maximum:g}"
        return ""


class Knob(Record, frozen=True):
    """One tunable setting of a study: its levels, in the order they are tried."""

    name: str
    start: Level
    levels: tuple[Level, ...]
    """A ladder tries them in this order, from the start on; a sweep takes the start with them."""
    title: str = ""
    unit: str = ""
    why: str = ""
    cost: Literal["", "live", "reload", "restart"] = ""
    """What it takes to apply it to a running server; empty where nobody said."""
    of: Literal["server", "load"] = "server"
    """What it sets; a knob of the load is one of `model.load_knob`."""
    pool: PoolRole = ""
    """What it sets of a pool of processes; empty where nobody said."""
    book_ratio: tuple[float | None, ...] = ()
    """The founding documents' throughput ratio of each level; (n_levels,) or empty."""


class Configuration(Record, frozen=True):
    """A value for every knob of the study, in the study's order."""

    values: dict[str, Level] = msgspec.field(default_factory=dict)

    def replaced(self, name: str, value: Level) -> "Configuration":
        """Return a copy with one value changed."""
        return Configuration(values={**self.values, name: value})

    def with_values(self, values: Mapping[str, Level]) -> "Configuration":
        """Return a copy with some values changed."""
        return Configuration(values={**self.values, **values})

    def changes(self, other: "Configuration") -> dict[str, tuple[Level, Level]]:
        """Return what differs in `other`, as name → (mine, theirs)."""
        return {
            name: (value, other.values[name])
            for name, value in self.values.items()
            if other.values[name] != value
        }

    def label(self) -> str:
        """Return `name=value, …` for messages and logs."""
        return ", ".join(f"{name}={level_text(value)}" for name, value in self.values.items())


def is_of_words(levels: Iterable[Level]) -> bool:
    """Tell whether levels are words, or true and false: nothing lies between two of them."""
    return any(isinstance(level, bool | str) for level in levels)


def level_text(value: Level) -> str:
    """Return a level as people write it: `true`, not `True`."""
    return str(value).lower() if isinstance(value, bool) else str(value)
