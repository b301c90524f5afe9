"""What may disturb the starts of two arms that are the same: shapes, and draws of them; pure.

All times are of the model, in seconds; effects are of the logarithm of an arm's speed.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Logs = NDArray[np.float64]

NONE = (0.0, 0.0)
START_SD = (0.01, 0.15)
"""Of a start's speed, drawn anew for each sequence: from a machine for itself to a busy one."""
MOOD_SD = 0.1
"""Of what both arms of a start have in common."""
BEGIN_RATIO = 0.3
"""The chance that a burst begins with a batch."""
BURST_BATCHES = (1, 4)
SLOWED_RATIO = (0.1, 0.6)
"""What a burst takes of an arm's speed, drawn for each start."""
SIGMA = 0.8
"""Of lognormal slowness."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """A kind of disturbance; ranges are drawn from once for each sequence."""

    name: str
    drift_log: tuple[float, float] = NONE
    """By how much the machine becomes faster or slower over the budget, steadily."""
    step_log: tuple[float, float] = NONE
    """And at one instant, drawn evenly."""
    burst_ratio: tuple[float, float] = NONE
    """The share of starts, during a burst, of which one arm is slowed. It is drawn for each burst;
    bursts last for a few batches."""
    slowed: Literal["any", "same"] = "any"
    """Which arm: drawn for each start, or for the whole burst."""
    tails: Literal["normal", "t", "lognormal"] = "normal"
    """How the speeds of starts differ. Lognormal: now and then one is much slower."""
    shared_ratio: tuple[float, float] = NONE
    """The part of the variance of a start's ratio that the starts of a batch have in common."""
    is_assumed: bool = True
    """Whether intervals assume to meet nothing worse. A disturbance that meets one arm alone, in
    start after start, is a difference to whoever can only measure."""


DRIFT = (0.1, 0.5)
SHAPES = (
    Shape(name="noise alone"),
    Shape(name="steady drift", drift_log=DRIFT),
    Shape(name="step in time", step_log=DRIFT),
    Shape(name="bursts", burst_ratio=(0.1, 0.5)),
    Shape(name="one-sided", burst_ratio=(0.1, 0.5), slowed="same", is_assumed=False),
    Shape(name="t, 3 degrees", tails="t"),
    Shape(name="lognormal", tails="lognormal"),
    Shape(name="5 % in common", shared_ratio=(0.05, 0.05), is_assumed=False),
    Shape(name="20 % in common", shared_ratio=(0.2, 0.2), is_assumed=False),
    Shape(
        name="drift to tails",
        drift_log=DRIFT,
        step_log=DRIFT,
        burst_ratio=(0.1, 0.5),
        tails="t",
    ),
)


class Disturbance:
    """What one sequence of starts meets."""

    def __init__(self, shape: Shape, rng: np.random.Generator, *, lasts_s: float) -> None:
        self._shape, self._rng, self._lasts_s = shape, rng, lasts_s
        self._start_sd = float(np.exp(rng.uniform(*np.log(START_SD))))
        self._drift_log = self._drawn(shape.drift_log) * self._side()
        self._step_log = self._drawn(shape.step_log) * self._side()
        self._step_s = float(rng.uniform(0, lasts_s))
        self._shared_ratio = self._drawn(shape.shared_ratio)
        self._n_left, self._burst_ratio, self._arm = 0, 0.0, 0

    def machine_log(self, now_s: float) -> float:
        """Return how fast the machine is at an instant, for whatever runs on it."""
        step = self._step_log if now_s >= self._step_s else 0.0
        return self._drift_log * now_s / self._lasts_s + step

    def batch_log(self, n_starts: int) -> Logs:
        """Return how fast the arms of the next batch are; (n_starts, 2)."""
        shared = self._shared_ratio
        logs: Logs = np.sqrt(1 - shared) * self._start_sd * self._tails((n_starts, 2))
        # The difference of two arms has twice the variance of one.
        logs[:, 1] += np.sqrt(2 * shared) * self._start_sd * self._rng.standard_normal()
        logs += MOOD_SD * self._rng.standard_normal((n_starts, 1))
        logs += self._slowed_log(n_starts)
        return logs

    def _slowed_log(self, n_starts: int) -> Logs:
        """Return what a burst takes, if there is one; (n_starts, 2)."""
        rng, logs = self._rng, np.zeros((n_starts, 2))
        if self._shape.burst_ratio == NONE:
            return logs
        if self._n_left == 0 and rng.random() < BEGIN_RATIO:
            least, most = BURST_BATCHES
            self._n_left = int(rng.integers(least, most + 1))
            self._burst_ratio = self._drawn(self._shape.burst_ratio)
            self._arm = int(rng.integers(2))
        if self._n_left == 0:
            return logs
        self._n_left -= 1
        is_hit = rng.random(n_starts) < self._burst_ratio
        arms = rng.integers(2, size=n_starts) if self._shape.slowed == "any" else self._arm
        slowed = np.log(1 - rng.uniform(*SLOWED_RATIO, n_starts))
        logs[np.arange(n_starts), arms] = np.where(is_hit, slowed, 0.0)
        return logs

    def _tails(self, size: tuple[int, int]) -> Logs:
        """Return values of variance 1, as the shape has them."""
        values: Logs
        if self._shape.tails == "t":
            values = self._rng.standard_t(3, size) / np.sqrt(3)
        elif self._shape.tails == "lognormal":
            # Variance of a lognormal value whose logarithm has mean 0.
            variance = (np.exp(SIGMA**2) - 1) * np.exp(SIGMA**2)
            values = -self._rng.lognormal(0, SIGMA, size) / np.sqrt(variance)
        else:
            values = self._rng.standard_normal(size)
        return values

    def _drawn(self, within: tuple[float, float]) -> float:
        return float(self._rng.uniform(*within))

    def _side(self) -> int:
        return int(self._rng.choice((-1, 1)))
