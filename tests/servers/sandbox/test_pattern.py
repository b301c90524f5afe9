"""Patterns of studies: found, refused, or ended where they would take for ever."""

import pytest
from tests.rows import each_row

from httpdyno.servers.sandbox.evaluator import PatternError, fits


@each_row(
    ("pattern", "text", "expected"),
    [
        (r"^ready: \d+$", "begins\nready: 80\n", True),
        (r"^ready$", "not ready", False),
        ("", "", True),
    ],
)
def test_a_pattern_is_found(pattern: str, text: str, *, expected: bool) -> None:
    assert fits(pattern, text) is expected


@pytest.mark.parametrize(
    ("pattern", "text", "words"),
    [
        ("(", "", "missing"),
        ("(?:(?:(?:a?){1000}){1000}){1000}", "", "takes more than"),
        (r"^(a+)+$", f"{'a' * 60}b", "takes more than 1 s of processor time"),
        ("(" * 9999, "", "too deep"),
    ],
)
def test_a_pattern_that_is_none_or_never_ends_is_refused(
    pattern: str, text: str, words: str
) -> None:
    with pytest.raises(PatternError, match=words):
        fits(pattern, text)
