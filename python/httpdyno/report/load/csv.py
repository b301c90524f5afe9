"""The course of a load test as CSV: a row for each interval."""

import csv
from io import StringIO

from httpdyno.model import HistogramData, LoadOutcome
from httpdyno.report.load.course import readable
from httpdyno.report.shared.distribution import figure

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
