"""Outcomes that were looked at under load, of other methods than a ladder."""

from msgspec import structs
from tests.report import sample
from tests.report.sample_factorial import factorial
from tests.report.sample_figures import interval

from httpdyno.advice.bottleneck import bottleneck
from httpdyno.experiment.decide.other_sizes import judged_by_sizes
from httpdyno.model import ArmSummary, Look, Outcome

WAITING = Look(
    seconds=0.7,
    n_samples=14,
    workers=8.0,
    doing={"backend": 7.6, "running": 0.4},
    backends={"127.0.0.1:5432": 7.6},
    cpu_s=0.2,
    cpus=2.0,
    host_cpus=2,
    host_busy=0.5,
    answers=4300.0,
    clients=300.0,
    client_limit="server",
)
"""Of eight workers nearly all at a database, while 292 requests wait for one."""
COMPUTING = structs.replace(
    WAITING, doing={"running": 7.9, "backend": 0.1}, cpu_s=1.35, host_busy=1.95
)


def pool(n_workers: float, clients: float = 300.0) -> Look:
    """Return a look at so many workers that wait for a database."""
    at = n_workers * 0.95
    return structs.replace(
        WAITING,
        workers=n_workers,
        doing={"backend": at, "running": n_workers - at},
        backends={"127.0.0.1:5432": at},
        clients=clients,
    )


def looked_at(arm: ArmSummary, look: Look) -> ArmSummary:
    return structs.replace(arm, look=look, bottleneck=bottleneck(look))


def sweep() -> Outcome:
    """Return a sweep of workers that wait for a database; from 64 on its own cores are used up."""
    whole = sample.sweep()
    assert whole.sweep is not None
    assert whole.final is not None
    knob = structs.replace(whole.plan.study.knobs[0], pool="workers")
    study = structs.replace(whole.plan.study, knobs=(knob,))
    ran = [point for point in whole.sweep.points if point.arm.status == "complete"]
    points = []
    for point, after in zip(ran, [*ran[1:], None], strict=True):
        n_workers = float(point.level)
        look = structs.replace(COMPUTING, workers=n_workers, doing={"running": n_workers})
        ratio = after and interval(after.value / point.value, 0.012)
        points.append(
            structs.replace(
                point,
                arm=looked_at(point.arm, pool(n_workers) if n_workers < 64 else look),
                next_throughput=ratio,
            )
        )
    sweep = structs.replace(whole.sweep, points=(*points, whole.sweep.points[-1]))
    plan = structs.replace(whole.plan, study=study)
    return judged_by_sizes(structs.replace(whole, plan=plan, sweep=sweep))


def combinations() -> Outcome:
    """Return a factorial of which two combinations are limited by something else."""
    whole = factorial()
    assert whole.factorial is not None
    looks = (COMPUTING, pool(8.0, clients=8.0), COMPUTING, pool(8.0, clients=8.0))
    arms = tuple(map(looked_at, whole.factorial.arms, looks))
    return structs.replace(whole, factorial=structs.replace(whole.factorial, arms=arms))


def rejected() -> Outcome:
    """Return a ladder of which one step that was not kept met another limit than the start."""
    whole = sample.ladder()
    steps = []
    for step in whole.steps:
        look = pool(2.0, clients=2.0) if step is whole.steps[-1] else COMPUTING
        a, b = looked_at(step.comparison.a, COMPUTING), looked_at(step.comparison.b, look)
        compared = structs.replace(step.comparison, a=a, b=b)
        steps.append(structs.replace(step, comparison=compared))
    return structs.replace(whole, steps=tuple(steps))


def all_outcomes() -> dict[str, Outcome]:
    """Return every one by name."""
    return {
        "limited_sweep": sweep(),
        "limited_factorial": combinations(),
        "limited_ladder": rejected(),
    }
