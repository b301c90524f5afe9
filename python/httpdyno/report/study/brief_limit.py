"""What limited what has no row of its own, by its word alone: levels, combinations, lost steps."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from httpdyno.model import Configuration, Outcome, Sweep, is_of_words, level_text
from httpdyno.report.study.factorial_words import factorial_arms
from httpdyno.report.study.limit import comparisons, limit_words, told_configurations


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """Configurations that the same limited."""

    levels: str
    """`2 … 8`; empty where the line's name says which."""
    limit: str
    """In words."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BriefLimit:
    """A line of limits."""

    name: str
    """A sweep's knob, a combination, or a step's change."""
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """What follows the name: ` 2 … 8: too few workers; 16 … 64: CPU`, or `: CPU`."""
        told = (f"{part.levels}: {part.limit}" for part in self.parts if part.levels)
        return f" {'; '.join(told)}" if self.parts[0].levels else f": {self.parts[0].limit}"


def brief_limits(outcome: Outcome) -> list[BriefLimit]:
    """Return a sweep's levels in a line, and what was limited by something else than the start.

    That is combinations of a factorial and steps that were not kept, as far as they have no row
    among those of the start and of what was kept. Empty where nobody looked.
    """
    words = limit_words(outcome)
    lines = [] if outcome.sweep is None else _of_sweep(outcome.sweep, words)
    told = {after.label() for _, _, after in told_configurations(outcome)}
    of_start = words.get(_start(outcome).label())
    found: dict[str, BriefLimit] = {}
    for name, configuration in _others(outcome):
        label = configuration.label()
        # Without a final claim the start has no row, and what is told beside it says nothing.
        is_new = words.get(label) != of_start or (not told and label == _start(outcome).label())
        if label in words and label not in told and is_new:
            # Of a step that was tried twice the second time counts.
            found[name] = BriefLimit(name=name, parts=(Part(levels="", limit=words[label]),))
    return [*lines, *found.values()]


def _start(outcome: Outcome) -> Configuration:
    compared = comparisons(outcome)
    if compared:
        return compared[0].a.configuration
    return outcome.plan.study.start_configuration()


def _others(outcome: Outcome) -> Iterator[tuple[str, Configuration]]:
    if outcome.factorial is not None:
        for name, arm in factorial_arms(outcome.factorial):
            yield name, arm.configuration
    for step in outcome.steps:
        if not step.kept:
            yield step.change, step.comparison.b.configuration


def _of_sweep(sweep: Sweep, words: dict[str, str]) -> list[BriefLimit]:
    """Return its levels in runs of neighbours that the same limited; none where nobody looked."""
    limits = [(point.level, words.get(point.arm.configuration.label())) for point in sweep.points]
    parts = []
    for limit, run in groupby(limits, key=lambda each: each[1]):
        levels = [level for level, _ in run]
        if limit is None:
            continue
        names = [level_text(level) for level in levels]
        is_range = len(names) > 1 and not is_of_words(levels)
        text = f"{names[0]} … {names[-1]}" if is_range else ", ".join(names)
        parts.append(Part(levels=text, limit=limit))
    return [BriefLimit(name=sweep.knob, parts=tuple(parts))] if parts else []
