"""What a plan compares, in order, as far as it is known before anything is measured."""

import pytest
from msgspec import structs

from httpdyno.experiment.design.plan import compare_plan, comparisons_ahead, make_plan, versus_plan
from httpdyno.model import Knob, Method


def _plan(study, kind):
    start = study.start_configuration()
    if kind == "ladder":
        return make_plan(study, seed=1)
    if kind == "compare":
        return compare_plan(study, start, start.replaced("bad", True), seed=1)
    if kind == "versus":
        candidates = {"x": start.replaced("good", 2), "y": start.replaced("bad", True)}
        return versus_plan(study, start, candidates, seed=1)
    swept = structs.replace(
        study,
        knobs=(Knob(name="good", start=1, levels=(0, 1, 2)),),
        method=Method(kind="sweep", knob="good"),
    )
    return make_plan(swept, seed=1)


@pytest.mark.parametrize(
    ("kind", "good"),
    [
        ("ladder", [(0, 1), (0, 2), (0, 0), (0, 0), (0, 0)]),
        ("sweep", [(0, 1, 2), (1, 2)]),
        ("compare", [(0, 0)]),
        ("versus", [(0, 2), (0, 0)]),
    ],
)
def test_what_is_compared_is_known_as_far_as_nothing_is_kept(study, kind, good):
    """A ladder and a sweep have a final claim at the end; (what each arm has of `good`)."""
    ahead = comparisons_ahead(_plan(study, kind))
    assert [tuple(arm.values["good"] for arm in arms) for arms in ahead] == good
    if kind == "ladder":
        assert ahead[-1] == ahead[-2]
