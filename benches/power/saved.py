"""What was measured so far, as a file: it is written anew after each comparison."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from benches.engine.process import BenchError
from benches.power.ladders import Climbed
from benches.power.latency import Delayed
from benches.power.planted import Compared
from benches.power.simulated import Simulated
from benches.power.tuned import Tuned

AnyShown = Compared | Simulated | Delayed | Tuned | Climbed


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """A file's content."""

    seed: int
    commits: dict[str, str]
    """Of each checkout, by name."""
    machine: dict[str, Any]
    shown: list[AnyShown]
    """In the order in which it was measured, with what earlier parts had before it."""
    told: list[str]
    """What came of each figure."""


def save(file: Path, saved: Saved) -> None:
    """Write all there is; whoever interrupts that finds what was there before."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f"{file.name}.part")
    beside.write_bytes(msgspec.json.format(msgspec.json.encode(saved), indent=1))
    beside.replace(file)


def earlier(files: Sequence[Path], commits: dict[str, str]) -> list[AnyShown]:
    """Return what earlier parts showed.

    Args:
        files: As `save` wrote them.
        commits: What the checkouts are now.

    Raises:
        BenchError: One cannot be read, or is of another version.
    """
    shown: list[AnyShown] = []
    for file in files:
        try:
            part = msgspec.json.decode(file.read_bytes(), type=Saved)
        except (OSError, msgspec.MsgspecError) as error:
            raise BenchError(f"`{file}` holds no figures of before: {error}") from error
        for name in set(commits) & set(part.commits):
            if commits[name] != part.commits[name]:
                raise BenchError(
                    f"`{file}` is of {name} at {part.commits[name]}, which is {commits[name]} now"
                )
        shown += part.shown
    return shown
