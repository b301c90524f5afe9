import pytest

from httpdyno.errors import StoreError
from httpdyno.model import Plan, RatioInterval
from httpdyno.store.payload import from_text, to_text
from httpdyno.testing.record import sample_plan


def test_a_bound_that_is_open_comes_back_as_infinity():
    interval = RatioInterval(ratio=1.0, low=0.0, high=float("inf"), confidence=0.95)
    assert from_text(to_text(interval), RatioInterval, "it") == interval


def test_text_that_is_not_ascii_stays_readable():
    assert "é" in to_text(sample_plan())


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"seed": 1}'])
def test_what_is_no_such_record_is_named(text):
    with pytest.raises(StoreError, match=r"the plan of run 3 cannot be read") as caught:
        from_text(text, Plan, "the plan of run 3")
    assert caught.value.hint
