"""Which servers of a run are looked at, and of which the system calls are counted as well; pure.

Each configuration is looked at once, beside the first it is compared with. Its system calls take
longer to count and answer one question only: why a change helped. So they are counted for what a
run starts with and for what came out well: that comes up again in a later comparison.
"""

from collections.abc import Mapping

from httpdyno.experiment.bench import StartRequest
from httpdyno.model import Look

_REFERENCE = 0
_N_OF_STEP = 2


class LooksToTake:
    """Remembers what was looked at in the starts of a run so far."""

    def __init__(self, *, can_count: bool) -> None:
        """Remember nothing yet.

        Args:
            can_count: Whether system calls can be counted here, as far as that is known.
        """
        self._can_count = can_count
        self._seen_in: dict[str, int] = {}
        """Configuration → the comparison in which it was looked at first."""
        self._traced: set[str] = set()

    def wanted(self, request: StartRequest) -> Mapping[int, bool]:
        """Return the arms that are to be looked at → whether their system calls are counted.

        None where all arms are alike: a calibration says what a start takes, and its configuration
        is looked at beside the first candidate.
        """
        labels = [arm.label() for arm in request.arms]
        is_step = len(labels) == _N_OF_STEP
        if len(set(labels)) == 1:
            return {}
        found = {}
        for arm, label in enumerate(labels):
            is_new = label not in self._seen_in
            comes_again = self._seen_in.get(label, request.comparison) != request.comparison
            counts = request.is_alone or (is_step and (arm == _REFERENCE or comes_again))
            counts = counts and self._can_count and label not in self._traced
            if is_new or counts:
                found[arm] = counts
        return found

    def took(self, request: StartRequest, looks: Mapping[int, Look]) -> None:
        """Take note of what was seen, so that it is looked for once; (arm → what was seen of it).

        Where system calls could not be counted once, it is not tried again.
        """
        for arm, counts in self.wanted(request).items():
            if (look := looks.get(arm)) is None:
                continue
            label = request.arms[arm].label()
            self._seen_in.setdefault(label, request.comparison)
            if counts:
                self._traced.add(label)
                self._can_count &= bool(look.calls)
