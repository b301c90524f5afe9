"""What Little's law takes from a claim of throughput, or does to its interval; pure.

An interval over starts covers what chance does from start to start, and no more: what is wrong in
all of an arm's starts alike leaves no trace in their spread, and more of them only make the
interval narrower around a wrong ratio. Of that the check by Little's law knows. Credited throughput
and that of the users' cycles are counts of different things; if one of them is right, the other is
off by no more than what they differ by. So an arm's throughput may be off by that, to either side,
because nobody knows which of the two is right; and by what cycles without an end might have added.

A ratio may be off by what both of its arms may be: in opposite directions, at worst. Its interval
is made wider by the sum, on the logarithm and to both sides, and what it then still says is
claimed. So it covers chance, with the interval's confidence, and beside that a systematic error of
at most what the two counts differ by. An error that both counts share is not seen. Differences that
chance or the check's tolerance may explain are no complaint, and widen nothing.

Some complaints tell nothing of a size: cycles that were not followed, or did not begin. Then
nothing is claimed, however large the ratio.

Simulated with eight starts that differ by 5 %, either arm's credit off by up to a tenth and its
cycles right, 300 comparisons: the widened interval misses the true ratio in 2, the plain one in 84
(`tests/experiment/test_doubt.py`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from httpdyno.experiment.littles_law import little_check
from httpdyno.metrics import of_ratio
from httpdyno.model import RatioInterval, StartRecord
from httpdyno.reason import Reason, because

_PAIR = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Doubt:
    """What is wrong with the throughput of some arms, and by how much each may be off."""

    complaints: tuple[Reason, ...] = ()
    """What is wrong; empty where all is well."""
    off_logs: Mapping[int, float] = field(default_factory=dict)
    """By the arm, of its logarithm; infinite where nobody knows. None is well."""

    @property
    def is_unbounded(self) -> bool:
        """Whether nobody knows by how much some arm is off: then nothing may be claimed."""
        return any(math.isinf(each) for each in self.off_logs.values())

    @property
    def notes(self) -> tuple[Reason, ...]:
        """What a verdict is to add that rests on an interval which is so wide; empty for none."""
        if not self.complaints or self.is_unbounded:
            return ()
        return (because("experiment.interval_includes", complaints=self.complaints),)

    def warning(self, n_arms: int) -> Reason:
        """Return what it does to ratios of throughput, whatever is claimed by them.

        Args:
            n_arms: Of how many ratios are made; of more than two the most is told.
        """
        if self.is_unbounded:
            return because("experiment.little_unsized", complaints=self.complaints)
        most = math.fsum(sorted(self.off_logs.values())[-_PAIR:])
        return because(
            "experiment.little" if n_arms <= _PAIR else "experiment.little_of_many",
            complaints=self.complaints,
            wider_ratio=math.expm1(most),
        )

    def known(self, arm: int) -> float:
        """Return by how much the logarithm of an arm may be off; 0 where nobody knows."""
        off_log = self.off_logs.get(arm, 0.0)
        return off_log if math.isfinite(off_log) else 0.0

    def slack(self, *arms: int) -> float:
        """Return by how much the log ratio of two arms may be off; infinite if nobody knows."""
        return self.slack_of(dict.fromkeys(arms, 1.0))

    def slack_of(self, weights: Mapping[int, float]) -> float:
        """Return by how much a sum of the arms' logarithms may be off.

        Args:
            weights: Of each arm, of either sign.
        """
        off = (
            abs(weight) * self.off_logs.get(arm, 0.0) for arm, weight in weights.items() if weight
        )
        return math.fsum(off)


def little_doubt(starts: Sequence[StartRecord], arms: Sequence[int] = (0, 1)) -> Doubt:
    """Return what is wrong with the throughput of these arms, by Little's law."""
    checks = {arm: little_check(starts, arm) for arm in arms}
    wrong = {arm: each for arm, each in checks.items() if each is not None and each.complaints}
    return Doubt(
        complaints=tuple(reason for each in wrong.values() for reason in each.complaints),
        off_logs={arm: each.off_log for arm, each in wrong.items()},
    )


def doubt_about(
    starts: Sequence[StartRecord], ratio_name: str, arms: Sequence[int] = (0, 1)
) -> Doubt:
    """Return what is wrong with a figure of these arms: nothing, where it is no throughput."""
    return little_doubt(starts, arms) if of_ratio(ratio_name).is_rate else Doubt()


def with_slack(seen: RatioInterval, log: float) -> RatioInterval:
    """Return an interval that has in it that its log ratio may be off by so much to either side.

    Where nobody knows by how much it is returned as it is: it shows what chance leaves open, and
    nothing is claimed by it.
    """
    if math.isinf(log):
        return seen
    factor = math.exp(log)
    return structs.replace(seen, low=seen.low / factor, high=seen.high * factor)
