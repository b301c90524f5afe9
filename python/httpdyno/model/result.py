"""Comparisons, what a study's method makes of them, and its outcome."""

from typing import Literal

import msgspec

from httpdyno.model.base import Level, Record
from httpdyno.model.calls import CallFigures
from httpdyno.model.connecting import Connecting
from httpdyno.model.curve import PoolCurve
from httpdyno.model.header_words import HeaderWords
from httpdyno.model.host import HostFacts
from httpdyno.model.knob import Configuration, is_of_words, level_text
from httpdyno.model.log import LogLines
from httpdyno.model.look import Bottleneck, Look
from httpdyno.model.measurement import HistogramData
from httpdyno.model.ratio import RatioInterval
from httpdyno.model.start import Effective, TrialStatus
from httpdyno.model.study import Plan, Step
from httpdyno.model.system_calls import SystemCalls
from httpdyno.model.telemetry import WorkersSeen
from httpdyno.reason import Reason

Verdict = Literal["better", "worse", "equivalent", "inconclusive", "failed", "not_measured"]
"""`failed`: the candidate was refused, crashed, hung or broke; the arm's status says which.
`not_measured`: no figure can be had; the reason says why and what to do."""


class ResultWarning(Record, frozen=True):
    """What a result may be wrong about, or is not about."""

    reason: Reason
    within: tuple[str, ...] = ()
    """The parts of the run that have it: `calibration`, labels of steps; empty: all of it."""

    @property
    def code(self) -> str:
        """Return the kind of warning, such as `experiment.shared_cores`."""
        return self.reason.code


class PhaseFigures(Record, frozen=True):
    """One phase of an arm's turns over all its starts; 0 where there is nothing to divide by."""

    throughput_per_s: float = 0.0
    """Right answers that ended in the measured part."""
    cpu_s_per_request: float = 0.0
    error_ratio: float = 0.0
    latency_s: dict[str, float] = msgspec.field(default_factory=dict)
    """p50, p90, p99 where there are enough for it, and max."""
    start_latency_s: dict[str, tuple[float | None, ...]] = msgspec.field(default_factory=dict)
    """Percentiles of each start; (n_starts,), None where a start has too few."""
    requests_per_turn: float = 0.0
    """All that were offered, also before the measured part."""
    pss_bytes: float | None = None
    uss_bytes_per_process: float | None = None
    """What a process has for itself alone, on average."""
    n_processes: float = 0.0
    workers: tuple[WorkersSeen, ...] = ()
    """By program, at each turn's end of the phase."""


class ArmSummary(Record, frozen=True):
    """What one arm of a comparison did over all its starts."""

    configuration: Configuration
    status: TrialStatus = "complete"
    detail: tuple[Reason, ...] = ()
    """Why it is not complete."""
    n_starts: int = 0
    figures: dict[str, float] = msgspec.field(default_factory=dict)
    """By the names of metrics (`metrics/table.py`): of all that have one. A percentile is there if
    ten requests lie beyond it, or if the objective names it."""
    error_ratio: float = 0.0
    latency_s: dict[str, float] = msgspec.field(default_factory=dict)
    """mean, p50, p90, p95, p99, p999, max."""
    latency: HistogramData = HistogramData()
    phases: dict[str, PhaseFigures] = msgspec.field(default_factory=dict)
    """What the phases saw that do not decide."""
    start_latency_s: dict[str, tuple[float | None, ...]] = msgspec.field(default_factory=dict)
    """Of the phase that decides, as in those; empty without phases."""
    requests_per_turn: float = 0.0
    """Likewise; without phases of a window."""
    largest_pss_bytes: int | None = None
    """In any window."""
    n_processes: float = 0.0
    workers: tuple[WorkersSeen, ...] = ()
    """By program, at each start's last edge; empty where memory is not told."""
    zombies: dict[str, float] = msgspec.field(default_factory=dict)
    """Processes that had ended then and that nobody had asked how, by the name of their parent."""
    start_throughputs_per_s: tuple[float, ...] = ()
    """One for each start; (n_starts,)."""
    effective: Effective = Effective()
    """What the running server said of itself, in its first complete start."""
    limited_by: dict[str, int] = msgspec.field(default_factory=dict)
    """Windows by the load engine's verdict on who was the limit."""
    errors: dict[str, int] = msgspec.field(default_factory=dict)
    """Requests that did not get the right answer, by kind."""
    statuses: dict[str, int] = msgspec.field(default_factory=dict)
    """Answers by status, right ones and wrong ones."""
    look: Look | None = None
    """What the server was seen to do under load; None where nobody looked."""
    bottleneck: Bottleneck | None = None
    """What limited it then."""
    log: LogLines | None = None
    """What its error logs said while it was loaded; None where they cannot be read."""
    calls: CallFigures | None = None
    """Of a body that a program repeats; None of a server."""
    system_calls: SystemCalls | None = None
    """Of an answer, over all starts; None where the objective has nothing of them."""
    header_words: HeaderWords | None = None
    """Over all starts; None where the study counts no header."""
    connecting: Connecting = Connecting()

    @property
    def throughput_per_s(self) -> float:
        """Right answers of a second; 0 where nothing was measured."""
        return self.figures.get("throughput_per_s", 0.0)

    @property
    def cpu_s_per_request(self) -> float:
        """Of all processes of the server; 0 likewise."""
        return self.figures.get("cpu_s_per_request", 0.0)

    @property
    def pss_bytes(self) -> float | None:
        """Of all processes; None where it could not be read."""
        return self.figures.get("pss_bytes")

    @property
    def uss_bytes_per_process(self) -> float | None:
        """What a process has for itself alone, on average; None likewise."""
        return self.figures.get("uss_bytes_per_process")


class SecondClaim(Record, frozen=True):
    """What the starts prove of the objective's second metric; its interval is in `ratios`."""

    metric: str
    verdict: Verdict
    """Never `failed`: where the candidate did, there is no such claim."""
    reasons: tuple[Reason, ...]
    """Why this verdict; what else bears on it."""


class Comparison(Record, frozen=True):
    """A claim about two configurations, with its evidence."""

    index: int
    a: ArmSummary
    """The reference: the present best."""
    b: ArmSummary
    """The candidate."""
    verdict: Verdict
    reasons: tuple[Reason, ...]
    """Why this verdict; what else bears on it."""
    metric: str
    n_starts: int
    decided_by: str = ""
    """The tie breaker, where it decided; empty where the metric did."""
    second: SecondClaim | None = None
    """None where the objective has none, the candidate failed, and in what was stored earlier."""
    also: tuple[SecondClaim, ...] = ()
    """Of the further metrics asked for, in their order; empty where the candidate failed."""
    ratios: dict[str, RatioInterval] = msgspec.field(default_factory=dict)
    """throughput, cpu_per_request, latency_p50, latency_p90, latency_p99: b over a. Each has a
    confidence of its own; those that are neither decided by nor claimed of claim nothing."""
    per_start_ratio: tuple[float, ...] = ()
    """The objective metric's ratio in each start; (n_starts,)."""
    noise: dict[str, float] = msgspec.field(default_factory=dict)
    """between_starts and between_windows: standard deviations of the log ratio."""
    needed_s: float | None = None
    """Time that an inconclusive comparison would still need, estimated."""
    is_doubted: bool = False
    """Whether its figures contradict each other by more than lets anything be claimed."""
    duration_s: float = 0.0
    warnings: tuple[ResultWarning, ...] = ()


class LadderStep(Record, frozen=True):
    """One rung: what was changed and whether it stays."""

    title: str
    comparison: Comparison
    kept: bool
    knob: str = ""
    """Empty where it was a candidate."""
    before: Level = ""
    after: Level = ""
    candidate: str = ""
    """Its name; empty where one knob was changed."""
    changed: dict[str, tuple[Level, Level]] = msgspec.field(default_factory=dict)
    """What the candidate changed: knob → (before, after); empty where one knob was changed."""
    attempt: int = 1
    """2 where it was tried again, because a later change that was kept may have freed it."""
    book_ratio: float | None = None
    running_ratio: float = 1.0
    """Product of the ratios of the changes kept so far."""

    @property
    def name(self) -> str:
        """Of the knob, or of the candidate."""
        return self.candidate or self.knob

    @property
    def changes(self) -> dict[str, tuple[Level, Level]]:
        """What was changed, by knob: (before, after)."""
        return self.changed if self.candidate else {self.knob: (self.before, self.after)}

    @property
    def label(self) -> str:
        """`knob → level`, or the candidate's name: what tells it from other steps."""
        return self.candidate or f"{self.knob} → {level_text(self.after)}"

    @property
    def change(self) -> str:
        """`knob: before → after`, or `candidate: knob before → after, …`."""
        if not self.candidate:
            return f"{self.knob}: {level_text(self.before)} → {level_text(self.after)}"
        return f"{self.candidate}: {', '.join(self.change_lines)}"

    @property
    def change_lines(self) -> tuple[str, ...]:
        """`before → after`, or of a candidate `knob before → after` for each of its knobs."""
        if not self.candidate:
            return (f"{level_text(self.before)} → {level_text(self.after)}",)
        return tuple(
            f"{name} {level_text(before)} → {level_text(after)}"
            for name, (before, after) in self.changed.items()
        )


class SweepPoint(Record, frozen=True):
    """One level of a sweep against the sweep's best level."""

    level: Level
    arm: ArmSummary
    ratio_to_best: RatioInterval | None
    """None for the best level itself, and where it could not run or nothing is bounded yet."""
    next_throughput: RatioInterval | None = None
    """Throughput of the next level that runs over this one's; None where nothing is bounded."""
    value: float = 0.0
    """Of the sweep's metric; 0 where it could not run."""
    low: float = 0.0
    high: float = 0.0
    latency_p99_s: float = 0.0
    """0 where the sample cannot carry it."""


class Sweep(Record, frozen=True):
    """A curve with intervals, and its knee; of levels that are words no curve, and a choice."""

    knob: str
    unit: str
    points: tuple[SweepPoint, ...]
    best: Level
    knee: Level
    """Of levels that are words: the best of them, or the start."""
    rule: Reason
    """How that was chosen, in words."""
    metric: str = "throughput_per_s"
    """What the curve is of."""
    pool: PoolCurve | None = None
    """What it says of the server's pool; None where the knob sets nothing of one."""

    @property
    def is_of_words(self) -> bool:
        """Whether nothing lies between two levels."""
        return is_of_words(point.level for point in self.points)

    @property
    def word(self) -> str:
        """What `knee` is called: of words the best."""
        return "best" if self.is_of_words else "knee"


class Effect(Record, frozen=True):
    """What a knob changes on the mean over all combinations of the others; or an interaction."""

    knobs: tuple[str, ...]
    """One: its effect. Two: by what the effect of one is larger with the other than without it."""
    verdict: Verdict
    """Of an interaction: whether both together bring more or less than each brings alone."""
    ratio: RatioInterval | None
    """Other level over start; of two knobs a ratio of such ratios. None where nothing is bound."""
    reasons: tuple[Reason, ...] = ()
    """Over which combinations it is, or why there is none; what else bears on it."""
    decided_by: str = ""
    """The tie breaker, where it decided; else empty."""
    tie: RatioInterval | None = None
    """The same ratio of the tie breaker; None where there is none, and of two knobs."""


class SimpleEffect(Record, frozen=True):
    """What a knob changes where another one is at one level; on the mean over any further ones."""

    knob: str
    given: str
    is_given_changed: bool
    """Whether that one is at its other level, not at its start."""
    ratio: RatioInterval | None


class Factorial(Record, frozen=True):
    """Every combination of knobs with two levels: effects, interactions, and what each comes to."""

    levels: dict[str, tuple[Level, Level]]
    """Knob → (start, other level)."""
    metric: str
    n_starts: int
    """That gave a figure for every combination which runs."""
    arms: tuple[ArmSummary, ...]
    """(2^k,): in number c, knob j is at its other level where bit j of c is 1."""
    effects: tuple[Effect, ...]
    """Of each knob, then of each pair; they and the simple effects hold together."""
    simple: tuple[SimpleEffect, ...]
    """Four of each pair."""
    unclaimed: tuple[Reason, ...] = ()
    """Why nothing is claimed of these figures; empty where something may be."""
    gone: tuple[int, ...] = ()
    """Combinations that do not run, by their number: no effect has them."""
    tie_breaker: str = ""
    """The metric that decides of a knob where the first shows no difference; empty for none."""


class Outcome(Record, frozen=True):
    """Everything a study found; what reports are made of."""

    id: str
    status: Literal["running", "complete", "interrupted", "failed"]
    plan: Plan
    host: HostFacts
    began_at: str
    duration_s: float
    steps: tuple[LadderStep, ...] = ()
    final: Comparison | None = None
    """Final over start on fresh starts; for `compare`, the comparison itself."""
    sweep: Sweep | None = None
    factorial: Factorial | None = None
    calibration: dict[str, float] = msgspec.field(default_factory=dict)
    configuration: Configuration = Configuration()
    """What the run settled on: of a ladder what its steps kept, of a sweep the knee, of `compare`
    the second one where it is better. The start (of `compare` the first one) where the final claim
    did not bear that out, and as long as the run has not ended."""
    overlay_diff: str = ""
    """Unified diff of the server's files and environment, start against final."""
    warnings: tuple[ResultWarning, ...] = ()
    not_tried: tuple[Step, ...] = ()
    """Steps of the plan for which there was no time."""
    needed_s: float | None = None
    """Time that they would take, estimated; None where all were tried."""
    withdrawn: Reason | None = None
    """Why what the steps kept was taken back at the end; None where it was not."""
    ended_by: tuple[Reason, ...] = ()
    """Why it was interrupted, or failed."""
