"""What hard limits do to the arms of a start."""

from collections.abc import Iterable, Sequence

from httpdyno.experiment.arm_load import said
from httpdyno.experiment.start_arm import Arm


def see_limits(arms: Iterable[Arm]) -> None:
    """See those as infeasible that ran into their memory limits; before they are ended.

    Whatever else was wrong with one of them, and whatever it had measured: a server that loses
    processes and begins them anew may well look fast.
    """
    for arm in arms:
        if arm.running is not None and (words := arm.running.limit_hit()):
            arm.fail("infeasible", *said(words))


def memory_limit_bytes(arms: Sequence[Arm]) -> int | None:
    """Return the memory that arms of one configuration may each have; None without a limit.

    Where one server of several has a limit, what all of them may have is not known.
    """
    least: list[int] = []
    for arm in arms:
        if arm.running is None:
            continue
        limits = [each.values.memory_bytes for each in arm.running.limits]
        limited = [each for each in limits if each is not None]
        if not limited or len(limited) < len(arm.running.root_pids):
            return None
        least.append(sum(limited))
    return min(least, default=None)
