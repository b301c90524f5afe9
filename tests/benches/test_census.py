"""The bench of system calls: what it says of counts that are known."""

from importlib import import_module

import pytest

from httpdyno.telemetry.census.record import Census, KindCalls, PerRequest

bench = import_module("benches.census.__main__")


def same(n):
    return PerRequest(mean=n, low=n, high=n)


def census(stat, lstat, opens, *, doubts=()):
    kinds = (
        KindCalls(kind="stat", calls=same(stat)),
        KindCalls(kind="lstat", calls=same(lstat)),
        KindCalls(kind="open", calls=same(opens)),
    )
    return Census(
        n_requests=20,
        n_traced=3,
        n_took_part=1,
        total=same(stat + lstat + opens),
        kinds=kinds,
        htaccess_opens=same(opens),
        doubts=doubts,
    )


WAYS = (
    "AllowOverride All",
    "AllowOverride None",
    "None + Alias /news/ /",
    "None + PerlTransHandler",
    "None + PerlMapToStorageHandler",
)
RIGHT = dict(
    zip(
        WAYS,
        (census(2, 8, 4), census(2, 8, 0), census(2, 5, 0), census(0, 0, 0), census(0, 0, 0)),
        strict=True,
    )
)


def test_what_is_as_it_has_to_be_is_not_wrong():
    assert bench.wrong_of(RIGHT) == []


@pytest.mark.parametrize(
    ("way", "counts", "words"),
    [
        (WAYS[0], census(2, 8, 0), "AllowOverride All: 0 opens"),
        (WAYS[1], census(2, 8, 4), "AllowOverride None: 4 opens"),
        (WAYS[2], census(2, 8, 0), "does not shorten"),
        (WAYS[2], census(0, 0, 0), "does not shorten"),
        (WAYS[3], census(1, 0, 0), "PerlTransHandler: a file is looked for"),
        (WAYS[4], census(0, 1, 0), "PerlMapToStorageHandler: a file is looked for"),
        (WAYS[0], census(2, 8, 4, doubts=("others asked too",)), "others asked too"),
    ],
)
def test_each_thing_that_is_wrong_is_told(way, counts, words):
    [wrong] = bench.wrong_of({**RIGHT, way: counts})
    assert words in wrong


def test_requests_that_differ_are_wrong():
    kinds = (KindCalls(kind="lstat", calls=PerRequest(mean=8.5, low=8, high=9)),)
    differing = Census(
        n_requests=20, n_traced=3, n_took_part=1, total=same(9), kinds=kinds, htaccess_opens=same(4)
    )
    wrong = bench.wrong_of({**RIGHT, WAYS[0]: differing})
    assert wrong == ["AllowOverride All: not all requests looked for the same"]


def test_a_line_has_the_book_beside_it():
    assert bench.line("x", RIGHT[WAYS[0]], (5, 4)).split() == [
        *("x", "2", "8", "4", "14"),
        *("5,", "4"),
    ]
