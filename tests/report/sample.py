"""Realistic outcomes to make reports of, built by code: same bytes every time."""

import math

from msgspec import structs
from tests.report.sample_figures import HOST, KNOBS, arm, comparison, interval, study_of, tied

from httpdyno.experiment.trial.engine_loads import said
from httpdyno.model import (
    ArmSummary,
    Comparison,
    Configuration,
    Knob,
    LadderStep,
    Method,
    Outcome,
    Plan,
    PoolCurve,
    PoolLine,
    RatioInterval,
    ResultWarning,
    Step,
    Sweep,
    SweepPoint,
    TrialStatus,
    Verdict,
)
from httpdyno.reason import because
from httpdyno.stats.verdict import knee_rule

STEPS: tuple[tuple[float, Verdict, str, float, float | None], ...] = (
    (2.431, "better", "the whole interval is above 1", 0.031, None),
    (1.162, "better", "the whole interval is above 1", 0.022, None),
    (1.001, "equivalent", "the whole interval lies within ±1 %", 0.0085, None),
    (1.642, "better", "the whole interval is above 1", 0.028, None),
    (1.018, "inconclusive", "the interval holds both 1 and a worthwhile gain", 0.047, 190.0),
    (0.871, "worse", "the whole interval is below 1", 0.024, None),
)


def ladder() -> Outcome:
    """Return a complete ladder: better, equivalent, inconclusive and worse steps."""
    study = study_of(
        "asp-bookmarks",
        "The Apache::ASP article's bookmarks application",
        KNOBS,
        Method(side_by_side=1),
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
        warnings=(ResultWarning(reason=because("experiment.shared_cores", n_cores=2)),),
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
                value=rate,
                low=rate * math.exp(-width),
                high=rate * math.exp(width),
                latency_p99_s=300 / rate * 2.1,
            )
        )
    refused = ArmSummary(
        configuration=Configuration(values={knob.name: 512}),
        status="refused",
        detail=said("AH00180: MaxRequestWorkers of 512 exceeds ServerLimit value of 256"),
    )
    points.append(SweepPoint(level=512, arm=refused, ratio_to_best=None))
    study = study_of(
        "maxclients",
        "MaxClients under a handler that only computes",
        (knob,),
        Method(side_by_side=1, kind="sweep", knob=knob.name),
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
            rule=knee_rule(),
            pool=PoolCurve(
                memory=PoolLine(
                    once_bytes=38.2e6,
                    once_low_bytes=36.9e6,
                    once_high_bytes=39.6e6,
                    each_bytes=4.13e6,
                    each_low_bytes=3.94e6,
                    each_high_bytes=4.31e6,
                ),
                n_levels=9,
            ),
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
    study = study_of(
        "bookmarks", "A bookmarks application under gunicorn", KNOBS[:2], Method(side_by_side=1)
    )
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
        detail=said("(28)No space left on device: AH00023: couldn't create the mutex"),
    )
    compared = Comparison(
        index=0,
        a=step.comparison.a,
        b=broken,
        verdict="failed",
        reasons=said("the candidate crashed at its start"),
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
        ended_by=said("no change was kept, so there is nothing to compare with the start"),
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
        ended_by=said("stopped by Ctrl-C"),
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
        reasons=said("2 starts of each arm; nothing is claimed below 6"),
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
        reasons=said("the interval still holds 1 after 6 starts; no number of starts in reach"),
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
            low=0.0,
            high=1e12,
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
