"""Expressions as text: worked out with dimensions, written with numbers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from httpdyno.advice.formula.expression import (
    DIMENSIONS,
    DimensionError,
    Quantity,
    evaluate,
    with_numbers,
    with_signs,
)

KNOWN = {
    "size": Quantity(value=100.0, dimension=DIMENSIONS["size"]),
    "link": Quantity(value=25.0, dimension=DIMENSIONS["bandwidth"]),
    "rate": Quantity(value=70.0, dimension=DIMENSIONS["rate"]),
    "held": Quantity(value=0.1, dimension=DIMENSIONS["duration"]),
    "n": Quantity(value=3.0),
}


@each_row(
    ("text", "value", "kind"),
    [
        ("size / link", 4.0, "duration"),
        ("max(0, size - size)", 0.0, "size"),
        ("min(size, 2 * size) * n - size", 200.0, "size"),
        ("1 / rate + held", 1 / 70 + 0.1, "duration"),
        ("floor(n / 2)", 1.0, "count"),
        ("-size * exp(-n / n)", -100 / math.e, "size"),
        # 70 × 0.1 is 7.000000000000001 in binary, and 7 to everybody else.
        ("ceil(rate * held)", 7.0, "count"),
    ],
)
def test_an_expression_is_worked_out_with_its_dimension(text, value, kind):
    found = evaluate(text, KNOWN)
    assert found.value == pytest.approx(value, rel=1e-12)
    assert found.dimension == DIMENSIONS[kind]


@each_row(
    "text",
    [
        "size - 1",
        "size + held",
        "max(size, held)",
        "floor(size)",
        "exp(size)",
        "-(size + 1)",
        "rate + 1",
        "n ** 2",
        "n + 1j",
        "abs(n)",
    ],
)
def test_what_makes_no_sense_is_no_expression(text):
    with pytest.raises(DimensionError):
        evaluate(text, KNOWN)


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_rounding_is_off_by_less_than_one(a, b):
    known = {"a": Quantity(value=a), "b": Quantity(value=b)}
    exact = a / b
    near = 1e-9 * max(1, exact)
    assert exact - 1 - near < evaluate("floor(a / b)", known).value <= exact + near
    assert exact - near <= evaluate("ceil(a / b)", known).value < exact + 1 + near


def test_an_expression_is_written_with_the_signs_that_people_read():
    assert with_signs("2 * a - b") == "2 × a − b"
    assert with_signs("exp(-n / c)") == "exp(−n / c)"


def test_numbers_are_put_in_and_a_division_stays_clear():
    written = {"size": "10 kB", "link": "3.6 kB/s"}
    text = "max(0, size - size) / link * link"
    assert with_numbers(text, written) == "max(0, 10 kB − 10 kB) / (3.6 kB/s) × 3.6 kB/s"
