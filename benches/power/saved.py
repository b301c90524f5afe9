"""What was measured so far, as a file: it is written anew after each comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from benches.engine.process import BenchError
from benches.power.ladders import Climbed
from benches.power.latency import Delayed
from benches.power.planted import Compared
from benches.power.program import UNKNOWN
from benches.power.simulated import Simulated
from benches.power.tuned import Tuned

AnyShown = Compared | Simulated | Delayed | Tuned | Climbed


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """A file's content."""

    seeds: tuple[int, ...]
    """Of all parts that are in it."""
    commits: dict[str, str]
    """Of each checkout, by name."""
    engines: dict[str, str]
    """Digests of what they load with, by name."""
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Earlier:
    """What earlier parts hold together."""

    shown: tuple[AnyShown, ...] = ()
    seeds: tuple[int, ...] = ()


def earlier(
    files: Sequence[Path], commits: Mapping[str, str], engines: Mapping[str, str]
) -> Earlier:
    """Return what earlier parts showed, each comparison once, in however many of them it is.

    Args:
        files: As `save` wrote them.
        commits: What the checkouts are now.
        engines: What they load with now.

    Raises:
        BenchError: One cannot be read, or is of another version, or of one that has no name.
    """
    shown: dict[object, AnyShown] = {}
    seeds: list[int] = []
    for file in files:
        try:
            part = msgspec.json.decode(file.read_bytes(), type=Saved)
        except (OSError, msgspec.MsgspecError) as error:
            raise BenchError(f"`{file}` holds no figures of before: {error}") from error
        for name in sorted(set(commits) & set(part.commits)):
            was, now = part.commits[name], commits[name]
            if was == UNKNOWN or was.endswith("+"):
                raise BenchError(f"`{file}` is of {name} at {was}: which version, it does not say")
            if was != now:
                raise BenchError(f"`{file}` is of {name} at {was}, which is {now} now")
            if part.engines.get(name) != engines.get(name):
                raise BenchError(f"`{file}` is of {name} with another engine than it has now")
        shown |= {each.key: each for each in part.shown}
        seeds += [seed for seed in part.seeds if seed not in seeds]
    return Earlier(shown=tuple(shown.values()), seeds=tuple(seeds))
