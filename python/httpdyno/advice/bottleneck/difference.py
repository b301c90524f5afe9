"""What a change did inside a server: figures of two looks that differ by much; pure."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from httpdyno.advice.bottleneck.facts import Facts, of
from httpdyno.metrics.table import named
from httpdyno.model import ArmSummary, Comparison, Look, PhaseFigures, RatioInterval
from httpdyno.stats.sequence import widened
from httpdyno.units import format_bytes, format_duration

_FACTOR = 1.5
"""A look is short, and of one start: what differs by less may be chance."""
_MOST = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """One figure before and after."""

    name: str
    """Such as `write calls of an answer`."""
    before: float
    after: float
    text: str
    """Both, with their unit: `14 → 6.1`; `14 as before` where they read alike."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Figure:
    name: str
    value: Callable[[Facts], float | None]
    least: float
    """What is less on both sides does not matter."""
    write: Callable[[float], str] = of
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


_COUNTED_WRITES, _SEEN_WRITES = "writes for an answer", "write calls of an answer"
_MANY_FORKS = 20.0
"""Of a second: so many are a server's own, and no command that somebody typed."""


def _forks_per_s(facts: Facts) -> float:
    return facts.per_s(facts.look.host_forks or 0)


_FIGURES = (
    # Who comes and goes between two samples is not seen, but the machine counts it.
    _Figure(
        name="processes begun a second on this machine",
        value=lambda facts: None if facts.look.host_forks is None else _forks_per_s(facts),
        least=_MANY_FORKS,
    ),
    _Figure(
        name="processes begun a second, at least",
        value=lambda facts: (
            None if _forks_per_s(facts) >= _MANY_FORKS else facts.per_s(facts.look.births)
        ),
        least=1.0,
    ),
    _Figure(
        name="opens of .htaccess for an answer",
        value=_calls(".htaccess"),
        least=0.5,
        is_counted=True,
    ),
    _Figure(name="files opened for an answer", value=_calls("open"), least=1.0, is_counted=True),
    _Figure(
        name="files looked for (stat, lstat, access) for an answer",
        value=_calls("stat", "lstat", "access"),
        least=1.0,
        is_counted=True,
    ),
    _Figure(name="locks of files for an answer", value=_calls("lock"), least=1.0, is_counted=True),
    _Figure(name=_COUNTED_WRITES, value=_calls("write"), least=1.0, is_counted=True),
    _Figure(
        name="forced writes (fsync) for an answer", value=_calls("sync"), least=0.1, is_counted=True
    ),
    _Figure(
        name="CPU time of an answer in processes that began and ended meanwhile",
        value=lambda f: None if f.spawn_cpu_s is None else f.per_answer(f.spawn_cpu_s),
        least=100e-6,
        write=format_duration,
    ),
    _Figure(name=_SEEN_WRITES, value=_each_seen(lambda look: look.write_calls), least=1.0),
    _Figure(
        name="read calls of an answer", value=_each_seen(lambda look: look.read_calls), least=1.0
    ),
    _Figure(
        name="written to disks for an answer",
        value=_each_seen(lambda look: look.written_bytes),
        least=1024.0,
        write=format_bytes,
    ),
    _Figure(
        name="read from disks for an answer",
        value=_each_seen(lambda look: look.read_bytes),
        least=1024.0,
        write=format_bytes,
    ),
    _Figure(
        name="workers that waited for a disk",
        value=lambda f: f.at("disk"),
        least=0.5,
        most=lambda f: f.workers,
    ),
    _Figure(name="workers that waited for a lock", value=lambda f: f.at("lock"), least=0.5),
    _Figure(
        name="workers that waited for a backend",
        value=lambda f: f.at("backend"),
        least=0.5,
        most=lambda f: f.workers,
    ),
    _Figure(name="workers held by silent clients", value=lambda f: f.at("client_read"), least=0.5),
    _Figure(name="connections in the listen queue", value=lambda f: f.waiting, least=0.5),
    _Figure(
        name="times an answer's worker was taken off its core",
        value=_each_seen(lambda look: float(look.switches_involuntary)),
        least=0.5,
    ),
    _Figure(
        name="waits of an answer",
        value=_each_seen(lambda look: float(look.switches_voluntary)),
        least=1.0,
    ),
    _Figure(name="workers", value=lambda facts: facts.workers, least=1.0),
    _Figure(
        name="cores that the server used",
        value=lambda facts: facts.cpu_cores,
        least=0.1,
        most=lambda facts: facts.look.cpus,
    ),
)
"""In the order in which they explain: what was done, before what it led to."""


_COUNTED = (
    _Figure(name="files opened", value=_calls("open"), least=1.0, is_counted=True),
    _Figure(name="looked for", value=_calls("stat", "lstat", "access"), least=1.0, is_counted=True),
    _Figure(name="written", value=_calls("write"), least=1.0, is_counted=True),
    _Figure(name="locked", value=_calls("lock"), least=1.0, is_counted=True),
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
    if any(each.name == _SEEN_WRITES for each in found):
        # Those of all answers of the look say the same, and are of more.
        found = tuple(each for each in found if each.name != _COUNTED_WRITES)
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
        name="workers that slept",
        value=lambda facts: facts.at("sleep"),
        least=0.5,
        most=lambda facts: facts.workers,
    ),
)
FIGURE_NAMES = frozenset(each.name for each in _NAMED)
"""What `named_figures` knows."""


def named_figures(before: Look, after: Look, names: Sequence[str]) -> tuple[Difference, ...]:
    """Return these figures of both, moved or not, with what they can be at most.

    `cores that the server used 1.8 → 1.9 of 2`: of what held a change back, that it stayed as it
    was is the reason.

    Args:
        before: A server without the change, under the same load.
        after: One with it.
        names: Of `FIGURE_NAMES`; of one that the looks do not have nothing is returned.
    """
    if not (before.answers and after.answers):
        return ()
    figures = (each for name in names for each in _NAMED if each.name == name)
    return tuple(filter(None, (_named(each, Facts(before), Facts(after)) for each in figures)))


def _named(figure: _Figure, old: Facts, new: Facts) -> Difference | None:
    a, b = figure.value(old), figure.value(new)
    if a is None or b is None or not (figure.is_counted or (old.has_workers and new.has_workers)):
        return None
    most = [_most_text(figure, facts) for facts in (old, new)]
    # What both have of the same is said once: `1.8 → 1.9 of 2`.
    old_most = "" if most[0] == most[1] else most[0]
    text = f"{figure.write(a)}{old_most} → {figure.write(b)}{most[1]}"
    return Difference(name=figure.name, before=a, after=b, text=text)


def _most_text(figure: _Figure, facts: Facts) -> str:
    """Return ` of 2`; empty where it is not known."""
    most = figure.most(facts) if figure.most else 0.0
    # Cores and workers are whole ones, mostly.
    return f" of {figure.write(most).removesuffix('.0')}" if most else ""


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
        old_text, new_text = figure.write(a), figure.write(b)
        is_alike = old_text == new_text
        text = f"{new_text} as before" if is_alike else f"{old_text} → {new_text}"
        yield Difference(name=figure.name, before=a, after=b, text=text)


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
