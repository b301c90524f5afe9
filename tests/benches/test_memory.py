"""The bench of the memory bound: what it says of sizes that are known, and one small run."""

import os
from importlib import import_module

import pytest
from tests.telemetry.test_pool import PREFORK, sample

from httpdyno.telemetry.pool import pool

bench = import_module("benches.memory.__main__")
judged = import_module("benches.memory.judged")
group_of = import_module("benches.memory.group")

MIB = 1 << 20
MAPS = """00400000-00600000 r-xp 00000000 00:00 0 /usr/bin/x
01000000-01300000 rw-p 00000000 00:00 0 [heap]
7f000000-7f100000 rw-s 00000000 00:00 0 /dev/zero
7f200000-7f210000 -w-p 00000000 00:00 0
"""


@pytest.mark.parametrize("true", [0, 1, 2, 7, 24, 30, 399, 400])
@pytest.mark.parametrize("guess", [0, 1, 24, 30, 1000])
def test_the_largest_number_that_fits_is_found(true, guess):
    asked = []

    def fits(n):
        asked.append(n)
        return n <= true

    assert judged.most_that_fit(fits, guess, most=400) == true
    assert len(asked) == len(set(asked)) <= 30
    assert all(1 <= n <= 400 for n in asked)


def test_a_guess_that_is_right_takes_few_pools():
    asked = []

    def fits(n):
        asked.append(n)
        return n <= 30

    judged.most_that_fit(fits, 30, most=400)
    assert len(asked) <= 4


def test_each_method_says_its_own_number():
    # 210 MiB are there once, the largest worker has 30 of its own and 230 resident.
    found = judged.predicted(1000 * MIB, pool(sample(*PREFORK)), 100 * MIB)
    assert (found.httpdyno, found.plain) == (26, 26)
    assert (found.rss, found.apache2buddy) == (4, 10)


@pytest.mark.parametrize(
    ("n", "right"), [(30, True), (27, True), (26, False), (31, False), (0, False)]
)
def test_right_is_near_and_never_above(n, right):
    assert judged.is_right(n, 30) is right


def test_writable_private_mappings_are_summed_up():
    assert judged.mapped_bytes(MAPS) == 3 * MIB + 0x10000


def test_a_group_is_gone_afterwards():
    with group_of.memory_group() as group:
        if group is None:
            pytest.skip("no memory control group can be made here")
        group.limit(64 * MIB)
        assert group.n_killed() == 0
        assert os.access(group.procs, os.W_OK)
    assert not group.folder.exists()


def test_a_pilot_is_at_its_age_and_ends(monkeypatch):
    monkeypatch.setattr(bench, "PILOT_WORKERS", 2)
    monkeypatch.setitem(bench.AGE, "preloaded", 5)
    seen, mapped = bench.pilot("gunicorn", "preloaded")
    assert seen.n_workers == 2
    # The catalogue is in each resident size, and in memory once.
    assert seen.largest_rss_bytes > 50 * MIB > 4 * seen.largest_uss_bytes
    assert mapped > 50 * MIB
