"""What a family of faults is, and which there are.

A family is a module of this package with `measure(n, seed)`, which tries `n` of its faults and
yields what it counted. It is imported only when it runs.
"""

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Count:
    """One thing that was counted."""

    name: str
    value: float
    n: int
    """Out of how many tries."""
    at_most: float = 0
    """More than this is a failure."""
    note: str = ""
    """Such as the first offender."""

    @property
    def is_good(self) -> bool:
        """Whether it is within its bound."""
        return self.value <= self.at_most

    def line(self) -> str:
        """Return name, value, bound and word in columns."""
        value = f"{self.value:g} of {self.n}"
        word = "met" if self.is_good else "missed"
        line = f"{self.name:<44}  {value:<16}  ≤ {self.at_most:<8g}  {word}"
        return f"{line}  ({self.note})" if self.note else line


Measure = Callable[[int, int], Iterable[Count]]
"""(how many, seed) → counts, each yielded as soon as it is known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """Faults of one kind."""

    module: str
    about: str
    n: int
    n_quick: int

    def load(self) -> Measure:
        """Return its `measure`."""
        measure: Measure = importlib.import_module(f"benches.faults.{self.module}").measure
        return measure


FAMILIES: dict[str, Family] = {
    "races": Family(
        module="races",
        about="the server's user tries to get at what root's Apache reads while it comes up",
        n=200,
        n_quick=10,
    ),
    "servers": Family(
        module="servers",
        about="servers that misbehave, each kind so many times",
        n=20,
        n_quick=2,
    ),
    "kills": Family(
        module="kills",
        about="any command killed at a random moment, beside a live run seen in other ways",
        n=100,
        n_quick=5,
    ),
    "inputs": Family(
        module="inputs",
        about="study files, command lines, access logs and URL files that make no sense",
        n=20_000,
        n_quick=400,
    ),
    "resumes": Family(
        module="resumes",
        about="runs killed by `kill -9`, each resumed: to its end, or to a new kill",
        n=111,
        n_quick=6,
    ),
    "full_disks": Family(
        module="full_disks",
        about="a disk that is full below the store and below the run folders, of so many sizes",
        n=10,
        n_quick=2,
    ),
    "crowds": Family(
        module="crowds",
        about="four runs and three resumed ones at once on one store",
        n=3,
        n_quick=1,
    ),
    "restarts": Family(
        module="restarts",
        about="PostgreSQL killed and restarted amid a run, which is resumed",
        n=5,
        n_quick=1,
    ),
    "origins": Family(
        module="origins",
        about="the load engine against hostile origins, kinds and sizes",
        n=96,
        n_quick=24,
    ),
    "permissions": Family(
        module="permissions",
        about="ways round `--yes-i-may-load`, in a network namespace that leads nowhere",
        n=44,
        n_quick=44,
    ),
    "rights": Family(
        module="rights",
        about="ways of an attacker with an account, against every command of root's",
        n=74,
        n_quick=24,
    ),
}
