"""A load test's distribution and course in other tools' formats: HdrHistogram's, CSV."""

import csv
import math
import struct
import zlib
from base64 import b64encode
from datetime import UTC, datetime
from io import StringIO

from httpdyno.model import HistogramData, LoadOutcome
from httpdyno.report.load.tables import readable
from httpdyno.report.load.text import spectrum
from httpdyno.report.shared.distribution import figure
from httpdyno.stats.histogram import count, deviation_s, mean_s

# HdrHistograms: distributions in the layout and encoding that its readers know.
#
# Source:
#     HdrHistogram (Java) 2.2, `AbstractHistogram.encodeIntoCompressedByteBuffer` (V2) and
#     `ZigZagEncoding`; Rust's hdrhistogram 7.5, `V2DeflateSerializer`.

_V2_COOKIE = 0x1C849303 | 0x10
_V2_COMPRESSED_COOKIE = 0x1C849304 | 0x10
"""The bits below stand for a word size, which V2 does not use."""
_HIGHEST_NS = 3_600_000_000_000
"""As the engine records: an hour."""
_LEB_BYTES = 9
_WORD_MASK = (1 << 64) - 1


def encoded(data: HistogramData, *, digits: int) -> str:
    """Return a distribution as base64 of its compressed V2 encoding, in nanoseconds.

    Args:
        data: The distribution.
        digits: The significant decimal digits that it was recorded with.
    """
    counts = _counts(data, digits)
    payload = b"".join(_zigzag(n) for n in _runs(counts))
    body = struct.pack(">iiiiqqd", _V2_COOKIE, len(payload), 0, digits, 1, _HIGHEST_NS, 1.0)
    compressed = zlib.compress(body + payload, 9)
    header = struct.pack(">ii", _V2_COMPRESSED_COOKIE, len(compressed))
    return b64encode(header + compressed).decode()


def sub_buckets(digits: int) -> int:
    """Return in how many steps the layout divides each doubling and all below the first."""
    return int(2 ** (2 * 10**digits - 1).bit_length())


def index_of(value_ns: int, digits: int) -> int:
    """Return the index in the layout's array of counts."""
    size = sub_buckets(digits)
    magnitude = size.bit_length() - 1
    bucket = (value_ns | (size - 1)).bit_length() - magnitude
    return ((bucket + 1) << (magnitude - 1)) + (value_ns >> bucket) - size // 2


def n_buckets(digits: int) -> int:
    """Return how many doublings the layout has up to its highest value."""
    return (_HIGHEST_NS // sub_buckets(digits)).bit_length() + 1


def _counts(data: HistogramData, digits: int) -> list[int]:
    if not data.counts:
        return []
    counts = [0] * (index_of(min(data.bounds_ns[-1], _HIGHEST_NS), digits) + 1)
    for bound_ns, n in zip(data.bounds_ns, data.counts, strict=True):
        counts[index_of(min(bound_ns, _HIGHEST_NS), digits)] += n
    return counts


def _runs(counts: list[int]) -> list[int]:
    """Return the counts, a run of two or more zeros as its negative length."""
    runs: list[int] = []
    n_zeros = 0
    for n in [*counts, -1]:
        if n == 0:
            n_zeros += 1
            continue
        if n_zeros:
            runs.append(0 if n_zeros == 1 else -n_zeros)
        n_zeros = 0
        runs.append(n)
    return runs[:-1]


def _zigzag(value: int) -> bytes:
    """Return a signed number in LEB128; a ninth byte is the last and holds eight bits."""
    left = ((value << 1) ^ (value >> 63)) & _WORD_MASK
    encoded_bytes = bytearray()
    while left >= 1 << 7 and len(encoded_bytes) < _LEB_BYTES - 1:
        encoded_bytes.append(left & 0x7F | 0x80)
        left >>= 7
    encoded_bytes.append(left)
    return bytes(encoded_bytes)


# Latency by percentile, in the text format of HdrHistogram (`.hgrm`), in milliseconds.
#
# Source:
#     HdrHistogram (Java) 2.2, `AbstractHistogram.outputPercentileDistribution`; its plotter takes
#     each line of four numbers.

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


# Latency over time as a log of HdrHistograms, one for each interval (format 1.3).
#
# HdrHistogramVisualizer and HistogramLogProcessor read it; values are nanoseconds.
#
# Source:
#     HdrHistogram (Java) 2.2, `HistogramLogWriter` and `HistogramLogReader`.

_INTERVAL_DIGITS = 2
"""Of the engine's intervals."""


def load_hlog(outcome: LoadOutcome) -> str:
    """Return the log; intervals in which no request ended are left out, as its writers do."""
    batches = outcome.measurement.batches
    began = _began(outcome)
    lines = [
        measured_by(outcome),
        "#[Histogram log format version 1.3]",
        f"#[StartTime: {began.timestamp():.3f} (seconds since epoch), {began:%Y-%m-%d %H:%M:%S}]",
        f"#[BaseTime: {began.timestamp():.3f} (seconds since epoch)]",
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
    ]
    for i, data in enumerate(batches.latency):
        if data.counts:
            start_s = i * batches.interval_s
            length_s = min(batches.interval_s, outcome.measurement.measured_s - start_s)
            most_ms = data.max_s * _MS_PER_S
            code = encoded(data, digits=_INTERVAL_DIGITS)
            lines.append(f"{start_s:.3f},{max(0.0, length_s):.3f},{most_ms:.3f},{code}")
    return "\n".join(lines) + "\n"


def measured_by(outcome: LoadOutcome) -> str:
    """Return the comment that names what was measured, and the program."""
    return f"#[Latency of {outcome.url}, measured by httpdyno {outcome.host.httpdyno}]"


def _began(outcome: LoadOutcome) -> datetime:
    if not outcome.began_at:
        return datetime.fromtimestamp(0, UTC)
    return datetime.fromisoformat(outcome.began_at)


# The course of a load test as CSV: a row for each interval.

COLUMNS = ("t_s", "offered", "completed", "errors", "p50_s", "p99_s", "max_s")


def load_csv(outcome: LoadOutcome) -> str:
    """Return the rows; a percentile that an interval's requests do not carry is empty.

    `t_s` is where the interval begins, from the start of the measured part; the others end where
    the next begins, the last one where the measured part does.
    """
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    batches = readable(outcome.measurement.batches)
    counts = zip(batches.offered, batches.completed, batches.errors, strict=True)
    for i, (numbers, data) in enumerate(zip(counts, batches.latency, strict=True)):
        figures = (_cell(data, name) for name in ("p50", "p99", "max"))
        writer.writerow([f"{i * batches.interval_s:.3f}", *numbers, *figures])
    return file.getvalue()


def _cell(data: HistogramData, name: str) -> str:
    value_s = figure(data, name).value_s
    return "" if value_s is None else f"{value_s:.9f}"
