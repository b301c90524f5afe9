"""Whether the verdict names what limits a server, where that is known.

Fourteen servers are built, for each word of the verdict one at least, loaded by the engine and
looked at in the second half of the load. Beside them are healthy ones: of those nothing may be said
but that there is room, or that a closed loop without a pause has all of the cores. The exit code is
0 where at least thirteen of the fourteen are named and no healthy one is called limited by what it
is not. `unknown` is no wrong word, and no right one. Where others use the machine, cores are the
limit of everything: a run that they disturbed is repeated, and what stays disturbed is told.

Example:
    .venv/bin/python -m benches.bottlenecks
    .venv/bin/python -m benches.bottlenecks --only cpu lock --healthy 0
    .venv/bin/python -m benches.bottlenecks --dump >tests/advice/looks.jsonl
"""

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from benches.bottlenecks.cases import CASES, Case
from benches.bottlenecks.healthy import healthy_cases
from benches.bottlenecks.judgement import Outcome, is_met, tally
from benches.bottlenecks.kept import Kept, kept_looks, line_of
from benches.bottlenecks.looking import below_default, looked_at
from benches.bottlenecks.place import NotBuiltError
from benches.engine.quiet import Quiet
from tests.commands import exit_on_signals

from httpdyno.advice.bottleneck import bottleneck
from httpdyno.model import Look
from httpdyno.report.shared.message import text

SHOWN_WORKERS = 0.05
"""Fewer are not worth a word."""


def main() -> int:
    """Build, load, look and tell; 0 where the aim is met."""
    # What was started is ended, however this one is.
    exit_on_signals()
    arguments = parsed()
    outcomes = []
    quiet: Quiet[Look] = Quiet()
    for outcome in outcomes_of(arguments, quiet):
        outcomes.append(outcome)
        print(line_of(kept(outcome)) if arguments.dump else told(outcome), flush=True)
    built = [each for each in outcomes if not each.is_healthy]
    healthy = [each for each in outcomes if each.is_healthy]
    where = sys.stderr if arguments.dump else sys.stdout
    lines = [f"built: {tally(built)}", f"healthy: {tally(healthy)}", *quiet.notes()]
    print("\n".join(lines), file=where)
    return int(not is_met(outcomes))


def outcomes_of(arguments: argparse.Namespace, quiet: Quiet[Look]) -> Iterator[Outcome]:
    """Yield what was found of each that was asked for."""
    for case in CASES:
        if not arguments.only or case.name in arguments.only:
            yield outcome(case, arguments, quiet)
    for case in healthy_cases(arguments.healthy, arguments.seed):
        yield outcome(case, arguments, quiet, is_healthy=True)


def outcome(
    case: Case, arguments: argparse.Namespace, quiet: Quiet[Look], *, is_healthy: bool = False
) -> Outcome:
    """Build one, load it, look at it."""
    look, found, why_not = None, None, ""
    n_disturbed = quiet.n_disturbed
    try:
        look = quiet.run(lambda: looked_at(case.build, arguments.seconds, arguments.below))
        found = bottleneck(look)
    except NotBuiltError as error:
        why_not = str(error)
    return Outcome(
        name=case.name,
        accepted=case.accepted,
        is_healthy=is_healthy,
        look=look,
        found=found,
        why_not=why_not,
        is_disturbed=quiet.n_disturbed > n_disturbed,
    )


def kept(outcome: Outcome) -> Kept:
    """Return what a test keeps of it."""
    return Kept(
        name=outcome.name,
        accepted=tuple(sorted(outcome.accepted)),
        is_healthy=outcome.is_healthy,
        look=outcome.look,
        why_not=outcome.why_not,
    )


def told(outcome: Outcome) -> str:
    """Return one as text."""
    if outcome.found is None or outcome.look is None:
        return f"{outcome.name}: not built here, because {outcome.why_not}{told_of_kept(outcome)}"
    found = outcome.found
    mark = {"right": " ", "unknown": "?", "wrong": "!"}[outcome.worth]
    evidence = ", ".join(f"{name} {value:.4g}" for name, value in found.evidence.items())
    look = outcome.look
    doing = ", ".join(
        f"{name} {n:.1f}" for name, n in sorted(look.doing.items()) if n >= SHOWN_WORKERS
    )
    return (
        f"{mark} {outcome.name}: {found.limit}{' (disturbed)' * outcome.is_disturbed}\n"
        f"    {text(found.reason)}\n    {evidence}\n"
        f"    seen: {look.answers / look.seconds:.0f} answers/s, {doing}"
    )


def told_of_kept(outcome: Outcome) -> str:
    """Return what is said of a look at such a server that was taken elsewhere."""
    for each in kept_looks():
        if each.name == outcome.name and each.look is not None:
            return f"\n    of a look that was taken elsewhere: {bottleneck(each.look).limit}"
    return ""


def parsed() -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benches.bottlenecks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = tuple(case.name for case in CASES)
    parser.add_argument("--only", nargs="+", choices=names, default=(), metavar="CASE")
    parser.add_argument("--healthy", type=int, default=20, metavar="N", help="healthy runs [20]")
    parser.add_argument("--seconds", type=float, default=2.0, metavar="S", help="of load [2]")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of healthy runs [1]")
    parser.add_argument("--below", default=below_default(), metavar="DIR", help="on a disk")
    parser.add_argument("--dump", action="store_true", help="print looks as the tests keep them")
    arguments = parser.parse_args()
    if not Path(arguments.below).is_dir():
        parser.error(f"{arguments.below} is no folder")
    return arguments


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
