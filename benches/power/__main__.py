"""What a budget proves: ten figures, each beside what must come of it.

Everything is measured as people do it, by `httpdyno` on servers whose truth is known; sizes are
drawn anew each time within a fifth of what is named. A line is printed for each comparison, with
what the host took meanwhile, and at the end one for each requirement. All of it is in the JSON file
too, which is written after each comparison: Ctrl-C loses nothing but the one under way.

What was measured less often than a requirement asks for is judged "so far". Exit code 0 when every
requirement is met, and that as often as it asks for; 1 when one is missed, or met only so far, or
could not be measured; 2 when the request makes no sense, 130 when it was interrupted.

Examples:
  .venv/bin/python -m benches.power
  .venv/bin/python -m benches.power --only 2,3,4 --comparisons 5 --beside ../before
  .venv/bin/python -m benches.power --only 7,8 --runs 1 --json part.json
  .venv/bin/python -m benches.power --only 7,8 --with part.json --json whole.json
  .venv/bin/python -m benches.power --only 1 --comparisons 50 --simulated 0 --json half.json
  .venv/bin/python -m benches.power --only 1 --with half.json --json whole.json
"""

import argparse
import random
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benches.engine.process import BenchError
from benches.engine.setting import REPOSITORY
from benches.power.figure import THIS, Case, Figure, Setting
from benches.power.found import Found, measure
from benches.power.program import checkout, commit, engine, oracle
from benches.power.saved import earlier
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
        seeds=(*arguments.earlier.seeds, arguments.seed),
        commits=arguments.commits,
        engines=arguments.engines,
        shown=list(arguments.earlier.shown),
    )
    is_interrupted = False
    with tempfile.TemporaryDirectory(prefix="bench-power-") as folder:
        setting = Setting(trees=arguments.trees, folder=Path(folder), seed=arguments.seed)
        try:
            measure(spread(cases), setting, found)
        except KeyboardInterrupt:
            is_interrupted = True
            print("interrupted: this is what was measured until now", flush=True)
    told = found.told()
    print("\n".join(line for line, _ in told) or "nothing")
    is_kept = found.save()
    if is_kept:
        print(f"all of it is in {arguments.json}")
    if is_interrupted:
        return _INTERRUPTED
    return 0 if is_kept and told and all(is_met for _, is_met in told) else 1


def spread(cases: Sequence[Case]) -> list[tuple[Case, int]]:
    """Return all takes, those of each case spread over the whole.

    So the machine's moods meet all figures alike, and what is interrupted has some of each.
    """
    takes = [(case, number) for case in cases for number in range(case.n)]
    return sorted(takes, key=lambda take: (take[1] + 0.5) / take[0].n)


def counted(case: Case, arguments: argparse.Namespace) -> Case:
    """Return a case as often as somebody asks for; else as often as earlier parts lack."""
    n: int | None = getattr(arguments, case.unit)
    if n is None:
        n = _lacking(case, arguments)
    return sized(case, n) if isinstance(case, Simulation) else replace(case, n=n)


def _lacking(case: Case, arguments: argparse.Namespace) -> int:
    """Return how often a case is asked for and was not measured, by the checkout that lacks most.

    It is counted as the figure counts: in one that has nothing to say of comparisons without an
    interval, these are made again.
    """
    figure, shown = FIGURES[case.figure], arguments.earlier.shown
    found = [
        figure.lacking(by, [each for each in shown if each.by == by]).get(case.name)
        for by in arguments.trees
    ]
    return max((asked - n for n, asked in filter(None, found)), default=0)


def longest_s(figures: Sequence[Figure], cases: Sequence[Case], n_trees: int) -> float:
    """Return what all of it takes at most."""
    takes_s = sum(case.n * case.longest_s * (n_trees if case.is_of_each else 1) for case in cases)
    # It is measured once for all of them.
    return takes_s + max((figure.before_s for figure in figures), default=0.0)


def _head(figures: Sequence[Figure], cases: Sequence[Case], arguments: argparse.Namespace) -> str:
    minutes = round(longest_s(figures, cases, len(arguments.trees)) / 60)
    beside = "".join(
        f", {name} is {text} with engine {arguments.engines[name]}"
        for name, text in arguments.commits.items()
    )
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
        "--comparisons", type=_count, metavar="N", help="of each kind in figures 1 to 6 [5 to 100]"
    )
    parser.add_argument("--runs", type=_count, metavar="N", help="of each in 7 to 10 [5 to 10]")
    parser.add_argument(
        "--simulated", type=_count, metavar="N", help="sequences of each shape in figure 1 [4000]"
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
    arguments.engines = {name: engine(tree) for name, tree in arguments.trees.items()}
    arguments.earlier = earlier(arguments.parts, arguments.commits, arguments.engines)
    if arguments.seed in arguments.earlier.seeds:
        raise BenchError(f"with seed {arguments.seed} an earlier part would be measured again")
    if not arguments.earlier.shown and not any(FIGURES[number].cases for number in arguments.only):
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


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"`{text}` is no number from 0")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
