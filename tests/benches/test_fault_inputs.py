"""The fuzzers of the five kinds of input, some dozens of inputs each, other ones every time."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from benches.faults.inputs import FUZZERS, Answer, answer, arena
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

_CONFIGURATION = "configuration"
"""Each time it is asked, the processes of this machine are looked at too, which takes longest."""
_EACH = settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with arena() as folder:
        yield folder


@pytest.mark.parametrize("name", sorted(FUZZERS.keys() - {_CONFIGURATION}))
@_EACH
@given(seed=st.integers(0, 2**64 - 1))
def test_whatever_the_input_the_answer_is_a_result_or_one_sentence(name, folder, seed):
    check(name, folder, seed)


@settings(_EACH, max_examples=30)
@given(seed=st.integers(0, 2**64 - 1))
def test_whatever_the_configuration_the_answer_is_a_result_or_one_sentence(folder, seed):
    check(_CONFIGURATION, folder, seed)


def check(name: str, folder: Path, seed: int) -> None:
    found = answer(FUZZERS[name], random.Random(seed), folder)
    assert not found.is_traceback, found
    assert not found.is_slow, found
    assert not found.steers, found


@pytest.mark.parametrize(
    ("code", "text", "cpu_s", "bad"),
    [
        (0, "fine\n", 0.0, (False, False, False)),
        (70, "", 0.0, (True, False, False)),
        (2, "Traceback (most recent call last)", 0.0, (True, False, False)),
        (2, "", 11.0, (False, True, False)),
        (2, "\x1b[2J", 0.0, (False, False, True)),
    ],
)
def test_what_must_not_be_is_told_from_what_may(code, text, cpu_s, bad):
    found = Answer(words=(), code=code, text=text, cpu_s=cpu_s)
    assert (found.is_traceback, found.is_slow, found.steers) == bad
