"""Figure 6: servers whose latency limits them, by programmed times of origins.

Two origins stand in the place of two servers, and what is compared is known by construction: a
closed loop of users has as many answers per second as users go into the mean latency. A lock is an
origin that serves one request at a time: it has one answer in each time for which it is held, and
the other users wait.
"""

import json
import random
import re
import select
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from benches.engine.process import BenchError
from benches.engine.setting import REPOSITORY
from benches.power.figure import Case, Interval, Part, Setting, Shown, drawn
from benches.power.judgement import HELD_RATIO
from benches.power.planted import AROUND_S
from benches.power.program import Ended, end, oracle, python, run

BUDGET_S = 60
UP_S = 20.0
"""Within which an origin says where it is."""
LEAST_MEASURED_RATIO = 0.75
"""Comparisons that must have an interval: the budget is enough for all of them."""
KNOWN_RATIO = 0.01
"""Constant latencies have no spread, but the way there and back is not programmed: their truth is
known to a hundredth."""
_TIME = re.compile(r"takes? about \d")


class Delayed(Shown, frozen=True, kw_only=True, tag="delayed"):
    """What a comparison of two origins said."""

    latencies_ms: tuple[float, float] = (0.0, 0.0)
    """Mean, of a and b; of a lock, what its users wait for together."""
    is_constant: bool = False
    verdict: str = ""
    reason: str = ""
    interval: Interval | None = None
    n_starts: int = 0
    needed_s: float | None = None
    """What it says that a decision takes."""
    refusal: str = ""
    """Why it was not measured at all, with the way out."""

    @property
    def truth(self) -> float:
        """Throughput, b over a."""
        return self.latencies_ms[0] / self.latencies_ms[1]

    @property
    def is_claim(self) -> bool:
        """Whether it says anything."""
        return self.verdict in {"better", "worse", "equivalent"}

    @property
    def is_wrong(self) -> bool:
        """Whether that is not so, or the estimate lies on the wrong side, claimed or not."""
        is_turned = self.bounded is not None and (self.bounded.ratio - 1) * (self.truth - 1) < 0
        is_false = self.verdict != ("better" if self.truth > 1 else "worse")
        return is_turned or (self.is_claim and is_false)

    @property
    def bounded(self) -> Interval | None:
        """The interval, where it says anything."""
        return self.interval if self.interval and self.interval.is_bounded else None

    @property
    def holds(self) -> bool | None:
        """Whether the truth lies in the interval, or is known no better; None without one."""
        if self.bounded is None:
            return None
        return self.bounded.holds(self.truth) or self.is_held_as_near

    @property
    def is_held_as_near(self) -> bool:
        """Whether the interval holds the truth only as far as it is known."""
        if self.bounded is None or not self.is_constant or self.bounded.holds(self.truth):
            return False
        return abs(self.bounded.ratio / self.truth - 1) <= KNOWN_RATIO

    @property
    def is_silent(self) -> bool:
        """Whether it neither claims anything nor says what that would take."""
        if self.trouble:
            return True
        if self.refusal:
            return not _TIME.search(self.refusal)
        return not self.is_claim and not (self.reason and self.needed_s)

    def words(self) -> str:
        """Return what was compared, and what came of it."""
        pair = "{:.4g} → {:.4g} ms".format(*self.latencies_ms)
        if self.refusal:
            return f"{pair}, refused: {self.refusal}"
        told = f"{pair}, {self.verdict} {self.interval or 'no interval'} [truth {self.truth:.3f}]"
        why = "" if self.is_claim else f", {self.reason}"
        takes = f", takes {self.needed_s:.0f} s more" if self.needed_s else ""
        return f"{told}, {self.n_starts} starts{why}{takes}"


@dataclass(frozen=True, kw_only=True)
class Delay(Case):
    """Two latencies to compare, and how they vary."""

    kind: ClassVar[type[Shown]] = Delayed

    latencies_ms: tuple[float, float]
    """Mean, of a request that is alone."""
    users: int = 4
    is_exponential: bool = False
    is_lock: bool = False
    """One request at a time."""

    def take(self, setting: Setting, draw: random.Random) -> Iterator[Shown]:
        """Compare two origins by every checkout."""
        low_ms, high_ms = sorted(self.latencies_ms)
        high_ms = low_ms * (1 + drawn(high_ms / low_ms - 1, draw))
        held_ms = [low_ms, high_ms] if draw.random() < 1 / 2 else [high_ms, low_ms]
        # All users wait for one lock in turn.
        latencies_ms = [each * (self.users if self.is_lock else 1) for each in held_ms]
        seed = draw.randrange(1 << 30)
        for by in draw.sample(sorted(setting.trees), len(setting.trees)):
            tree = setting.trees[by]
            with ExitStack() as stack:
                addresses = [stack.enter_context(origin(self._options(ms))) for ms in held_ms]
                job = {
                    "windows": str(tree / "benches" / "windows"),
                    "kinds": [self.name] * 2,
                    "latencies_ms": latencies_ms,
                    "addresses": addresses,
                    "users": self.users,
                    "seed": seed,
                    "budget": f"{BUDGET_S}s",
                }
                ended = run(
                    [python(tree), "-m", "benches.power.origin_run", json.dumps(job)],
                    patience_s=self.longest_s * 2,
                    folder=REPOSITORY,
                )
            yield self._shown(by, (latencies_ms[0], latencies_ms[1]), ended)

    def _options(self, latency_ms: float) -> list[str]:
        service = "exp" if self.is_exponential else "fixed"
        workers = ["--workers", "1"] if self.is_lock else []
        return ["--service", f"{service}:{latency_ms * 1e3:.0f}us", *workers]

    def _shown(self, by: str, latencies_ms: tuple[float, float], ended: Ended) -> Delayed:
        row = _row(ended.stdout)
        return Delayed(
            figure=self.figure,
            case=self.name,
            by=by,
            took_s=ended.took_s,
            stolen_cores=ended.stolen_cores,
            trouble="" if row else ended.complaint,
            latencies_ms=latencies_ms,
            is_constant=not self.is_exponential,
            verdict=row.get("verdict", ""),
            reason=row.get("reason", ""),
            interval=Interval.of(row) if row.get("ratio") else None,
            n_starts=row.get("n_starts", 0),
            needed_s=row.get("needed_s"),
            refusal=row.get("refused", ""),
        )


def _row(said: str) -> dict[str, Any]:
    """Return what a comparison printed; empty where it printed nothing whole."""
    try:
        found = json.loads(said)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


@contextmanager
def origin(options: Sequence[str]) -> Iterator[str]:
    """Start an origin and give its address; end it.

    Raises:
        BenchError: It did not come up.
    """
    command: list[str | Path] = [oracle(), "--log-capacity", "10", *options]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        # It writes one line, whole.
        is_up = bool(process.stdout and select.select([process.stdout], [], [], UP_S)[0])
        row = _row(process.stdout.readline() if process.stdout and is_up else "")
        if "address" not in row:
            raise BenchError(f"the oracle did not come up with {' '.join(options)}")
        yield str(row["address"])
    finally:
        # It ends with its input.
        for pipe in (process.stdin, process.stdout):
            if pipe:
                pipe.close()
        end(process)


def delays(figure: int, n: int) -> tuple[Delay, ...]:
    """Return the latencies that the figure compares."""
    longest_s = BUDGET_S + AROUND_S
    return (
        Delay(
            figure=figure,
            name="90, 110 ms",
            n=n,
            longest_s=longest_s,
            needs_oracle=True,
            latencies_ms=(90.0, 110.0),
        ),
        Delay(
            figure=figure,
            name="300, 400 ms",
            n=n,
            longest_s=longest_s,
            needs_oracle=True,
            latencies_ms=(300.0, 400.0),
        ),
        Delay(
            figure=figure,
            name="exp 50, 55 ms",
            n=n,
            longest_s=longest_s,
            needs_oracle=True,
            latencies_ms=(50.0, 55.0),
            users=16,
            is_exponential=True,
        ),
        Delay(
            figure=figure,
            name="lock 12, 15 ms",
            n=n,
            longest_s=longest_s,
            needs_oracle=True,
            latencies_ms=(12.0, 15.0),
            users=8,
            is_lock=True,
        ),
    )


def judged_delays(shown: Sequence[Shown]) -> list[Part]:
    """Judge signs, intervals and silences, over all latencies together."""
    mine = [each for each in shown if isinstance(each, Delayed)]
    if not mine:
        return []
    n = len(mine)
    wrong = [each for each in mine if each.is_wrong]
    silent = [each for each in mine if each.is_silent]
    held = [each.holds for each in mine if each.holds is not None]
    n_near = sum(each.is_held_as_near for each in mine)
    near = f", {n_near} of them to {KNOWN_RATIO:.0%} alone" if n_near else ""
    n_refused = sum(bool(each.refusal) for each in mine)
    is_enough = len(held) >= LEAST_MEASURED_RATIO * n
    return [
        Part(
            not wrong and is_enough,
            f"{len(wrong)} of {n} claim what is not so, or lie on the wrong side{_where(wrong)}",
        ),
        Part(
            is_enough and sum(held) >= HELD_RATIO * len(held),
            f"{sum(held)} of {len(held)} intervals hold the truth{near}"
            f"{_where([each for each in mine if each.holds is False], 'not in')}; "
            f"{len(held)} of {n} have one",
        ),
        Part(
            not silent,
            f"{len(silent)} of {n} neither claim anything nor say what it takes{_where(silent)}; "
            f"{sum(each.is_claim for each in mine)} claim, {n_refused} were refused",
        ),
    ]


def _where(some: Sequence[Delayed], word: str = "of") -> str:
    counted = Counter(each.case for each in some)
    return "".join(f", {count} {word} {case}" for case, count in counted.items())
