"""What a change did to a server's memory, by the starts of a comparison; pure.

Unlike what a look saw in some tenths of a second, memory is read at every window of every start, so
that the spread between starts says whether it moved at all.
"""

from collections.abc import Iterator

from httpdyno.advice.bottleneck.difference import Difference
from httpdyno.metrics.table import named
from httpdyno.model import ArmSummary, Comparison, PhaseFigures, RatioInterval
from httpdyno.stats.sequence import widened
from httpdyno.units import format_bytes

_WHOLE = "pss_bytes"
_PRIVATE = "uss_bytes_per_process"
_N_FIGURES = 2
"""Whose intervals are looked at."""
_KIB = 1024.0


def memory_differences(
    compared: Comparison, *, confidence: float, n_comparisons: int = 1
) -> tuple[Difference, ...]:
    """Return how private and shared memory moved, where the starts show that memory did.

    That is where the interval of private memory per process, or of the whole pool's, leaves out 1.
    The risk is shared (Bonferroni) by both of them and by all comparisons of which this is told.
    Nothing is claimed of what is shared: it stands beside them, and says so.

    Args:
        compared: One of them.
        confidence: That none of all these intervals leaves out the truth.
        n_comparisons: Of which it is told.
    """
    if compared.is_doubted:
        return ()
    each = 1 - (1 - confidence) / (_N_FIGURES * n_comparisons)
    return tuple(_differences(compared, each))


def _differences(compared: Comparison, confidence: float) -> Iterator[Difference]:
    a, b = compared.a, compared.b
    is_private_moved, is_whole_moved = (
        _is_moved(compared.ratios.get(named(metric).ratio), compared.n_starts, confidence)
        for metric in (_PRIVATE, _WHOLE)
    )
    if is_private_moved and compared.metric != _PRIVATE:  # told with the claim otherwise
        yield from _difference(
            "private memory of a process", a.uss_bytes_per_process, b.uss_bytes_per_process
        )
    if is_private_moved or is_whole_moved:
        yield from _difference(
            "memory that processes share, counted once",
            shared_bytes(a),
            shared_bytes(b),
            remark=" (no claim)",
        )


def shared_bytes(arm: ArmSummary | PhaseFigures) -> float | None:
    """Return what of all of a server's memory no process has for itself alone; None: not known.

    It is PSS less the private memory of all. What is mapped by others on the machine too counts
    by the server's part in it.
    """
    if arm.pss_bytes is None or arm.uss_bytes_per_process is None or not arm.n_processes:
        return None
    shared = arm.pss_bytes - arm.uss_bytes_per_process * arm.n_processes
    # Of processes that come and go the means may not fit together.
    return shared if shared > 0 else None


def _is_moved(interval: RatioInterval | None, n_starts: int, confidence: float) -> bool:
    wide = None if interval is None else widened(interval, n_starts, confidence=confidence)
    return wide is not None and (wide.low > 1 or wide.high < 1)


def _difference(
    name: str, before: float | None, after: float | None, remark: str = ""
) -> Iterator[Difference]:
    if before is None or after is None:
        return
    old, new = format_bytes(before), format_bytes(after)
    if old == new:
        # A page of 4 KiB more in each process is no chance where every start has it.
        old, new = (f"{size / _KIB:,.0f} KiB" for size in (before, after))
    if old != new:
        yield Difference(name=name, before=before, after=after, text=f"{old} → {new}{remark}")
