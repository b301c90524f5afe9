"""Figures 1 to 5: differences that are planted, and configurations against themselves.

Each take is one `httpdyno compare`, as people call it. A request of the site works for so many
units, under gunicorn or under Apache and mod_perl; a difference is so many more of them, on a side
drawn each time, as many as make the figure that decides differ by the size. What a unit costs is
known beforehand (`known`).
"""

import math
import random
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import msgspec
from benches.engine.setting import REPOSITORY
from benches.power.figure import Case, Interval, Setting, Shown, drawn
from benches.power.known import CPU, SAME, THROUGHPUT, UNITS, Worker, known
from benches.power.program import call, first_ready_s
from benches.power.work.servers import STUDIES

_POOL = REPOSITORY / "python" / "httpdyno" / "studies" / "maxclients"
SITES = {
    **{
        name: REPOSITORY / "benches" / "power" / "work" / folder for name, folder in STUDIES.items()
    },
    "pool": _POOL,
}
"""Of all but the pool `known` knows what a unit costs."""
N_PROCESSES, N_CONNECTIONS = 8, 16
"""Of the pool: enough to be busy, few enough to be up soon."""
AROUND_S = 8.0
"""For the program to begin and to end, and for what a last claim may overrun."""
RATIO_OF = {THROUGHPUT: "throughput", CPU: "cpu_per_request"}
"""What a document calls the ratio of a metric."""
CLAIMS = {"better", "worse"}
MOST_ERROR = 0.25
"""Of an interval's half-width, the standard error of the truth that it is judged by."""


class Compared(Shown, frozen=True, kw_only=True, tag="compared"):
    """What one comparison said, and what is true."""

    planted: float = 0.0
    """By how much more a request of b costs than one of a, in what decides; 0: the same."""
    units: tuple[int, int] = (0, 0)
    """What a request works, in a and b."""
    ratio: str = "throughput"
    """The one that decides."""
    truths: dict[str, float] = msgspec.field(default_factory=dict)
    """By ratio, b over a."""
    errors_log: dict[str, float] = msgspec.field(default_factory=dict)
    """Standard errors of the truths' logarithms."""
    verdict: str = ""
    second: str = ""
    """The verdict on the second metric; empty where it has none, as in earlier versions."""
    intervals: dict[str, Interval] = msgspec.field(default_factory=dict)
    n_starts: int = 0
    budget_s: float = 0.0
    measured_s: float = 0.0
    """The program's clock: from before the first servers are started to the last ones' end."""
    ready_s: float = 0.0
    """What the slower of the first two servers took to come up, within that."""

    @property
    def up_s(self) -> float:
        """Return how long it measured after both servers of the first start were up."""
        return self.measured_s - self.ready_s

    @property
    def is_found(self) -> bool:
        """Whether it says to which side, and rightly."""
        return self.planted != 0 and self.verdict == self._right

    @property
    def is_in_time(self) -> bool:
        """Whether it was found within the budget, which a last look may overrun."""
        return self.is_found and self.measured_s <= self.budget_s

    @property
    def is_wrong(self) -> bool:
        """Whether it says what is not so, of the metric or of the second one."""
        return self._is_false(self.verdict) or self._is_false(self.second)

    @property
    def is_measured(self) -> bool:
        """Whether it has an interval of what decides; nothing can be claimed without."""
        return self.ratio in self.bounded

    @property
    def bounded(self) -> dict[str, Interval]:
        """The intervals that say anything."""
        return {name: each for name, each in self.intervals.items() if each.is_bounded}

    @property
    def judged(self) -> dict[str, Interval]:
        """Those of which the truth is known well enough to say whether they hold it."""
        return {
            name: each
            for name, each in self.bounded.items()
            if self.errors_log.get(name, 0.0) <= MOST_ERROR * math.log(each.high / each.low) / 2
        }

    @property
    def held(self) -> list[bool]:
        """For each of those, whether the truth lies in it."""
        return [each.holds(self.truths[name]) for name, each in self.judged.items()]

    @property
    def _right(self) -> str:
        return "worse" if self.planted > 0 else "better"

    def _is_false(self, word: str) -> bool:
        if self.planted == 0:
            # Of a configuration compared with itself, a failed candidate is an accusation.
            return word in CLAIMS | {"failed"}
        return word == "equivalent" or (word in CLAIMS and word != self._right)

    def words(self) -> str:
        """Return verdicts and intervals beside the truth."""
        ratios = ", ".join(
            f"{name} {interval} [truth {self.truths[name]:.3f}]"
            for name, interval in self.intervals.items()
        )
        said = f"{self.verdict}, second {self.second}" if self.second else self.verdict
        a, b = self.units
        work = f" ({a} → {b} units)" if a != b else ""
        return (
            f"{self.planted:+.1%}{work} {said:<33} {ratios or 'no interval'}, "
            f"{self.n_starts} starts in {self.measured_s:.1f} s, {self.ready_s:.1f} s of it "
            "until both were up"
        )


@dataclass(frozen=True, kw_only=True)
class Planted(Case):
    """A difference to plant in a server, and the metric that decides."""

    kind: ClassVar[type[Shown]] = Compared

    size: float = 0.0
    """By how much more a request costs in what decides: for a throughput, its time; 0: a
    configuration against itself."""
    server: Worker | Literal["pool"] = "gunicorn"
    """In a pool nothing can be planted."""
    metric: str = THROUGHPUT
    budget_s: int = 20

    def take(self, setting: Setting, draw: random.Random) -> Iterator[Shown]:
        """Compare two configurations by every checkout."""
        costs = known(setting, self.server) if self.size and self.server != "pool" else SAME
        more = costs.units(drawn(self.size, draw), self.metric)
        a, b = (UNITS, more) if draw.random() < 1 / 2 else (more, UNITS)
        dearer = {name: costs.cost(name, b) / costs.cost(name, a) for name in RATIO_OF}
        if self.server == "pool":
            words = [f"--a=MaxRequestWorkers={N_PROCESSES}", f"--b=MaxRequestWorkers={N_PROCESSES}"]
        else:
            words = [f"--a=units={a}", f"--b=units={b}"]
        study = written(setting.folder, self.server, self.metric)
        command: list[str | Path] = ["compare", study, *words]
        command += ["--same"] if a == b else []
        command += ["--budget", f"{self.budget_s}s", "--seed", str(draw.randrange(1 << 30))]
        for by in draw.sample(sorted(setting.trees), len(setting.trees)):
            called = call(setting, by, command, longest_s=self.longest_s)
            final = called.document.get("final") or {}
            ratios = {
                name: Interval.of(final.get("ratios", {}).get(name)) for name in RATIO_OF.values()
            }
            yield Compared(
                figure=self.figure,
                case=self.name,
                by=by,
                took_s=called.took_s,
                stolen_cores=called.stolen_cores,
                trouble=called.trouble,
                planted=dearer[self.metric] - 1,
                units=(a, b),
                ratio=RATIO_OF[self.metric],
                truths={
                    RATIO_OF[CPU]: dearer[CPU],
                    RATIO_OF[THROUGHPUT]: 1 / dearer[THROUGHPUT],
                },
                errors_log={RATIO_OF[name]: costs.error_log(name, a, b) for name in RATIO_OF},
                verdict=final.get("verdict", "nothing"),
                second=(final.get("second") or {}).get("verdict", ""),
                intervals={name: each for name, each in ratios.items() if each},
                n_starts=final.get("n_starts", 0),
                budget_s=self.budget_s,
                measured_s=called.document.get("duration_s", 0.0),
                ready_s=0.0 if called.trouble else first_ready_s(setting, by),
            )


def written(folder: Path, server: str, metric: str) -> Path:
    """Return a study of that server that the metric decides, with the default method."""
    study = folder / f"{server}-{metric}"
    if not study.exists():
        shutil.copytree(SITES[server], study)
        file = study / "study.toml"
        text = file.read_text(encoding="utf-8")
        text = re.sub(r'^metric = ".*"$', f'metric = "{metric}"', text, flags=re.M)
        text = re.sub(r"^connections = 300$", f"connections = {N_CONNECTIONS}", text, flags=re.M)
        text = re.sub(r"^\[method\]\n[^\[]*", "", text, flags=re.M)
        file.write_text(text, encoding="utf-8")
    return study
