"""How much a mean over one run can be off, when neighbouring intervals hang together.

The textbook answer is batch means: join intervals until a test finds no correlation between
neighbouring batches, then use Student's t. A few dozen batches give that test so little power
that it passes exactly the runs whose spread it underestimates: on a server whose speed wanders
with a memory of 100 ms, the runs of 2 s that pass it (21 % of them) cover the truth in 71 % of
the cases instead of 95 % (`benches/coverage` shows both side by side).

So dependence is not tested away here but modelled, with its uncertainty. The cosine transform of
a stationary series turns dependence over time into unequal variances over frequency: its
coefficients are nearly independent and normal with the spectrum as their variance, and the
variance of the mean is the spectrum at frequency zero. `SHAPES` are the ways in which a spectrum
may behave there: flat (no dependence), with a hump (the server's state lasts for a while), with
a dip (something keeps the pace even). Each shape's weight follows from how well it explains the
coefficients; an interval is that of the mixture. Where the data tell that there is no
dependence, it is 5 to 10 % wider than Student's; where they leave room for some, it is as wide
as it must be.

Source:
    Müller, HAC corrections for strongly autocorrelated time series, Journal of Business &
    Economic Statistics 32 (2014), and Müller and Watson, Low-frequency econometrics (2017): low
    frequency cosines, a family of spectra, inference that keeps its level over all of the family.
    Lazarus, Lewis, Stock and Watson, HAR inference: recommendations for practice, same journal
    36 (2018): type II cosines, Student's t. Whittle, Estimation and information in stationary
    time series, Arkiv för Matematik 2 (1953): the likelihood.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_INTERVALS_PER_WAVE = 5
_MAX_WAVES = 48
"""The spectrum is looked at from one wave over two runs up to one over ten intervals; at most
this many coefficients. Faster ones say nothing about the mean."""

_P_FLAT = 0.6
_P_DIP = 0.05
"""Weights before the data are seen; the rest is the humps'. With 0.5 for flat, independent
requests are covered 98 % of the time, with 0.8 a memory of 1/70 of the run only 93 % (simulated
when it was chosen); 0.6 is between."""

_HUMP_HEIGHTS = (1.0, 4.0, 16.0, 64.0, 256.0)
_HUMP_WAVES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_DIP_DEPTHS = (0.7, 0.95)
_DIP_WAVES = (8.0, 16.0, 32.0)

_SLOW_WAVE = 5.0
"""A hump narrower than this many waves is a memory of more than 1/16 of the run (1/5π): the run
then holds fewer than eight stretches that are independent of each other."""

STRETCHES_PER_MEMORY = np.pi * _SLOW_WAVE
"""How many times longer than its memory a run must be."""


@dataclass(frozen=True, slots=True)
class _Shapes:
    """Spectra 1 + h/(1 + (j/k)²) over waves j: the flat one, humps (h > 0), dips (h < 0)."""

    height: Floats
    """h; (n_shapes,)."""
    wave: Floats
    """k, at which the hump is halved: a memory of n/πk intervals; (n_shapes,)."""
    log_prior: Floats
    gain: Floats
    """(n_shapes, n_waves)."""
    log_gain: Floats


@lru_cache(maxsize=64)
def _shapes(n_waves: int) -> _Shapes:
    humps = [(height, wave) for height in _HUMP_HEIGHTS for wave in _HUMP_WAVES]
    dips = [(-depth, wave) for depth in _DIP_DEPTHS for wave in _DIP_WAVES]
    height, wave = np.array([(0.0, 1.0), *humps, *dips]).T
    prior = np.concatenate(
        [
            [_P_FLAT],
            np.full(len(humps), (1 - _P_FLAT - _P_DIP) / len(humps)),
            np.full(len(dips), _P_DIP / len(dips)),
        ]
    )
    waves = np.arange(1, n_waves + 1)
    gain = 1 + height[:, None] / (1 + (waves / wave[:, None]) ** 2)
    return _Shapes(height, wave, np.log(prior), gain, np.log(gain))


@lru_cache(maxsize=64)
def _cosines(n_intervals: int, n_waves: int) -> Floats:
    """Return the orthonormal type II cosines but the constant one; (n_waves, n_intervals)."""
    middles = np.arange(n_intervals) + 0.5
    angles = np.pi / n_intervals * np.outer(np.arange(1, n_waves + 1), middles)
    cosines: Floats = np.sqrt(2 / n_intervals) * np.cos(angles)
    return cosines


class Dependence:
    """What a series tells of the spread of its means, as a mixture over shapes.

    Args:
        series: One figure for each of equal intervals; its level does not matter; (n_intervals,).
        n_left_out: So many of the slowest waves are not looked at: what they would be is foretold
            from the others.
    """

    def __init__(self, series: Floats, *, n_left_out: int = 0) -> None:
        self._n = len(series)
        n_waves = max(2, min(_MAX_WAVES, self._n // _INTERVALS_PER_WAVE) // 2 * 2)
        self._shapes = _shapes(n_waves)
        self._coefficients = _cosines(self._n, n_waves) @ (series - series.mean())
        # Student's distribution is a short sum where its degrees of freedom are even.
        seen = slice(n_left_out, n_waves - n_left_out % 2)
        squares = self._coefficients[seen] ** 2
        self._degrees = len(squares)
        flattened = (squares / self._shapes.gain[:, seen]).sum(axis=1)
        self._scale = flattened / self._degrees
        self._weight = np.exp(self._shapes.log_prior)
        if flattened.min() > 0:
            # The scale's uncertainty is integrated out, with the usual prior 1/scale.
            log_weight = (
                self._shapes.log_prior
                - 0.5 * self._shapes.log_gain[:, seen].sum(axis=1)
                - self._degrees / 2 * np.log(flattened)
            )
            self._weight = np.exp(log_weight - log_weight.max())
            self._weight /= self._weight.sum()

    @property
    def is_constant(self) -> bool:
        """Whether there is no spread at all."""
        return bool(self._scale.max() <= 0)

    @property
    def memory(self) -> Floats:
        """How many intervals each shape's state lasts (its correlation falls to 1/e)."""
        return self._n / (np.pi * self._shapes.wave)

    @property
    def p_slow(self) -> float:
        """Return the weight of shapes whose memory is too long for the run."""
        return float(self._weight[self._is_slow].sum())

    @property
    def slow_memory(self) -> float:
        """Return how many intervals the memory lasts if it is too long, on average."""
        weight = self._weight[self._is_slow]
        return float((weight @ self.memory[self._is_slow]) / weight.sum())

    @property
    def _is_slow(self) -> NDArray[np.bool_]:
        return (self._shapes.height > 0) & (self._shapes.wave < _SLOW_WAVE)

    def variances(self, length: int) -> Floats:
        """Return the variance of a mean over that many intervals by each shape; (n_shapes,)."""
        variances: Floats = self._scale * mean_variances(length, self.memory, self._shapes.height)
        return variances

    def p_beyond(self, deviation: float, variances: Floats) -> float:
        """Return the probability of at least that deviation, either way, under the mixture."""
        spread = np.sqrt(np.maximum(variances, np.finfo(float).tiny))
        return float(self._weight @ two_sided_p(abs(deviation) / spread, self._degrees))

    def p_of_slowest_wave(self) -> float:
        """Return the probability of so strong a first wave; it must have been left out."""
        variances = self._scale * self._shapes.gain[:, 0]
        return self.p_beyond(float(self._coefficients[0]), variances)

    def half_width(self, confidence: float) -> float:
        """Return the half-width of the mean's interval; 0 where there is no spread."""
        if self.is_constant:
            return 0.0
        variances = self.variances(self._n)
        low, high = 0.0, float(np.sqrt(variances.max()))
        while self.p_beyond(high, variances) > 1 - confidence:
            high *= 2
        while high - low > 1e-4 * high:
            middle = (low + high) / 2
            if self.p_beyond(middle, variances) > 1 - confidence:
                low = middle
            else:
                high = middle
        return high


def mean_variances(length: int, memories: Floats, heights: Floats) -> Floats:
    """Return variances of means over a stretch, in units of an interval's independent variance.

    Exactly those of white noise with an Ornstein-Uhlenbeck process, whose spectrum is the hump,
    also where the memory is longer than the stretch.

    Args:
        length: Intervals.
        memories: In intervals, until the correlation has fallen to 1/e; (n,).
        heights: The spectrum at frequency 0 is 1 + height; (n,).
    """
    ages = length / memories
    variances: Floats = (1 + heights * (1 + np.expm1(-ages) / ages)) / length
    return variances


def two_sided_p(t: Floats, degrees: int) -> Floats:
    """Return P(|T| > t) of Student's distribution with an even number of degrees of freedom.

    Source:
        Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.7.4.
    """
    angle = np.arctan(t / np.sqrt(degrees))
    exponents, coefficients = _student_series(degrees)
    inside = np.sin(angle) * ((np.cos(angle) ** 2)[..., None] ** exponents @ coefficients)
    # Cancellation leaves about 1e-16 where the true value is less; never below zero.
    p: Floats = np.maximum(1 - inside, 0.0)
    return p


@lru_cache(maxsize=64)
def _student_series(degrees: int) -> tuple[Floats, Floats]:
    """Return exponents of the squared cosine and their coefficients 1, 1/2, (1·3)/(2·4), …."""
    exponents = np.arange(degrees // 2, dtype=float)
    coefficients = np.cumprod(np.append(1.0, 1 - 0.5 / exponents[1:]))
    return exponents, coefficients
