"""Throughput, mean latency and percentiles of one run with their intervals, or why there is none.

A run is taken as equal intervals, in arrays. An interval says how far a figure may be from what
this server, in this state, would show in an endless run. It does not say how much two starts of the
server differ: that takes starts (see `stats/sequence.py`). How much a mean over intervals spreads,
and whether the run is long enough to know, is found in `stats/dependence.py`; here it is turned
into an interval, or into a reason.

**Warm-up.** Three series are looked at: right answers per interval, the mean logarithm of latency,
and the share of slow requests (beyond the 90th percentile). For each, means over the first part of
the run are held against the second half, with the spread that the second half itself foretells,
dependence included (`stats/dependence.py`). Where one is off, the shortest beginning is cut after
which nothing is. A cut never takes more than `MAX_CUT_RATIO`: what is not steady by then is said
not to be.

What others do for a warm-up, and why not so: MSER-5 (White, Simulation 69, 1997; White, Cobb and
Spratt, Winter Simulation Conference 2000) cuts where the remaining mean's nominal standard error is
least: an estimator, not a test. It cuts something from every third steady run, and where intervals
hang together (AR(1) with 0.9), more than 30 % from every tenth (`research/warmups`). Schruben's
test (Operations Research 30, 1982) and Heidelberger and Welch's use of it (Operations Research 31,
1983) do test, but against trends over the whole run, with a variance from its end that is taken as
known; a short warm-up hardly shows in them. Geweke's (1992) holds the first tenth against the last
half: that is what is done here, for beginnings of every length, and with the uncertainty of the
variance.

**Percentiles.** A percentile x is where the share of requests that take at most x is q: the share's
interval, read from the distribution, is the percentile's. Requests differ in number from interval
to interval, so a share is a ratio of two means, and its error is the mean of the residuals
(requests at most x) - share · (requests).

Source:
    Woodruff, Confidence intervals for medians and other position measures, Journal of the
    American Statistical Association 47 (1952): the share's interval, inverted. Francisco and
    Fuller, Quantile estimation with a complex survey design, Annals of Statistics 19 (1991):
    that this holds where observations are dependent. Heidelberger and Lewis, Quantile estimation
    in dependent sequences, Operations Research 32 (1984): how few bunches a high percentile of a
    queue rests on.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from httpdyno.model import Batches, HistogramData
from httpdyno.reason import Reason, because
from httpdyno.stats.dependence import STRETCHES_PER_MEMORY, Dependence, Floats
from httpdyno.stats.estimation import (
    MIN_INTERVALS,
    MIN_REQUESTS,
    REFERENCE_RATIO,
    Estimate,
    WarmUp,
    n_whole_intervals,
    percentile_name,
    too_few_answers,
    too_few_for,
    too_few_requests,
    too_short,
)
from httpdyno.stats.histogram import (
    MIN_TAIL_COUNT,
    can_show,
    count,
    lower_edge_ns,
    mean_s,
    quantile_s,
)


@dataclass(frozen=True, slots=True)
class IntervalSeries:
    """Equal intervals of a run, one after the other, without gaps."""

    interval_s: float
    completed: Floats
    """Right answers; (n_intervals,)."""
    sums_s: Floats
    """Of the latencies of the requests that ended; (n_intervals,)."""
    bounds_ns: NDArray[np.int64]
    """Upper bounds of the buckets of latency, ascending; (n_buckets,)."""
    counts: Floats
    """Requests that ended, by latency; (n_intervals, n_buckets)."""

    @property
    def n_intervals(self) -> int:
        """How many there are."""
        return len(self.completed)

    @property
    def duration_s(self) -> float:
        """Of all of them together."""
        return self.n_intervals * self.interval_s

    @property
    def ended(self) -> Floats:
        """Requests that ended and have a latency; (n_intervals,)."""
        totals: Floats = self.counts.sum(axis=1)
        return totals

    def after(self, n_cut: int) -> "IntervalSeries":
        """Return what is left when the first intervals are cut."""
        return IntervalSeries(
            interval_s=self.interval_s,
            completed=self.completed[n_cut:],
            sums_s=self.sums_s[n_cut:],
            bounds_ns=self.bounds_ns,
            counts=self.counts[n_cut:],
        )

    def distribution(self) -> HistogramData:
        """Return the latencies of all intervals together."""
        totals = self.counts.sum(axis=0)
        used = np.flatnonzero(totals)
        bounds_ns = self.bounds_ns[used].tolist()
        return HistogramData(
            bounds_ns=tuple(bounds_ns),
            counts=tuple(totals[used].astype(int).tolist()),
            sum_s=float(self.sums_s.sum()),
            max_s=bounds_ns[-1] / 1e9 if bounds_ns else 0.0,
        )


def interval_series(batches: Batches, measured_s: float) -> IntervalSeries:
    """Return the whole intervals of the measured part.

    A last interval that the end cut short is left out: its counts would say that the server
    became slow. Intervals after the last request are there, with nothing in them: a server that
    stopped answering did not make the run shorter.

    Args:
        batches: As the engine counted.
        measured_s: The length of the measured part.
    """
    interval_s = batches.interval_s
    n = n_whole_intervals(batches, measured_s)
    n_seen = min(n, len(batches.completed))
    n_timed = min(n, len(batches.latency))
    completed, sums_s = np.zeros(n), np.zeros(n)
    completed[:n_seen] = batches.completed[:n_seen]
    latency = batches.latency[:n_timed]
    sums_s[:n_timed] = [each.sum_s for each in latency]
    bounds_ns = np.array(
        sorted({bound for each in latency for bound in each.bounds_ns}), dtype=np.int64
    )
    counts = np.zeros((n, len(bounds_ns)))
    for row, each in zip(counts, latency, strict=False):
        row[np.searchsorted(bounds_ns, each.bounds_ns)] = each.counts
    return IntervalSeries(
        interval_s=interval_s,
        completed=completed,
        sums_s=sums_s,
        bounds_ns=bounds_ns,
        counts=counts,
    )


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
        return WarmUp(test=because("stats.intervals_alike"))
    steps = sorted({max(1, round(_STEP_RATIO * i * n)) for i in range(1, round(1 / _STEP_RATIO))})
    longest = int(MAX_CUT_RATIO * n)
    cuts = [step for step in steps if step <= longest]
    p_values = {name: each.least_p(0, cuts) for name, each in beginnings.items()}
    name = min(p_values, key=lambda each: p_values[each])
    found = because("stats.tested", of=name, p=p_values[name])
    if p_values[name] >= _FOUND_P:
        return WarmUp(test=because("stats.no_warm_up", found=found))
    longest_s = longest * series.interval_s
    ends = [step for step in steps if step <= n - round(REFERENCE_RATIO * n)]
    for cut in cuts:
        if all(each.least_p(cut, ends) > _GONE_P for each in beginnings.values()):
            cut_s = cut * series.interval_s
            gone = because("stats.warm_up_gone", found=found, cut_s=cut_s)
            return WarmUp(n_cut=cut, cut_s=cut_s, test=gone)
    return WarmUp(
        test=because("stats.warm_up_stays", found=found, cut_s=longest_s),
        reason=because("stats.never_steady", of=name, cut_s=longest_s),
    )


def _looked_at(series: IntervalSeries) -> dict[Reason, Floats]:
    """Return the series that show a warm-up, each with one figure per interval."""
    found = {_THROUGHPUT: series.completed}
    ended, totals = series.ended, series.counts.sum(axis=0)
    if totals.sum() > 0:
        # Residuals, not means: intervals with few requests must not weigh as much as the others.
        logs = series.counts @ np.log(series.bounds_ns.astype(float) + 1)
        found[because("stats.latency")] = logs - logs.sum() / totals.sum() * ended
        is_slow = np.cumsum(totals) > (1 - _SLOW_SHARE) * totals.sum()
        slow = series.counts[:, is_slow].sum(axis=1)
        found[because("stats.slow_share")] = slow - slow.sum() / totals.sum() * ended
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


_THROUGHPUT = because("stats.throughput")

MAX_P_SLOW = 0.5
"""Above this it is more likely than not that the run is too short for the server's memory."""

DRIFT_P = 0.02
"""A first wave (half a period over the run: a rise or a fall) that is less likely than this under
what all the other waves say is called a drift."""

LONGER = 1.2
"""What a run that was too short is advised to be, beyond the least that would do."""


@dataclass(frozen=True, slots=True)
class HalfWidth:
    """How far a mean may be off, either way; or why that cannot be told."""

    half_width: float = math.nan
    reason: Reason | None = None


def throughput(series: IntervalSeries, *, confidence: float) -> Estimate:
    """Estimate the right answers per second."""
    n = series.n_intervals
    value = float(series.completed.mean()) / series.interval_s if n else None
    n_completed = int(series.completed.sum())
    if n_completed < MIN_REQUESTS:
        reason = too_few_answers(n_completed)
        return without_interval(value, series, confidence, reason)
    spread = spread_of(_THROUGHPUT, series.completed, series.interval_s, confidence)
    if value is None or spread.reason:
        return without_interval(value, series, confidence, spread.reason)
    # Where answers come evenly, one more or less lies within the run's edges by chance.
    half_width_per_s = math.hypot(spread.half_width, 1 / n) / series.interval_s
    return Estimate(
        value=value,
        low=max(0.0, value - half_width_per_s),
        high=value + half_width_per_s,
        confidence=confidence,
        n_batches=n,
    )


def mean_latency(
    series: IntervalSeries, *, confidence: float, whole: HistogramData | None = None
) -> Estimate:
    """Estimate the mean latency in seconds.

    It is the ratio of two means, of latencies' sums and of requests, over the intervals; its
    error is the mean of the residuals. Where requests queue, a mean that came out too small also
    has too small a spread: the spread grows with the mean's square, so that of 1/mean is about
    the same whatever the mean. The interval is therefore even about 1/mean. At M/M/1 with a load
    of 0.7 it covers 93 % instead of 91 %; narrow intervals are the same.

    Args:
        whole: The run's own distribution, where nothing was cut: the value is taken from it.

    Source:
        Cochran, Sampling Techniques, 3rd edition (1977), section 6.3: the variance of a ratio.
        Whitt, Planning queueing simulations, Management Science 35 (1989): the variance of a
        queue's mean over a long run, for M/M/1 2ρ(1+ρ)/(1-ρ)⁴.
    """
    data = whole or series.distribution()
    n_requests = int(series.counts.sum())
    value = mean_s(data) if count(data) else None
    if n_requests < MIN_REQUESTS:
        reason = too_few_requests(n_requests)
        return without_interval(value, series, confidence, reason)
    mean = float(series.sums_s.sum()) / n_requests
    errors = (series.sums_s - mean * series.ended) * series.n_intervals / n_requests
    spread = spread_of(because("stats.mean_latency"), errors, series.interval_s, confidence)
    if value is None or spread.reason:
        return without_interval(value, series, confidence, spread.reason)
    relative = spread.half_width / mean if mean > 0 else 0.0
    if relative >= 1:
        # The width falls with the square root of the run's length.
        needed_s = series.duration_s * relative**2 * LONGER
        reason = because("stats.mean_in_bunches", needed_s=needed_s)
        return without_interval(value, series, confidence, reason)
    return Estimate(
        value=value,
        low=value / (1 + relative),
        high=value / (1 - relative),
        confidence=confidence,
        n_batches=series.n_intervals,
    )


def without_interval(
    value: float | None, series: IntervalSeries, confidence: float, reason: Reason | None
) -> Estimate:
    """Return the bare value, if there is one, with the reason."""
    return Estimate(value=value, confidence=confidence, n_batches=series.n_intervals, reason=reason)


def spread_of(of: Reason, values: Floats, interval_s: float, confidence: float) -> HalfWidth:
    """Return how far the mean of the values may be off, if the run is fit to tell.

    Args:
        of: The figure, for the reason.
        values: One for each interval; (n_intervals,).
    """
    n = len(values)
    if n < MIN_INTERVALS:
        needed_s = MIN_INTERVALS * interval_s
        return HalfWidth(
            reason=because("stats.run_too_short", needed_s=needed_s, run_s=n * interval_s)
        )
    dependence = Dependence(values)
    if dependence.is_constant:
        return HalfWidth(half_width=0.0)
    if dependence.p_slow > MAX_P_SLOW:
        memory_s = dependence.slow_memory * interval_s
        return HalfWidth(
            reason=because(
                "stats.correlated",
                of=of,
                memory_s=memory_s,
                run_s=n * interval_s,
                needed_s=memory_s * STRETCHES_PER_MEMORY * LONGER,
            )
        )
    if Dependence(values, n_left_out=1).p_of_slowest_wave() < DRIFT_P:
        is_rise = np.mean(values[n // 2 :]) > np.mean(values[: n // 2])
        return HalfWidth(reason=because("stats.rose" if is_rise else "stats.fell", of=of))
    return HalfWidth(half_width=dependence.half_width(confidence))


_MEDIAN = 0.5

_TAIL_FACTOR = 5
"""A tail's dependence is also looked at where five times as many requests lie beyond."""

_TAIL_BUNCHES = 10.0
"""At so many independent bunches beyond a percentile, both looks weigh the same."""


def percentile(
    series: IntervalSeries, q: float, *, confidence: float, whole: HistogramData | None = None
) -> Estimate:
    """Estimate the latency in seconds that a share q of the requests does not exceed.

    Args:
        q: In (0, 1).
        whole: The run's own distribution, where nothing was cut: value and ends are read from it.
    """
    data = whole or series.distribution()
    if not can_show(data, q):
        return without_interval(None, series, confidence, too_few_for(q, count(data)))
    value = quantile_s(data, q)
    n_requests = int(series.counts.sum())
    if n_requests * min(q, 1 - q) < MIN_TAIL_COUNT:
        reason = because("stats.interval_too_few", why=too_few_for(q, n_requests))
        return without_interval(value, series, confidence, reason)
    share = _share(series, q, confidence)
    if share.reason:
        return without_interval(value, series, confidence, share.reason)
    room = min(q, 1 - q)
    if share.half_width >= room:
        # The width falls with the square root of the run's length.
        needed_s = series.duration_s * (share.half_width / room) ** 2 * LONGER
        reason = because("stats.percentile_in_bunches", name=percentile_name(q), needed_s=needed_s)
        return without_interval(value, series, confidence, reason)
    low_s, high_s = _read(data, q, share.half_width, is_coarse=whole is None)
    return Estimate(
        value=value,
        low=min(low_s, value),
        high=max(high_s, value),
        confidence=confidence,
        n_batches=series.n_intervals,
    )


def _share(series: IntervalSeries, q: float, confidence: float) -> HalfWidth:
    """Return how far the share of requests at most the q-quantile may be from q.

    Beyond a high percentile lie few requests and, where they come in bunches, fewer bunches: too
    few to see from them alone how large bunches are. A level with more requests beyond it tells
    better, so it has a say, the more the fewer bunches there are. Where the body of the
    distribution has no steady level, no percentile has an interval.
    """
    n_requests = series.counts.sum()
    own = _relative(series, q, confidence)
    size = own.half_width**2
    reasons = [own.reason]
    if q > _MEDIAN:
        body = _relative(series, _MEDIAN, confidence)
        inner_q = 1 - _TAIL_FACTOR * (1 - q)
        # Its level is an aid of ours: a reader asked for q, so that is what the reason is about.
        tail = because("stats.tail", name=percentile_name(q))
        inner = _relative(series, inner_q, confidence, tail) if inner_q > _MEDIAN else body
        n_bunches = n_requests * (1 - q) * _normal(confidence) ** 2 / size
        say = _TAIL_BUNCHES / (_TAIL_BUNCHES + n_bunches)
        size = max(size, (1 - say) * size + say * inner.half_width**2)
        reasons += [inner.reason, body.reason]
    reason = next(filter(None, reasons), None)
    return HalfWidth(math.sqrt(size * q * (1 - q) / n_requests), reason)


def _relative(
    series: IntervalSeries, q: float, confidence: float, of: Reason | None = None
) -> HalfWidth:
    """Return the half-width of one share in standard errors of independent requests.

    A reason is about `of`, or else about that percentile.
    It is never smaller than theirs: requests that steady each other are not counted on.
    """
    totals = series.counts.sum(axis=0)
    n_requests = totals.sum()
    at_most = np.cumsum(totals)
    index = int(np.searchsorted(at_most, q * n_requests))
    # Where many requests take the same time, the share jumps there; the nearer side is looked at,
    # but not one with everything or nothing on it.
    sides = [i for i in (index - 1, index) if i >= 0 and 0 < at_most[i] < n_requests]
    if not sides:
        return HalfWidth(_normal(confidence))
    side = min(sides, key=lambda i: abs(float(at_most[i]) / n_requests - q))
    share = at_most[side] / n_requests
    # More requests at most as slow means a lower percentile: what rises is what is beyond.
    errors = share * series.ended - series.counts[:, : side + 1].sum(axis=1)
    errors *= series.n_intervals / n_requests
    spread = spread_of(
        of or because("stats.percentile", name=percentile_name(q)),
        errors,
        series.interval_s,
        confidence,
    )
    relative = spread.half_width / math.sqrt(share * (1 - share) / n_requests)
    return HalfWidth(max(relative, _normal(confidence)), spread.reason)


def _normal(confidence: float) -> float:
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _read(
    data: HistogramData, q: float, half_width: float, *, is_coarse: bool
) -> tuple[float, float]:
    """Return the latencies in seconds where the share is half_width below and above q."""
    cumulative = np.cumsum(data.counts)
    n_requests = int(cumulative[-1])
    ranks = (
        max(1, math.ceil((q - half_width) * n_requests)),
        min(n_requests, math.floor((q + half_width) * n_requests) + 1),
    )
    many = half_width * n_requests
    low, high = (_at_rank(data, cumulative, rank, many, is_coarse=is_coarse) for rank in ranks)
    return low[0], min(high[1], data.max_s)


def _at_rank(
    data: HistogramData,
    cumulative: NDArray[np.int64],
    rank: int,
    many: float,
    *,
    is_coarse: bool,
) -> tuple[float, float]:
    """Return the least and the most that the value of that rank can be, in seconds.

    Within a bucket values are taken to be spread evenly, unless it alone holds as many as the
    interval is wide: then all of them may be anywhere in it.
    """
    index = int(np.searchsorted(cumulative, rank))
    high_ns, inside = data.bounds_ns[index], data.counts[index]
    low_ns = lower_edge_ns(high_ns, is_coarse=is_coarse)
    if inside > many:
        return low_ns / 1e9, high_ns / 1e9
    before = int(cumulative[index]) - inside
    value_s = (low_ns + (rank - before) / inside * (high_ns - low_ns)) / 1e9
    return value_s, value_s


def from_intervals(
    batches: Batches,
    measured_s: float,
    latency: HistogramData,
    quantiles: Sequence[float],
    confidence: float,
) -> tuple[Estimate, dict[str, Estimate], WarmUp]:
    """Return the throughput, the latencies' mean and percentiles by name, and the warm-up.

    Where no warm-up is found, values and ends are read from `latency`; else from the intervals
    after it, whose buckets are 1 % wide.
    """
    run = interval_series(batches, measured_s)
    beginning = warm_up(run)
    series = run.after(beginning.n_cut)
    whole = latency if beginning.n_cut == 0 else None
    estimates = {
        "mean": mean_latency(series, confidence=confidence, whole=whole),
        **{
            percentile_name(q): percentile(series, q, confidence=confidence, whole=whole)
            for q in quantiles
        },
    }
    rate = throughput(series, confidence=confidence)
    if beginning.reason:
        rate = _unsteady(rate, beginning.reason)
        estimates = {name: _unsteady(each, beginning.reason) for name, each in estimates.items()}
    return rate, estimates, beginning


def _unsteady(estimate: Estimate, reason: Reason) -> Estimate:
    return structs.replace(estimate, low=None, high=None, reason=estimate.reason or reason)
