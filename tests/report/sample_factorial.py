"""A factorial of two knobs that do not add up, as `sample` makes outcomes of other methods."""

from msgspec import structs
from tests.report import sample
from tests.report.sample_figures import arm, comparison, interval

from httpdyno.model import (
    Configuration,
    Effect,
    Factorial,
    Knob,
    Method,
    Outcome,
    SimpleEffect,
    Step,
)

RATES = (400.0, 500.0, 600.0, 601.0)


def factorial() -> Outcome:
    """Return a complete one: keeping connections brings nothing with another mpm."""
    whole = sample.sweep()
    knobs = (
        Knob(name="keep_alive", start=False, levels=(True,), title="KeepAlive"),
        Knob(name="mpm", start="prefork", levels=("event",), title="the multi-processing module"),
    )
    study = structs.replace(
        whole.plan.study,
        name="keep-mpm",
        title="KeepAlive under two kinds of server",
        knobs=knobs,
        method=Method(side_by_side=1, kind="factorial"),
        book_figure="",
    )
    levels = [(keep, mpm) for mpm in ("prefork", "event") for keep in (False, True)]
    arms = tuple(
        arm({"keep_alive": keep, "mpm": mpm}, rate)
        for (keep, mpm), rate in zip(levels, RATES, strict=True)
    )
    n, k, m, both = RATES
    simple = (("keep_alive", "mpm", k / n, both / m), ("mpm", "keep_alive", m / n, both / k))
    found = Factorial(
        levels={"keep_alive": (False, True), "mpm": ("prefork", "event")},
        metric="throughput_per_s",
        n_starts=6,
        arms=arms,
        effects=(
            Effect(knobs=("keep_alive",), verdict="better", ratio=interval(1.119, 0.02)),
            Effect(knobs=("mpm",), verdict="better", ratio=interval(1.343, 0.02)),
            Effect(knobs=("keep_alive", "mpm"), verdict="worse", ratio=interval(0.801, 0.03)),
        ),
        simple=tuple(
            SimpleEffect(
                knob=knob, given=given, is_given_changed=bool(at), ratio=interval(ratio, 0.03)
            )
            for knob, given, *ratios in simple
            for at, ratio in enumerate(ratios)
        ),
    )
    final = comparison(
        2, arms[0], arms[3], "better", "the whole interval is above 1", half_width=0.02
    )
    return structs.replace(
        whole,
        id="20250611-keep-2f2f",
        plan=structs.replace(
            whole.plan,
            study=study,
            steps=tuple(Step(knob=knob.name, to=knob.levels[0]) for knob in knobs),
        ),
        sweep=None,
        factorial=found,
        final=final,
        configuration=Configuration(values={"keep_alive": True, "mpm": "event"}),
    )
