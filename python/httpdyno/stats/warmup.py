"""Where a run becomes steady: its warm-up, found by a test.

Three series are looked at: right answers per interval, the mean logarithm of latency, and the
share of slow requests (beyond the 90th percentile). For each, means over the first part of the
run are held against the second half, with the spread that the second half itself foretells,
dependence included (`stats/dependence.py`). Where one is off, the shortest beginning is cut after
which nothing is. A cut never takes more than `MAX_CUT_RATIO`: what is not steady by then is said
not to be.

What others do, and why not so. MSER-5 (White, Simulation 69, 1997; White, Cobb and Spratt, Winter
Simulation Conference 2000) cuts where the remaining mean's nominal standard error is least: an
estimator, not a test. It cuts something from every third steady run, and where intervals hang
together (AR(1) with 0.9), more than 30 % from every tenth (`research/warmups`). Schruben's test
(Operations Research 30, 1982) and Heidelberger and Welch's use of it (Operations Research 31,
1983) do test, but against trends over the whole run, with a variance from its end that is taken
as known; a short warm-up hardly shows in them. Geweke's (1992) holds the first tenth against the
last half: that is what is done here, for beginnings of every length, and with the uncertainty of
the variance.
"""

import numpy as np

from httpdyno.stats.dependence import Dependence, Floats
from httpdyno.stats.estimation import MIN_INTERVALS, REFERENCE_RATIO, WarmUp, too_short
from httpdyno.stats.interval_series import IntervalSeries
from httpdyno.units import format_duration

MAX_CUT_RATIO = 0.3
"""The longest beginning of a run that is cut."""

_STEP_RATIO = 0.025
_FOUND_P = 0.005
"""A series whose least probable beginning is below this has a warm-up. Beginnings of
twelve lengths are looked at, so of steady series 1 to 2 % have one by this; of whole runs, with
three series each, 2 to 4 %, where requests come in bunches up to 8 %."""

_GONE_P = 0.05
"""What is left after a cut must be likelier than this: a remainder of the warm-up shows long
after it would be found by itself."""

_SLOW_SHARE = 0.1


def warm_up(series: IntervalSeries) -> WarmUp:
    """Find the beginning of a run that is unlike the rest."""
    n = series.n_intervals
    if n * REFERENCE_RATIO < MIN_INTERVALS:
        return too_short(series.interval_s)
    beginnings = {name: _Beginning(values) for name, values in _looked_at(series).items()}
    if not beginnings:
        return WarmUp(test="no warm-up found (all intervals are the same)")
    steps = sorted({max(1, round(_STEP_RATIO * i * n)) for i in range(1, round(1 / _STEP_RATIO))})
    longest = int(MAX_CUT_RATIO * n)
    cuts = [step for step in steps if step <= longest]
    p_values = {name: each.least_p(0, cuts) for name, each in beginnings.items()}
    name = min(p_values, key=lambda each: p_values[each])
    found = f"{name} of beginnings against the second half: least p = {p_values[name]:.2g}"
    if p_values[name] >= _FOUND_P:
        return WarmUp(test=f"no warm-up found ({found})")
    longest_text = format_duration(longest * series.interval_s)
    ends = [step for step in steps if step <= n - round(REFERENCE_RATIO * n)]
    for cut in cuts:
        if all(each.least_p(cut, ends) > _GONE_P for each in beginnings.values()):
            cut_s = cut * series.interval_s
            gone = f"gone after {format_duration(cut_s)}"
            return WarmUp(n_cut=cut, cut_s=cut_s, test=f"warm-up found ({found}), {gone}")
    return WarmUp(
        test=f"warm-up found ({found}), not gone after {longest_text}",
        reason=f"{name} was not steady, even without the first {longest_text}: measure longer, or "
        "let the load run for a while before it is measured",
    )


def _looked_at(series: IntervalSeries) -> dict[str, Floats]:
    """Return the series that show a warm-up, each with one figure per interval."""
    found = {"throughput": series.completed}
    ended, totals = series.ended, series.counts.sum(axis=0)
    if totals.sum() > 0:
        # Residuals, not means: intervals with few requests must not weigh as much as the others.
        logs = series.counts @ np.log(series.bounds_ns.astype(float) + 1)
        found["latency"] = logs - logs.sum() / totals.sum() * ended
        is_slow = np.cumsum(totals) > (1 - _SLOW_SHARE) * totals.sum()
        slow = series.counts[:, is_slow].sum(axis=1)
        found["the share of slow requests"] = slow - slow.sum() / totals.sum() * ended
    return {name: values for name, values in found.items() if np.ptp(values) > 0}


class _Beginning:
    """A series' beginning, held against its end."""

    def __init__(self, values: Floats) -> None:
        self._values = values
        self._n_reference = round(REFERENCE_RATIO * len(values))
        reference = values[-self._n_reference :]
        self._level = float(reference.mean())
        self._dependence = Dependence(reference)
        self._variances = self._dependence.variances(self._n_reference)

    def least_p(self, cut: int, ends: list[int]) -> float:
        """Return the least probability of a mean from the cut to one of the ends."""
        return min((self._p(cut, end) for end in ends if end > cut), default=1.0)

    def _p(self, begin: int, end: int) -> float:
        deviation = float(self._values[begin:end].mean()) - self._level
        if self._dependence.is_constant:
            return 1.0 if deviation == 0 else 0.0
        variances = self._dependence.variances(end - begin) + self._variances
        return self._dependence.p_beyond(deviation, variances)
