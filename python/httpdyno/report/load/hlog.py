"""Latency over time as a log of HdrHistograms, one for each interval (format 1.3).

HdrHistogramVisualizer and HistogramLogProcessor read it; values are nanoseconds.

Source:
    HdrHistogram (Java) 2.2, `HistogramLogWriter` and `HistogramLogReader`.
"""

from datetime import UTC, datetime

from httpdyno.model import LoadOutcome
from httpdyno.report.load.hdr import encoded

_DIGITS = 2
"""Of the engine's intervals."""
_MS_PER_S = 1e3


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
            code = encoded(data, digits=_DIGITS)
            lines.append(f"{start_s:.3f},{max(0.0, length_s):.3f},{most_ms:.3f},{code}")
    return "\n".join(lines) + "\n"


def measured_by(outcome: LoadOutcome) -> str:
    """Return the comment that names what was measured, and the program."""
    return f"#[Latency of {outcome.url}, measured by httpdyno {outcome.host.httpdyno}]"


def _began(outcome: LoadOutcome) -> datetime:
    if not outcome.began_at:
        return datetime.fromtimestamp(0, UTC)
    return datetime.fromisoformat(outcome.began_at)
