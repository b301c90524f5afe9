"""Runs that nobody disturbed: where it is known what would be right."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Generic, TypeVar

from benches.engine.process import others_seconds, stolen_seconds

T = TypeVar("T")

OTHERS_CORES = 0.2
"""What processes that are not ours may use of the machine, in cores."""
STOLEN_CORES = 0.02
"""What the host may take from the machine, in cores: in a run of 6 s, 0.12 s."""
MAX_TRIES = 3


@dataclass(slots=True)
class Quiet(Generic[T]):
    """Repeats runs while others, or the host, took the cores away. What they showed is not seen."""

    discarded: list[T] = field(default_factory=list)
    """What was repeated; (n_discarded,)."""
    n_disturbed: int = 0
    """Runs that count although even their last try was disturbed."""

    def run(self, attempt: Callable[[], T]) -> T:
        """Return an undisturbed run of at most `MAX_TRIES`, or else the last one."""
        for n_left in reversed(range(MAX_TRIES)):
            began_s, others_s, stolen_s = monotonic(), others_seconds(), stolen_seconds()
            result = attempt()
            others_s, stolen_s = others_seconds() - others_s, stolen_seconds() - stolen_s
            lasted_s = monotonic() - began_s
            if others_s <= OTHERS_CORES * lasted_s and stolen_s <= STOLEN_CORES * lasted_s:
                break
            if n_left:
                self.discarded.append(result)
            else:
                self.n_disturbed += 1
        return result

    def notes(self) -> list[str]:
        """Return what has to be said about it, if anything."""
        if not self.discarded and not self.n_disturbed:
            return []
        return [
            f"others used more than {OTHERS_CORES:g} cores, or the host took more than "
            f"{STOLEN_CORES:g} away: {len(self.discarded)} runs were repeated, and "
            f"{self.n_disturbed} count though disturbed in all {MAX_TRIES} tries"
        ]
