"""Run every bench in its smallest form, one after the other: whether each still runs to its end.

A line for each: its exit code, its seconds and how it was called. What so few tries find is chance,
so a bench may end with 1 where its last lines say what it found; any other end is a failure, and
then its last lines are shown. Exit code 0 when all ran, 1 when one did not. Each is ended with all
that it started when it takes too long, or when this program is ended by a signal. Needs root, the
packages of `make debian-packages`, those of packaging/bench-packages.txt, and the origin: `cargo
build --release -p httpdyno-oracle`.

Example:
    .venv/bin/python -m benches
    .venv/bin/python -m benches --only power engine
"""

import argparse
import os
import re
import shlex
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.commands import Commands, Done, exit_on_signals

FOLDER = Path(__file__).parent
N_LAST_LINES = 25
"""Of a bench that failed; so many, too, are looked at for what it found."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Smallest:
    """How a bench is called to see that it works, and how long that may take."""

    words: str
    limit_s: float
    found: str = ""
    """What its last lines match where it measured all and judged it missed."""


BENCHES = {
    "bottlenecks": Smallest(
        words="--only cpu lock --healthy 1 --seconds 1", limit_s=90, found=r"^healthy: "
    ),
    "cell": Smallest(words="--rounds 2", limit_s=60, found=r"^a cell is to add"),
    "contained": Smallest(words="", limit_s=120),
    "coverage": Smallest(words="--runs 20 --real-runs 1 --jobs 2", limit_s=120, found=r"^wanted: "),
    "engine": Smallest(words="--quick --only 3,5,11 --json {new}/engine.json", limit_s=180),
    "eyes": Smallest(words="--quick", limit_s=120, found=r"not shown"),
    "faults": Smallest(words="--quick --only inputs,permissions", limit_s=120),
    "fidelity": Smallest(
        words="--load static --isolation wall --budget 10s --rounds 2 --window 0.1",
        limit_s=60,
        found=r" × .*not shown",
    ),
    "hints": Smallest(words="--only gunicorn --count 1", limit_s=180, found=r"^\d of 1 "),
    "layouts": Smallest(words="--only stock --isolation wall", limit_s=120),
    "memory": Smallest(
        words="--only gunicorn:plain --limit 160", limit_s=120, found=r"^\d of 1 predictions"
    ),
    "own_sites": Smallest(
        words="--only node --budget 30s", limit_s=120, found=r"^\d of 1 sites have"
    ),
    "power": Smallest(
        words="--only 1 --comparisons 1 --simulated 20 --json {new}/power.json",
        limit_s=180,
        found=r"^ +(met|missed) so far",
    ),
    "untouched": Smallest(words="--kills 2 --below /etc", limit_s=120),
    "windows": Smallest(words="--pair 110,90 --budget 40s", limit_s=60),
}
"""By the name of their folder or file, in the order in which they run."""


def main() -> int:
    """Run those that were asked for; return the exit code."""
    arguments = parsed()
    exit_on_signals()
    commands = Commands()
    began_s = time.monotonic()
    failed = []
    try:
        for name in arguments.only:
            if not runs(name, BENCHES[name], commands):
                failed.append(name)
    finally:
        commands.end()
    took_s = time.monotonic() - began_s
    print(f"{len(arguments.only) - len(failed)} of {len(arguments.only)} ran, in {took_s:.0f} s")
    if failed:
        print(f"failed: {' '.join(failed)}")
    return int(bool(failed))


def runs(name: str, smallest: Smallest, commands: Commands) -> bool:
    """Run one, print its line, and say whether it ran to its end."""
    with tempfile.TemporaryDirectory(prefix="benches-") as new:
        began_s = time.monotonic()
        command = command_of(name, shlex.split(smallest.words.format(new=new)))
        done = commands.run([sys.executable, *command], smallest.limit_s)
    is_right = has_run(smallest, done)
    took_s = time.monotonic() - began_s
    called = " ".join([shown_as(name), smallest.words.replace("{new}", "…")]).strip()
    mark = " " if is_right else "!"
    print(f"{mark} exit {done.status:>3}  {took_s:5.1f} s  {called}", flush=True)
    if not is_right:
        print("".join(f"    {line}\n" for line in last_lines(done)), end="", flush=True)
    return is_right


def has_run(smallest: Smallest, done: Done) -> bool:
    """Return whether a bench measured all that it was asked for, whatever came out."""
    if done.status == 1 and smallest.found:
        return any(re.search(smallest.found, line) for line in last_lines(done))
    return done.status == 0


def last_lines(done: Done) -> list[str]:
    """Return the end of what it said."""
    return done.output.splitlines()[-N_LAST_LINES:]


def command_of(name: str, words: Sequence[str]) -> list[str]:
    """Return what Python is given to run a bench: a package here, or a file."""
    if (FOLDER / name).is_dir():
        return ["-m", f"benches.{name}", *words]
    return [str(FOLDER / name), *words]


def shown_as(name: str) -> str:
    """Return how a person calls it."""
    return f"python -m benches.{name}" if (FOLDER / name).is_dir() else f"benches/{name}"


def parsed() -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benches",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", choices=tuple(BENCHES), default=tuple(BENCHES))
    return parser.parse_args()


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
