"""What a change did inside a server: figures of two looks that differ by much; pure."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from httpdyno.advice.bottleneck.facts import Facts
from httpdyno.metrics.table import named
from httpdyno.model import ArmSummary, Comparison, Look, PhaseFigures, RatioInterval
from httpdyno.stats.sequence import widened

Unit = Literal["count", "bytes", "s"]
_FACTOR = 1.5
"""A look is short, and of one start: what differs by less may be chance."""
_MOST = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """One figure before and after."""

    figure: str
    """Which one: of `FIGURES`, or of a server's memory."""
    before: float
    after: float
    unit: Unit = "count"
    most: tuple[float, float] | None = None
    """What it can be at most, before and after; None where that is not asked, or not known."""
    is_claim: bool = True
    """Whether the spread between starts says that it moved."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Figure:
    name: str
    """A key: people read `report/shared/bottleneck.py`'s words for it."""
    value: Callable[[Facts], float | None]
    least: float
    """What is less on both sides does not matter."""
    unit: Unit = "count"
    is_counted: bool = False
    """Of calls that were counted by themselves, not of what the look saw workers do."""
    most: Callable[[Facts], float] | None = None
    """What it can be at most, where that is known."""


def _each(count: Callable[[Look], float | None]) -> Callable[[Facts], float | None]:
    def value(facts: Facts) -> float | None:
        counted = count(facts.look)
        return None if counted is None else facts.per_answer(counted)

    return value


def _each_seen(count: Callable[[Look], float | None]) -> Callable[[Facts], float | None]:
    """Return the same of what samples add up of processes; None where one ended.

    What it did between its last sample and its end is in no sample, so the sum is too small, and
    nobody knows by how much.
    """
    each = _each(count)

    def value(facts: Facts) -> float | None:
        look = facts.look
        return None if look.deaths or facts.at("zombie") else each(facts)

    return value


def _calls(*kinds: str) -> Callable[[Facts], float | None]:
    def value(facts: Facts) -> float | None:
        calls = facts.look.calls
        return sum(calls.get(kind, 0.0) for kind in kinds) if calls else None

    return value


_COUNTED_WRITES, _SEEN_WRITES = "writes", "write_calls"
_MANY_FORKS = 20.0
"""Of a second: so many are a server's own, and no command that somebody typed."""


def _forks_per_s(facts: Facts) -> float:
    return facts.per_s(facts.look.host_forks or 0)


_FIGURES = (
    # Who comes and goes between two samples is not seen, but the machine counts it.
    _Figure(
        name="host_forks_per_s",
        value=lambda facts: None if facts.look.host_forks is None else _forks_per_s(facts),
        least=_MANY_FORKS,
    ),
    _Figure(
        name="forks_per_s",
        value=lambda facts: (
            None if _forks_per_s(facts) >= _MANY_FORKS else facts.per_s(facts.look.births)
        ),
        least=1.0,
    ),
    _Figure(
        name="htaccess_opens",
        value=_calls(".htaccess"),
        least=0.5,
        is_counted=True,
    ),
    _Figure(name="opens", value=_calls("open"), least=1.0, is_counted=True),
    _Figure(
        name="stats",
        value=_calls("stat", "lstat", "access"),
        least=1.0,
        is_counted=True,
    ),
    _Figure(name="file_locks", value=_calls("lock"), least=1.0, is_counted=True),
    _Figure(name=_COUNTED_WRITES, value=_calls("write"), least=1.0, is_counted=True),
    _Figure(name="syncs", value=_calls("sync"), least=0.1, is_counted=True),
    _Figure(
        name="spawn_cpu_s",
        value=lambda f: None if f.spawn_cpu_s is None else f.per_answer(f.spawn_cpu_s),
        least=100e-6,
        unit="s",
    ),
    _Figure(name=_SEEN_WRITES, value=_each_seen(lambda look: look.write_calls), least=1.0),
    _Figure(name="read_calls", value=_each_seen(lambda look: look.read_calls), least=1.0),
    _Figure(
        name="written_bytes",
        value=_each_seen(lambda look: look.written_bytes),
        least=1024.0,
        unit="bytes",
    ),
    _Figure(
        name="read_bytes",
        value=_each_seen(lambda look: look.read_bytes),
        least=1024.0,
        unit="bytes",
    ),
    _Figure(
        name="disk_workers",
        value=lambda f: f.at("disk"),
        least=0.5,
        most=lambda f: f.workers,
    ),
    _Figure(name="lock_workers", value=lambda f: f.at("lock"), least=0.5),
    _Figure(
        name="backend_workers",
        value=lambda f: f.at("backend"),
        least=0.5,
        most=lambda f: f.workers,
    ),
    _Figure(name="client_read_workers", value=lambda f: f.at("client_read"), least=0.5),
    _Figure(name="listen_queue", value=lambda f: f.waiting, least=0.5),
    _Figure(
        name="switches_involuntary",
        value=_each_seen(lambda look: float(look.switches_involuntary)),
        least=0.5,
    ),
    _Figure(
        name="switches_voluntary",
        value=_each_seen(lambda look: float(look.switches_voluntary)),
        least=1.0,
    ),
    _Figure(name="workers", value=lambda facts: facts.workers, least=1.0),
    _Figure(
        name="server_cores",
        value=lambda facts: facts.cpu_cores,
        least=0.1,
        most=lambda facts: facts.look.cpus,
    ),
)
"""In the order in which they explain: what was done, before what it led to."""


_COUNTED = (
    _Figure(name="counted_opens", value=_calls("open"), least=1.0, is_counted=True),
    _Figure(
        name="counted_stats", value=_calls("stat", "lstat", "access"), least=1.0, is_counted=True
    ),
    _Figure(name="counted_writes", value=_calls("write"), least=1.0, is_counted=True),
    _Figure(name="counted_locks", value=_calls("lock"), least=1.0, is_counted=True),
)
"""Of the calls of an answer, where they were counted: those that files and state are behind."""


def differences(before: Look, after: Look, most: int = _MOST) -> tuple[Difference, ...]:
    """Return the figures that a change moved by much, those that explain most first.

    They are of one look each, a few tenths of a second of one start: reasons, not proofs.

    Args:
        before: A server without the change, under the same load.
        after: One with it.
        most: That are returned.
    """
    found = tuple(_pairs(_FIGURES, before, after, is_moved=True))
    if any(each.figure == _SEEN_WRITES for each in found):
        # Those of all answers of the look say the same, and are of more.
        found = tuple(each for each in found if each.figure != _COUNTED_WRITES)
    return found[:most]


def unmoved_calls(before: Look, after: Look) -> tuple[Difference, ...]:
    """Return the counted calls of an answer that a change left about as they were.

    They were counted call by call, so that they say what was not the reason.
    """
    return tuple(_pairs(_COUNTED, before, after, is_moved=False))


_NAMED = (
    *_FIGURES,
    # By itself it says nothing of why: a pool of a language's own sleeps when it is idle.
    _Figure(
        name="sleep_workers",
        value=lambda facts: facts.at("sleep"),
        least=0.5,
        most=lambda facts: facts.workers,
    ),
)
FIGURES = frozenset(each.name for each in _NAMED)
"""What `named_figures` knows."""


def named_figures(before: Look, after: Look, names: Sequence[str]) -> tuple[Difference, ...]:
    """Return these figures of both, moved or not, with what they can be at most.

    `cores that the server used 1.8 → 1.9 of 2`: of what held a change back, that it stayed as it
    was is the reason.

    Args:
        before: A server without the change, under the same load.
        after: One with it.
        names: Of `FIGURES`; of one that the looks do not have nothing is returned.
    """
    if not (before.answers and after.answers):
        return ()
    figures = (each for name in names for each in _NAMED if each.name == name)
    return tuple(filter(None, (_named(each, Facts(before), Facts(after)) for each in figures)))


def _named(figure: _Figure, old: Facts, new: Facts) -> Difference | None:
    a, b = figure.value(old), figure.value(new)
    if a is None or b is None or not (figure.is_counted or (old.has_workers and new.has_workers)):
        return None
    most = (figure.most(old), figure.most(new)) if figure.most else (0.0, 0.0)
    return Difference(
        figure=figure.name, before=a, after=b, unit=figure.unit, most=most if any(most) else None
    )


def _pairs(
    figures: Iterable[_Figure], before: Look, after: Look, *, is_moved: bool
) -> Iterator[Difference]:
    if not (before.answers and after.answers):
        return
    old, new = Facts(before), Facts(after)
    for figure in figures:
        # Where all workers had ended and none was there yet, it was the work of none that was seen.
        if not figure.is_counted and not (old.has_workers and new.has_workers):
            continue
        a, b = figure.value(old), figure.value(new)
        if a is None or b is None or max(a, b) < figure.least:
            continue
        floor = figure.least / 10
        ratio = max(b, floor) / max(a, floor)
        if (1 / _FACTOR < ratio < _FACTOR) is is_moved:
            continue
        yield Difference(figure=figure.name, before=a, after=b, unit=figure.unit)


# What a change did to a server's memory, by the starts of a comparison; pure.
#
# Unlike what a look saw in some tenths of a second, memory is read at every window of every start,
# so that the spread between starts says whether it moved at all.

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
        yield from _difference("private_bytes", a.uss_bytes_per_process, b.uss_bytes_per_process)
    if is_private_moved or is_whole_moved:
        yield from _difference("shared_bytes", shared_bytes(a), shared_bytes(b), is_claim=False)


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
    figure: str, before: float | None, after: float | None, *, is_claim: bool = True
) -> Iterator[Difference]:
    # A page of 4 KiB more in each process is no chance where every start has it.
    if before is not None and after is not None and round(before / _KIB) != round(after / _KIB):
        yield Difference(figure=figure, before=before, after=after, unit="bytes", is_claim=is_claim)
