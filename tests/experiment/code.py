"""Programs whose truth is known, and a bench of them: their clock goes by what is called."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from httpdyno.experiment.trial.fragment_bench import FragmentStart, Seat
from httpdyno.model import (
    Fragments,
    HostFacts,
    Knob,
    Method,
    Objective,
    ServerSpec,
    StartRecord,
    Study,
    Workload,
)
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.fragments import Batch

EMPTY = "empty"
EMPTY_NS = 20.0
ASKING_NS = 15_000.0


@dataclass(kw_only=True)
class FakeProgram:
    """Takes so long for a call of each body besides the empty loop; the clock is its own."""

    costs_ns: dict[str, float]
    noise_sd: float = 0.0
    """Of a batch, as a part of it."""
    speed: float = 1.0
    """Of this process."""
    dilation: float = 1.0
    said: float = 1.0
    """What it says of its CPU time, over what that was."""
    broken: dict[str, NotRunning] = field(default_factory=dict)
    dice: Random = field(default_factory=lambda: Random(1))
    now_s: float = 0.0
    asked: list[tuple[str, int]] = field(default_factory=list)

    def batch(self, name, n):
        self.asked.append((name, n))
        if name in self.broken:
            return self.broken[name]
        noise = 1 + self.dice.gauss(0, self.noise_sd)
        calls_ns = n * (EMPTY_NS + self.costs_ns.get(name, 0.0)) * self.speed * noise
        cpu_s = (ASKING_NS + calls_ns) / 1e9
        self.now_s += cpu_s * self.dilation
        return Batch(
            n=n, cpu_s=cpu_s, wall_s=cpu_s * self.dilation, said_cpu_s=self.said * calls_ns / 1e9
        )


@dataclass(kw_only=True)
class CodeBench:
    """Starts of fake programs, measured as real ones are."""

    costs_ns: dict[str, float]
    make: Callable[[dict[str, float], Random], FakeProgram] = lambda costs_ns, dice: FakeProgram(
        costs_ns=costs_ns, noise_sd=0.01, speed=1 + dice.gauss(0, 0.03), dice=dice
    )
    counts: dict[str, int] = field(default_factory=dict)

    def host(self):
        return HostFacts(
            httpdyno="0", python="3", kernel="fake", cpu="fake", n_cpus=2, memory_bytes=1 << 30
        )

    def n_side_by_side(self, arms):
        del arms
        return 1

    def looks_s(self, comparisons, *, is_alone=False):
        del comparisons, is_alone
        return 0.0

    def configuration_diff(self, start, final):
        return "" if start == final else "-a\n+b\n"

    def measure_starts(self, requests, save):
        return [self._measured(request, save) for request in requests]

    def _measured(self, request, save):
        program = self.make(self.costs_ns, Random(repr((request.comparison, request.start))))
        start = FragmentStart(
            request=request,
            processes=[program],
            seats={
                n: Seat(process=0, body=str(arm.values["body"]))
                for n, arm in enumerate(request.arms)
            },
            empty=EMPTY,
            window_s=request.window_s,
            counts=self.counts,
            clock=lambda: program.now_s,
            save=save,
        )
        start.run()
        return StartRecord(
            comparison=request.comparison,
            start=request.start,
            began_at=f"2026-01-01T00:00:{request.start:02}",
            duration_s=0.1 + program.now_s,
            statuses=tuple(start.statuses.get(n, "complete") for n in range(len(request.arms))),
            details=tuple(start.details.get(n, ()) for n in range(len(request.arms))),
            windows=tuple(start.windows),
        )


def code_study(*levels, start="function"):
    """Return a study of these bodies."""
    return Study(
        name="habits",
        title="what habits cost",
        folder="/nowhere",
        server=ServerSpec(adapter="fragments", command=("perl", "bodies.pl")),
        fragments=Fragments(command=("perl", "bodies.pl"), knob="body", empty=EMPTY),
        knobs=(Knob(name="body", start=start, levels=levels, title="what is called", why="so"),),
        workload=Workload(),
        objective=Objective(metric="cpu_s_per_call"),
        method=Method(kind="table", window_s=0.03, warm_up_s=0.0, blocks_per_start=4),
        budget_s=120.0,
    )
