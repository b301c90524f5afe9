"""The length of workers' lives beside their number."""

import pytest

from httpdyno.advice.curve.joint import MOST_LOST_RATIO, shortest_life
from httpdyno.model import Respawn


@pytest.mark.parametrize("spawn_s", [1e-5, 0.002, 0.25, 3.0])
def test_the_shortest_life_costs_as_much_as_it_may_and_hardly_less(spawn_s):
    cost = Respawn(serve_s=0.001, spawn_s=spawn_s)
    n = shortest_life(cost)
    assert cost.kept_ratio(n) >= 1 - MOST_LOST_RATIO
    assert n == 1 or cost.kept_ratio(0.9 * n) < 1 - MOST_LOST_RATIO
