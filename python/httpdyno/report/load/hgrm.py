"""Latency by percentile, in the text format of HdrHistogram (`.hgrm`), in milliseconds.

Source:
    HdrHistogram (Java) 2.2, `AbstractHistogram.outputPercentileDistribution`; its plotter takes
    each line of four numbers.
"""

import math

from httpdyno.model import LoadOutcome
from httpdyno.report.load.hdr import n_buckets, sub_buckets
from httpdyno.report.load.histogram_text import spectrum
from httpdyno.report.load.hlog import measured_by
from httpdyno.stats.histogram import count, deviation_s, mean_s

_DIGITS = 3
"""Of the engine's latency."""
_MS_PER_S = 1e3
_HEAD = ("Value", "Percentile", "TotalCount", "1/(1-Percentile)")


def load_hgrm(outcome: LoadOutcome) -> str:
    """Return the latency's percentiles; the last one is the maximum."""
    data = outcome.measurement.latency
    lines = [f"{_HEAD[0]:>12s} {_HEAD[1]:>14s} {_HEAD[2]:>10s} {_HEAD[3]:>14s}", ""]
    lines += [_line(*row) for row in spectrum(data)]
    mean_ms, deviation_ms = map(_number_ms, (mean_s(data), deviation_s(data)))
    lines += [
        measured_by(outcome),
        f"#[Mean    = {mean_ms:12.3f}, StdDeviation   = {deviation_ms:12.3f}]",
        f"#[Max     = {data.max_s * _MS_PER_S:12.3f}, Total count    = {count(data):12d}]",
        f"#[Buckets = {n_buckets(_DIGITS):12d}, SubBuckets     = {sub_buckets(_DIGITS):12d}]",
    ]
    return "\n".join(lines) + "\n"


def _number_ms(seconds: float) -> float:
    """Return milliseconds; 0 where there are none, since the format has numbers only."""
    return 0.0 if math.isnan(seconds) else seconds * _MS_PER_S


def _line(value_s: float, q: float, n: int) -> str:
    line = f"{value_s * _MS_PER_S:12.6f} {q:14.12f} {n:10d}"
    return f"{line} {1 / (1 - q):14.2f}" if q < 1 else line
