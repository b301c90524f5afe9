"""Patterns of what may differ."""

import pytest

from httpdyno.errors import UsageError
from httpdyno.experiment.answer import reading as mask
from httpdyno.experiment.answer.reading import masked_spans


def test_spans_are_of_bytes_ascending_and_apart():
    text = "größe 12 ms, 13 ms".encode() + b"\xff 14 ms"
    [spans, none] = masked_spans([r"\d+ ms", r"2 ms, 1", r"(?i)GRÖSSE|größe"], [text, b""])
    assert [text[begin:end] for begin, end in spans] == [
        *("größe".encode(), b"12 ms", b"13 ms", b"14 ms")
    ]
    assert none == []


def test_a_pattern_that_never_ends_is_refused(monkeypatch):
    monkeypatch.setattr(mask, "LIMIT_S", 0.3)
    with pytest.raises(UsageError, match=r"may_differ.*0\.3 s on 41 bytes"):
        masked_spans(["(a+)+b"], [b"a" * 40 + b"c"])
