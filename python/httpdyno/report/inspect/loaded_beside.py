"""What a load took of a server beside memory, as rows of its paragraph."""

from collections.abc import Iterator

from httpdyno.report.inspect.loaded import Loaded, Times
from httpdyno.units import format_duration

BESIDE_LABELS = ("answers",)
_ALIKE = 0.01
"""Two times that differ by less are one."""


def beside_rows(loaded: Loaded) -> Iterator[tuple[str, str]]:
    """Yield what answers took, what disks and CPUs had to do, and what went wrong."""
    if answers := "; ".join(_answers(loaded)):
        yield "answers", answers


def _answers(loaded: Loaded) -> Iterator[str]:
    """Yield what an answer took the client, and of the server's CPUs."""
    latency, service = loaded.latency, loaded.service_time
    if latency is not None and (text := _times(latency)):
        yield f"latency {text}"
        if service is not None and not _is_alike(latency, service):
            yield f"from when it was sent, without connecting, {_times(service)}"
    if (each_s := loaded.cpu_s_per_request) is not None:
        cores = (loaded.seen.cpu_s or 0.0) / loaded.seconds if loaded.seconds > 0 else 0.0
        without = ", without children that nobody waits for" if loaded.seen.misses_cpu else ""
        yield f"{format_duration(each_s)} of the server's CPU time, {cores:.2f} cores{without}"


def _times(times: Times) -> str:
    told = (("p50", times.p50_s), ("p99", times.p99_s))
    return ", ".join(f"{name} {format_duration(s)}" for name, s in told if s is not None)


def _is_alike(one: Times, other: Times) -> bool:
    pairs = ((one.p50_s, other.p50_s), (one.p99_s, other.p99_s))
    return all(a is None or b is None or abs(a - b) <= _ALIKE * a for a, b in pairs)
