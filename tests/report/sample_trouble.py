"""Outcomes of studies in which something went wrong, as `sample` makes those that went well."""

import math

from msgspec import structs
from tests.report import sample, sample_figures, sample_second
from tests.report.sample_factorial import factorial

from httpdyno.experiment.trial.engine_loads import said
from httpdyno.model import (
    ArmSummary,
    Configuration,
    Effective,
    Knob,
    Member,
    Method,
    Outcome,
    RatioInterval,
    Site,
    Step,
)
from httpdyno.reason import because
from httpdyno.stats.verdict import choice_rule


def half_failing(whole: ArmSummary) -> ArmSummary:
    """Return the arm as if every other request had been answered with 503."""
    n = whole.statuses["200"] // 2
    return structs.replace(
        whole,
        error_ratio=0.5,
        statuses={"200": n, "503": n},
        errors={"wrong_status": n, "timeout": 3},
    )


def out_of_time() -> Outcome:
    """Return a ladder whose time was gone after a first step that failed half of its requests."""
    whole = sample.ladder()
    step = whole.steps[5]
    compared = structs.replace(step.comparison, b=half_failing(step.comparison.b))
    return structs.replace(
        whole,
        id="20250611-asp-1a7e",
        steps=(structs.replace(step, comparison=compared, running_ratio=1.0),),
        final=None,
        configuration=whole.plan.study.start_configuration(),
        overlay_diff="",
        not_tried=whole.plan.steps[:5],
        needed_s=412.0,
    )


def not_measured() -> Outcome:
    """Return two configurations of which no figure could be had."""
    whole = sample.a_against_a()
    assert whole.final is not None
    compared = structs.replace(
        whole.final,
        verdict="not_measured",
        reasons=said(
            "one request takes 3.10 s, longer than a window of 250 ms; give windows of 12 s "
            "and a budget of 20 min"
        ),
        ratios={"latency_p50": RatioInterval(ratio=1.1, low=0.0, high=math.inf, confidence=0.95)},
        per_start_ratio=(),
        a=ArmSummary(configuration=whole.final.a.configuration, n_starts=2),
        b=ArmSummary(configuration=whole.final.b.configuration, n_starts=2),
    )
    return structs.replace(whole, id="20250611-book-0000", final=compared)


def out_of_reach() -> Outcome:
    """Return two configurations that hardly differ, compared until nothing could decide them."""
    whole = sample.a_against_a()
    assert whole.final is not None
    study = structs.replace(whole.plan.study, budget_s=math.inf)
    final = sample_figures.comparison(
        0,
        whole.final.a,
        whole.final.b,
        "inconclusive",
        "the interval still holds 1, no difference, after 61 starts; out of reach: even at best it "
        "takes 520 starts, 4 min more, and 400 are the most",
        half_width=0.04,
    )
    return structs.replace(
        whole,
        id="20250611-book-1000",
        plan=structs.replace(whole.plan, study=study),
        final=structs.replace(final, n_starts=61),
    )


def cut_comparison() -> Outcome:
    """Return a comparison that Ctrl-C ended before it was decided."""
    whole = out_of_reach()
    assert whole.final is not None
    words = "the interval still holds 1, no difference, after 12 starts"
    return structs.replace(
        whole,
        id="20250611-book-c0de",
        status="interrupted",
        final=structs.replace(whole.final, n_starts=12, reasons=said(words), needed_s=21.0),
        ended_by=(because("experiment.interrupted", run="7"),),
    )


def cut_final() -> Outcome:
    """Return a ladder that Ctrl-C ended in its final claim, of which a few starts were there."""
    whole = sample.ladder()
    assert whole.final is not None
    final = sample_figures.comparison(
        7,
        whole.final.a,
        sample_figures.with_figures(whole.final.b, throughput_per_s=116.0),
        "inconclusive",
        "the interval still holds 1, no difference, after 8 starts",
        half_width=0.05,
        needed_s=120.0,
    )
    return structs.replace(
        whole,
        id="20250611-asp-cf1a",
        status="interrupted",
        steps=whole.steps[:2],
        final=structs.replace(final, n_starts=8),
        configuration=whole.plan.study.start_configuration(),
        overlay_diff="",
        ended_by=(because("experiment.interrupted", run="9"),),
    )


def settled_on_start() -> Outcome:
    """Return a ladder whose kept changes turned out worse together, with steps left over."""
    whole = sample.ladder()
    assert whole.final is not None
    final = sample_figures.comparison(
        7,
        whole.final.a,
        sample_figures.with_figures(whole.final.b, throughput_per_s=88.8),
        "worse",
        "the whole interval lies below 1 after 6 starts",
        half_width=0.03,
    )
    return structs.replace(
        whole,
        id="20250611-asp-bac0",
        steps=whole.steps[:2],
        final=final,
        configuration=whole.plan.study.start_configuration(),
        overlay_diff="",
        not_tried=whole.plan.steps[5:],
        needed_s=95.0,
        withdrawn=because(
            "experiment.withdrawn_by_metric",
            what=because("experiment.the_changes", n=2),
            found=because("experiment.came_out_worse"),
            metric="throughput_per_s",
            why=[because("experiment.below_1", n=6, unit="start")],
        ),
    )


def candidates() -> Outcome:
    """Return a ladder whose second and third step changed several knobs at once."""
    whole = sample.ladder()
    first, second, third, *_ = whole.steps
    steps = (
        first,
        structs.replace(
            second,
            knob="",
            candidate="state in memory",
            title="what a visitor leaves is kept in memory",
            changed={
                "StateDir": ("/var/run/dyno/state", "/dev/shm/dyno/state"),
                "MaxRequestWorkers": (5, 20),
            },
        ),
        structs.replace(
            third, knob="", candidate="quiet", changed={"Debug": (1, 0), "StatINC": (True, False)}
        ),
    )
    left = Step(candidate="all of it", set={"Debug": 0, "MaxRequestWorkers": 40})
    plan = structs.replace(whole.plan, steps=(*whole.plan.steps[:3], left))
    return structs.replace(
        whole, steps=steps, plan=plan, not_tried=(left,), needed_s=60.0, final=None
    )


def versus() -> Outcome:
    """Return three candidates against one reference, of which two are better."""
    whole = sample.ladder()
    start = whole.plan.study.start_configuration()
    names = ("b1", "memory", "b3")
    steps = tuple(
        structs.replace(
            step,
            knob="",
            before="",
            after="",
            candidate=name,
            changed={step.knob: (step.before, step.after)},
            book_ratio=None,
            running_ratio=1.0,
            comparison=structs.replace(
                step.comparison,
                a=structs.replace(step.comparison.a, configuration=start),
                b=structs.replace(
                    step.comparison.b, configuration=start.replaced(step.knob, step.after)
                ),
                ratios={
                    key: structs.replace(interval, confidence=0.98334)
                    for key, interval in step.comparison.ratios.items()
                },
            ),
        )
        for name, step in zip(names, whole.steps[:3], strict=True)
    )
    planned = tuple(
        Step(candidate=step.candidate, set={k: after for k, (_, after) in step.changed.items()})
        for step in steps
    )
    plan = structs.replace(whole.plan, command="compare", steps=planned, reference=start)
    best = steps[0].comparison.b.configuration
    return structs.replace(whole, plan=plan, steps=steps, final=None, configuration=best)


def table() -> Outcome:
    """Return a ladder's first three changes, each against the start; two are levels of one knob."""
    whole = versus()
    study = structs.replace(whole.plan.study, method=Method(side_by_side=1, kind="table"))
    steps = tuple(
        structs.replace(
            step, candidate="", changed={}, knob=knob, before=before, after=after, book_ratio=book
        )
        for step, book in zip(whole.steps, (1.94, 1.16, None), strict=True)
        for knob, (before, after) in step.changed.items()
    )
    planned = tuple(Step(knob=step.knob, to=step.after) for step in steps)
    plan = structs.replace(whole.plan, command="tune", study=study, steps=planned)
    return structs.replace(whole, plan=plan, steps=steps)


def words() -> Outcome:
    """Return a sweep over three words, of which one was refused."""
    whole = sample.sweep()
    assert whole.sweep is not None
    levels, books = ("off", "brotli-4", "brotli-99"), (1.0, 0.9, None)
    knob = Knob(name="coding", start=levels[0], levels=levels[1:], title="how text is coded")
    study = structs.replace(
        whole.plan.study,
        name="coding",
        knobs=(knob,),
        method=Method(side_by_side=1, kind="sweep", knob=knob.name),
        book_figure="",
    )
    of_1, of_256, refused = (whole.sweep.points[number] for number in (0, 8, 9))
    points = tuple(
        structs.replace(
            point,
            level=level,
            arm=structs.replace(point.arm, configuration=Configuration(values={"coding": level})),
            ratio_to_best=None if level == "brotli-4" else point.ratio_to_best,
        )
        for level, point in zip(levels, (of_1, of_256, refused), strict=True)
    )
    sweep = structs.replace(
        whole.sweep,
        knob=knob.name,
        unit="",
        points=points,
        best="brotli-4",
        knee="brotli-4",
        rule=choice_rule(),
        pool=None,
    )
    planned = tuple(
        Step(knob=knob.name, to=level, book_ratio=book)
        for level, book in zip(levels, books, strict=True)
    )
    return structs.replace(
        whole,
        plan=structs.replace(whole.plan, study=study, steps=planned),
        sweep=sweep,
        final=None,
        configuration=Configuration(values={"coding": "brotli-4"}),
    )


def versus_none() -> Outcome:
    """Return the same where it was interrupted after one that makes no difference."""
    whole = versus()
    start = whole.plan.study.start_configuration()
    return structs.replace(
        whole, status="interrupted", steps=whole.steps[2:], configuration=start, overlay_diff=""
    )


def own_site() -> Outcome:
    """Return a ladder over knobs of a person's own servers, with two changes kept."""
    whole = sample.ladder()
    study = whole.plan.study
    names = [f"front:{knob.name}" for knob in study.knobs]
    costs = ("reload", "restart", "", "live", "reload")
    knobs = tuple(
        structs.replace(knob, name=name, cost=costs[number % len(costs)])
        for number, (knob, name) in enumerate(zip(study.knobs, names, strict=True))
    )
    site = Site(members=(Member(name="front", kind="nginx", main="/etc/nginx/nginx.conf"),))
    plan = structs.replace(whole.plan, study=structs.replace(study, knobs=knobs, site=site))
    values = {f"front:{name}": value for name, value in whole.configuration.values.items()}
    assert whole.final is not None
    effective = Effective(
        values={"front:workers": "5", "front:asp_debug": "0"},
        evidence={"front:workers": "seen", "front:asp_debug": "read"},
        sources=tuple(because("experiment.said", words=each) for each in ("sockets", "processes")),
    )
    final = structs.replace(
        whole.final,
        a=structs.replace(whole.final.a, effective=effective),
        b=structs.replace(whole.final.b, effective=effective),
    )
    return structs.replace(
        whole,
        final=final,
        plan=plan,
        configuration=Configuration(values=values),
        steps=tuple(structs.replace(step, knob=f"front:{step.knob}") for step in whole.steps),
        overlay_diff="--- /etc/nginx/nginx.conf\n+++ /etc/nginx/nginx.conf\n@@ -1,3 +1,3 @@\n"
        " user www-data;\n-worker_processes 1;\n+worker_processes auto;\n pid /run/nginx.pid;\n",
    )


def all_outcomes() -> dict[str, Outcome]:
    """Return every sample by name, those that went well too."""
    return {
        **sample.all_outcomes(),
        **sample_second.all_outcomes(),
        "candidates": candidates(),
        "table": table(),
        "words": words(),
        "factorial": factorial(),
        "versus": versus(),
        "versus_none": versus_none(),
        "own_site": own_site(),
        "out_of_time": out_of_time(),
        "not_measured": not_measured(),
        "settled_on_start": settled_on_start(),
        "out_of_reach": out_of_reach(),
        "cut_comparison": cut_comparison(),
        "cut_final": cut_final(),
    }
