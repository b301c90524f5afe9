"""What a bench is asked for, and how blocks, arms and draws are ordered. Pure.

What the parts of a start draw by; pure.

The seam between the logic of experiments and real servers under real load.

Arms come up in drawn order (`line_up`). While the first arm always came first, of 20 comparisons of
an Apache with itself (two runs of `benches.power`) 6 had one arm 5 to 11 % faster, by 2.2 to 5.6
standard errors, and 2 claimed it. The squares of all 20, in standard errors, add up to 95. The
cause is not known: in 63 comparisons by hand, in other hours, they add up to 68.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from httpdyno.experiment.trial.budget import NOTHING_AHEAD, Ahead
from httpdyno.model import Configuration, HostFacts, StartRecord, WindowRecord


def start_seed(seed: int, comparison: int, start: int, *part: int) -> int:
    """Return the engine's seed for one part of a start.

    0 is the warm-up, 1 the windows, 2 the order of starts, 3 what is seen between the former of how
    users come in, 4 how long the warm-up is, 5 what servers are looked at under, 6 what their
    system calls are counted under, 7 a warm-up by count.

    Where arms have loads of their own, the number of the window comes after that.

    Were it the same for each start, all would send the same mix at the same gaps, and what that
    happens to favour would count as proven. The arms of a start do share it.
    """
    parts = " ".join(map(str, part or (1,)))
    text = f"{seed} {comparison} {start} {parts}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest())


CALIBRATION_INDEX = 0
"""The calibration's number. Comparisons have the numbers from 1 on, as they are begun."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StartRequest:
    """One start of all arms side by side, to be loaded in turn."""

    comparison: int
    start: int
    arms: tuple[Configuration, ...]
    order: tuple[tuple[int, ...], ...]
    """For each block, the arms in the order they are loaded; (n_blocks, n_arms)."""
    window_s: float
    lead_in_s: float
    warm_up_s: float
    warm_up_requests: int = 0
    """Above 0: answers of each arm, which take `warm_up_s` at the most; else it is a time."""
    line_up: tuple[int, ...] = ()
    """The arms in the order they are spawned and the engine has them: drawn anew for each start,
    so that nothing but its configuration sets an arm apart. Empty: as listed; (n_arms,) or (0,)."""
    left_out: frozenset[int] = frozenset()
    """Arms that are not started: they failed before, and their silence costs the others time."""
    limit_s: float = math.inf
    """What the start may take: where latencies demand long windows, it has fewer of them."""
    windows_s: float = math.inf
    """What its windows may take then; less than `limit_s`, of which other things take some."""
    n_needed: int = 0
    """Above 0 the start is refused where even so it and later ones would take longer than `limit_s`
    each: it takes so many such starts to claim anything."""
    ahead: Ahead = NOTHING_AHEAD
    """How many such starts the plan takes, at least, for the budget that is told then."""

    tell: Callable[[Sequence[Sequence[int]]], None] = field(
        default=lambda _pids: None, compare=False, repr=False
    )
    """Is told the processes that the arms' servers began as, once they are spawned; (n_arms,)."""

    is_alone: bool = False
    """Whether none of the arms comes up in another comparison: all that is to be told of why they
    differ is looked for now. Else what takes long is kept for those that come up again."""

    @property
    def lined_up(self) -> tuple[int, ...]:
        """The arms' numbers in that order; (n_arms,)."""
        return self.line_up or tuple(range(len(self.arms)))

    @property
    def labels(self) -> list[str]:
        """Return what the arms are called; (n_arms,)."""
        return [arm.label() for arm in self.arms]


class Bench(Protocol):
    """Where starts are measured: servers and the load engine, or a model of them in tests."""

    def n_side_by_side(self, arms: Sequence[Configuration]) -> int:
        """Return how many starts of these arms may be up at the same time; at least 1."""

    def measure_starts(
        self, requests: Sequence[StartRequest], save: Callable[[WindowRecord], None]
    ) -> list[StartRecord]:
        """Start the arms of all these starts, load them window by window, end them.

        The starts have the same arms, and are up side by side; there are no more of them than
        `n_side_by_side` says. Every window is handed to `save` as it ends. A server that refuses,
        crashes or hangs is told in its record's statuses. `duration_s` of the records adds up to
        the time spent.
        """

    def looks_s(
        self, comparisons: Sequence[Sequence[Configuration]], *, is_alone: bool = False
    ) -> float:
        """Return what looking at servers is expected to take, were these compared in this order.

        Each is looked at once, in the first start that has it, when its windows are through; none
        of what was looked at already is in it. What is counted in each comparison's first start
        alone is in it, too.

        Args:
            comparisons: That begin, with their arms.
            is_alone: As in a request.
        """

    def configuration_diff(self, start: Configuration, final: Configuration) -> str:
        """Return what differs between the two as the server gets them, as a unified diff."""

    def host(self) -> HostFacts:
        """Return the machine and software that this bench measures on."""


def block_order(
    n_arms: int, n_blocks: int, *, seed: int, comparison: int, start: int
) -> tuple[tuple[int, ...], ...]:
    """Return each block's arms in random order, from the study's `order` stream.

    Two arms alternate as AB BA at random starting sides, so that each block pair is balanced
    against linear drift; more arms are shuffled.
    """
    # Imported here: `httpdyno --help` need not load numpy.
    import numpy as np  # noqa: PLC0415

    rng = np.random.default_rng([seed, 0x0D0, comparison, start])
    order: list[tuple[int, ...]] = []
    for _ in range((n_blocks + 1) // 2):
        arms = tuple(int(arm) for arm in rng.permutation(n_arms))
        order += [arms, arms[::-1]]
    return tuple(order[:n_blocks])


def line_up(n_arms: int, *, seed: int, comparison: int, start: int) -> tuple[int, ...]:
    """Return the arms in the order they are spawned, from the study's `line_up` stream; (n_arms,).

    Who comes first always may be better off always, by where the scheduler puts it or what the
    machine had to give then, in all starts alike. Drawn, that is noise of a start, as it should be.
    """
    # Imported here: `httpdyno --help` need not load numpy.
    import numpy as np  # noqa: PLC0415

    rng = np.random.default_rng([seed, 0x0D1, comparison, start])
    return tuple(int(arm) for arm in rng.permutation(n_arms))
