"""Figures 1 to 5: differences that are planted, and configurations against themselves.

Each take is one `httpdyno compare`, as people call it. A request of the site works for so many
units under gunicorn; a difference is so many more of them, on a side drawn each time. The truth is
known from comparisons of a request with one of twelve times the units, which tell the part of it
that is such work.
"""

import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean, median
from typing import Literal

import msgspec
from benches.engine.process import BenchError
from benches.engine.setting import REPOSITORY
from benches.power.figure import (
    THIS,
    Case,
    Interval,
    Part,
    Setting,
    Shown,
    drawn,
    most_likely,
    of_kind,
)
from benches.power.program import call

SITE = Path(__file__).parent / "site"
UNITS = 10_000
"""Of a request: about half a millisecond."""
POOL = REPOSITORY / "python" / "httpdyno" / "studies" / "maxclients"
N_PROCESSES, N_CONNECTIONS = 8, 16
"""Of Apache: enough to be busy, few enough to be up soon."""
LITTLE, MUCH = 0.25, 3.0
"""Times `UNITS`, of requests that are compared to know what a unit costs. So far apart, because a
comparison ends as soon as it is decided: what it leaves open of their ratio must be little beside
the ratio. No further, because squares of numbers beyond 2¹⁵ cost Python more."""
N_REFERENCES, REFERENCE_S = 4, 60
AROUND_S = 8.0
"""For the program to begin and to end, and for what a last claim may overrun."""
CPU, THROUGHPUT = "cpu_s_per_request", "throughput_per_s"
RATIOS = ("throughput", "cpu_per_request")

CLAIMS_RATIO = 0.05
"""Wrong claims: what the confidence allows, and what may be seen."""
MOST_LIKELY_RATIO = 0.08
"""What the upper end of the exact interval of their share may be, over real comparisons."""
HELD_RATIO = 0.95
"""Intervals that hold the truth."""


class Compared(Shown, frozen=True, kw_only=True, tag="compared"):
    """What one comparison said, and what is true."""

    planted: float = 0.0
    """By how much more b works than a; 0: the same."""
    truths: dict[str, float] = msgspec.field(default_factory=dict)
    """By ratio, b over a."""
    verdict: str = ""
    intervals: dict[str, Interval] = msgspec.field(default_factory=dict)
    n_starts: int = 0
    measured_s: float = 0.0
    """From the first start's beginning to the last one's end."""

    @property
    def is_found(self) -> bool:
        """Whether it says to which side, and rightly."""
        return self.planted != 0 and self.verdict == ("worse" if self.planted > 0 else "better")

    @property
    def is_wrong(self) -> bool:
        """Whether it claims what is not so."""
        is_claim = self.verdict in {"better", "worse"}
        is_denial = self.verdict == "equivalent" and self.planted != 0
        return is_denial or (is_claim and not self.is_found)

    @property
    def held(self) -> list[bool]:
        """For each interval, whether the truth lies in it."""
        return [each.holds(self.truths[name]) for name, each in self.intervals.items()]

    def words(self) -> str:
        """Return verdict and intervals beside the truth."""
        ratios = ", ".join(
            f"{name} {interval} [truth {self.truths[name]:.3f}]"
            for name, interval in self.intervals.items()
        )
        return (
            f"{self.planted:+.1%} {self.verdict:<13} {ratios or 'no interval'}, "
            f"{self.n_starts} starts"
        )


@dataclass(frozen=True, kw_only=True)
class Planted(Case):
    """A difference to plant in a server, and the metric that decides."""

    size: float = 0.0
    """By how much more a request works; 0: a configuration against itself."""
    server: Literal["gunicorn", "apache"] = "gunicorn"
    metric: str = THROUGHPUT
    budget_s: int = 20

    def take(self, setting: Setting, draw: random.Random) -> Iterator[Shown]:
        """Compare two configurations by every checkout."""
        share = known_share(setting) if self.size else {CPU: 1.0, THROUGHPUT: 1.0}
        a, b = UNITS, round(UNITS * (1 + drawn(self.size, draw)))
        if draw.random() < 1 / 2:
            a, b = b, a
        truths = {
            "throughput": _cost(a, share[THROUGHPUT]) / _cost(b, share[THROUGHPUT]),
            "cpu_per_request": _cost(b, share[CPU]) / _cost(a, share[CPU]),
        }
        if self.server == "gunicorn":
            words = [f"--a=units={a}", f"--b=units={b}"]
        else:
            words = [f"--a=MaxRequestWorkers={N_PROCESSES}", f"--b=MaxRequestWorkers={N_PROCESSES}"]
        study = written(setting.folder, self.server, self.metric)
        command: list[str | Path] = ["compare", study, *words]
        command += ["--same"] if a == b else []
        command += ["--budget", f"{self.budget_s}s", "--seed", str(draw.randrange(1 << 30))]
        for by in draw.sample(sorted(setting.trees), len(setting.trees)):
            called = call(setting, by, command, longest_s=self.longest_s)
            final = called.document.get("final") or {}
            ratios = {name: Interval.of(final.get(f"{name}_ratio")) for name in RATIOS}
            yield Compared(
                figure=self.figure,
                case=self.name,
                by=by,
                took_s=called.took_s,
                stolen_cores=called.stolen_cores,
                trouble=called.trouble,
                planted=(b - a) / a,
                truths=truths,
                verdict=final.get("verdict", "nothing"),
                intervals={name: each for name, each in ratios.items() if each},
                n_starts=final.get("n_starts", 0),
                measured_s=called.document.get("duration_s", 0.0),
            )


def written(folder: Path, server: str, metric: str) -> Path:
    """Return a study of that server that the metric decides, with the default method."""
    study = folder / f"{server}-{metric}"
    if not study.exists():
        shutil.copytree(SITE if server == "gunicorn" else POOL, study)
        file = study / "study.toml"
        text = file.read_text(encoding="utf-8").replace(THROUGHPUT, metric)
        text = re.sub(r"^connections = 300$", f"connections = {N_CONNECTIONS}", text, flags=re.M)
        text = re.sub(r"^\[method\]\n[^\[]*", "", text, flags=re.M)
        file.write_text(text, encoding="utf-8")
    return study


def known_share(setting: Setting) -> dict[str, float]:
    """Return the part of a request's cost that is planted work, by metric.

    Raises:
        BenchError: It could not be measured.
    """
    return _known_share(setting.trees[THIS], setting.folder, setting.seed)


@cache
def _known_share(tree: Path, folder: Path, seed: int) -> dict[str, float]:
    setting = Setting(trees={THIS: tree}, folder=folder, seed=seed)
    shares: list[dict[str, float]] = []
    for number in range(N_REFERENCES):
        called = call(
            setting,
            THIS,
            [
                *("compare", written(folder, "gunicorn", CPU)),
                *(f"--a=units={LITTLE * UNITS:.0f}", f"--b=units={MUCH * UNITS:.0f}"),
                *("--budget", f"{REFERENCE_S}s", "--seed", str(seed + number)),
            ],
            longest_s=REFERENCE_S + AROUND_S,
        )
        final = called.document.get("final") or {}
        throughput, cpu = (Interval.of(final.get(f"{name}_ratio")) for name in RATIOS)
        if throughput is None or cpu is None:
            why = called.trouble or final.get("reason", "no figure")
            raise BenchError(f"what a request costs could not be measured: {why}")
        shares.append({CPU: share_of(cpu.ratio), THROUGHPUT: share_of(1 / throughput.ratio)})
    for name in (CPU, THROUGHPUT):
        told = ", ".join(f"{share[name]:.1%}" for share in shares)
        print(f"the part of a request that is planted work, by {name}: {told}", flush=True)
    return {name: fmean(share[name] for share in shares) for name in (CPU, THROUGHPUT)}


def share_of(ratio: float) -> float:
    """Return the part of a request that is work, by what much of it costs over little of it."""
    return (ratio - 1) / (MUCH - 1 + ratio * (1 - LITTLE))


def _cost(units: int, share: float) -> float:
    """Return what a request costs, in requests of `UNITS`."""
    return 1 + share * (units - UNITS) / UNITS


def judged_same(shown: Sequence[Shown]) -> list[Part]:
    """Judge comparisons of configurations with themselves, over all servers together."""
    mine = of_kind(Compared, shown)
    if not mine:
        return []
    n, n_wrong = len(mine), sum(each.is_wrong for each in mine)
    high = most_likely(n_wrong, n)
    is_met = n_wrong <= CLAIMS_RATIO * n and high <= MOST_LIKELY_RATIO
    by_server = Counter(each.case for each in mine if each.is_wrong)
    where = "".join(f", {count} of them {case}" for case, count in by_server.items())
    words = f"{n_wrong} of {n} claim a difference{where}; the share is at most {high:.1%}"
    return [Part(is_met, f"{words}; {_verdicts(mine)}")]


def judged_found(
    shown: Sequence[Shown], *, least_ratio: float, within_s: float | None = None
) -> list[Part]:
    """Judge comparisons of planted differences.

    Args:
        shown: All of one figure.
        least_ratio: The share of them that must find it.
        within_s: What the median of those that found it may have measured for.
    """
    mine = [each for each in shown if isinstance(each, Compared)]
    if not mine:
        return []
    n = len(mine)
    took_s = [each.measured_s for each in mine if each.is_found]
    n_wrong = sum(each.is_wrong for each in mine)
    is_met = len(took_s) >= least_ratio * n and n_wrong <= CLAIMS_RATIO * n
    words = f"found {len(took_s)} of {n}"
    if took_s:
        words += f", median {median(took_s):.1f} s"
    if within_s is not None:
        is_met = is_met and bool(took_s) and median(took_s) <= within_s
    return [Part(is_met, f"{words}; wrong {n_wrong}; {_verdicts(mine)}")]


def judged_held(shown: Sequence[Shown]) -> list[Part]:
    """Judge whether intervals hold the truth, over all comparisons that have any."""
    mine = of_kind(Compared, shown)
    held = [holds for each in mine for holds in each.held]
    if not held:
        return []
    outside = Counter(each.case for each in mine for holds in each.held if not holds)
    where = "".join(f", {count} not in {case}" for case, count in outside.items())
    is_met = sum(held) >= HELD_RATIO * len(held)
    return [Part(is_met, f"{sum(held)} of {len(held)} intervals hold the truth{where}")]


def _verdicts(mine: Sequence[Compared]) -> str:
    counted = Counter(each.verdict or "nothing" for each in mine)
    return ", ".join(f"{word} {count}" for word, count in counted.most_common())
