"""A server's processes as text: what they occupy together, each of them, and how many more fit."""

from collections.abc import Iterator, Mapping, Sequence

from rich.table import Table
from rich.text import Text

from httpdyno.report.shared.message import texts
from httpdyno.report.shared.phrase import plural
from httpdyno.report.shared.unseen import BOUNDS, why_text
from httpdyno.telemetry.kernel import HostMemory, Sockets
from httpdyno.telemetry.observed import Observed
from httpdyno.telemetry.pool import RESERVE_RATIO, MemoryBound, rss_bytes, size
from httpdyno.telemetry.worker import Worker, is_of_memory
from httpdyno.units import format_bytes, format_guess, format_percent

N_WORKERS = 20
"""So many have a line of their own; JSON has all of them."""
POOL_LABELS = ("memory", "room", "formulas", "queue", "pressure")
_HEAD = ("own", "PSS", "shared", "RSS", "CPU", "age")
_SERVED = "requests"
_UNKNOWN = "–"
_DAY_S = 86_400.0
_WIDTH = 16


def age(seconds: float) -> str:
    """Return how long ago something began: `2 h`, from two days on in days."""
    if seconds >= 2 * _DAY_S:
        return plural(int(seconds / _DAY_S), "day")
    return format_guess(seconds)


def memory_row(observed: Observed) -> str:
    """Return what all of them occupy, and what resident sizes would have said."""
    pool = observed.pool
    n = sum(pool.states.values()) - len(pool.zombies)
    processes = plural(n, "process") if n == 1 else f"{n:,} processes"
    resident = f"RSS {'is' if n == 1 else 'adds up to'} {format_bytes(pool.rss_bytes)}"
    if pool.pss_bytes is None or pool.uss_bytes is None or pool.shared_bytes is None:
        reasons = texts([*filter(is_of_memory, observed.hidden)])
        of = "" if pool.n_hidden == n else f" (of {pool.n_hidden:,})"
        return f"{processes}, {', '.join(reasons)}{of}; {resident}"
    if n == 1:
        return f"{format_bytes(pool.pss_bytes)} in {processes}; {resident}"
    return (
        f"{format_bytes(pool.pss_bytes)} in {processes}: {format_bytes(pool.uss_bytes)} of their "
        f"own and {format_bytes(pool.shared_bytes)} shared; {resident}"
    )


def detail_rows(observed: Observed, at_end: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield what is said of a server that somebody named.

    Args:
        observed: Its processes.
        at_end: How many workers fit at the ends of their lives, where that was looked at.
    """
    if observed.bound is not None:
        yield "room", "; ".join([_room(observed.bound), *at_end])
        yield "formulas", _formulas(observed.bound)
    elif observed.no_bound:
        yield "room", why_text(observed.no_bound)
    if observed.sockets is not None and (queue := _queue(observed.sockets)):
        yield "queue", queue
    yield "pressure", _pressure(observed.host)


def worker_table(observed: Observed, served: Mapping[int, int] | None = None) -> Table:
    """Return a table of the parent, the workers with most memory of their own, and the rest.

    Args:
        observed: All of them.
        served: Requests since it began, by pid, of those of whom it is known; of nobody without a
            column for it.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("  process", min_width=_WIDTH, no_wrap=True)
    for name in (*_HEAD, *([_SERVED] if served else [])):
        table.add_column(name, justify="right", no_wrap=True)
    living = [each for each in observed.workers if not each.is_zombie]
    parents = [each for each in living if each.pid == observed.root_pid]
    workers = sorted((each for each in living if each not in parents), key=size, reverse=True)
    for each in (*parents, *workers[:N_WORKERS]):
        told = _served([each], served)
        table.add_row(f"  {each.pid} {each.name}", *_figures([each]), age(each.age_s), *told)
    if rest := workers[N_WORKERS:]:
        told = _served(rest, served)
        table.add_row(Text(f"  {len(rest):,} more", "dim"), *_figures(rest), "", *told)
    return table


def _served(workers: Sequence[Worker], served: Mapping[int, int] | None) -> list[str]:
    if not served:
        return []
    known = [served[each.pid] for each in workers if each.pid in served]
    return [f"{sum(known):,}" if known else _UNKNOWN]


def _figures(workers: Sequence[Worker]) -> tuple[str, ...]:
    """Return their sums, for all columns but the last."""
    known = [each.memory for each in workers if each.memory is not None]
    cpu_s = sum(each.cpu_s for each in workers)
    resident = format_bytes(sum(map(rss_bytes, workers)))
    cpu = f"{cpu_s:,.2f} s"
    if len(known) < len(workers):
        return (_UNKNOWN, _UNKNOWN, _UNKNOWN, resident, cpu)
    return (
        format_bytes(sum(each.uss_bytes for each in known)),
        format_bytes(sum(each.pss_bytes for each in known)),
        format_bytes(sum(each.shared_bytes for each in known)),
        resident,
        cpu,
    )


def _room(bound: MemoryBound) -> str:
    whole = format_bytes(bound.available_bytes)
    reserve = f"{format_percent(RESERVE_RATIO)} of {whole} ({BOUNDS[bound.limited_by]}) in reserve"
    if bound.n is None:
        return f"no worker has memory of its own; {reserve}"
    room = format_bytes(bound.available_bytes - bound.reserve_bytes)
    each = f"{format_bytes(bound.each_bytes)}, the largest worker's own"
    if bound.kernel_bytes:
        own, kernel = format_bytes(bound.each_bytes), format_bytes(bound.kernel_bytes)
        each = f"({own}, the largest worker's own, + {kernel} of the kernel for it)"
    return (
        f"{plural(bound.n, 'worker')}: ({room} − {format_bytes(bound.once_bytes)} that is there "
        f"once) / {each}; {reserve}"
    )


def _formulas(bound: MemoryBound) -> str:
    said = (
        ("T / RSS", bound.n_by_rss),
        ("(T − child)/(child − shared)", bound.n_by_child),
        ("(T − shared)/(child − shared)", bound.n_by_shared),
        ("(T − parent's PSS)/own", bound.n_by_parent),
    )
    return ", ".join(f"{name} {n:,}" for name, n in said if n is not None)


def _queue(sockets: Sockets) -> str:
    said = [
        f"{each.address} {each.waiting:,} of {each.backlog:,} waiting" for each in sockets.queues
    ]
    said += [f"{n:,} {state}" for state, n in sorted(sockets.states.items())]
    if sockets.overflows is not None:
        said.append(f"{plural(sockets.overflows, 'overflow')} in its network so far")
    return ", ".join([*said, *texts(sockets.hidden)])


def _pressure(host: HostMemory) -> str:
    waited = [
        f"{name} {format_percent(each.some_ratio)}" for name, each in sorted(host.pressure.items())
    ]
    waited = [f"tasks waited for {', '.join(waited)} of the last 10 s"] if waited else []
    return "; ".join([*waited, f"{plural(host.swap_ins, 'page')} read back from swap so far"])
