"""Quantities as people type and read them."""

import pytest
from tests.rows import each_row

from httpdyno.errors import UsageError
from httpdyno.units import (
    bandwidth_bytes_per_s,
    duration_s,
    factor,
    format_beside,
    format_change,
    format_duration,
    format_percent,
    format_rate,
    memory_bytes,
    rate_or_zero_per_s,
    rate_per_s,
    share_ratio,
    size_bytes,
)


@each_row(
    ("read", "text", "value"),
    [
        (duration_s, "1m30s", 90.0),
        (duration_s, "250 ms", 0.25),
        (rate_per_s, "500/s", 500.0),
        (rate_per_s, "30/m", 0.5),
        (rate_per_s, "500", 500.0),
        (rate_or_zero_per_s, "0/s", 0.0),
        (share_ratio, "30%", 0.3),
        (share_ratio, "0 %", 0.0),
        (share_ratio, "120%", 1.2),
        (factor, "2x", 2.0),
        (factor, "0.5", 0.5),
        (size_bytes, "4KiB", 4096),
        (size_bytes, "1.5KiB", 1536),
        (size_bytes, "10kB", 10_000),
        (size_bytes, "4178.837kB", 4_178_837),
        (memory_bytes, "10.3MiB", 10_800_333),
        (memory_bytes, "512", 512),
        (size_bytes, "512", 512),
        (bandwidth_bytes_per_s, "28.8kbit", 3600.0),
        (bandwidth_bytes_per_s, "1Mbit/s", 125_000.0),
        (bandwidth_bytes_per_s, "10B/s", 10.0),
        (bandwidth_bytes_per_s, "64KiB", 65_536.0),
    ],
)
def test_a_quantity_is_turned_into_its_base_unit(read, text, value):
    assert read(text) == pytest.approx(value)


@each_row(
    ("read", "text"),
    [
        (duration_s, "10"),
        (duration_s, "-2s"),
        (rate_per_s, "0"),
        (rate_per_s, "-5/s"),
        (rate_per_s, "fast"),
        (rate_or_zero_per_s, "1e3/s"),
        (share_ratio, "0.3"),
        (share_ratio, "-3%"),
        (factor, "x2"),
        (factor, "-1x"),
        (size_bytes, "0.5B"),
        (size_bytes, "9" * 5000),
        (size_bytes, f"1.{'0' * 5000}"),
        (memory_bytes, "lots"),
        (size_bytes, "4 KB/s"),
        (bandwidth_bytes_per_s, "28800"),
        (bandwidth_bytes_per_s, "28.8 kilobit"),
    ],
)
def test_what_is_none_is_quoted_and_an_example_is_given(read, text):
    with pytest.raises(UsageError) as caught:
        read(text)
    assert f"`{text}`" in str(caught.value)
    assert "`" in caught.value.hint


@each_row(
    ("seconds", "text"),
    [
        (0.0412, "41.2 ms"),
        (39.6, "39.6 s"),
        (147.0, "2 min 27 s"),
        (3239.7, "54 min 00 s"),
        (-3239.7, "-54 min 00 s"),
        (5999.4, "99 min 59 s"),
        (5999.6, "1 h 40 min"),
        (22_037.0, "6 h 07 min"),
        (float("nan"), "–"),
    ],
)
def test_a_duration_is_told_in_units_that_are_read_at_a_glance(seconds, text):
    assert format_duration(seconds) == text


@each_row(
    ("ratio", "text"),
    [
        (0.0, "0 %"),
        (0.00004, "< 0.01 %"),
        (0.0031, "0.31 %"),
        (0.005, "0.5 %"),
        (0.123, "12 %"),
        (0.9996, "> 99 %"),
        (1.0, "100 %"),
        (2.5, "250 %"),
    ],
)
def test_a_share_tells_nothing_and_all_from_nearly_so(ratio, text):
    assert format_percent(ratio) == text


@each_row(
    ("ratio", "text"), [(1.03, "3 %"), (1.686, "69 %"), (2.0, "2.00 times"), (16.2, "16.2 times")]
)
def test_a_change_is_a_percentage_until_it_is_a_factor(ratio, text):
    assert format_change(ratio) == text


@each_row(
    ("value", "limit", "write", "text"),
    [
        (0.05001, 0.05, format_duration, "50.1 ms"),
        (0.04999, 0.05, format_duration, "49.9 ms"),
        (0.05, 0.05, format_duration, "50.0 ms"),
        (0.0712, 0.05, format_duration, "71.2 ms"),
        (100.2, 100.0, format_duration, "1 min 41 s"),
        (999.96, 1000.0, format_rate, "999/s"),
        (0.001004, 0.001, format_percent, "0.11 %"),
    ],
)
def test_what_breaks_a_limit_never_reads_as_the_limit_itself(value, limit, write, text):
    assert format_beside(value, limit, write) == text


@each_row(
    ("read", "unit"),
    [(duration_s, "s"), (rate_per_s, "/s"), (share_ratio, "%"), (factor, "x"), (size_bytes, "B")],
)
def test_a_number_beyond_any_is_refused(read, unit):
    with pytest.raises(UsageError) as caught:
        read("9" * 400 + unit)
    assert caught.value.hint
