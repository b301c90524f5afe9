"""What a budget proves: planted differences of a site whose cost per request is known.

Each line is one `httpdyno compare`, as people call it, on a gunicorn that works so many units for
each request. A difference is planted, of a size and to a side drawn anew each time, and counts as
found where the verdict says so. The truth is known from a long comparison of one unit with two,
which tells the part of a request that is such work. With `--beside`, each comparison is made by
another checkout as well, in random order.

Example:
    .venv/bin/python -m benches.power
    .venv/bin/python -m benches.power --only +10 --comparisons 5 --beside ../before
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from scipy import stats

from httpdyno.telemetry.host import steal_s
from httpdyno.units import duration_s

REPOSITORY = Path(__file__).resolve().parents[2]
SITE = Path(__file__).parent / "site"
UNITS = 10_000
"""Of a request: about half a millisecond."""
SPREAD = 0.2
"""Planted sizes are drawn within so much of those that are named: nothing is tuned to them."""
REFERENCE_BUDGET = "60s"
CPU, THROUGHPUT = "cpu_s_per_request", "throughput_per_s"


@dataclass(frozen=True)
class Figure:
    """A difference to plant, and what must come of it."""

    name: str
    size: float
    """By how much more a request works; 0: a configuration against itself."""
    metric: str
    budget: str
    least_found: float
    """The share of comparisons that must find it; of those with nothing to find, 0."""
    within_s: float | None = None
    """What the median of those that found it may take."""


FIGURES = (
    Figure("A/A", 0.0, THROUGHPUT, "20s", 0.0),
    Figure("+50", 0.5, THROUGHPUT, "20s", 1.0, within_s=6.0),
    Figure("+10", 0.1, THROUGHPUT, "20s", 0.9),
    Figure("+3", 0.03, CPU, "60s", 0.8),
)


@dataclass(frozen=True)
class Compared:
    """What one comparison said, and what is true."""

    figure: str
    by: str
    verdict: str
    planted: float
    truths: dict[str, float]
    """By ratio: throughput, cpu_per_request."""
    intervals: dict[str, tuple[float, float, float]]
    """Ratio, low and high."""
    n_starts: int
    took_s: float
    stolen: float
    """Cores that the host took meanwhile."""

    @property
    def is_found(self) -> bool:
        """Whether it says to which side, and rightly."""
        return self.verdict == ("worse" if self.planted > 0 else "better") and self.planted != 0

    @property
    def is_wrong(self) -> bool:
        """Whether it says to which side, and is wrong."""
        return self.verdict in {"better", "worse"} and not self.is_found

    @property
    def held(self) -> list[bool]:
        """For each interval, whether the truth lies in it."""
        return [low <= self.truths[name] <= high for name, (_, low, high) in self.intervals.items()]


def main() -> int:
    arguments = parsed()
    trees = {"this": REPOSITORY}
    if arguments.beside:
        trees["before"] = arguments.beside.resolve()
    draw = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), trees, draw)
        share = bench.known_share()
        print(f"of a request's cost the planted work is {share[CPU]:.1%} (CPU), ", end="")
        print(f"{share[THROUGHPUT]:.1%} (time); seed {arguments.seed}", flush=True)
        rounds = [figure for figure in FIGURES if figure.name in arguments.only]
        done: list[Compared] = []
        for _ in range(arguments.comparisons):
            for figure in rounds:
                done += bench.planted(figure, share)
                if arguments.json:
                    text = json.dumps([asdict(each) for each in done], indent=1)
                    arguments.json.write_text(text, encoding="utf-8")
    are_met = [told(figure, by, done) for figure in rounds for by in trees]
    return 0 if all(are_met[:: len(trees)]) else 1


class Bench:
    """Makes comparisons of the site with the programs of some checkouts."""

    def __init__(self, folder: Path, trees: dict[str, Path], draw: random.Random) -> None:
        self._folder, self._trees, self._draw = folder, trees, draw

    def known_share(self) -> dict[str, float]:
        """Return the part of a request's cost that is such work, by metric."""
        document = self._compare("this", UNITS, 2 * UNITS, CPU, REFERENCE_BUDGET)["final"]
        throughput = document["throughput_ratio"]["ratio"]
        return {CPU: document["cpu_per_request_ratio"]["ratio"] - 1, THROUGHPUT: 1 / throughput - 1}

    def planted(self, figure: Figure, share: dict[str, float]) -> list[Compared]:
        """Compare a site with one that works more, or less, by every checkout."""
        size = figure.size * self._draw.uniform(1 - SPREAD, 1 + SPREAD)
        a, b = UNITS, round(UNITS * (1 + size))
        if self._draw.random() < 1 / 2:
            a, b = b, a
        truths = {
            "throughput": _cost(a, share[THROUGHPUT]) / _cost(b, share[THROUGHPUT]),
            "cpu_per_request": _cost(b, share[CPU]) / _cost(a, share[CPU]),
        }
        done = []
        for by in self._draw.sample(sorted(self._trees), len(self._trees)):
            stolen_before_s = steal_s()
            document = self._compare(by, a, b, figure.metric, figure.budget)
            final, took_s = document["final"] or {}, document["duration_s"]
            ratios = {name: final.get(f"{name}_ratio") for name in truths}
            compared = Compared(
                figure=figure.name,
                by=by,
                verdict=final.get("verdict", document["status"]),
                planted=(b - a) / a,
                truths=truths,
                intervals={
                    name: (each["ratio"], each["low"], each["high"])
                    for name, each in ratios.items()
                    if each
                },
                n_starts=final.get("n_starts", 0),
                took_s=took_s,
                stolen=(steal_s() - stolen_before_s) / max(took_s, 1.0),
            )
            print(_line(compared), flush=True)
            done.append(compared)
        return done

    def _compare(self, by: str, a: int, b: int, metric: str, budget: str) -> dict:
        tree = self._trees[by]
        site = self._folder / f"site-{metric}"
        if not site.exists():
            subprocess.run(["cp", "-r", SITE, site], check=True)
            text = (site / "study.toml").read_text(encoding="utf-8")
            (site / "study.toml").write_text(text.replace(THROUGHPUT, metric), encoding="utf-8")
        out = self._folder / "out.json"
        out.unlink(missing_ok=True)
        same = ["--same"] if a == b else []
        command = [tree / ".venv/bin/httpdyno", "compare", site, "--a", f"units={a}"]
        command += ["--b", f"units={b}", "--budget", budget, "--json", out, *same]
        command += ["--seed", str(self._draw.randrange(1 << 30))]
        own = {"HTTPDYNO_STORE": str(self._folder / f"{by}.db")}
        ended = subprocess.run(
            command, env=os.environ | own, capture_output=True, text=True, check=False
        )
        if out.exists():
            return json.loads(out.read_text(encoding="utf-8"))
        words = ended.stderr.strip().splitlines() or ["no word"]
        print(f"{by}: {words[0]}", flush=True)
        return {"final": None, "status": "refused", "duration_s": 0.0}


def _cost(units: int, share: float) -> float:
    """Return what a request costs, in requests of `UNITS`."""
    return 1 + share * (units - UNITS) / UNITS


def _line(done: Compared) -> str:
    ratios = ", ".join(
        f"{name} {ratio:.3f} ({low:.3f} … {high:.3f}; truth {done.truths[name]:.3f})"
        for name, (ratio, low, high) in done.intervals.items()
    )
    return (
        f"{done.figure:<4} {done.by:<6} {done.planted:+.1%} {done.verdict:<13} {ratios or '–'}, "
        f"{done.n_starts} starts, {done.took_s:.1f} s, host took {done.stolen:.2f} cores"
    )


def told(figure: Figure, by: str, done: list[Compared]) -> bool:
    """Say what came of a figure, and return whether it is what it must be."""
    mine = [each for each in done if (each.figure, each.by) == (figure.name, by)]
    n, n_wrong = len(mine), sum(each.is_wrong for each in mine)
    held = [holds for each in mine for holds in each.held]
    took_s = [each.took_s for each in mine if each.is_found]
    high = stats.binomtest(n_wrong, n).proportion_ci(method="exact").high
    middle = f", median {median(took_s):.1f} s" if took_s else ""
    words = [
        f"{figure.name} by {by}:",
        f"found {len(took_s)} of {n}{middle};" if figure.size else "",
        f"wrong {n_wrong} of {n} (at most {high:.0%});",
        f"truth inside {sum(held)} of {len(held)};",
        ", ".join(f"{word} {count}" for word, count in Counter(e.verdict for e in mine).items()),
    ]
    is_met = len(took_s) >= figure.least_found * n and n_wrong <= max(1, 0.05 * n)
    if figure.within_s is not None:
        is_met = is_met and bool(took_s) and median(took_s) <= figure.within_s
    print("met   " if is_met else "missed", *filter(None, words), flush=True)
    return is_met


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [figure.name for figure in FIGURES]
    parser.add_argument("--only", choices=names, action="append", help="[each]")
    parser.add_argument("--comparisons", type=int, default=20, metavar="N", help="of each [20]")
    parser.add_argument("--beside", type=Path, metavar="DIR", help="another checkout, built")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all comparisons")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30), metavar="N")
    arguments = parser.parse_args()
    arguments.only = arguments.only or names
    longest_s = sum(duration_s(f.budget) for f in FIGURES if f.name in arguments.only)
    longest_s *= arguments.comparisons * (2 if arguments.beside else 1)
    print(f"takes at most {longest_s / 60:.0f} min")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
