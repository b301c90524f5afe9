"""What births and deaths cost a server that is watched: CPU time of those that ended. Pure.

Who waits for a child gets the CPU time of the child's whole life, and of those that the child
waited for, into its own account (`cutime` and `cstime` of /proc/PID/stat). So what all accounts of
a pool grow by is what processes had used that have ended, those too that came and went between two
looks. A parent's account is read before its children: of one that ended in between the account
comes a look late, which is put up with for one look.

What a birth costs the parent is at most what the parent used, over the births.
"""

import os
from dataclasses import dataclass

from httpdyno.telemetry.pool import PoolChange
from httpdyno.telemetry.worker import Sample

_CUT_OFF_S = 2 / os.sysconf("SC_CLK_TCK")
"""User and system time are cut to ticks, each."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Turnover:
    """What is known of births and deaths since the first look."""

    first_parent_s: float | None
    """CPU time of the roots until the first look; None where one was not there any more."""
    parent_s: float | None
    """Until the last look."""
    n_forked: int = 0
    """Births whose parent is a root."""
    ended_s: float = 0.0
    """What those had used in all of their lives that ended, and that somebody waited for."""
    ended_ratio: float = 0.0
    """CPU seconds per second, between the last two looks, of those that ended in between."""
    late_s: float = 0.0
    """What those had used before that are gone, and are in no account yet."""

    @property
    def birth_parent_s(self) -> float | None:
        """CPU time of the parent that a birth takes at most; None without births."""
        if self.parent_s is None or self.first_parent_s is None or not self.n_forked:
            return None
        return (self.parent_s - self.first_parent_s + _CUT_OFF_S) / self.n_forked


def turnover(sample: Sample) -> Turnover:
    """Return what a first look tells."""
    parent_s = _parent_s(sample)
    return Turnover(first_parent_s=parent_s, parent_s=parent_s)


def turned(before: Turnover, happened: PoolChange, sample: Sample) -> Turnover:
    """Return what is known with one look more.

    Args:
        before: Until the look before.
        happened: Between the two.
        sample: The last one.
    """
    left_s = max(0.0, happened.waited_for_s - before.late_s)
    return Turnover(
        first_parent_s=before.first_parent_s,
        parent_s=_parent_s(sample),
        n_forked=before.n_forked + happened.forked,
        ended_s=before.ended_s + happened.waited_for_s,
        ended_ratio=max(0.0, left_s - happened.gone_s) / happened.elapsed_s,
        late_s=max(0.0, happened.gone_s - left_s),
    )


def _parent_s(sample: Sample) -> float | None:
    roots = [each.cpu_s for each in sample.workers if each.pid in sample.root_pids]
    # The sum over fewer of them than before is no time that passed.
    return sum(roots) if len(roots) == len(sample.root_pids) else None
