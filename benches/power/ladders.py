"""Figures 9 and 10: knobs that are known to help, among others that do nothing.

`ladder` is a gunicorn with two real knobs and four placebos, `pool` an Apache of 150 processes
with two of each. Each run is one `httpdyno tune`; what a real knob is worth is drawn anew each
time, within a fifth of what is said.
"""

import math
import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import msgspec
from benches.power.figure import Case, Interval, Part, Setting, Shown, drawn, of_kind
from benches.power.judgement import CLAIMS_RATIO
from benches.power.planted import SITES
from benches.power.program import call


class Climbed(Shown, frozen=True, kw_only=True, tag="climbed"):
    """What a ladder kept."""

    worth: dict[str, float] = msgspec.field(default_factory=dict)
    """Of each real knob, by how much more it lets through, in work that it saves."""
    n_placebos: int = 0
    proven: tuple[str, ...] = ()
    """Knobs whose step was kept."""
    is_withdrawn: bool = False
    """Whether the final claim took all of them back."""
    n_tried: int = 0
    final: Interval | None = None
    """Of the throughput."""

    @property
    def kept(self) -> tuple[str, ...]:
        """The knobs that the run settled on."""
        return () if self.is_withdrawn else self.proven

    @property
    def real_kept(self) -> list[str]:
        """The real knobs among those kept."""
        return [knob for knob in self.kept if knob in self.worth]

    @property
    def placebos_proven(self) -> list[str]:
        """The others whose step was kept, also where the final claim took it back."""
        return [knob for knob in self.proven if knob not in self.worth]

    @property
    def work_alone(self) -> float:
        """What the final ratio is at most: were work all that a request takes."""
        return math.prod(1 + self.worth[knob] for knob in self.proven if knob in self.worth)

    @property
    def is_too_good(self) -> bool:
        """Whether the whole final interval lies above that."""
        return self.final is not None and self.final.low > self.work_alone

    def words(self) -> str:
        """Return what was kept, and the final claim beside what the work alone makes of it."""
        real = ", ".join(f"{knob} {worth:+.1%}" for knob, worth in self.worth.items())
        n = len(self.worth) + self.n_placebos
        kept = f"{'taken back' if self.is_withdrawn else 'kept'} {', '.join(self.proven) or 'none'}"
        return (
            f"real, of the work: {real}; {kept}, {self.n_tried} of {n} tried; "
            f"final {self.final or 'none'} [the work alone {self.work_alone:.3f}]"
        )


@dataclass(frozen=True, kw_only=True)
class Ladder(Case):
    """A study to tune, in which some knobs are known to help."""

    kind: ClassVar[type[Shown]] = Climbed

    folder: Path
    budget_s: int
    worth: Mapping[str, float]
    """By how much more a real knob lets through, in work that it saves; drawn around this."""
    n_placebos: int
    files: Mapping[str, Path] = field(default_factory=dict)
    """What is copied beside it, by name."""

    def take(self, setting: Setting, draw: random.Random) -> Iterator[Shown]:
        """Tune it once by every checkout, each time with the same worth."""
        worth = {knob: drawn(each, draw) for knob, each in self.worth.items()}
        study = self.written(worth, setting.folder / "study")
        words: list[str | Path] = ["tune", study, "--budget", f"{self.budget_s}s"]
        words += ["--seed", str(draw.randrange(1 << 30))]
        for by in draw.sample(sorted(setting.trees), len(setting.trees)):
            called = call(setting, by, words, longest_s=self.longest_s)
            document = called.document
            steps = document.get("steps", [])
            proven = dict.fromkeys(step["knob"] for step in steps if step["kept"])
            yield Climbed(
                figure=self.figure,
                case=self.name,
                by=by,
                took_s=called.took_s,
                stolen_cores=called.stolen_cores,
                trouble=called.trouble,
                worth=worth,
                n_placebos=self.n_placebos,
                proven=tuple(proven),
                is_withdrawn=bool(document.get("withdrawn")),
                n_tried=len({step["knob"] for step in steps}),
                final=Interval.of(
                    ((document.get("final") or {}).get("ratios") or {}).get("throughput")
                ),
            )

    def written(self, worth: Mapping[str, float], folder: Path) -> Path:
        """Return a copy of the study in which the knobs are worth so much."""
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.folder, folder)
        for name, source in self.files.items():
            shutil.copytree(source, folder / name)
        for file in (folder / "study.toml", folder / "app.conf.j2"):
            if file.exists():
                text = file.read_text(encoding="utf-8")
                for knob, each in worth.items():
                    text = text.replace(f'"{knob.upper()}"', f"{1 - 1 / (1 + each):.4f}")
                file.write_text(text, encoding="utf-8")
        return folder


HERE = Path(__file__).parent


def ladder(figure: int, n: int) -> Ladder:
    """Return the ladder of six knobs."""
    return Ladder(
        figure=figure,
        name="ladder",
        n=n,
        unit="runs",
        budget_s=150,
        longest_s=165.0,
        folder=HERE / "ladder",
        files={"app": SITES["gunicorn"] / "app"},
        worth={"large": 0.24, "small": 0.08},
        n_placebos=4,
    )


POOL_S = 150.0
"""What a run may take in all."""


def pool(figure: int, n: int) -> Ladder:
    """Return the pool of 150 processes."""
    return Ladder(
        figure=figure,
        name="pool",
        n=n,
        unit="runs",
        # Also where the final claim overruns it by a twentieth, as it may, it is done in `POOL_S`.
        budget_s=142,
        longest_s=165.0,
        folder=HERE / "pool",
        worth={"cache": 1.0, "compiled": 0.15},
        n_placebos=2,
    )


def judged_kept(
    shown: Sequence[Shown],
    *,
    least_real_ratio: float,
    most_placebos_ratio: float,
    within_s: float | None = None,
) -> list[Part]:
    """Judge what ladders kept, over all runs together.

    Args:
        shown: All of one figure.
        least_real_ratio: The share of real knobs that must be kept.
        most_placebos_ratio: The share of placebos that may be, also if only in their step.
        within_s: What each run may take.
    """
    mine = [each for each in shown if isinstance(each, Climbed)]
    if not mine:
        return []
    whole = of_kind(Climbed, mine)
    if not whole:
        return [Part(False, f"{len(mine)} runs failed")]
    # A run that failed kept nothing that is real; what it would have made of placebos is unknown.
    n_real = len(mine) * len(whole[0].worth)
    n_placebos = sum(each.n_placebos for each in whole)
    real = sum(len(each.real_kept) for each in whole)
    placebos = sum(len(each.placebos_proven) for each in whole)
    finals = [each for each in whole if each.final]
    n_high = sum(each.is_too_good for each in finals)
    by_knob = ", ".join(
        f"{knob} {sum(knob in each.kept for each in whole)}" for knob in whole[0].worth
    )
    parts = [
        Part(real >= least_real_ratio * n_real, f"real knobs kept {real} of {n_real}: {by_knob}"),
        Part(
            placebos <= most_placebos_ratio * n_placebos,
            f"placebos kept {placebos} of {n_placebos}",
        ),
        Part(
            n_high <= CLAIMS_RATIO * len(finals),
            f"{n_high} of {len(finals)} final intervals lie above what the work alone makes",
        ),
    ]
    if within_s is not None:
        longest_s = max(each.took_s for each in mine)
        words = f"the longest run took {longest_s:.0f} s of {within_s:.0f} s"
        parts.append(Part(longest_s <= within_s, words))
    return parts
