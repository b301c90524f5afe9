"""What a server's limits come to, from the texts of a study; pure."""

import re

from httpdyno.errors import UsageError
from httpdyno.model import LimitValues, ServerLimits
from httpdyno.units import format_bytes, format_duration, memory_bytes

NONE = "none"
"""What a template says where there is to be no limit."""
_LEAST_BYTES = 4 << 20
"""What it takes to become the program, before that takes anything."""
_LEAST_QUOTA_S = 1e-3
_PERIOD_S = (1e-3, 1.0)
"""The kernel takes no other ones (kernel/sched/core.c, `min_cfs_quota_period`)."""
_NUMBER = re.compile(r"[0-9]{1,4}(\.[0-9]{1,6})?")


def limit_values(limits: ServerLimits) -> LimitValues:
    """Return what texts without any placeholders say.

    Raises:
        UsageError: One of them makes no sense; the hint says what is expected.
    """
    texts = {"memory": limits.memory, "cpu": limits.cpu}
    return LimitValues(
        controllers=tuple(name for name, text in texts.items() if text),
        memory_bytes=_bytes_of(limits.memory),
        cpu=_cpu_of(limits.cpu, _period_s(limits.cpu_period_s)),
        cpu_period_s=limits.cpu_period_s,
    )


def limit_words(limits: LimitValues) -> str:
    """Return limits for people: `64.0 MiB of memory, 0.5 CPUs in each 100 ms`; or `no limit`."""
    parts = []
    if limits.memory_bytes is not None:
        parts.append(f"{format_bytes(limits.memory_bytes)} of memory")
    if limits.cpu is not None:
        parts.append(f"{limits.cpu:g} CPUs in each {format_duration(limits.cpu_period_s)}")
    return ", ".join(parts) or "no limit"


def effective_limits(limits: LimitValues) -> dict[str, str]:
    """Return limits as what is in force of a server, by their keys in a study."""
    found = {}
    if "memory" in limits.controllers:
        n_bytes = limits.memory_bytes
        found["limits.memory"] = NONE if n_bytes is None else format_bytes(n_bytes)
    if "cpu" in limits.controllers:
        found["limits.cpu"] = NONE if limits.cpu is None else f"{limits.cpu:g}"
        found["limits.cpu_period"] = format_duration(limits.cpu_period_s)
    return found


def _bytes_of(text: str) -> int | None:
    if text.strip() in {"", NONE}:
        return None
    try:
        n_bytes = memory_bytes(text)
    except UsageError as error:
        raise _wrong("memory", text, "a size such as `512MiB`, or `none`") from error
    if n_bytes < _LEAST_BYTES:
        raise _wrong("memory", text, f"at least {format_bytes(_LEAST_BYTES)}")
    return n_bytes


def _cpu_of(text: str, period_s: float) -> float | None:
    if text.strip() in {"", NONE}:
        return None
    if _NUMBER.fullmatch(text.strip()) is None:
        raise _wrong("cpu", text, "CPU seconds a second such as `0.5` or `2`, or `none`")
    cpu = float(text)
    if cpu * period_s < _LEAST_QUOTA_S:
        least = _LEAST_QUOTA_S / period_s
        raise _wrong("cpu", text, f"at least {least:g}, 1 ms in each period")
    return cpu


def _period_s(period_s: float) -> float:
    shortest_s, longest_s = _PERIOD_S
    if not shortest_s <= period_s <= longest_s:
        raise _wrong("cpu_period", format_duration(period_s), "1ms to 1s")
    return period_s


def _wrong(key: str, text: str, expected: str) -> UsageError:
    return UsageError(f"limits.{key} is `{text}`; expected {expected}", hint=expected)
