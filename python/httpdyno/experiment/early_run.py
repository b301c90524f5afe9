"""Runs of early versions, which stored the numbers of comparisons and not what these measured."""

from httpdyno.model import Plan

FINAL = "final"
"""The stage of the last claim."""


def early_numbers(stage: str, plan: Plan) -> range:
    """Return the numbers that a comparison of this stage could have in an early version.

    A ladder's n steps had the numbers 1 to n, their second tries some up to 2 n, its final 2 n + 1;
    those for which there was no time were left out. A sweep or a pair had 1, a sweep's final 2.

    Args:
        stage: `step 2 of 5`, `again 1 of 2`, `final`, or another, which was the only one.
        plan: Of the run.
    """
    n_steps = len(plan.steps)
    final = 2 if plan.study.method.is_all_at_once else 2 * n_steps + 1
    match stage.split():
        case ["step", number, *_]:
            return range(int(number), int(number) + 1)
        case ["again", *_]:
            return range(n_steps + 1, final)
        case [word] if word == FINAL:
            return range(final, final + 1)
        case _:
            return range(1, 2)
