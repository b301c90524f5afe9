"""Closed loops in virtual time: users whose cycles are drawn, and what a window sees of them."""

import math
from collections.abc import Callable

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from httpdyno.experiment.trial.cycles import WindowChoice
from httpdyno.model import Cycles, Measurement, StartRecord, Telemetry, WindowRecord

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]

LENGTHS: dict[str, Draw] = {
    "constant": lambda rng, n: np.ones(n),
    "exponential": lambda rng, n: rng.exponential(1.0, n),
    "lognormal": lambda rng, n: rng.lognormal(-0.18, 0.6, n),
    "two-point": lambda rng, n: np.where(rng.random(n) < 0.2, 3.0, 0.5),
}
"""Of mean 1, by the kind of distribution; (n,)."""


def seen_cycles(
    rng: np.random.Generator, draw: Draw, n_users: int, choice: WindowChoice
) -> tuple[Cycles, int]:
    """Return what a window credits, and the answers that end in its measured part.

    Args:
        rng: Where randomness comes from.
        draw: From (rng, n) to lengths in seconds; (n,).
        n_users: Each begins at a random instant of its share of the spread.
        choice: The window; load goes on until each cycle over its end is over.
    """
    from_s = choice.spread_s + choice.lead_in_s
    to_s = from_s + choice.measure_s
    began = (np.arange(n_users) + rng.random(n_users)) * choice.spread_s / n_users
    credit, n_ended = 0.0, 0
    begun: list[float] = []
    while (began < to_s).any():
        began = began[began < to_s]
        lengths = draw(rng, len(began))
        ended = began + lengths
        within = np.minimum(ended, to_s) - np.maximum(began, from_s)
        credit += float(np.sum(np.maximum(within, 0.0) / lengths))
        n_ended += int(np.sum((ended >= from_s) & (ended <= to_s)))
        begun += lengths[began >= from_s].tolist()
        began = ended
    return Cycles(
        credit=credit,
        n_users=n_users,
        begun=len(begun),
        begun_right=len(begun),
        begun_s=math.fsum(begun),
        begun_s2=math.fsum(each * each for each in begun),
        longest_s=max(begun, default=0.0),
    ), n_ended


def start_of(number: int, arms: list[list[Cycles]], measured_s: float) -> StartRecord:
    """Return a start whose windows saw these cycles; (n_arms, n_windows)."""
    windows = tuple(
        WindowRecord(
            comparison=1,
            start=number,
            block=block,
            arm=arm,
            measurement=Measurement(
                opened_s=0.0,
                measured_s=measured_s,
                total_s=2 * measured_s,
                offered=cycles.begun,
                completed=cycles.begun_right,
                measured_completed=cycles.begun_right,
                cycles=cycles,
            ),
            telemetry=Telemetry(cpu_s=0.1),
        )
        for arm, row in enumerate(arms)
        for block, cycles in enumerate(row)
    )
    return StartRecord(
        comparison=1,
        start=number,
        began_at="2026-01-01T00:00:00+00:00",
        duration_s=1.0,
        statuses=tuple("complete" for _ in arms),
        windows=windows,
    )


def cheaper(starts):
    """Return the starts with half the CPU time of arm 0 for arm 1."""
    return [
        structs.replace(
            start,
            windows=tuple(
                structs.replace(w, telemetry=structs.replace(w.telemetry, cpu_s=0.1 - 0.05 * w.arm))
                for w in start.windows
            ),
        )
        for start in starts
    ]
