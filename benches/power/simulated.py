"""Figure 1, simulated: arms that are the same, disturbed in ways whose truth is known.

Everything but servers, load and clock is what a comparison really runs: its plan, when it looks,
when it ends, and the claim itself. A wrong claim is counted by the shape of what disturbed it: an
average over shapes would hide one behind the others.
"""

import json
import math
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import ClassVar

import msgspec
import numpy as np
from benches.engine.process import BenchError
from benches.engine.setting import REPOSITORY
from benches.power.disturbance import SHAPES, Disturbance, Shape
from benches.power.figure import THIS, Case, Part, Setting, Shown, most_likely, of_kind
from benches.power.judgement import CLAIMS_RATIO
from benches.power.known import THROUGHPUT
from benches.power.planted import CLAIMS
from benches.power.program import end
from msgspec import structs
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore

from httpdyno.experiment.design.plan import compare_plan
from httpdyno.experiment.method.run import run_plan
from httpdyno.experiment.method.session import Event
from httpdyno.experiment.trial.bench import StartRequest
from httpdyno.model import (
    Configuration,
    Knob,
    Method,
    Objective,
    Outcome,
    ServerSpec,
    StartRecord,
    Study,
    WindowRecord,
    Workload,
)
from httpdyno.model.workload import second_metric_of
from httpdyno.telemetry.kernel import steal_s

N_SEQUENCES = 4_000
"""Of each shape."""
LOT = 500
"""As many are one take: what is interrupted loses no more."""
SIDE_BY_SIDE = 8
BUDGET_S = 60.0
"""Three times that of the real comparisons: more looks are more chances to be wrong."""
COME_UP_S = 1.5
WINDOW_SD = 0.02
RATE_PER_S = 1e6
"""So many that whole requests do not round the windows' figures."""
SEQUENCE_S = 0.12
"""What one takes at most."""


class Simulated(Shown, frozen=True, kw_only=True, tag="simulated"):
    """A lot of sequences of one shape."""

    verdicts: dict[str, int] = msgspec.field(default_factory=dict)
    seed: int = 0

    @property
    def n(self) -> int:
        """Return how many sequences there were."""
        return sum(self.verdicts.values())

    @property
    def n_wrong(self) -> int:
        """Return how many ended with a claim that arm 1 is better or worse, in either metric."""
        return sum(
            count for words, count in self.verdicts.items() if not CLAIMS.isdisjoint(words.split())
        )

    def words(self) -> str:
        """Return the verdicts."""
        told = ", ".join(f"{word} {count}" for word, count in sorted(self.verdicts.items()))
        return f"{self.n} sequences simulated: {told}"


@dataclass(frozen=True, kw_only=True)
class Simulation(Case):
    """Sequences of one shape."""

    kind: ClassVar[type[Shown]] = Simulated

    shape: Shape
    lot: int = LOT

    @property
    def asked(self) -> int:
        """How many sequences a judgement asks for."""
        return self.n * self.lot

    def take(self, setting: Setting, draw: random.Random) -> Iterator[Shown]:
        """Simulate a lot, on all cores."""
        del setting
        began_s, stolen_before_s = time.monotonic(), steal_s()
        seed = draw.randrange(1 << 30)
        cores = len(os.sched_getaffinity(0))
        verdicts: Counter[str] = Counter()
        with ExitStack() as stack:
            parts = [
                stack.enter_context(simulating(self.shape, seed, range(core, self.lot, cores)))
                for core in range(min(cores, self.lot))
            ]
            for part in parts:
                verdicts.update(told_by(part))
        took_s = time.monotonic() - began_s
        yield Simulated(
            figure=self.figure,
            case=self.name,
            by=THIS,
            took_s=took_s,
            stolen_cores=(steal_s() - stolen_before_s) / max(took_s, 1.0),
            verdicts=dict(verdicts),
            seed=seed,
        )


def simulations(figure: int) -> tuple[Simulation, ...]:
    """Return a case for each shape."""
    cores = len(os.sched_getaffinity(0))
    return tuple(
        Simulation(
            figure=figure,
            name=shape.name,
            n=math.ceil(N_SEQUENCES / LOT),
            longest_s=LOT * SEQUENCE_S / cores,
            unit="simulated",
            is_of_each=False,
            shape=shape,
        )
        for shape in SHAPES
    )


def sized(case: Simulation, n_sequences: int) -> Simulation:
    """Return the case with another number of sequences in all; 0: none."""
    if n_sequences == 0:
        return replace(case, n=0)
    n_lots = max(1, math.ceil(n_sequences / LOT))
    lot = math.ceil(n_sequences / n_lots)
    return replace(case, n=n_lots, lot=lot, longest_s=case.longest_s * lot / case.lot)


@contextmanager
def simulating(shape: Shape, seed: int, numbers: range) -> Iterator["subprocess.Popen[str]"]:
    """Simulate sequences in a process of its own, which is ended with the block at the latest."""
    job = (SHAPES.index(shape), seed, numbers.start, numbers.stop, numbers.step)
    command = [sys.executable, "-m", "benches.power.simulated", *map(str, job)]
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            end(process)


def told_by(process: "subprocess.Popen[str]") -> dict[str, int]:
    """Return what a process of `simulating` counted.

    Raises:
        BenchError: It failed.
    """
    said, complaint = process.communicate()
    if process.returncode != 0:
        words = complaint.strip().splitlines() or ["no word"]
        raise BenchError(f"a simulation ended with status {process.returncode}: {words[-1]}")
    counted: dict[str, int] = json.loads(said)
    return counted


def main() -> int:
    """Simulate what the arguments say, and print the verdicts; what `simulating` runs."""
    shape, seed, *numbers = map(int, sys.argv[1:])
    print(json.dumps(verdicts_of(SHAPES[shape], seed, range(*numbers))))
    return 0


def verdicts_of(shape: Shape, seed: int, numbers: Sequence[int]) -> Counter[str]:
    """Return what comparisons of an arm with itself say, each of a sequence of its own."""
    return Counter(verdict(shape, seed, number) for number in numbers)


def verdict(shape: Shape, seed: int, number: int) -> str:
    """Return what one comparison of an arm with itself says in the end, of both metrics.

    What the second one says is added where it claims anything: `inconclusive, CPU worse`.
    """
    rng = np.random.default_rng([seed, number])
    time_taken, cpu = (Disturbance(shape, rng, lasts_s=BUDGET_S) for _ in range(2))
    final = outcome_of(time_taken, cpu, rng).final
    if final is None:
        return "nothing"
    second = final.second.verdict if final.second else ""
    return f"{final.verdict}, CPU {second}" if second in CLAIMS else final.verdict


def outcome_of(
    disturbance: Disturbance,
    cpu: Disturbance,
    rng: np.random.Generator,
    watch: Callable[[Event], None] = lambda _event: None,
) -> Outcome:
    """Return what comes of a comparison of two arms that only their disturbance tells apart.

    Args:
        disturbance: Of how fast the arms are.
        cpu: Of the CPU per request. It has its own: where both metrics err at different times,
            the chance is largest that one of them does.
        rng: Draws what is left.
        watch: Is told what happens.
    """
    study = Study(
        name="simulated",
        title="",
        folder=".",
        server=ServerSpec(adapter="model"),
        knobs=(Knob(name="side", start="a", levels=("b",)),),
        workload=Workload(),
        objective=Objective(second_metric=second_metric_of(THROUGHPUT, "", is_open_loop=False)),
        method=Method(side_by_side=SIDE_BY_SIDE),
        budget_s=BUDGET_S,
    )
    bench = DisturbedBench(
        throughput_per_s=lambda _values: RATE_PER_S, disturbance=disturbance, cpu=cpu, rng=rng
    )
    arms = [Configuration(values={"side": side}) for side in "ab"]
    plan = compare_plan(study, *arms, seed=int(rng.integers(1 << 30)))
    return run_plan(plan, bench=bench, store=NoStore(), run_id="1", watch=watch)


@dataclass(kw_only=True)
class DisturbedBench(FakeBench):
    """Starts side by side on a machine that is disturbed; both arms are equally fast."""

    disturbance: Disturbance
    cpu: Disturbance
    rng: np.random.Generator
    n_at_once: int = SIDE_BY_SIDE
    start_s: float = COME_UP_S
    window_sd: float = WINDOW_SD
    now_s: float = field(default=0.0, init=False)

    def measure_starts(
        self, requests: Sequence[StartRequest], save: Callable[[WindowRecord], None]
    ) -> list[StartRecord]:
        """Draw the windows of starts that are up at the same time, in the order of `StartLoad`."""
        del save
        n, began_s = len(requests), self.now_s
        logs, cpu_logs = self.disturbance.batch_log(n), self.cpu.batch_log(n)
        self.now_s += self.start_s
        windows: list[list[WindowRecord]] = [[] for _ in requests]
        for block in range(len(requests[0].order)):
            for start in self.rng.permutation(n):
                request = requests[start]
                for arm in request.order[block]:
                    log = self._log(self.disturbance, logs[start, arm])
                    window = self._window(request, block, arm, math.exp(log))
                    # A slowed arm takes more of the CPU for a request.
                    dearer = math.exp(-self._log(self.cpu, cpu_logs[start, arm]))
                    telemetry = structs.replace(
                        window.telemetry, cpu_s=window.telemetry.cpu_s * dearer
                    )
                    windows[start].append(structs.replace(window, telemetry=telemetry))
                    self.now_s += request.lead_in_s + request.window_s
        return [
            StartRecord(
                comparison=request.comparison,
                start=request.start,
                began_at="2026-01-01T00:00:00+00:00",
                duration_s=(self.now_s - began_s) / n,
                statuses=("complete", "complete"),
                details=((), ()),
                windows=tuple(mine),
            )
            for request, mine in zip(requests, windows, strict=True)
        ]

    def _log(self, disturbance: Disturbance, start_log: float) -> float:
        """Return how fast an arm is in a window that opens now."""
        window_log = self.window_sd * float(self.rng.standard_normal())
        return disturbance.machine_log(self.now_s) + start_log + window_log


class NoStore(MemoryStore):
    """Keeps nothing: nobody asks again."""

    def begin_start(self, run_id: str, start: StartRecord) -> None:
        """Forget it."""

    def save_window(self, run_id: str, window: WindowRecord) -> None:
        """Forget it."""

    def save_start(self, run_id: str, start: StartRecord) -> None:
        """Forget it."""


_BEYOND = {shape.name for shape in SHAPES if not shape.is_assumed}


def judged_simulated(shown: Sequence[Shown]) -> list[Part]:
    """Judge each shape by itself."""
    mine = of_kind(Simulated, shown)
    parts = []
    for shape in dict.fromkeys(each.case for each in mine):
        lots = [each for each in mine if each.case == shape]
        n, n_wrong = sum(each.n for each in lots), sum(each.n_wrong for each in lots)
        words = (
            f"simulated, {shape}: {n_wrong} of {n} claim a difference ({n_wrong / n:.1%}); "
            f"the share is at most {most_likely(n_wrong, n):.1%}"
        )
        if shape in _BEYOND:
            words += "; beyond what intervals assume, so nothing is required of it"
        parts.append(Part(shape in _BEYOND or n_wrong <= CLAIMS_RATIO * n, words))
    return parts


if __name__ == "__main__":
    sys.exit(main())
