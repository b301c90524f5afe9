"""What a budget proves: ten figures, each beside what must come of it.

Everything is measured as people do it, by `httpdyno` on servers whose truth is known; sizes are
drawn anew each time within a fifth of what is named. A line is printed for each comparison, with
what the host took meanwhile, and at the end one for each requirement. All of it is in the JSON file
too, which is written after each comparison: Ctrl-C loses nothing but the one under way.

Exit code 0 when every requirement is met, 1 when one is missed or could not be measured, 2 when the
request makes no sense, 130 when it was interrupted.

Examples:
  .venv/bin/python -m benches.power
  .venv/bin/python -m benches.power --only 2,3,4 --comparisons 5 --beside ../before
  .venv/bin/python -m benches.power --only 7,8 --runs 1 --json part.json
  .venv/bin/python -m benches.power --only 7,8 --runs 2 --with part.json --json whole.json
"""

import argparse
import random
import signal
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benches.engine.process import BenchError
from benches.engine.setting import REPOSITORY, machine
from benches.power.figure import THIS, Case, Figure, Part, Setting, Shown
from benches.power.program import checkout, commit, oracle
from benches.power.saved import AnyShown, Saved, earlier, save
from benches.power.simulated import Simulation, sized
from benches.power.table import FIGURES

BEFORE = "before"
_INTERRUPTED = 130


def main() -> int:
    """Measure what was asked for; return the exit code."""
    arguments = _parsed()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    figures = [FIGURES[number] for number in arguments.only]
    cases = [each for figure in figures for each in figure.cases]
    cases = [counted(each, arguments) for each in cases]
    print(_head(figures, cases, arguments), flush=True)
    found = Found(
        figures=figures,
        file=arguments.json,
        seed=arguments.seed,
        commits=arguments.commits,
        shown=list(arguments.shown),
    )
    is_interrupted = False
    with tempfile.TemporaryDirectory(prefix="bench-power-") as folder:
        setting = Setting(trees=arguments.trees, folder=Path(folder), seed=arguments.seed)
        try:
            measure(spread(cases), setting, found)
        except KeyboardInterrupt:
            is_interrupted = True
            print("interrupted: this is what was measured until now", flush=True)
    found.save()
    told = found.told()
    print("\n".join(line for line, _ in told) or "nothing")
    print(f"all of it is in {arguments.json}")
    if is_interrupted:
        return _INTERRUPTED
    return 0 if told and all(is_met for _, is_met in told) else 1


@dataclass(kw_only=True)
class Found:
    """What was measured until now; kept as a file."""

    figures: Sequence[Figure]
    file: Path
    seed: int
    commits: dict[str, str]
    shown: list[AnyShown]
    failures: dict[int, str] = field(default_factory=dict)
    """Figures that cannot be measured here, with the reason."""

    def take(self, shown: Shown) -> None:
        """Print what was shown, and keep it."""
        print(shown.line(), flush=True)
        self.shown.append(shown)  # type: ignore[arg-type] # there are no kinds beside those
        self.save()

    def save(self) -> None:
        """Write the file anew."""
        told = [line for line, _ in self.told()]
        save(
            self.file,
            Saved(
                seed=self.seed,
                commits=self.commits,
                machine=machine(),
                shown=self.shown,
                told=told,
            ),
        )

    def told(self) -> list[tuple[str, bool]]:
        """Return the closing lines, and whether each is as it must be.

        What another checkout does is told for comparison, not judged.
        """
        lines: list[tuple[str, bool]] = []
        for figure in self.figures:
            mine = [each for each in self.shown if each.figure in figure.sources]
            for by in sorted({each.by for each in mine}, key=lambda name: name != THIS):
                lines += closing(figure, by, [each for each in mine if each.by == by])
            if figure.number in self.failures:
                why = self.failures[figure.number]
                lines.append((f"{figure.number:>2} {figure.name}: not measured: {why}", False))
        return lines


def closing(figure: Figure, by: str, mine: Sequence[Shown]) -> list[tuple[str, bool]]:
    """Return what came of a figure in lines, and whether each is as it must be."""
    asked = sum(case.n for case in figure.cases if case.is_of_each or by == THIS)
    number = f", {len(mine)} of {asked}" if len(mine) < asked else ""
    troubles = [each.trouble for each in mine if each.trouble]
    failed = f", {len(troubles)} failed" if troubles else ""
    head = f"{figure.number:>2} {figure.name}, by {by}{number}{failed}: {figure.must}"
    parts = figure.judge(mine) or [Part(False, f"nothing to judge: {', '.join(troubles[:1])}")]
    return [
        (head, True),
        *(
            (f"   {'met' if each.is_met else 'missed':<6} {each.words}", each.is_met or by != THIS)
            for each in parts
        ),
    ]


def measure(takes: Iterable[tuple[Case, int]], setting: Setting, found: Found) -> None:
    """Measure one take after the other; figures that cannot be measured are passed over.

    Args:
        takes: Cases, each with the number of its take: what it draws follows from that.
        setting: Where.
        found: Takes what is shown.
    """
    for case, number in takes:
        if case.figure in found.failures:
            continue
        draw = random.Random(f"{setting.seed} {case.figure} {case.name} {number}")
        try:
            for shown in case.take(setting, draw):
                found.take(shown)
        except BenchError as error:
            found.failures[case.figure] = str(error)
            print(f"{case.figure:>2} {case.name}: {error}", flush=True)


def spread(cases: Sequence[Case]) -> list[tuple[Case, int]]:
    """Return all takes, those of each case spread over the whole.

    So the machine's moods meet all figures alike, and what is interrupted has some of each.
    """
    takes = [(case, number) for case in cases for number in range(case.n)]
    return sorted(takes, key=lambda take: (take[1] + 0.5) / take[0].n)


def counted(case: Case, arguments: argparse.Namespace) -> Case:
    """Return a case as often as somebody asks for."""
    n: int | None = getattr(arguments, case.unit)
    if n is None:
        return case
    return sized(case, n) if isinstance(case, Simulation) else replace(case, n=n)


def longest_s(figures: Sequence[Figure], cases: Sequence[Case], n_trees: int) -> float:
    """Return what all of it takes at most."""
    takes_s = sum(case.n * case.longest_s * (n_trees if case.is_of_each else 1) for case in cases)
    return takes_s + sum(figure.before_s for figure in figures)


def _head(figures: Sequence[Figure], cases: Sequence[Case], arguments: argparse.Namespace) -> str:
    minutes = round(longest_s(figures, cases, len(arguments.trees)) / 60)
    beside = "".join(f", {name} is {text}" for name, text in arguments.commits.items())
    return (
        f"takes at most {minutes // 60} h {minutes % 60} min, seed {arguments.seed}{beside}; "
        f"each comparison is kept in {arguments.json}"
    )


def _parsed() -> argparse.Namespace:
    listed = "\n".join(f"  {each.number:>2} {each.name}: {each.must}" for each in FIGURES.values())
    parser = argparse.ArgumentParser(
        prog="python -m benches.power",
        description=f"{__doc__}\nFigures:\n{listed}\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", type=_numbers, default=list(FIGURES), metavar="1,4")
    parser.add_argument(
        "--comparisons", type=_some, metavar="N", help="of each kind in figures 1 to 6 [5 to 100]"
    )
    parser.add_argument("--runs", type=_some, metavar="N", help="of each in 7 to 10 [5 to 10]")
    parser.add_argument(
        "--simulated", type=_some, metavar="N", help="sequences of each shape in figure 1 [4000]"
    )
    parser.add_argument("--beside", type=Path, metavar="DIR", help="another checkout, built")
    parser.add_argument(
        "--with",
        dest="parts",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="judge with it what an earlier part wrote; may be repeated",
    )
    parser.add_argument(
        "--json", type=Path, default=REPOSITORY / "reports" / "bench-power.json", metavar="FILE"
    )
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30), metavar="N")
    arguments = parser.parse_args()
    arguments.json = arguments.json.absolute()
    try:
        _look_around(arguments)
    except BenchError as error:
        parser.error(str(error))
    return arguments


def _look_around(arguments: argparse.Namespace) -> None:
    """Find what the bench needs before it begins with hours of work.

    Raises:
        BenchError: It is not there.
    """
    arguments.trees = {THIS: checkout(REPOSITORY)}
    if arguments.beside:
        arguments.trees[BEFORE] = checkout(arguments.beside)
    arguments.commits = {name: commit(tree) for name, tree in arguments.trees.items()}
    arguments.shown = earlier(arguments.parts, arguments.commits)
    if not arguments.shown and not any(FIGURES[number].cases for number in arguments.only):
        raise BenchError("figure 5 is what 1 to 4 show: name one of them, too, or `--with FILE`")
    if any(case.needs_oracle for number in arguments.only for case in FIGURES[number].cases):
        oracle()


def _numbers(text: str) -> list[int]:
    try:
        numbers = sorted({int(each) for each in text.split(",")})
    except ValueError:
        raise argparse.ArgumentTypeError(f"`{text}` is no list of figures such as 1,4") from None
    if unknown := set(numbers) - set(FIGURES):
        raise argparse.ArgumentTypeError(f"there is no figure {sorted(unknown)}")
    return numbers


def _some(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"`{text}` is no number above 0")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
