"""How many workers and how long each lives, as one answer."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from httpdyno.advice.curve import PrivateCurve, joint_life
from httpdyno.advice.curve_fit import life_table
from httpdyno.advice.formula import formulas
from httpdyno.advice.formula.evaluate import work_out
from httpdyno.errors import UsageError
from httpdyno.model import Respawn
from httpdyno.telemetry.pool import RESERVE_RATIO

# What respawning costs is the handout's (2.22.1); what a child grows to was measured by hand of
# children that touch the pages they share, with a leak of 20 kB a request.
TYPED = {
    "ram": "500MB",
    "parent": "25MB",
    "level": "20.3MB",
    "start": "350kB",
    "n_scale": "47.6",
    "leak": "20kB",
    "serve": "35.3ms",
    "spawn": "1.535s",
    "held": "1s",
}


def worked(**more):
    return work_out(formulas()["life"], {**TYPED, **more})


def figures(found):
    return {each.name: each.value for each in found.figures}


def rate_at(n, typed):
    """Return workers and rate by the two bounds as they are written on paper."""
    unshared = 20.3e6 - (20.3e6 - 0.35e6) * math.exp(-n / 47.6) + typed["leak"] * n
    workers = (500e6 * (1 - typed["free"]) - 25e6) // unshared
    return workers, min(1 / (0.0353 + 1.535 / n), workers / typed["held"])


@pytest.mark.parametrize("free", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("leak", [0, 1_000, 20_000])
@pytest.mark.parametrize("held", [0.05, 1.0, 20.0])
def test_it_is_the_highest_of_all_lives_reckoned_one_by_one(free, leak, held):
    typed = {"free": free, "leak": leak, "held": held}
    found = figures(
        worked(free=f"{free * 100:g}%", leak=f"{leak}B", held=f"{held:g}s", limit="3000")
    )
    rates = {n: rate_at(n, typed)[1] for n in range(1, 3001)}
    assert found["rate"] == pytest.approx(max(rates.values()), rel=1e-9)
    for n, workers in (("n", "workers"), ("first", "first_workers"), ("last", "last_workers")):
        assert found[workers] == rate_at(found[n], typed)[0]
    least = 0.99 * found["rate"]
    as_good = [n for n, rate in rates.items() if rate >= least * (1 - 1e-12)]
    assert [found["first"], found["last"]] == [as_good[0], as_good[-1]]
    assert found["needs"] <= 500e6 * (1 - free)


@given(
    pool=st.tuples(st.integers(1, 10**5), st.integers(0, 10**5), st.integers(0, 10**4)),
    times=st.tuples(st.integers(1, 10**6), st.integers(1, 10**7), st.integers(1, 10**7)),
    more=st.integers(1, 10**5),
)
def test_more_memory_or_cheaper_births_never_mean_a_lower_rate(pool, times, more):
    (start, rise, leak), (serve, spawn, held) = pool, times

    def rate(ram_kb, spawn_us):
        found = figures(
            worked(
                ram=f"{ram_kb}kB",
                parent="0B",
                start=f"{start}kB",
                level=f"{start + rise}kB",
                leak=f"{leak}B",
                serve=f"{serve}us",
                spawn=f"{spawn_us}us",
                held=f"{held}us",
            )
        )
        assert found["needs"] <= 1000 * ram_kb
        return found["rate"]

    ram = 10 * (start + rise + leak)
    assert rate(ram + more, spawn) >= rate(ram, spawn) * (1 - 1e-9)
    assert rate(ram, spawn + more) <= rate(ram, spawn) * (1 + 1e-9)


def test_the_answer_of_inspect_beside_it_is_that_of_inspect():
    found = worked(free="0%")
    curve = PrivateCurve(start_bytes=0.35e6, rise_bytes=19.95e6, n_scale=47.6, leak_bytes=20e3)
    cost = Respawn(serve_s=0.0353, spawn_s=1.535)
    joint = joint_life(life_table(room_bytes=500e6, once_bytes=25e6, curve=curve, cost=cost))
    assert joint is not None
    assert found.fitted == {"inspect_n": joint.n_requests, "inspect_workers": joint.n_workers}
    [line] = [each for each in found.working if "httpdyno inspect" in each]
    assert f"{joint.n_workers} workers that live {joint.n_requests} requests" in line


def test_as_much_is_kept_free_as_inspect_keeps_in_reserve():
    typed = {"leak": 20_000, "free": RESERVE_RATIO, "held": 1.0}
    assert figures(worked())["rate"] == pytest.approx(rate_at(figures(worked())["n"], typed)[1])


def test_of_kept_connections_a_child_serves_fewer():
    plain, kept = figures(worked()), figures(worked(per_connection="7"))
    assert kept["n"] == plain["n"] == plain["connections"]
    assert kept["connections"] == plain["n"] // 7
    assert figures(worked(per_connection="5000"))["connections"] == 1


def test_cpu_time_of_one_core_is_shared_by_all():
    # Held for so short that workers bound nothing: the rate is what births leave.
    one, four = (figures(worked(held="1us", cores=cores)) for cores in ("1", "4"))
    assert four["rate"] == pytest.approx(4 * one["rate"])


def test_where_nothing_grows_a_life_without_end_is_as_good():
    found = worked(leak="0B", held="50ms")
    assert figures(found)["n"] == figures(found)["last"] == 1_000_000
    assert found.warnings[0].startswith("lives without an end (MaxConnectionsPerChild 0)")


@pytest.mark.parametrize("more", [{"leak": "1B", "limit": "50"}, {"leak": "0B", "limit": "20"}])
def test_a_limit_that_cuts_the_search_short_is_named(more):
    found = worked(**more, held="50ms")
    assert figures(found)["last"] == int(more["limit"])
    assert "try longer ones with `--limit`" in found.warnings[0]


def test_without_a_start_a_child_is_whole_from_its_first_request():
    found = figures(worked(start=None, n_scale=None, leak=None))
    assert found["unshared"] == 20.3e6
    assert found["first_workers"] == found["last_workers"] == (450e6 - 25e6) // 20.3e6


@each_row(
    ("typed", "words"),
    [
        ({"start": "21MB"}, "`--start` makes no sense: a child that begins with 21 MB"),
        ({"parent": "450MB"}, "a parent of 450 MB leaves nothing of 500 MB with 10 % kept free"),
        ({"parent": "449.9MB"}, "`--ram` makes no sense: a child of .* does not fit"),
        ({"loss": "100%"}, "a loss of 100 % leaves nothing"),
        ({"per_connection": "0.5"}, "expected 1 or more"),
        ({"held": None}, "`--held` is missing"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_hint(typed, words):
    with pytest.raises(UsageError, match=words) as refused:
        worked(**typed)
    assert refused.value.hint
