"""Runs that nobody disturbed: where it is known what would be right."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Generic, TypeVar

from benches.engine.process import others_seconds, running_seconds, stolen_seconds

T = TypeVar("T")

OTHERS_CORES = 0.2
"""What processes that are not ours may use of the machine, in cores."""
STOLEN_CORES = 0.02
"""What the host may take from the machine, in cores: in a run of 6 s, 0.12 s."""
MAX_TRIES = 3


@dataclass(slots=True)
class Watch:
    """Sees whether the machine was taken from us since it began to look."""

    server: int | None = None
    """The pid of a child of ours that runs on: what it uses is ours, too."""
    began: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        """Begin to look."""
        self.began = self._now()

    def was_disturbed(self) -> bool:
        """Return whether others used, or the host took, more than a run may lose."""
        lasted_s, others_s, stolen_s = (
            now - began for now, began in zip(self._now(), self.began, strict=True)
        )
        return others_s > OTHERS_CORES * lasted_s or stolen_s > STOLEN_CORES * lasted_s

    def _now(self) -> tuple[float, float, float]:
        others_s = others_seconds()
        if self.server is not None:
            others_s -= running_seconds(self.server)
        return monotonic(), others_s, stolen_seconds()


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
            watch = Watch()
            result = attempt()
            if not watch.was_disturbed():
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
        return [quiet_text(len(self.discarded), self.n_disturbed)]


def quiet_text(n_repeated: int, n_disturbed: int) -> str:
    """Return what has to be said where runs were repeated, or should have been."""
    return (
        f"others used more than {OTHERS_CORES:g} cores, or the host took more than "
        f"{STOLEN_CORES:g} away: {n_repeated} runs were repeated, and {n_disturbed} count though "
        f"disturbed in all {MAX_TRIES} tries"
    )
