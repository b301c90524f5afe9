"""What the windows of some starts warn of; pure.

Who sees elsewhere that something is wrong says so there, with a reason: its code is the kind of
warning, and `report/messages/experiment.toml` has its sentence.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from httpdyno.experiment.decide.evidence import little_doubt
from httpdyno.experiment.trial.afterwards import few_answers
from httpdyno.experiment.trial.memory import is_short, lack_reasons, pages_read, wait_ratio
from httpdyno.metrics.totals import SAID_APART, said_apart
from httpdyno.model import HostFacts, ResultWarning, StartRecord, Study, WindowRecord
from httpdyno.reason import Reason, because

_NOT_THE_CLIENT = {"", "server", "server_or_connections", "rate", "connections"}
"""Verdicts of the load engine on who was the limit that cast no doubt on the server's figures."""

_MOST_LIMITED = 0.1
"""Of the windows, in which something else than the server was the limit."""

_MOST_STOLEN = 0.05
"""Of a core that the machine's host may take."""

_MOST_SHORT = 0.1
"""Of the windows, in which a server lacked memory."""

_MOST_THROTTLED = 0.01
"""Of the periods of a CPU limit, that end with the server standing still."""

_MOST_AT_LIMIT = 0.1
"""Of the windows, in which a server met its memory limit."""


def warnings_of(reasons: Iterable[Reason], *within: str) -> tuple[ResultWarning, ...]:
    """Return warnings of these reasons, each once.

    Args:
        reasons: Of one part of the run, or of all of it.
        within: What part that is, such as `calibration`.
    """
    return tuple(ResultWarning(reason=each, within=within) for each in dict.fromkeys(reasons))


def window_warnings(starts: Sequence[StartRecord], *within: str) -> tuple[ResultWarning, ...]:
    """Return what the windows of these starts warn of.

    Args:
        starts: Of the same arms.
        within: What part of the run they are.
    """
    return warnings_of((reason for rule in _RULES for reason in rule(starts)), *within)


def is_unsteady(warnings: Iterable[ResultWarning]) -> bool:
    """Tell whether nobody knows how far Little's law is broken, so that figures prove nothing.

    Where that is known, intervals of throughput have it in them, and prove what they say.
    """
    return any(each.code == "experiment.little_unsized" for each in warnings)


def known_warnings(study: Study, host: HostFacts) -> Iterator[Reason]:
    """Warn of what is known of a study's figures before anything is measured."""
    if study.fragments is None:
        yield from _cores(host)
    # Where a study says in phases what is asked, each of them is told.
    if study.method.is_fresh and not study.method.phases:
        first_s = study.method.blocks_per_start * study.method.window_s
        yield because("experiment.fresh_servers", first_s=first_s)
    for words in () if study.site is None else study.site.caveats:
        yield because("experiment.unlike_the_site", words=words)


def _cores(host: HostFacts) -> Iterator[Reason]:
    """Warn where client and server took cores from each other, or where cores are few."""
    if not host.client_cpus or not host.server_cpus or {*host.client_cpus} & {*host.server_cpus}:
        yield because("experiment.shared_cores", n_cores=host.n_cpus)
    elif len(host.server_cpus) == 1:
        yield because("experiment.one_core", n_cores=host.n_cpus)


def _windows(starts: Sequence[StartRecord]) -> list[WindowRecord]:
    return [window for start in starts for window in start.windows]


def _unsteady(starts: Sequence[StartRecord]) -> Iterable[Reason]:
    """Return what is wrong with the throughput of all arms of these starts that never failed."""
    n_arms = max((len(start.statuses) for start in starts), default=0)
    ran = [a for a in range(n_arms) if all(each.statuses[a] == "complete" for each in starts)]
    doubt = little_doubt(starts, ran) if len(starts) > 1 else None
    if doubt and doubt.complaints:
        yield doubt.warning(n_arms)


def _starved_users(starts: Sequence[StartRecord]) -> Iterable[Reason]:
    windows = _windows(starts)
    starved = [c for each in windows if (c := each.measurement.cycles) and c.n_starved]
    if starved:
        most = max(starved, key=lambda cycles: cycles.n_starved)
        yield because(
            "experiment.starved_users",
            n=len(starved),
            n_windows=len(windows),
            n_users=most.n_starved,
            of_users=most.n_users,
        )


def _client_limited(starts: Sequence[StartRecord]) -> Iterable[Reason]:
    windows = _windows(starts)
    limits = Counter(window.measurement.limited_by for window in windows)
    for limit, n in sorted(limits.items()):
        if limit not in _NOT_THE_CLIENT and n > len(windows) * _MOST_LIMITED:
            yield because("experiment.client_limited", n=n, n_windows=len(windows), limit=limit)


def _unverified_knobs(starts: Sequence[StartRecord]) -> Iterable[Reason]:
    names = sorted({n for s in starts for each in s.effective for n in each.unverified})
    if names:
        yield because("experiment.unverified_knobs", names=names)


def _uncompared(starts: Sequence[StartRecord]) -> Iterable[Reason]:
    for what in dict.fromkeys(note for start in starts for note in start.uncompared):
        yield because("experiment.uncompared_answers", what=what)


def _tried(starts: Sequence[StartRecord]) -> Iterable[Reason]:
    tried = [each for start in starts for each in start.tried]
    if tried:
        yield tried_outside(tried)


def tried_outside(tried: Iterable[str | Reason]) -> Reason:
    """Return that private copies were refused what they tried to reach.

    Args:
        tried: What, as starts tell it; not empty.
    """
    return because("experiment.tried_outside", what=list(dict.fromkeys(tried)))


def _steal(starts: Sequence[StartRecord]) -> Iterable[Reason]:
    windows = _windows(starts)
    total_s = math.fsum(window.measurement.total_s for window in windows)
    stolen_s = math.fsum(window.telemetry.steal_s for window in windows)
    if total_s > 0 and stolen_s / total_s > _MOST_STOLEN:
        yield because("experiment.steal", ratio=stolen_s / total_s)


def _missed_cpu(starts: Sequence[StartRecord]) -> Iterable[Reason]:
    windows = _windows(starts)
    missing = {window.arm for window in windows if window.telemetry.misses_cpu}
    others = {window.arm for window in windows} - missing
    if missing:
        yield because("experiment.missed_cpu_of_some" if others else "experiment.missed_cpu")


def _said_apart(starts: Sequence[StartRecord]) -> Iterable[Reason]:
    ratio = said_apart(_windows(starts))
    if ratio is not None and abs(ratio - 1) > SAID_APART:
        yield because("experiment.said_apart", ratio=ratio)


def _short_memory(starts: Sequence[StartRecord]) -> Iterable[Reason]:
    """Return that servers lacked memory which no configuration alone is to blame for."""
    windows = [w for s in starts for w in s.windows if s.statuses[w.arm] == "complete"]
    short = [window for window in windows if is_short(window)]
    if len(short) > len(windows) * _MOST_SHORT:
        lack = lack_reasons(sum(map(pages_read, short)), wait_ratio(short))
        yield because("experiment.short_memory", n=len(short), n_windows=len(windows), lack=lack)


def _throttled(starts: Sequence[StartRecord]) -> Iterable[Reason]:
    """Return that a CPU limit was what bounded the figures, as the study asks."""
    windows = _windows(starts)
    shares = []
    for arm in sorted({window.arm for window in windows}):
        seen = [window.telemetry for window in windows if window.arm == arm]
        n_periods = sum(each.n_cpu_periods for each in seen)
        shares.append(sum(each.n_throttled for each in seen) / n_periods if n_periods else 0.0)
    if max(shares, default=0.0) > _MOST_THROTTLED:
        stood_s = math.fsum(window.telemetry.throttled_s for window in windows)
        yield because(
            "experiment.cpu_limit",
            shares=[because("experiment.share", ratio=each) for each in shares],
            stood_s=stood_s,
        )


def _at_memory_limit(starts: Sequence[StartRecord]) -> Iterable[Reason]:
    """Return that a memory limit was met which took nothing but pages of files."""
    windows = _windows(starts)
    at_it = [window.telemetry for window in windows if window.telemetry.n_at_memory_limit]
    if len(at_it) > len(windows) * _MOST_AT_LIMIT:
        yield because(
            "experiment.memory_limit",
            n=len(at_it),
            n_windows=len(windows),
            times=sum(each.n_at_memory_limit for each in at_it),
        )


_RULES: tuple[Callable[[Sequence[StartRecord]], Iterable[Reason]], ...] = (
    _unsteady,
    _starved_users,
    _client_limited,
    _unverified_knobs,
    _uncompared,
    _tried,
    _steal,
    _missed_cpu,
    _short_memory,
    _said_apart,
    few_answers,
    _throttled,
    _at_memory_limit,
)
