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
    """Return a sweep's levels in a line, then combinations of a factorial, or lost steps.

    Those have no row among those of the start and of what was kept. Each that was limited by
    something else than the start has a line, all others one together. Empty where nobody looked.
    """
    words = limit_words(outcome)
    lines = [] if outcome.sweep is None else _of_sweep(outcome.sweep, words)
    told = {after.label() for _, _, after in told_configurations(outcome)}
    # Of a step that was tried twice the second time counts.
    labels = {
        name: label
        for name, configuration in _others(outcome)
        if (label := configuration.label()) in words and label not in told
    }
    # Without a final claim the start is one of them.
    start = _start(outcome).label()
    alike = [
        name
        for name, label in labels.items()
        if label != start and words[label] == words.get(start)
    ]
    lines += [_brief(name, words[label]) for name, label in labels.items() if name not in alike]
    if alike:
        what = "combinations" if outcome.factorial is not None else "lost steps"
        name = alike[0] if len(alike) == 1 else f"{len(alike)} {what}"
        lines.append(_brief(name, f"the start's limit ({words[start]})"))
    return lines


def _brief(name: str, limit: str) -> BriefLimit:
    return BriefLimit(name=name, parts=(Part(levels="", limit=limit),))


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
