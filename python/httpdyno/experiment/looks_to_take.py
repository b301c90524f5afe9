"""Which servers of a run are looked at, and of which the system calls are counted as well; pure.

Each configuration is looked at once, beside the first it is compared with; in the calibration none
is. Its system calls take longer to count and answer one question only: why a change helped. So they
are counted for what a run starts with and for what came out well: that comes up again in a later
comparison.
"""

from collections.abc import Mapping, Sequence

from httpdyno.experiment.bench import StartRequest
from httpdyno.experiment.look_cost import LookCost
from httpdyno.experiment.session import CALIBRATION_INDEX
from httpdyno.model import Configuration, Look

_REFERENCE = 0
_N_OF_STEP = 2


class LooksToTake:
    """Remembers what was looked at in the starts of a run so far."""

    def __init__(self, *, can_count: bool, cost: LookCost | None = None) -> None:
        """Remember nothing yet.

        Args:
            can_count: Whether system calls can be counted here, as far as that is known.
            cost: What earlier looks took, where that is known.
        """
        self._can_count = can_count
        self._seen_in: dict[str, int] = {}
        """Configuration → the comparison in which it was looked at first."""
        self._traced: set[str] = set()
        self._cost = cost or LookCost()

    def wanted(self, request: StartRequest) -> Mapping[int, bool]:
        """Return the arms that are to be looked at → whether their system calls are counted.

        None in a calibration: that says what a start takes, and its configuration is looked at
        beside the first candidate. Elsewhere of arms that are alike the first.
        """
        return self._wanted(request.arms, request.comparison, is_alone=request.is_alone)

    def took(
        self, request: StartRequest, looks: Mapping[int, Look], cost: LookCost | None = None
    ) -> None:
        """Take note of what was seen, so that it is looked for once.

        Where system calls could not be counted once, it is not tried again.

        Args:
            request: The start.
            looks: What was seen of which arm.
            cost: What that took, where it is known.
        """
        for arm, counts in self.wanted(request).items():
            if (look := looks.get(arm)) is not None:
                self._note(request.arms[arm].label(), request.comparison, counts=counts)
                self._can_count &= not counts or bool(look.calls)
        if cost is not None:
            self._cost += cost

    def expected_s(
        self, comparisons: Sequence[Sequence[Configuration]], *, is_alone: bool = False
    ) -> float:
        """Return the time of what is still to be looked at, were these compared in this order.

        Args:
            comparisons: That begin, with their arms.
            is_alone: As in a request.
        """
        ahead = LooksToTake(can_count=self._can_count)
        ahead._seen_in, ahead._traced = {**self._seen_in}, {*self._traced}
        n_looks = n_counts = 0
        for place, arms in enumerate(comparisons, 1):
            number = -place  # nobody's yet
            wanted = ahead._wanted(arms, number, is_alone=is_alone)
            for arm, counts in wanted.items():
                ahead._note(arms[arm].label(), number, counts=counts)
            n_looks += len(wanted)
            n_counts += sum(wanted.values())
        return self._cost.expected_s(n_looks, n_counts)

    def _wanted(
        self, arms: Sequence[Configuration], comparison: int, *, is_alone: bool
    ) -> dict[int, bool]:
        labels = [arm.label() for arm in arms]
        is_step = len(labels) == _N_OF_STEP
        if comparison == CALIBRATION_INDEX and len(set(labels)) == 1:
            return {}
        found = {}
        for arm, label in enumerate(labels):
            if label in labels[:arm]:
                continue
            is_new = label not in self._seen_in
            comes_again = self._seen_in.get(label, comparison) != comparison
            counts = is_alone or (is_step and (arm == _REFERENCE or comes_again))
            counts = counts and self._can_count and label not in self._traced
            if is_new or counts:
                found[arm] = counts
        return found

    def _note(self, label: str, comparison: int, *, counts: bool) -> None:
        self._seen_in.setdefault(label, comparison)
        if counts:
            self._traced.add(label)
