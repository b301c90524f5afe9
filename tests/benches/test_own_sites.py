"""The bench of people's own sites: what it says of runs whose outcome is known."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

bench = import_module("benches.own_sites.__main__")

CASE = bench.Case(
    folder=Path("/srv/site"),
    words=("nginx",),
    mistakes={"php:pm.max_children": (1, 8), "php:opcache.enable": (False, True)},
    inert={"nginx:listen_backlog": (511, 4096), "nginx:output_buffers": ("2x32k", "4x64k")},
    most_diff_lines=6,
)
START = {knob: found for knob, (found, _) in {**CASE.mistakes, **CASE.inert}.items()}
RIGHT = {"php:pm.max_children": 16, "php:opcache.enable": True}
DIFF = """--- /srv/site/www.conf
+++ /srv/site/www.conf
@@ -1,2 +1,2 @@
-pm.max_children = 1
+pm.max_children = 16
 a line beside
"""


def outcome(*, verdict="better", withdrawn="", **changed):
    return {
        "plan": {"start": START},
        "configuration": {**START, **RIGHT, **changed},
        "final": {
            "verdict": verdict,
            "throughput_ratio": {"ratio": 61.4, "low": 57.4, "high": 65.6},
        },
        "withdrawn": withdrawn,
    }


def result(*, of=None, took_s=300.0, diff=DIFF, touched=(), found=RIGHT):
    return bench.judged(
        "shop", CASE, of or outcome(), took_s, diff=diff, touched=touched, found=found
    )


def test_a_run_that_found_all_is_right():
    found = result()
    assert found.is_right
    assert found.n_diff_lines == 2
    assert bench.told(found)[:2] == [
        "shop: right, 300 s",
        "  final over start                  better 61.4 × (57.4 … 65.6)",
    ]


@pytest.mark.parametrize(
    ("of", "word"),
    [
        (result(of=outcome(**{"php:opcache.enable": False})), "php:opcache.enable"),
        (result(of=outcome(verdict="inconclusive")), "inconclusive"),
        (result(of=outcome(withdrawn="the final is not better")), "better"),
        (
            result(of=outcome(**{"nginx:listen_backlog": 4096, "nginx:output_buffers": "4x64k"})),
            "nginx:listen_backlog, nginx:output_buffers",
        ),
        (result(took_s=601.0), "601 s"),
        (result(diff=DIFF * 4), "8"),
        (result(touched=("/srv/site/www.conf",)), "/srv/site/www.conf"),
        (result(found={**RIGHT, "php:pm.max_children": 8}), "php:pm.max_children 8, proven 16"),
        (bench.Result(name="shop", trouble="tune ended with 3"), "tune ended with 3"),
    ],
)
def test_what_is_not_as_asked_is_missed_and_named(of, word):
    assert not of.is_right
    lines = bench.told(of)
    assert "MISSED" in lines[0]
    assert word in "\n".join(lines)


def test_what_tune_printed_is_told_where_something_is_missed():
    missed = bench.Result(name="shop", text="the start stays:\nLittle's law\n")
    assert bench.told(missed)[-2:] == ["  | the start stays:", "  | Little's law"]
    assert "Little" not in "\n".join(bench.told(replace(result(), text=missed.text)))


def test_one_inert_knob_may_be_kept():
    assert result(of=outcome(**{"nginx:listen_backlog": 4096})).is_right


def test_a_run_without_a_final_claim_is_missed():
    found = result(of={**outcome(), "final": None})
    assert not found.is_right
    assert found.final == "none"


def test_a_diff_that_nothing_bounds_is_as_long_as_it_takes():
    unbounded = replace(CASE, most_diff_lines=None)
    found = bench.judged("shop", unbounded, outcome(), 90.0, diff=DIFF * 4, touched=(), found=RIGHT)
    assert found.is_right
