"""Small but complete domain records for tests; what is stored has values unlike its defaults."""

from httpdyno.experiment.trial.engine_loads import said
from httpdyno.model import (
    ArmSummary,
    Comparison,
    Configuration,
    Effective,
    Evidence,
    HistogramData,
    HostFacts,
    Instance,
    Knob,
    LadderStep,
    LoadOutcome,
    LogKind,
    LogLines,
    Measurement,
    Method,
    Objective,
    Outcome,
    Plan,
    RatioInterval,
    RequestSpec,
    ResultWarning,
    ServerSpec,
    StartRecord,
    Step,
    Study,
    Telemetry,
    TurnsOutcome,
    TurnsPlan,
    WindowRecord,
    Workload,
)
from httpdyno.reason import because

BEGAN_AT = "2026-03-01T12:00:00.000+00:00"


def sample_plan(name: str = "sample", seed: int = 7) -> Plan:
    """Return a ladder of one change."""
    study = Study(
        name=name,
        title="A sample",
        folder="studies/sample",
        server=ServerSpec(adapter="gunicorn", settings={"preload": True, "ratio": 1.0, "n": 1}),
        knobs=(Knob(name="workers", start=1, levels=(2, 4), title="Workers"),),
        workload=Workload(requests=(RequestSpec(path="/a", headers=(("X-A", "é"),)),)),
        objective=Objective(),
        method=Method(window_s=0.25, lead_in_s=0.1),
        budget_s=60.0,
    )
    return Plan(study=study, seed=seed, steps=(Step(knob="workers", to=2, book_ratio=1.5),))


def sample_host() -> HostFacts:
    """Return a machine."""
    return HostFacts(
        httpdyno="0.1.0",
        python="3.11.7",
        kernel="Linux 6.1",
        cpu="a processor",
        n_cpus=2,
        memory_bytes=8 << 30,
        limits={"open_files": 1024},
        load_average=(0.1, 0.2, 0.3),
        client_cpus=(1,),
        server_cpus=(0,),
    )


def sample_window(
    comparison: int = 0, start: int = 0, block: int = 0, arm: int = 0, *, completed: int = 240
) -> WindowRecord:
    """Return a window with ten errors beside the right answers."""
    measurement = Measurement(
        opened_s=100.0 + block,
        measured_s=0.25,
        total_s=0.36,
        offered=completed + 10,
        completed=completed,
        errors={"timeout": 10},
        statuses={"200": completed},
        measured_offered=completed,
        measured_completed=completed,
        latency=HistogramData(
            bounds_ns=(1_000_000, 2_000_000, 9_000_000),
            counts=(completed // 2, completed // 2 - 1, 1),
            sum_s=0.4,
            max_s=0.009,
        ),
        series_completed=(completed // 2, completed // 2),
        limited_by="server",
        evidence=Evidence(busy_ratio=0.4),
    )
    telemetry = Telemetry(cpu_s=0.12, pss_bytes=30 << 20, n_processes=3)
    return WindowRecord(
        comparison=comparison,
        start=start,
        block=block,
        arm=arm,
        measurement=measurement,
        telemetry=telemetry,
    )


def sample_load(url: str) -> LoadOutcome:
    """Return a load test of a quarter of a second."""
    return LoadOutcome(
        measurement=sample_window().measurement,
        workload=Workload(connections=4, requests=(RequestSpec(path="/a"),)),
        host=sample_host(),
        url=url,
        address="127.0.0.1:80",
        began_at=BEGAN_AT,
        seed=7,
        fail_if=("p99 > 200ms",),
    )


def sample_turns(*urls: str) -> TurnsOutcome:
    """Return running servers in turns, each against the first, with one bound left open."""
    interval = RatioInterval(ratio=1.2, low=0.0, high=float("inf"), confidence=0.95)
    arm = ArmSummary(configuration=Configuration(), figures={"throughput_per_s": 100.0})
    return TurnsOutcome(
        plan=TurnsPlan(
            instances=tuple(
                Instance(url=url, address="127.0.0.1:80", process="nginx 812") for url in urls
            ),
            workload=Workload(connections=4, requests=(RequestSpec(path="/a"),)),
            duration_s=12.0,
            seed=7,
        ),
        comparisons=tuple(
            Comparison(
                index=candidate,
                a=arm,
                b=arm,
                verdict="inconclusive",
                reasons=said("the interval still holds 1"),
                metric="throughput_per_s",
                n_starts=12,
                ratios={"throughput": interval},
                per_start_ratio=(1.1, 1.3),
                needed_s=90.0,
            )
            for candidate in range(1, len(urls))
        ),
        objective=Objective(),
        host=sample_host(),
        began_at=BEGAN_AT,
        duration_s=12.5,
        n_periods=12,
        turn_s=0.4,
        warnings=(ResultWarning(reason=because("experiment.instances_only", n=2)),),
    )


def sample_start(comparison: int = 0, start: int = 0, *, n_blocks: int = 2) -> StartRecord:
    """Return a start of two arms with all of its windows."""
    return StartRecord(
        comparison=comparison,
        start=start,
        began_at=BEGAN_AT,
        duration_s=3.5,
        statuses=("complete", "complete"),
        details=((), ()),
        ready_s=(0.2, 0.3),
        effective=(Effective(values={"workers": "1"}), Effective(values={"workers": "2"})),
        log_lines=(
            LogLines(
                n_lines=3,
                kinds=(LogKind(form="late by # s", example="late by 3 s", count=2, level="error"),),
                unread_bytes=7,
            ),
            None,
        ),
        windows=tuple(
            sample_window(comparison, start, block, arm)
            for block in range(n_blocks)
            for arm in ((0, 1) if block % 2 else (1, 0))
        ),
    )


def sample_comparison(index: int = 0) -> Comparison:
    """Return a comparison that found the candidate better, with one bound left open."""
    return Comparison(
        index=index,
        a=ArmSummary(configuration=Configuration(values={"workers": 1}), n_starts=6),
        b=ArmSummary(configuration=Configuration(values={"workers": 2}), n_starts=6),
        verdict="better",
        reasons=said("the whole interval is above 1.01"),
        metric="throughput_per_s",
        n_starts=6,
        ratios={
            "throughput": RatioInterval(ratio=1.9, low=1.8, high=2.0, confidence=0.95),
            "latency_p99": RatioInterval(ratio=0.5, low=0.0, high=float("inf"), confidence=0.95),
        },
    )


def sample_outcome(run_id: str, plan: Plan | None = None) -> Outcome:
    """Return the outcome of a ladder that kept its one change."""
    comparison = sample_comparison()
    step = LadderStep(
        knob="workers", title="Workers", before=1, after=2, comparison=comparison, kept=True
    )
    return Outcome(
        id=run_id,
        status="complete",
        plan=plan or sample_plan(),
        host=sample_host(),
        began_at=BEGAN_AT,
        duration_s=41.5,
        steps=(step,),
        final=comparison,
        configuration=Configuration(values={"workers": 2}),
        warnings=(ResultWarning(reason=because("experiment.shared_cores", n_cores=2)),),
    )
