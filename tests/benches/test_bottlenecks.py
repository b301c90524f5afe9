"""The bench of built bottlenecks: what it makes of verdicts, and that its cases are complete."""

import os
import sys
from typing import get_args

import msgspec
import pytest
from benches.bottlenecks.cases import CASES
from benches.bottlenecks.healthy import SERVERS, healthy_cases
from benches.bottlenecks.judgement import N_CASES, Outcome, is_met, tally
from benches.bottlenecks.kept import Kept, kept_looks, line_of, rounded
from benches.bottlenecks.place import PROGRAMS, NotBuiltError, Place, free_port

from httpdyno.model import Bottleneck, Limit, Look
from httpdyno.reason import because


def outcome(found, accepted="cpu", is_healthy=False):
    verdict = None if found is None else Bottleneck(limit=found, reason=because("advice.no_answer"))
    return Outcome(name="it", accepted=frozenset({accepted}), is_healthy=is_healthy, found=verdict)


RIGHT, WRONG, UNKNOWN, NOT_BUILT = (outcome(found) for found in ("cpu", "lock", "unknown", None))
ROOM, RUMOUR, SHRUG, MISSING = (
    outcome(found, accepted="nothing", is_healthy=True)
    for found in ("nothing", "cpu", "unknown", None)
)


@pytest.mark.parametrize(
    ("one", "worth"),
    [(RIGHT, "right"), (WRONG, "wrong"), (UNKNOWN, "unknown"), (NOT_BUILT, "not built")],
)
def test_a_verdict_is_worth_what_the_truth_says(one, worth):
    assert one.worth == worth
    assert str(tally([one])).startswith(f"{int(worth == 'right')} of 1 right")


@pytest.mark.parametrize(
    ("outcomes", "met"),
    [
        ([RIGHT] * 14, True),
        ([RIGHT] * 13 + [WRONG], True),
        ([RIGHT] * 13 + [UNKNOWN], True),
        ([RIGHT] * 13 + [NOT_BUILT], True),
        ([RIGHT] * 12 + [UNKNOWN, NOT_BUILT], False),
        ([RIGHT] * 13, True),
        ([RIGHT] * 12 + [UNKNOWN], False),
        ([RIGHT], True),
        ([UNKNOWN], False),
        ([NOT_BUILT], False),
        ([RIGHT] * 14 + [ROOM] * 19 + [SHRUG], True),
        ([RIGHT] * 14 + [ROOM] * 19 + [RUMOUR], False),
        ([RIGHT] * 14 + [MISSING], False),
        ([ROOM], True),
        ([RUMOUR], False),
        ([], False),
    ],
)
def test_one_of_fourteen_may_be_missed_and_no_healthy_one_slandered(outcomes, met):
    assert is_met(outcomes) is met


def test_each_word_has_its_case_and_no_other_word_passes():
    assert len(CASES) == N_CASES
    assert [len(each.accepted) for each in CASES] == [1] * N_CASES
    assert {word for each in CASES for word in each.accepted} == {*get_args(Limit)} - {"unknown"}


def test_healthy_ones_are_drawn_the_same_again_and_each_way_comes_before_one_comes_twice():
    names = [each.name for each in healthy_cases(20, 7)]
    assert names == [each.name for each in healthy_cases(20, 7)]
    assert names != [each.name for each in healthy_cases(20, 8)]
    assert names[:10] == [each.name for each in healthy_cases(10, 7)]
    assert len({*names}) == 20
    for server in SERVERS:
        assert any(server.__name__.replace("_", " ") in name for name in names)


def test_only_a_closed_loop_without_a_pause_may_have_the_cores_as_its_limit():
    for case in healthy_cases(40, 1):
        assert case.accepted == ({"cpu"} if "flat out" in case.name else {"nothing"})


def test_what_is_kept_is_read_again(tmp_path):
    kept = Kept(
        name="cpu",
        accepted=("cpu",),
        look=Look(seconds=0.950001234, n_samples=9, doing={"running": 3.99999999}),
    )
    (path := tmp_path / "looks.jsonl").write_text(line_of(kept) + "\n")
    (again,) = kept_looks(path)
    assert again.name == "cpu"
    assert again.look == Look(seconds=0.95, n_samples=9, doing={"running": 4.0})
    assert kept_looks(tmp_path / "none") == ()


@pytest.mark.parametrize(
    ("value", "short"),
    [
        (1 / 3, 0.33333),
        (123456.7, 123460.0),
        (7, 7),
        ("x", "x"),
        ({"a": [0.1234567]}, {"a": [0.12346]}),
    ],
)
def test_figures_are_kept_short_and_counts_whole(value, short):
    assert rounded(value) == short
    assert msgspec.json.encode(rounded(value))


@pytest.mark.parametrize("is_early", [False, True])
def test_no_worker_is_left_even_of_a_pool_that_ends_while_it_begins(tmp_path, is_early):
    place, port = Place(folder=tmp_path), free_port()
    command = [sys.executable, "-S", str(PROGRAMS / "pool.py"), "--port", str(port)]
    with place.stack:
        pid = place.started([*command, "--workers", "20"], port=None if is_early else port)
        assert os.getpgid(pid) == pid
    with pytest.raises(ProcessLookupError):
        os.killpg(pid, 0)


def test_what_does_not_come_up_is_not_built_and_says_why(tmp_path):
    place = Place(folder=tmp_path)
    with place.stack, pytest.raises(NotBuiltError, match="no such work"):
        place.started(
            [sys.executable, "-S", "-c", "raise SystemExit('no such work')"], port=free_port()
        )


def test_a_look_is_kept_of_each_case_with_the_words_that_are_right():
    kept = kept_looks()
    built = {each.name: {*each.accepted} for each in kept if not each.is_healthy}
    assert built == {each.name: {*each.accepted} for each in CASES}
    healthy = [each for each in kept if each.is_healthy]
    assert len(healthy) >= 20
    assert {each.accepted for each in healthy} == {("cpu",), ("nothing",)}
    assert all(each.look is not None and each.look.answers > 0 for each in kept)
