"""Whether servers lacked memory in their windows, and whether one configuration is to blame; pure.

A configuration that swaps is infeasible: what it would do with enough memory nobody measured. But
servers stand side by side, and on the same machine anything may need memory. So one is blamed only
where all of this is so:

1. *It lacked memory.* In at least two of its windows, and in half of them, its own processes read
   pages back from swap (what the machine read back, and no more than their major faults can have
   brought), or some task waited for memory for more than 3 % of the time.
2. *Others did not.* A server of another configuration, loaded in turns with it, did so in no
   window, and waited for less than a tenth as long. Where all do, the machine lacks memory, or a
   neighbour takes it.
3. *It would lack it by itself.* What it holds, in memory and in swap, is more than all that it
   could have if every other server was ended, or by its study's limit, less the reserve of
   `telemetry/pool.py`. A small server is swapped out by a large one beside it, and is not
   to blame.

Else nobody is blamed, and a caveat says that memory was short. A false word here costs a
configuration that may be the best; a missed one leaves figures with a caveat. So nobody is blamed
where what a server holds cannot be read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from httpdyno.model import WindowRecord
from httpdyno.reason import Reason, because
from httpdyno.telemetry.pool import RESERVE_RATIO

_PAGES_OF_FAULT = 8
"""That the kernel reads from swap at once, unless somebody set it otherwise (vm.page-cluster)."""
_LEAST_PAGES = 32
"""Of a window, 128 KiB: fewer are some that slept in swap since before."""
_MOST_WAIT_RATIO = 0.03
"""Of a window. A server that has 400 MB and reads 60 MB of a file at random, in a control group of
450 MiB, answered a 25th as fast and waited for 5 to 15 % of the time; one beside it, whatever the
group's limit, for 0.1 % at most."""
_QUIET_RATIO = 0.1
"""Of what another one waited or read back: less is nothing beside it."""
_NO_PAGES, _NO_WAIT_RATIO = 1.0, 0.01
"""A window; what is nothing anyway."""
_FEWEST_WINDOWS = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class MemorySeen:
    """What the windows of one configuration show, of all its servers that were up together."""

    n_windows: int
    n_short: int
    """Those in which it lacked memory."""
    pages_read: int
    """Back from swap, by its own processes."""
    wait_ratio: float
    """Of its windows' time, in which some task waited for memory."""
    holds_bytes: int | None
    """The largest of its servers, in memory and in swap; None where it is not known."""
    all_bytes: int | None
    """All of its servers in memory; likewise."""


def pages_read(window: WindowRecord) -> int:
    """Return the pages that the window's own server read back from swap, at most."""
    seen = window.telemetry
    return min(seen.swap_ins, seen.major_faults * _PAGES_OF_FAULT)


def is_short(window: WindowRecord) -> bool:
    """Tell whether the window's server lacked memory."""
    waited = (window.telemetry.memory_wait_s or 0.0) > _MOST_WAIT_RATIO * window.measurement.total_s
    return waited or pages_read(window) >= _LEAST_PAGES


def wait_ratio(windows: Sequence[WindowRecord]) -> float:
    """Return the part of windows' time in which some task waited for memory."""
    total_s = sum(window.measurement.total_s for window in windows)
    waited_s = sum(window.telemetry.memory_wait_s or 0.0 for window in windows)
    return waited_s / total_s if total_s > 0 else 0.0


def memory_seen(windows: Sequence[WindowRecord]) -> MemorySeen:
    """Return what the windows of one configuration show.

    Args:
        windows: Of all starts of it that were up together.
    """
    sized = {
        (window.start, window.arm): window.telemetry
        for window in windows
        if window.telemetry.pss_bytes is not None
    }
    is_known = sized.keys() == {(window.start, window.arm) for window in windows}
    in_memory = [each.pss_bytes or 0 for each in sized.values()]
    held = [(each.pss_bytes or 0) + (each.swapped_bytes or 0) for each in sized.values()]
    return MemorySeen(
        n_windows=len(windows),
        n_short=sum(map(is_short, windows)),
        pages_read=sum(map(pages_read, windows)),
        wait_ratio=wait_ratio(windows),
        holds_bytes=max(held, default=0) if is_known else None,
        all_bytes=sum(in_memory) if is_known else None,
    )


def blamed(
    seen: Mapping[str, MemorySeen],
    available_bytes: float,
    limits: Mapping[str, int | None] | None = None,
) -> dict[str, Reason]:
    """Return which configurations lack memory by their own fault, and why one may say so.

    Args:
        seen: By configuration, of all servers that were up together.
        available_bytes: What is left of memory while all of them are up.
        limits: What each may have by the study's own limit, where there is one.
    """
    known = [each.all_bytes for each in seen.values() if each.all_bytes is not None]
    if len(known) < len(seen):
        return {}
    of_machine = available_bytes + sum(known)
    rooms = {
        name: min(of_machine, (limits or {}).get(name) or of_machine) * (1 - RESERVE_RATIO)
        for name in seen
    }
    return {
        name: because(
            "experiment.lacks_memory",
            lack=lack_reasons(each.pages_read, each.wait_ratio),
            held=each.holds_bytes or 0,
            room=rooms[name],
        )
        for name, each in seen.items()
        if _lacked(each)
        and any(_is_quiet(other, each) for other in seen.values())
        and (each.holds_bytes or 0) > rooms[name]
    }


def _lacked(each: MemorySeen) -> bool:
    return each.n_short >= max(_FEWEST_WINDOWS, each.n_windows / 2)


def _is_quiet(other: MemorySeen, beside: MemorySeen) -> bool:
    """Tell whether one had nothing of what another one had; never of the same one."""
    if other.n_windows < _FEWEST_WINDOWS or other.n_short:
        return False
    most_pages = max(_NO_PAGES, _QUIET_RATIO * beside.pages_read / beside.n_windows)
    most_wait = max(_NO_WAIT_RATIO, _QUIET_RATIO * beside.wait_ratio)
    return other.pages_read / other.n_windows <= most_pages and other.wait_ratio <= most_wait


def lack_reasons(pages: int, waited_ratio: float) -> tuple[Reason, ...]:
    """Return what lack of memory was seen."""
    return (
        *([because("experiment.pages_from_swap", n=pages)] if pages else ()),
        *(
            [because("experiment.waited_for_memory", ratio=waited_ratio)]
            if waited_ratio > 0
            else ()
        ),
    )
