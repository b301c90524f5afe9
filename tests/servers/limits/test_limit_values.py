"""What the texts of limits come to, and which come to none."""

import pytest
from tests.rows import each_row

from httpdyno.errors import UsageError
from httpdyno.model import LimitValues, ServerLimits
from httpdyno.report.shared.message import text
from httpdyno.servers.limits.limit_group import effective_limits, limit_values, named_limits


@each_row(
    ("memory", "cpu", "expected"),
    [
        ("", "", (None, None)),
        ("none", "none", (None, None)),
        ("64MiB", "", (64 << 20, None)),
        (" 1 GiB ", "2", (1 << 30, 2.0)),
        ("", "0.5", (None, 0.5)),
    ],
)
def test_texts_are_numbers(memory, cpu, expected):
    found = limit_values(ServerLimits(memory=memory, cpu=cpu))
    assert (found.memory_bytes, found.cpu) == expected
    assert found.controllers == tuple(
        name for name, text in (("memory", memory), ("cpu", cpu)) if text
    )
    assert bool(found) == bool(memory or cpu)


@each_row(
    ("limits", "words"),
    [
        (ServerLimits(memory="half"), "limits.memory is `half`"),
        (ServerLimits(memory="-1GiB"), "limits.memory"),
        (ServerLimits(memory="64"), "at least 4.00 MiB"),
        (ServerLimits(cpu="50%"), "limits.cpu is `50%`"),
        (ServerLimits(cpu="nan"), "limits.cpu"),
        (ServerLimits(cpu="0"), "at least 0.01"),
        (ServerLimits(cpu="0.5", cpu_period_s=0.001), "at least 1"),
        (ServerLimits(cpu="1", cpu_period_s=2.0), "1ms to 1s"),
    ],
)
def test_what_is_no_limit_is_refused_by_name(limits, words):
    with pytest.raises(UsageError, match="limits") as refused:
        limit_values(limits)
    assert words in str(refused.value)


def test_they_are_told_in_words_and_as_what_is_in_force():
    limits = limit_values(ServerLimits(memory="64MiB", cpu="0.5", cpu_period_s=0.05))
    assert text(named_limits(limits)) == "64.0 MiB of memory, 0.5 CPUs in each 50.0 ms"
    assert text(named_limits(LimitValues())) == "no limit"
    assert effective_limits(limits) == {
        "limits.memory": "64.0 MiB",
        "limits.cpu": "0.5",
        "limits.cpu_period": "50.0 ms",
    }
    assert effective_limits(LimitValues()) == {}
    none = limit_values(ServerLimits(memory="none"))
    assert effective_limits(none) == {"limits.memory": "none"}
