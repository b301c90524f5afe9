"""Realistic outcomes to make reports of, built by code: same bytes every time."""

import math
from functools import cache
from statistics import NormalDist
from typing import Any

from msgspec import structs

from httpdyno.model import (
    ArmSummary,
    Caveat,
    Comparison,
    Configuration,
    Effective,
    HistogramData,
    HostFacts,
    Knob,
    LadderStep,
    Level,
    Method,
    Objective,
    Outcome,
    Plan,
    RatioInterval,
    RequestSpec,
    ServerSpec,
    Step,
    Study,
    Sweep,
    SweepPoint,
    TrialStatus,
    Verdict,
    Workload,
)
from httpdyno.stats.histogram import can_show, mean_s, quantile_s
from httpdyno.stats.knee import KNEE_RULE

HOST = HostFacts(
    httpdyno="0.1.0",
    python="3.11.2",
    kernel="Linux 6.1.0-26-amd64",
    cpu="AMD EPYC 7B13",
    n_cpus=2,
    memory_bytes=8_323_006_464,
    limits={"open_files": 1_048_576, "local_ports": 28_232, "somaxconn": 4096},
    load_average=(0.42, 0.35, 0.21),
    server="Apache/2.4.62 (Debian) mod_perl/2.0.12 Perl/v5.36.0",
)


@cache
def latency_data(median_s: float, spread: float, n: int) -> HistogramData:
    """Return a log-normal latency distribution of `n` requests on a three-digit grid."""
    normal, values = NormalDist(), []
    counts: dict[int, int] = {}
    for rank in range(n):
        values.append(median_s * math.exp(spread * normal.inv_cdf((rank + 0.5) / n)))
        grid = 10 ** (math.floor(math.log10(values[-1] * 1e9)) - 2)
        bound_ns = math.ceil(values[-1] * 1e9 / grid) * grid
        counts[bound_ns] = counts.get(bound_ns, 0) + 1
    return HistogramData(
        bounds_ns=tuple(counts), counts=tuple(counts.values()), sum_s=sum(values), max_s=values[-1]
    )


def arm(
    values: dict[str, Level],
    throughput_per_s: float,
    *,
    clients: int = 5,
    cores: float = 1.9,
    n_starts: int = 6,
) -> ArmSummary:
    """Return an arm that a closed loop of `clients` kept busy."""
    latency = latency_data(clients / throughput_per_s * 0.93, 0.38, int(throughput_per_s * 6))
    quantiles = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
    return ArmSummary(
        configuration=Configuration(values=values),
        n_starts=n_starts,
        throughput_per_s=throughput_per_s,
        cpu_s_per_request=cores / throughput_per_s,
        statuses={"200": int(throughput_per_s * 6)},
        latency_s={
            "mean": mean_s(latency),
            **{
                name: quantile_s(latency, q)
                for name, q in quantiles.items()
                if can_show(latency, q)
            },
            "max": latency.max_s,
        },
        latency=latency,
        pss_bytes=61_500_000.0,
        n_processes=6.0,
        start_throughputs_per_s=tuple(
            throughput_per_s * (1 + 0.012 * math.sin(2.1 * i + throughput_per_s))
            for i in range(n_starts)
        ),
    )


def interval(ratio: float, half_width: float) -> RatioInterval:
    """Return a 95 % interval that is symmetric on the log scale."""
    return RatioInterval(
        ratio=ratio,
        low=ratio * math.exp(-half_width),
        high=ratio * math.exp(half_width),
        confidence=0.95,
    )


def comparison(  # noqa: PLR0913 - a sample's every figure is given
    index: int,
    a: ArmSummary,
    b: ArmSummary,
    verdict: Verdict,
    reason: str,
    *,
    half_width: float = 0.03,
    needed_s: float | None = None,
) -> Comparison:
    """Return a comparison whose ratios follow from the arms."""
    ratio = b.throughput_per_s / a.throughput_per_s
    return Comparison(
        index=index,
        a=a,
        b=b,
        verdict=verdict,
        reason=reason,
        metric="throughput_per_s",
        n_starts=6,
        ratios={
            "throughput": interval(ratio, half_width),
            "cpu_per_request": interval(b.cpu_s_per_request / a.cpu_s_per_request, half_width / 2),
            "latency_p50": interval(1.01 / ratio, half_width),
            "latency_p90": interval(1.02 / ratio, half_width * 1.3),
            "latency_p99": interval(1.1 / ratio, half_width * 3),
        },
        per_start_ratio=tuple(
            ratio * math.exp(half_width * 0.7 * math.sin(1.7 * i + index)) for i in range(6)
        ),
        noise={"between_starts": half_width / 2, "between_windows": 0.041},
        needed_s=needed_s,
        duration_s=31.5,
    )


KNOBS = (
    Knob(
        name="state_dir",
        title="where Apache::ASP keeps sessions",
        start="disk",
        levels=("memory",),
        why="every request reads and writes a session file",
        book_ratio=(2.16,),
    ),
    Knob(name="asp_debug", title="Apache::ASP's Debug", start=1, levels=(0,), book_ratio=(1.12,)),
    Knob(
        name="access_file",
        title="where the handler is configured",
        start=".htaccess",
        levels=("httpd.conf",),
        book_ratio=(1.09,),
    ),
    Knob(
        name="MaxConnectionsPerChild",
        title="requests that a child serves before it is replaced",
        start=50,
        levels=(500,),
        why="a new child compiles every page again",
        book_ratio=(1.31,),
    ),
    Knob(
        name="session_serialize",
        title="lock the session for the whole request",
        start=0,
        levels=(1,),
        book_ratio=(1.12,),
    ),
    Knob(name="workers", title="MaxRequestWorkers", start=5, levels=(2,)),
)
STEPS: tuple[tuple[float, Verdict, str, float, float | None], ...] = (
    (2.431, "better", "the whole interval is above 1", 0.031, None),
    (1.162, "better", "the whole interval is above 1", 0.022, None),
    (1.001, "equivalent", "the whole interval lies within ±1 %", 0.0085, None),
    (1.642, "better", "the whole interval is above 1", 0.028, None),
    (1.018, "inconclusive", "the interval holds both 1 and a worthwhile gain", 0.047, 190.0),
    (0.871, "worse", "the whole interval is below 1", 0.024, None),
)


def _study(name: str, title: str, knobs: tuple[Knob, ...], method: Method, **more: Any) -> Study:
    return Study(
        name=name,
        title=title,
        folder=f"studies/{name}",
        server=ServerSpec(adapter="apache"),
        knobs=knobs,
        workload=Workload(
            requests=(RequestSpec(path="/index"),),
            connections=more.get("connections", 5),
            requests_per_connection=1,
        ),
        objective=Objective(),
        method=method,
        budget_s=280.0,
        about="The article tuned one setting after the other and kept what helped.",
        book_figure=more.get("book_figure", ""),
        book_ratio=more.get("book_ratio"),
    )


def ladder() -> Outcome:
    """Return a complete ladder: better, equivalent, inconclusive and worse steps."""
    study = _study(
        "asp-bookmarks",
        "The Apache::ASP article's bookmarks application",
        KNOBS,
        Method(),
        book_figure="6.5 → 25.74 hits/s over the five steps",
        book_ratio=3.96,
    )
    start = study.start_configuration()
    best, rate, running, steps = start, 112.4, 1.0, []
    for index, (knob, (ratio, verdict, reason, width, needed_s)) in enumerate(
        zip(KNOBS, STEPS, strict=True)
    ):
        candidate = best.replaced(knob.name, knob.levels[0])
        kept = verdict == "better"
        compared = comparison(
            index,
            arm(dict(best.values), rate),
            arm(dict(candidate.values), rate * ratio),
            verdict,
            reason,
            half_width=width,
            needed_s=needed_s,
        )
        if kept:
            best, rate, running = candidate, rate * ratio, running * ratio
        steps.append(
            LadderStep(
                knob=knob.name,
                title=knob.title,
                before=knob.start,
                after=knob.levels[0],
                comparison=compared,
                kept=kept,
                book_ratio=knob.book_ratio[0] if knob.book_ratio else None,
                running_ratio=running,
            )
        )
    return Outcome(
        id="20250611-asp-7f3a",
        status="complete",
        plan=Plan(
            study=study,
            seed=42,
            steps=tuple(
                Step(knob=k.name, to=k.levels[0], book_ratio=(k.book_ratio or (None,))[0])
                for k in KNOBS
            ),
        ),
        host=HOST,
        began_at="2025-06-11T09:14:03Z",
        duration_s=274.3,
        steps=tuple(steps),
        final=comparison(
            len(KNOBS),
            arm(dict(start.values), 112.4),
            arm(dict(best.values), 551.2),
            "better",
            "the whole interval is above 1",
            half_width=0.064,
        ),
        calibration={"overhead_s": 1.2, "block_s": 0.7, "n_blocks": 4.0, "detectable_ratio": 1.03},
        configuration=best,
        overlay_diff=(
            "--- start/asp.conf\n+++ final/asp.conf\n@@ -3,5 +3,5 @@\n ServerLimit 5\n"
            "-MaxConnectionsPerChild 50\n+MaxConnectionsPerChild 500\n"
            "-PerlSetVar StateDir /var/run/dyno/state\n+PerlSetVar StateDir /dev/shm/dyno/state\n"
            "-PerlSetVar Debug 1\n+PerlSetVar Debug 0\n"
        ),
        caveats=(
            Caveat(
                kind="shared_cores",
                message="client and server share 2 cores; the client took 9 % of them",
            ),
        ),
    )


def sweep() -> Outcome:
    """Return a complete sweep with a knee at 8 and a level that would not start."""
    levels = (1, 2, 4, 8, 16, 32, 64, 128, 256)
    rates = (3120.0, 5430.0, 6010.0, 6190.0, 6205.0, 6080.0, 5590.0, 4610.0, 3180.0)
    book = (None, None, None, None, None, None, None, 0.99, 0.93)
    knob = Knob(
        name="MaxRequestWorkers",
        title="processes that serve requests",
        start=256,
        levels=levels[:-1],
        unit="processes",
        book_ratio=book[:-1],
    )
    points = []
    for level, rate in zip(levels, rates, strict=True):
        width = 0.012 if level < 64 else 0.035
        points.append(
            SweepPoint(
                level=level,
                arm=arm({knob.name: level}, rate, clients=300),
                ratio_to_best=None if level == 16 else interval(rate / 6205.0, width),
                throughput_low_per_s=rate * math.exp(-width),
                throughput_high_per_s=rate * math.exp(width),
                latency_p99_s=300 / rate * 2.1,
            )
        )
    refused = ArmSummary(
        configuration=Configuration(values={knob.name: 512}),
        status="refused",
        detail="AH00180: MaxRequestWorkers of 512 exceeds ServerLimit value of 256",
    )
    points.append(SweepPoint(level=512, arm=refused, ratio_to_best=None))
    study = _study(
        "maxclients",
        "MaxClients under a handler that only computes",
        (knob,),
        Method(kind="sweep", knob=knob.name),
        connections=300,
        book_figure="755 to 791 to 741 requests/s for MaxClients 100 to 150 to 250",
    )
    return Outcome(
        id="20250611-maxc-11d0",
        status="complete",
        plan=Plan(
            study=study,
            seed=7,
            steps=tuple(
                Step(knob=knob.name, to=n, book_ratio=r) for n, r in zip(levels, book, strict=True)
            ),
        ),
        host=HOST,
        began_at="2025-06-11T10:01:00Z",
        duration_s=172.0,
        sweep=Sweep(
            knob=knob.name,
            unit=knob.unit,
            points=tuple(points),
            best=16,
            knee=8,
            rule=KNEE_RULE,
        ),
        final=comparison(
            2,
            arm({knob.name: 256}, 3180.0, clients=300),
            arm({knob.name: 8}, 6190.0, clients=300),
            "better",
            "the whole interval lies on one side of 1 after 6 starts",
        ),
        calibration={"overhead_s": 1.9, "block_s": 6.4, "n_blocks": 2.0},
        configuration=Configuration(values={knob.name: 8}),
    )


def a_against_a() -> Outcome:
    """Return a configuration compared with itself."""
    study = _study("bookmarks", "A bookmarks application under gunicorn", KNOBS[:2], Method())
    start = study.start_configuration()
    values = dict(start.values)
    return Outcome(
        id="20250611-book-90ab",
        status="complete",
        plan=Plan(study=study, seed=3, compare=(start, start), command="compare"),
        host=HOST,
        began_at="2025-06-11T11:00:00Z",
        duration_s=60.4,
        final=comparison(
            0,
            arm(values, 801.0),
            arm(values, 803.4),
            "equivalent",
            "the whole interval lies within ±1 %",
            half_width=0.0061,
        ),
        configuration=start,
    )


def failed_start(status: TrialStatus = "crashed") -> Outcome:
    """Return a ladder of one step whose candidate did not start."""
    whole = ladder()
    step = whole.steps[0]
    broken = ArmSummary(
        configuration=step.comparison.b.configuration,
        status=status,
        detail="(28)No space left on device: AH00023: couldn't create the mutex",
    )
    compared = Comparison(
        index=0,
        a=step.comparison.a,
        b=broken,
        verdict="failed",
        reason="the candidate crashed at its start",
        metric="throughput_per_s",
        n_starts=0,
    )
    failed = LadderStep(
        knob=step.knob,
        title=step.title,
        before=step.before,
        after=step.after,
        comparison=compared,
        kept=False,
        book_ratio=step.book_ratio,
    )
    return Outcome(
        id="20250611-asp-dead",
        status="complete",
        plan=whole.plan,
        host=HOST,
        began_at="2025-06-11T12:00:00Z",
        duration_s=12.0,
        steps=(failed,),
        configuration=whole.plan.study.start_configuration(),
        message="no change was kept, so there is nothing to compare with the start",
    )


def interrupted() -> Outcome:
    """Return a ladder that was stopped after two of its six steps."""
    whole = ladder()
    return Outcome(
        id="20250611-asp-c0de",
        status="interrupted",
        plan=whole.plan,
        host=HOST,
        began_at="2025-06-11T13:00:00Z",
        duration_s=71.0,
        steps=whole.steps[:2],
        configuration=whole.steps[1].comparison.b.configuration,
        message="stopped by Ctrl-C",
    )


def unbounded() -> Outcome:
    """Return a comparison that ended before the data bound anything."""
    whole = a_against_a()
    assert whole.final is not None
    loose = RatioInterval(ratio=1.2, low=0.0, high=math.inf, confidence=0.95)
    final = Comparison(
        index=0,
        a=whole.final.a,
        b=whole.final.b,
        verdict="inconclusive",
        reason="2 starts of each arm; nothing is claimed below 6",
        metric="throughput_per_s",
        n_starts=2,
        ratios={"throughput": loose},
        per_start_ratio=(1.1, 1.31),
        needed_s=240.0,
    )
    return Outcome(
        id="20250611-book-0ff0",
        status="complete",
        plan=whole.plan,
        host=HOST,
        began_at="2025-06-11T14:00:00Z",
        duration_s=9.0,
        final=final,
        configuration=whole.configuration,
    )


def _told(arm: ArmSummary, **more: str) -> ArmSummary:
    """Return the arm with what its server said of itself, and who was the limit."""
    asked = {name: str(value) for name, value in arm.configuration.values.items()}
    return structs.replace(
        arm,
        effective=Effective(values={**more, **asked}, asked=asked, source="the running server"),
        limited_by={"server": 23, "client_cpu": 1},
    )


def tied(whole: Comparison, values: dict[str, Level]) -> Comparison:
    """Return a comparison whose throughput tied and whose CPU per request decided."""
    rate = whole.a.throughput_per_s
    compared = comparison(
        whole.index,
        _told(whole.a, Timeout="60"),
        _told(arm(values, rate * 1.001, cores=1.9 * 0.81), Timeout="60"),
        "better",
        "throughput shows no difference yet; CPU per request decides: "
        "the whole interval lies below 1 after 6 starts",
        half_width=0.0301,
    )
    by_cpu = {"cpu_per_request": interval(0.81, 0.074)}
    return structs.replace(
        compared, decided_by="cpu_s_per_request", ratios={**compared.ratios, **by_cpu}
    )


def tie_break() -> Outcome:
    """Return a ladder of one step, which made nothing faster and yet cheaper."""
    whole = ladder()
    first = whole.steps[0].comparison
    after = first.b.configuration
    step = structs.replace(
        whole.steps[0], comparison=tied(first, dict(after.values)), running_ratio=1.001
    )
    final = structs.replace(
        step.comparison,
        index=3,
        verdict="inconclusive",
        reason="the interval still holds 1 after 6 starts; no number of starts in reach",
        decided_by="",
    )
    objective = structs.replace(whole.plan.study.objective, tie_breaker="cpu_s_per_request")
    study = structs.replace(whole.plan.study, objective=objective)
    return structs.replace(
        whole,
        id="20250611-asp-71eb",
        plan=structs.replace(whole.plan, study=study, steps=whole.plan.steps[:1]),
        steps=(step,),
        final=final,
        configuration=after,
        overlay_diff="",
    )


def tied_compare() -> Outcome:
    """Return two configurations as fast as each other, one of which is cheaper."""
    whole = a_against_a()
    assert whole.final is not None
    return structs.replace(whole, final=tied(whole.final, dict(whole.final.b.configuration.values)))


def young_sweep() -> Outcome:
    """Return a sweep after one start of each level, whose data bound nothing yet."""
    whole = sweep()
    assert whole.sweep is not None
    points = tuple(
        structs.replace(
            point,
            ratio_to_best=None,
            throughput_low_per_s=0.0,
            throughput_high_per_s=1e12,
            latency_p99_s=0.0,
        )
        for point in whole.sweep.points
    )
    return structs.replace(
        whole,
        status="running",
        sweep=structs.replace(whole.sweep, points=points),
        final=None,
        calibration={"between_windows_sd": math.nan},
    )


def all_outcomes() -> dict[str, Outcome]:
    """Return every sample by name."""
    return {
        "ladder": ladder(),
        "sweep": sweep(),
        "compare": a_against_a(),
        "failed_start": failed_start(),
        "interrupted": interrupted(),
        "unbounded": unbounded(),
        "tie_break": tie_break(),
        "tied_compare": tied_compare(),
    }
