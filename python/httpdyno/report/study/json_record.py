"""The types of a study's outcome as JSON: what each field is, and which there are."""

from httpdyno.model import (
    Bottleneck,
    CallFigures,
    Fragments,
    HeaderWords,
    HostFacts,
    Level,
    LogLines,
    Look,
    Method,
    Objective,
    PhaseFigures,
    PoolCurve,
    Record,
    TrialStatus,
    Verdict,
    WorkersSeen,
    Workload,
)
from httpdyno.report.shared.caveat import Caveat
from httpdyno.report.study.settling_text import SettlingJson


class RatioJson(Record, frozen=True):
    """After over before, with an anytime-valid interval over starts; 1 is no difference."""

    ratio: float
    low: float
    high: float | None
    """None where the data bound nothing from above."""
    confidence: float


class ArmJson(Record, frozen=True):
    """What one configuration did over all its starts."""

    configuration: dict[str, Level]
    status: TrialStatus
    detail: str
    n_starts: int
    throughput_per_s: float
    cpu_s_per_request: float
    bytes_per_request: float
    """Received for each right answer, heads included."""
    calls_per_request: float | None
    """System calls of an answer; null where the objective has nothing of them."""
    calls_by_kind: dict[str, float]
    """The same by kind, without those that no answer took."""
    lookups_per_request: float | None
    """Questions to the server's resolver of names for each right answer; null where it has none of
    its own."""
    handshakes_full_per_request: float
    """TLS handshakes for which the server signed, for each right answer; 0 without TLS. So is
    the next."""
    handshakes_resumed_per_request: float
    """Those that took up a former session."""
    listen_overflows: int
    """Times that a connect found the listen queue full, of all windows, in the whole network
    namespace: on a machine that serves others too, some are theirs. So is the next."""
    syn_retransmits: int
    """Connects, and answers to them, that were sent again, the first after a second."""
    error_ratio: float
    statuses: dict[str, int]
    """Answers by their status, of all windows."""
    errors: dict[str, int]
    """Requests that did not get the right answer, by kind, of all windows."""
    latency_s: dict[str, float]
    times_s: dict[str, float]
    """Percentiles of what the objective names besides, such as `page_p90`."""
    figures: dict[str, float]
    """Of the metrics that the objective names, by their names, such as `calls_per_request of open`;
    what could not be measured is left out."""
    phases: dict[str, PhaseFigures]
    """The phases of a turn that do not decide, by their names."""
    pss_bytes: float | None
    usual_throughput_per_s: float | None
    """Of the users who are not slow; None where none are."""
    slow_throughput_per_s: float | None
    """Of those who are; None where none are."""
    uss_bytes_per_process: float | None
    """What a process has for itself alone, on average."""
    ready_s: float | None
    """From its spawning until it was ready, on average; None where the objective has nothing of
    it."""
    n_processes: float
    workers: tuple[WorkersSeen, ...]
    """Processes by program, as the last window of each start left them: how many, in which state,
    how old they are, and of each figure the median and the largest: memory, CPU time, switches and
    major faults since they began, descriptors, threads. Those that have others below them are none.
    What was not told is left out."""
    zombies: dict[str, float]
    """Processes that had ended then and that nobody had asked how, the mean over starts, by the
    name of their parent; empty where that is none of the server."""
    start_throughputs_per_s: tuple[float, ...]
    effective: dict[str, str]
    """What the running server said of itself, in its own words."""
    limited_by: dict[str, int]
    """Windows by who was the limit in them."""
    bottleneck: Bottleneck | None
    """What limited the server under load, with what says so; null where nobody looked: that is done
    once in a run for each configuration, after a start's windows. `look` is what was seen then."""
    look: Look | None
    log: LogLines | None
    """What came into the server's error logs from when it was ready to the end of its load, by
    kinds, of all starts; null where none can be read."""
    calls: CallFigures | None
    """What a call of a body of code takes, the empty body's time taken off; null of a server."""
    header_words: HeaderWords | None
    """How many answers had which first word in the header that the study counts, beside the
    windows, of all starts: `counts`, and `n_without` for those without it, left out where 0.
    `beside` has the phases that do not decide. Null where the study counts none."""


class SecondJson(Record, frozen=True):
    """What the starts prove of another metric; its interval is among the ratios."""

    metric: str
    verdict: Verdict
    reason: str


class ClaimJson(Record, frozen=True):
    """What a comparison proves, and how.

    Of the ratios, those of `metric` and of what is told beside it share the objective's risk. The
    others claim nothing: the confidence of each is for itself alone.
    """

    change: str
    verdict: Verdict
    reason: str
    metric: str
    decided_by: str
    """The tie breaker, where that decided; else empty."""
    second: SecondJson | None
    """What is proven of the second metric, whose interval is among the ratios. None where the study
    has none, or the candidate failed. `also` is the same of further metrics."""
    also: tuple[SecondJson, ...]
    ratios: dict[str, RatioJson]
    """After over before, of every metric that the starts bound and a report may show: `throughput`,
    `cpu_per_request`, `memory`, `latency_p99`, and what the objective names besides, such as
    `latency_p90 of search` or `calls_per_request of open`."""
    book_ratio: float | None
    """The founding documents' figure."""
    n_starts: int
    per_start_ratio: tuple[float, ...]
    noise: dict[str, float]
    needed_s: float | None
    """Time that an inconclusive comparison would still take, estimated."""
    duration_s: float
    caveats: tuple[Caveat, ...]
    before_arm: ArmJson
    after_arm: ArmJson


class ChangeJson(Record, frozen=True):
    """A knob that a step changed."""

    knob: str
    before: Level
    after: Level


class StepJson(ClaimJson, frozen=True):
    """One change of a ladder against the best so far."""

    knob: str
    """Empty where it was a candidate."""
    title: str
    before: Level | None
    after: Level | None
    """None, both, where it was a candidate."""
    candidate: str
    """Its name; empty where one knob was changed."""
    changes: tuple[ChangeJson, ...]
    """What was changed: one knob, or those of the candidate."""
    kept: bool
    """Of several candidates that are compared with one: whether it is better, within limits."""
    attempt: int
    """2 where it was tried again after a later change was kept."""
    running_ratio: float
    """Product of the ratios of the changes kept so far."""


class FinalJson(ClaimJson, frozen=True):
    """Final (of a sweep: the knee) over start on fresh starts; for `compare`, b over a."""

    configuration: dict[str, Level]


class PointJson(Record, frozen=True):
    """One level of a sweep."""

    level: Level
    throughput_per_s: float
    throughput_low_per_s: float | None
    throughput_high_per_s: float | None
    """None, both, where the data bound nothing, and where the curve is of something else."""
    value: float | None
    """Of the sweep's metric; None where the level did not run."""
    low: float | None
    high: float | None
    """None, both, where the data bound nothing."""
    ratio_to_best: RatioJson | None
    """None for the best level itself, and where there is none."""
    book_ratio: float | None
    cpu_s_per_request: float
    latency_p50_s: float | None
    latency_p99_s: float | None
    arm: ArmJson


class SweepJson(Record, frozen=True):
    """A knob over its levels."""

    knob: str
    unit: str
    points: tuple[PointJson, ...]
    metric: str
    """What the curve is of."""
    best: Level
    knee: Level
    """Of levels that are words: the best of them, or the start."""
    rule: str
    pool: PoolCurve | None
    """What a worker takes of memory, or what a birth costs, or why that is not known; null where
    the knob sets neither the number of workers nor the length of their lives."""


class EffectJson(Record, frozen=True):
    """What a knob changes; or of two knobs, their interaction."""

    knobs: tuple[str, ...]
    """One: on the mean over all combinations of the others. Two: by what the effect of one is
    larger with the other than without it."""
    verdict: Verdict
    """Of an interaction: whether both together bring more (better) or less than each alone."""
    ratio: RatioJson | None
    reason: str
    """Over which combinations it is, or why it cannot be told; empty where all run."""
    decided_by: str
    """The tie breaker, where it decided; empty elsewhere."""
    tie_ratio: RatioJson | None
    """Of the tie breaker; None where there is none, and of two knobs."""


class SimpleEffectJson(Record, frozen=True):
    """What a knob changes where another one is at one level."""

    knob: str
    given: str
    is_given_changed: bool
    """Whether that one is at its other level, not at its start."""
    ratio: RatioJson | None


class FactorJson(Record, frozen=True):
    """A knob of a factorial, with both levels."""

    knob: str
    start: Level
    to: Level


class FactorialJson(Record, frozen=True):
    """Every combination of knobs with two levels. All intervals of it hold together."""

    knobs: tuple[FactorJson, ...]
    metric: str
    n_starts: int
    effects: tuple[EffectJson, ...]
    simple_effects: tuple[SimpleEffectJson, ...]
    sentences: tuple[str, ...]
    """What the proven interactions mean."""
    doubt: str
    """Why nothing is claimed; empty where something may be."""
    tie_breaker: str
    """Empty for none."""
    not_run: tuple[dict[str, Level], ...]
    """Combinations that do not run: no effect has them."""
    arms: tuple[ArmJson, ...]


class PlanJson(Record, frozen=True):
    """What the run set out to do."""

    title: str
    adapter: str
    budget_s: float | None
    """None where it went on until decided."""
    workload: Workload | None
    """That of the start: with other configurations knobs of the load set some of it. Null where
    nothing is requested: of a study about code, which has `fragments`."""
    fragments: Fragments | None
    objective: Objective
    method: Method
    steps: tuple[str, ...]
    start: dict[str, Level]
    reference: dict[str, Level] | None
    """What each step is compared with, where all have the same reference; None elsewhere."""
    confidence_of_each: float
    """Of each comparison, where several share the objective's risk."""
    book_figure: str
    book_ratio: float | None


class OutcomeJson(Record, frozen=True):
    """Everything a study found."""

    schema_version: int
    id: str
    study: str
    command: str
    status: str
    headline: str
    message: str
    began_at: str
    duration_s: float
    seed: int
    plan: PlanJson
    host: HostFacts
    caveats: tuple[Caveat, ...]
    steps: tuple[StepJson, ...]
    final: FinalJson | None
    sweep: SweepJson | None
    factorial: FactorialJson | None
    settling: tuple[SettlingJson, ...]
    """From which phase after an event on each arm's latency is that of the last phase; empty where
    the phases are no windows of equal load after one. Nothing is claimed of it."""
    calibration: dict[str, float]
    configuration: dict[str, Level]
    overlay_diff: str
    """What to change in the server's files, environment and command line, start against final."""
    not_tried: tuple[str, ...]
    """Steps that were left out for want of time."""
    needed_s: float | None
    """Time that they would take, estimated."""
    withdrawn: str
    """Why what was kept was taken back at the end; empty where it was not."""
