"""Codings are undone, and what is not what it says is told."""

import gzip
import zlib

import pytest
from tests.rows import each_row

from httpdyno.experiment.answer import ask as coding
from httpdyno.experiment.answer.ask import (
    Answer,
    Question,
    UndecodableError,
    UnknownCodingError,
    decoded,
)
from httpdyno.model import RequestSpec

TEXT = b"a page of words " * 200
RAW = zlib.compressobj(wbits=-zlib.MAX_WBITS)
BROTLI = bytes.fromhex("8b0280") + b"a page" + b"\x03"


@each_row(
    ("body", "name"),
    [
        (TEXT, ""),
        (TEXT, "identity"),
        (gzip.compress(TEXT), "gzip"),
        (gzip.compress(TEXT), "X-GZip"),
        (gzip.compress(TEXT[:100]) + gzip.compress(TEXT[100:]), "gzip"),
        (zlib.compress(TEXT), "deflate"),
        (RAW.compress(TEXT) + RAW.flush(), "deflate"),
        (gzip.compress(zlib.compress(TEXT)), "deflate, gzip"),
    ],
)
def test_a_coding_is_undone(body, name):
    assert decoded(body, name) == TEXT


@pytest.mark.parametrize(
    ("body", "words"),
    [(gzip.compress(TEXT)[:-9], "cut short"), (TEXT, "broken")],
)
def test_a_body_that_is_not_what_it_says_is_told(body, words):
    with pytest.raises(UndecodableError, match=words):
        decoded(body, "gzip")


def test_few_bytes_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(coding, "MOST_BYTES", 1000)
    with pytest.raises(UndecodableError, match="more than 1,000 bytes"):
        decoded(gzip.compress(TEXT), "gzip")


def test_brotli_is_undone_where_a_decoder_is_here(monkeypatch):
    if coding._brotli() is not None:
        assert decoded(BROTLI, "br") == b"a page"
        with pytest.raises(UndecodableError):
            decoded(BROTLI[:-2], "br")
    monkeypatch.setattr(coding, "_brotli", lambda: None)
    with pytest.raises(UnknownCodingError, match="br"):
        decoded(BROTLI, "br")


def test_a_coding_of_nobody_is_no_fault_of_the_body():
    with pytest.raises(UnknownCodingError, match="zstd"):
        decoded(TEXT, "zstd")


@each_row(
    ("body", "coding", "is_right"),
    [
        (TEXT, "", True),
        (gzip.compress(TEXT), "gzip", True),
        (gzip.compress(TEXT), "", False),
        (TEXT, "gzip", False),
        (zlib.compress(TEXT), "deflate", False),
    ],
)
def test_a_right_length_is_that_of_the_decoded_body(body, coding, is_right):
    request = RequestSpec(path="/", expect_length=len(TEXT))
    answer = Answer(question=Question(request=request), status=200, body=body, coding=coding)
    assert answer.is_right is is_right
