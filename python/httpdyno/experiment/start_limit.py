"""What hard limits do to the arms of a start."""

from collections.abc import Iterable, Sequence

from httpdyno.experiment.arm_load import said
from httpdyno.experiment.start_arm import Arm
from httpdyno.servers.adapter import Limited, Running
from httpdyno.servers.limits.limit_group import LimitGroups


def limits_of(running: Running) -> tuple[LimitGroups, ...]:
    """Return what limits each part of a server that has limits."""
    return running.limits if isinstance(running, Limited) else ()


def see_limits(arms: Iterable[Arm]) -> None:
    """See those as infeasible that ran into their memory limits; before they are ended.

    Whatever else was wrong with one of them, and whatever it had measured: a server that loses
    processes and begins them anew may well look fast.
    """
    for arm in arms:
        if arm.running is not None and (words := _limit_hit(arm.running)):
            arm.fail("infeasible", *said(words))


def memory_limit_bytes(arms: Sequence[Arm]) -> int | None:
    """Return the memory that arms of one configuration may each have; None without a limit.

    Where one server of several has a limit, what all of them may have is not known.
    """
    least: list[int] = []
    for arm in arms:
        if arm.running is None:
            continue
        limits = [each.values.memory_bytes for each in limits_of(arm.running)]
        limited = [each for each in limits if each is not None]
        if not limited or len(limited) < len(arm.running.root_pids):
            return None
        least.append(sum(limited))
    return min(least, default=None)


def _limit_hit(running: Running) -> str:
    return running.limit_hit() if isinstance(running, Limited) else ""
