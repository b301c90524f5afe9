"""Figures 7 and 8: bundled studies, run again and again.

One question should have one answer: the eight verdicts of `make demo`, and the final claim of
`asp-bookmarks`.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec
from benches.power.figure import Case, Interval, Part, Setting, Shown, of_kind
from benches.power.program import call

DEMO_S, ASP_S = 240.0, 300.0
"""What a run may take in all."""
ASP_BUDGET_S = 285
"""Also where the final claim overruns it by a twentieth, as it may, it is done in `ASP_S`."""
SAME_RATIO = 5 / 6
"""Runs that must have the same verdicts."""
LEAST_RATIO = 4.0
N_KNOBS = 8
"""Of the demo."""
UNDECIDED = {"inconclusive", "not_measured", "not tried"}
FAR = "experiment.far"
"""The reason in the place of a time that nobody would wait for."""


class Tuned(Shown, frozen=True, kw_only=True, tag="tuned"):
    """What a run of a study found."""

    verdicts: dict[str, str] = msgspec.field(default_factory=dict)
    """Of the last comparison of each knob."""
    unsaid: tuple[str, ...] = ()
    """Knobs that are undecided while the run does not say what deciding them takes."""
    final: Interval | None = None
    """Of the throughput."""
    final_verdict: str = ""

    @property
    def n_decided(self) -> int:
        """Return how many knobs have a verdict that says something."""
        return sum(word not in UNDECIDED for word in self.verdicts.values())

    @property
    def is_decided(self) -> bool:
        """Whether all knobs have."""
        return self.n_decided == len(self.verdicts) == N_KNOBS

    def words(self) -> str:
        """Return the verdicts and the final claim."""
        told = ", ".join(f"{knob} {verdict}" for knob, verdict in self.verdicts.items())
        final = f"{self.final_verdict} {self.final}" if self.final else "none"
        unsaid = f", without a word what it takes: {', '.join(self.unsaid)}" if self.unsaid else ""
        return f"{told}; final throughput {final}{unsaid}"


@dataclass(frozen=True, kw_only=True)
class Tuning(Case):
    """A command that runs a study."""

    kind: ClassVar[type[Shown]] = Tuned

    command: tuple[str, ...]

    def take(self, setting: Setting, draw: random.Random) -> Iterator[Shown]:
        """Run it once by every checkout."""
        words = [*self.command, "--seed", str(draw.randrange(1 << 30))]
        for by in draw.sample(sorted(setting.trees), len(setting.trees)):
            called = call(setting, by, words, longest_s=self.longest_s)
            document = called.document
            final = document.get("final") or {}
            verdicts, unsaid = verdicts_of(document)
            yield Tuned(
                figure=self.figure,
                case=self.name,
                by=by,
                took_s=called.took_s,
                stolen_cores=called.stolen_cores,
                trouble=called.trouble,
                verdicts=verdicts,
                unsaid=unsaid,
                final=Interval.of(final.get("ratios", {}).get("throughput")),
                final_verdict=final.get("verdict", ""),
            )


def verdicts_of(document: Mapping[str, Any]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the last verdict of each knob, and which are undecided without a word what it takes.

    That word is a time: of the step, or of the run for what it did not try; or that it is far too
    long. That the interval still holds 1 is none: it is what undecided means.

    Args:
        document: A run's JSON; empty where there is none.
    """
    verdicts = dict.fromkeys(document.get("configuration", ()), "not tried")
    is_said = dict.fromkeys(verdicts, bool(document.get("needed_s")))
    for step in document.get("steps", ()):
        compared = step["comparison"]
        verdicts[step["knob"]] = compared["verdict"]
        is_far = FAR in [each["code"] for each in compared.get("reasons", ())]
        is_said[step["knob"]] = bool(compared.get("needed_s")) or is_far
    unsaid = (knob for knob, word in verdicts.items() if word in UNDECIDED and not is_said[knob])
    return verdicts, tuple(unsaid)


def judged_demo(shown: Sequence[Shown]) -> list[Part]:
    """Judge whether runs agree, or at least say what they leave open.

    Undecided ones are no verdicts that runs could agree on, and a run that decides nothing leaves
    open all there is.
    """
    mine = [each for each in shown if isinstance(each, Tuned)]
    whole = of_kind(Tuned, mine)
    if not whole:
        return [Part(False, f"{len(mine)} runs failed")] if mine else []
    n = len(mine)
    vectors = Counter(tuple(sorted(each.verdicts.items())) for each in whole if each.is_decided)
    n_same = max(vectors.values(), default=0)
    knobs = dict.fromkeys(knob for each in whole for knob in each.verdicts)
    by_knob = {
        knob: Counter(each.verdicts.get(knob, "not tried") for each in whole) for knob in knobs
    }
    torn = {knob: words for knob, words in by_knob.items() if len(words) > 1}
    at_odds = [knob for knob, words in torn.items() if len(set(words) - UNDECIDED) > 1]
    unsaid = sorted({knob for each in whole for knob in each.unsaid})
    is_same = n_same >= SAME_RATIO * n
    is_said = len(whole) == n and not at_odds and not unsaid
    is_said = is_said and all(
        len(each.verdicts) == N_KNOBS and each.n_decided > 0 for each in whole
    )
    decided = ", ".join(str(each.n_decided) for each in whole)
    told = f"{n_same} of {n} runs decide all {N_KNOBS} knobs alike"
    told += f"; decided {decided} of {N_KNOBS}"
    for knob, words in torn.items():
        told += f"; {knob} " + ", ".join(f"{word} {count}" for word, count in words.most_common())
    if not is_same:
        told += f"; at odds: {', '.join(at_odds) or 'none'}"
        told += f"; undecided and not said what it takes: {', '.join(unsaid) or 'none'}"
    return [Part(is_same or is_said, told), _in_time(mine, DEMO_S)]


def judged_final(shown: Sequence[Shown]) -> list[Part]:
    """Judge whether final claims are high enough, and hold one value in common."""
    mine = [each for each in shown if isinstance(each, Tuned)]
    if not mine:
        return []
    finals = [each.final for each in mine if each.final]
    n_high = sum(each.low >= LEAST_RATIO for each in finals)
    lowest = f", the lowest is {min(each.low for each in finals):.2f}" if finals else ""
    told = f"{n_high} of {len(mine)} runs have a low end of at least {LEAST_RATIO:g}{lowest}"
    parts = [Part(n_high == len(mine), told)]
    if finals:
        low, high = max(each.low for each in finals), min(each.high for each in finals)
        common = f"all {len(finals)} intervals hold {low:.2f} … {high:.2f}"
        apart = f"one interval lies above {low:.2f}, another below {high:.2f}"
        parts.append(Part(low <= high, common if low <= high else apart))
    return [*parts, _in_time(mine, ASP_S)]


def _in_time(mine: Sequence[Tuned], limit_s: float) -> Part:
    longest_s = max(each.took_s for each in mine)
    return Part(longest_s <= limit_s, f"the longest run took {longest_s:.0f} s of {limit_s:.0f} s")
