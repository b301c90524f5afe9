"""What must hold of the formulas whatever the numbers are."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from httpdyno.advice.formula import formulas
from httpdyno.advice.formula.evaluate import work_out

KB = 1000
SIZES = st.integers(1, 10**6)
"""In kB."""


def figures(formula, **typed):
    return {each.name: each.value for each in work_out(formulas()[formula], typed).figures}


@st.composite
def pools(draw):
    """Draw RAM, child, shared part and parent in kB: the parent between shared part and child."""
    child = draw(st.integers(2, 10**5))
    shared = draw(st.integers(0, child - 1))
    parent = draw(st.integers(shared, child))
    ram = draw(st.integers(child + 1, 10**8))
    return ram, child, shared, parent


def fitting(ram, child, shared, parent):
    return figures(
        "max-clients",
        ram=f"{ram}kB",
        child=f"{child}kB",
        shared=f"{shared}kB",
        parent=f"{parent}kB",
    )


@given(pools())
def test_children_fit_and_one_more_does_not(pool):
    ram, child, shared, parent = pool
    found = fitting(*pool)
    assert found["needs"] == KB * (parent + found["children"] * (child - shared))
    assert found["needs"] <= KB * ram < found["needs"] + KB * (child - shared)


@given(pools())
def test_the_exact_form_lies_between_those_of_the_documents(pool):
    found = fitting(*pool)
    assert found["parent_as_child"] <= found["children"] <= found["parent_as_shared"]


@given(pools())
def test_the_two_closed_forms_differ_by_exactly_one(pool):
    found = fitting(*pool)
    assert found["parent_as_shared"] - found["parent_as_child"] == 1


@given(pools(), st.integers(1, 10**6))
def test_more_memory_or_sharing_never_means_fewer_children(pool, more):
    ram, child, shared, parent = pool
    n = fitting(*pool)["children"]
    assert fitting(ram + more, child, shared, parent)["children"] >= n
    assume(shared + more < child)
    assert fitting(ram, child, shared + more, parent)["children"] >= n


@given(pools(), st.integers(1, 10**5))
def test_larger_children_or_parents_never_mean_more_children(pool, more):
    ram, child, shared, parent = pool
    assume(child + more < ram)
    n = fitting(*pool)["children"]
    assert fitting(ram, child + more, shared, parent)["children"] <= n
    assert fitting(ram, child, shared, min(parent + more, child))["children"] <= n


@given(pools())
def test_without_sharing_the_parent_takes_the_place_of_one_child(pool):
    ram, child, _, _ = pool
    found = fitting(ram, child, 0, child)
    assert found["children"] == found["plain"] - 1


@given(
    SIZES, st.integers(0, 10**6), st.integers(1, 10**6), st.integers(0, 60), st.integers(1, 10**4)
)
def test_a_slow_client_never_holds_longer_than_the_transfer(page, buffer, link, linger, more):
    def hold(page, buffer, link):
        return figures(
            "slow-client",
            page=f"{page}kB",
            link=f"{link}kB",
            service="100ms",
            buffer=f"{buffer}kB",
            linger=f"{linger}s",
        )["hold"]

    held = hold(page, buffer, link)
    near = 1e-9 * page / link
    assert 0 <= held <= page / link + near
    assert held >= (page - buffer) / link - near
    assert hold(page, buffer + more, link) <= held + near
    assert hold(page + more, buffer, link) >= held - near
    assert hold(page, buffer, link + more) <= held + near


@given(st.integers(1, 10**5), st.integers(1, 10**5), st.integers(1, 100))
def test_as_many_workers_as_asked_for_are_busy_at_most(rate, held_ms, busy):
    found = figures("workers", rate=f"{rate}/s", held=f"{held_ms}ms", busy=f"{busy}%")
    mean = rate * held_ms / 1000
    assert found["mean_busy"] == pytest.approx(mean)
    assert found["workers"] * busy / 100 >= mean * (1 - 1e-9)
    assert (found["workers"] - 1) * busy / 100 < mean * (1 + 1e-9)


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_the_mean_of_a_burst_lies_between_the_first_and_the_last(clients, rate):
    found = figures("queue-wait", clients=f"{clients}", rate=f"{rate}/s")
    near = 1e-9 * found["last"]
    assert 1 / rate - near <= found["mean"] <= found["last"] + near
    assert found["closed"] == found["last"]


@given(st.integers(1, 10**6), st.integers(10, 100), st.integers(1, 24))
def test_a_day_and_its_peak_rate_are_each_others_inverse(rate, tenths, hours):
    peak, day = f"{tenths / 10}x", f"{hours}h"
    pages = figures("per-day", rate=f"{rate}/s", peak=peak, day=day)["pages"]
    back = figures("peak-rate", pages=f"{pages:.0f}", peak=peak, day=day)["rate"]
    assert rate - tenths / 10 / (3600 * hours) - 1e-6 <= back <= rate + 1e-6


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_saved_time_and_gain_have_one_sign(before, after):
    saved = figures("saved-time", before=f"{before}/s", after=f"{after}/s")["saved"]
    gain = figures("gain", before=f"{before}", after=f"{after}")["gain"]
    assert (saved > 0) == (gain > 0)
    assert saved * after == pytest.approx(gain, abs=1e-9)


@given(
    coded_and_saved=st.tuples(st.integers(1, 10**4), st.integers(1, 10**4)),
    cpu_and_cost=st.tuples(st.integers(10, 10**5), st.integers(1, 10**5)),
    cores=st.integers(1, 64),
    beside=st.floats(0.05, 20).filter(lambda x: abs(x - 1) > 0.001),
)
def test_beyond_the_crossover_compression_loses_and_before_it_wins(
    coded_and_saved, cpu_and_cost, cores, beside
):
    (coded, saved), (cpu_plain, cost) = coded_and_saved, cpu_and_cost
    plain, cpu_coded = coded + saved, cpu_plain + cost
    found = figures(
        "crossover",
        page=f"{plain}kB",
        coded=f"{coded}kB",
        cpu=f"{cpu_plain}us",
        cost=f"{cost}us",
        cores=f"{cores}",
    )

    def page_s(size, cpu, line):
        return cpu * 1e-6 + size * KB / line

    def full_rate(size, cpu, line):
        return min(cores / (cpu * 1e-6), line / (size * KB))

    line = beside * found["one"]
    is_later = page_s(coded, cpu_coded, line) > page_s(plain, cpu_plain, line)
    assert is_later is (beside > 1)
    line = beside * found["all"]
    is_less = full_rate(coded, cpu_coded, line) < full_rate(plain, cpu_plain, line)
    assert is_less is (beside > 1)
