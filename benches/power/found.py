"""What was measured until now: kept as a file, told in lines; and the loop that adds to it.

A bench of hours is not ended by one bad moment: what fails is shown as failed, and the next is
measured.
"""

import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benches.engine.process import BenchError
from benches.engine.setting import machine
from benches.power.figure import THIS, Case, Figure, Part, Setting, Shown
from benches.power.saved import AnyShown, Saved, save
from msgspec import structs

TRIES = 2
"""Of a take that could not be measured at all, before it counts as failed."""
GIVE_UP = 3
"""Takes of a case that fail one after the other: it cannot be measured here."""


@dataclass(kw_only=True)
class Found:
    """What was measured until now; kept as a file."""

    figures: Sequence[Figure]
    file: Path
    seeds: tuple[int, ...]
    commits: dict[str, str]
    engines: dict[str, str]
    shown: list[AnyShown]
    failures: dict[str, str] = field(default_factory=dict)
    """Cases that cannot be measured here, with the reason."""

    def take(self, shown: Shown) -> None:
        """Keep what was shown, then print it."""
        self.shown.append(shown)  # type: ignore[arg-type] # there are no kinds beside those
        self.save()
        print(shown.line(), flush=True)

    def save(self) -> bool:
        """Write the file anew; return whether that worked. What is known stays known if not."""
        try:
            save(
                self.file,
                Saved(
                    seeds=self.seeds,
                    commits=self.commits,
                    engines=self.engines,
                    machine=machine(),
                    shown=self.shown,
                    told=[line for line, _ in self.told()],
                ),
            )
        except Exception as error:
            print(f"`{self.file}` cannot be written: {error!r}", file=sys.stderr, flush=True)
            return False
        return True

    def told(self) -> list[tuple[str, bool]]:
        """Return the closing lines, and whether each is as it must be.

        What another checkout does is told for comparison, not judged.
        """
        lines: list[tuple[str, bool]] = []
        for figure in self.figures:
            mine = figure.mine(self.shown)
            for by in sorted({each.by for each in mine}, key=lambda name: name != THIS):
                try:
                    lines += closing(figure, by, [each for each in mine if each.by == by])
                except Exception as error:
                    traceback.print_exc()
                    lines.append((f"{_name(figure)}, by {by}: not judged: {error!r}", False))
            if not any(each.by == THIS for each in mine):
                lines.append((f"{_name(figure)}: not measured", False))
            for case in figure.judged:
                if why := self.failures.get(_key(case)):
                    lines.append((f"{_name(figure)}, {case.name}: given up: {why}", False))
        return lines


def closing(figure: Figure, by: str, mine: Sequence[Shown]) -> list[tuple[str, bool]]:
    """Return what came of a figure in lines, and whether each is as it must be.

    What was measured less often than it must be is judged, but nothing is met by it.
    """
    lacking = figure.lacking(by, mine)
    so_far = "".join(f", {n} of {asked} {name}" for name, (n, asked) in lacking.items())
    troubles = Counter("refused" if each.is_refused else "failed" for each in mine if each.trouble)
    number = "".join(f", {n} {word}" for word, n in troubles.items())
    head = f"{_name(figure)}, by {by}{so_far}{number}: {figure.must}"
    why = next((each.trouble for each in mine if each.trouble), "")
    parts = figure.judge(mine) or [Part(False, f"nothing to judge: {why}")]
    lines = [(head, True)]
    for part in parts:
        word = "met" if part.is_met else "missed"
        told = f"   {word + ' so far:' if lacking else word:<6} {part.words}"
        lines.append((told, by != THIS or (part.is_met and not lacking)))
    return lines


def _name(figure: Figure) -> str:
    return f"{figure.number:>2} {figure.name}"


def _key(case: Case) -> str:
    return f"{case.figure} {case.name}"


def measure(takes: Iterable[tuple[Case, int]], setting: Setting, found: Found) -> None:
    """Measure one take after the other; cases that cannot be measured are passed over.

    Args:
        takes: Cases, each with the number of its take: what it draws follows from that.
        setting: Where.
        found: Takes what is shown.
    """
    n_failed: Counter[str] = Counter()
    for case, number in takes:
        key = _key(case)
        if key in found.failures:
            continue
        complaint = _measured(case, number, setting, found)
        n_failed[key] = n_failed[key] + 1 if complaint else 0
        if n_failed[key] == GIVE_UP:
            found.failures[key] = complaint
            print(f"{case.figure:>2} {case.name}: given up: {complaint}", flush=True)


def _measured(case: Case, number: int, setting: Setting, found: Found) -> str:
    """Measure a take; return why that failed, empty if it did not.

    What fails is shown of each checkout that it has not been measured of by then.
    """
    left = sorted(setting.trees) if case.is_of_each else [THIS]
    n_all, began_s, complaint = len(left), time.monotonic(), ""
    for _ in range(TRIES):
        draw = random.Random(f"{setting.seed} {case.figure} {case.name} {number}")
        try:
            for shown in case.take(setting, draw):
                left.remove(shown.by)
                found.take(structs.replace(shown, seed=setting.seed, number=number))
        except BenchError as error:
            complaint = str(error)
            print(f"{case.figure:>2} {case.name}: {complaint}", flush=True)
        except Exception as error:
            complaint = repr(error)
            traceback.print_exc()
        else:
            return ""
        if len(left) < n_all:
            # Again would measure some of it twice.
            break
    for by in left:
        found.take(
            case.kind(
                figure=case.figure,
                case=case.name,
                by=by,
                took_s=time.monotonic() - began_s,
                stolen_cores=0.0,
                trouble=complaint,
                seed=setting.seed,
                number=number,
            )
        )
    return complaint
