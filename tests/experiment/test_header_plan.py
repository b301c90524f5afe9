"""What counting words of a header takes is planned."""

from typing import Any, cast

import pytest
from msgspec import structs

from httpdyno.experiment.design.plan import compare_plan
from httpdyno.experiment.design.smoke_test import least_s
from httpdyno.experiment.trial.afterwards import HeaderCost, header_cost
from httpdyno.experiment.trial.server_bench import ServerBench
from httpdyno.model import Phase

PHASED = {"phases": (Phase(name="cold"),), "window_s": 7.0}


@pytest.mark.parametrize(
    ("header", "method", "cost"),
    [
        ("", {}, HeaderCost()),
        ("X-Cache", {}, HeaderCost(each_s=0.1)),
        ("X-Cache", PHASED, HeaderCost(once_s=7.0)),
    ],
)
def test_what_counting_takes_is_planned_before_anything_is_started(study, header, method, cost):
    """Of each server in each start, or a whole turn of each in a comparison's first start."""
    study = structs.replace(
        study, method=structs.replace(study.method, **{"decides": "cold"} | method)
    )
    counting = structs.replace(study, counted_header=header)
    assert header_cost(counting) == cost
    a, b = study.start_configuration(), study.start_configuration()
    n_starts = study.method.min_starts
    plain, planned = (compare_plan(each, a, b, seed=1) for each in (study, counting))
    more_s = 2 * (n_starts * cost.each_s + cost.once_s)
    assert least_s(planned) == pytest.approx(least_s(plain) + more_s)
    of_each, of_both = (
        ServerBench(adapter=cast(Any, None), study=each, seed=1).looks_s([(a, b), (a, b, a)])
        for each in (study, counting)
    )
    assert of_both == pytest.approx(of_each + 5 * cost.once_s)
