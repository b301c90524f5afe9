"""Quantities as they are typed and written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from httpdyno.advice.formula.expression import read, write
from httpdyno.errors import UsageError


@each_row(
    ("value", "kind", "text"),
    [
        (500e6, "size", "500 MB"),
        (10.5e6, "size", "10.5 MB"),
        (999_999, "size", "1 MB"),
        (0, "size", "0 B"),
        (-1500, "size", "-1.5 kB"),
        (2e13, "size", "20,000 GB"),
        (3600, "bandwidth", "3.6 kB/s"),
        (0, "duration", "0 s"),
        (0.5, "duration", "500 ms"),
        (4.2e-6, "duration", "4.2 µs"),
        (180, "duration", "180 s"),
        (600, "duration", "10 min 00 s"),
        (86400, "duration", "24 h"),
        (-0.5, "duration", "-500 ms"),
        (-4.2e-6, "duration", "-4.2 µs"),
        (-180, "duration", "-180 s"),
        (-86400, "duration", "-24 h"),
        (10.65, "rate", "10.65/s"),
        (0.6215, "rate", "0.6215/s"),
        (0.05, "share", "5 %"),
        (31, "factor", "31 ×"),
        (1_218_240, "count", "1,218,240"),
        (9.0525, "number", "9.052"),
    ],
)
def test_a_quantity_is_written_as_people_read_it(value, kind, text):
    assert write(value, kind) == text


@each_row(("value", "text"), [(16384, "16 KiB"), (5 * 2**30, "5 GiB"), (1000, "1,000 B")])
def test_sizes_are_binary_where_they_were_typed_so(value, text):
    assert write(value, "size", binary=True) == text


@each_row(
    ("text", "kind"),
    [
        ("9" * 400, "number"),
        ("9" * 400, "count"),
        ("1e-30", "number"),
        ("1e19", "number"),
        ("-1", "count"),
        ("2.5", "count"),
        ("²", "count"),
        ("nan", "number"),
        ("inf", "number"),
        ("5", "duration"),
        ("5", "share"),
        ("5 apples", "size"),
        ("9" * 400, "size"),
    ],
)
def test_what_is_no_figure_of_a_server_is_refused(text, kind):
    with pytest.raises(UsageError) as refused:
        read(text, kind)
    assert refused.value.hint


@given(st.integers(1, 10**15))
def test_a_size_in_bytes_is_read_exactly(n_bytes):
    assert read(f"{n_bytes}B", "size") == n_bytes
