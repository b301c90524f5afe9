"""A sweep of something else than throughput."""

from msgspec import structs
from tests.report import sample
from tests.report.sample_figures import interval

from httpdyno.model import Outcome
from httpdyno.stats.verdict import knee_rule


def memory_sweep() -> Outcome:
    """Return a sweep of what the same levels take of memory, with its knee at 2."""
    whole = sample.sweep()
    assert whole.sweep is not None
    objective = structs.replace(whole.plan.study.objective, metric="pss_bytes")
    study = structs.replace(whole.plan.study, objective=objective)
    sizes = [4e7 + 4e6 * abs(number - 1) for number in range(9)]
    points = tuple(
        structs.replace(
            point,
            value=size,
            low=size * 0.99,
            high=size * 1.01,
            ratio_to_best=None if point.level == 2 else interval(size / 4e7, 0.01),
        )
        for point, size in zip(whole.sweep.points, sizes, strict=False)
    )
    rule = knee_rule(more_is_better=False)
    return structs.replace(
        whole,
        plan=structs.replace(whole.plan, study=study),
        sweep=structs.replace(
            whole.sweep,
            points=(*points, whole.sweep.points[-1]),
            metric="pss_bytes",
            best=2,
            knee=2,
            rule=rule,
            pool=None,
        ),
        final=None,
    )
