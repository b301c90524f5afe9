"""What was found, as people read it."""

import math
from collections.abc import Iterable, Sequence

from benches.engine.interval import Estimate
from benches.power.work.record import METRICS
from benches.power.work.way import SIZES
from research.duets.finding import CovariateRow, Findings, QuietRow, Row
from research.duets.record import Head

_NAMES = {
    "cpu": "CPU per request",
    "throughput": "throughput",
    "p50": "median latency",
    "p90": "p90 of latency",
}
_NOTE = """\
within, starts: standard deviations of the log ratio, in %, between the blocks of a start and
  between whole starts; alone: what of the latter more blocks would not take away; in all: the
  same two of the starts that are usable in all ways, where a way fails in some; over first:
  starts' spread over that of the first way on the same starts, of which half is a quarter of the
  starts to be made.
side: what the second arm is flattered by where nothing differs, in %; size: by how much of itself
  a difference comes out too large, in %; +50 …: mean error of such starts, in %; from alone: as
  size, but against loading one arm at a time on the same servers. What is known of the truth, and
  alone, is of servers on a core of their own in open loop: a part of side, size and from alone of
  `duet-free` and `duet-split` is their cores'. So is that of `turns-client`: its truth is that of
  a client on any core."""


def text(found: Findings) -> list[str]:
    """Return the tables."""
    lines = []
    for is_disturbed in (False, True):
        for metric in METRICS:
            rows = [r for r in found.rows if (r.metric, r.is_disturbed) == (metric, is_disturbed)]
            if rows:
                where = "disturbed" if is_disturbed else "quiet"
                lines += ["", f"{_NAMES[metric]}, {where}", *_table(_HEADER, map(_cells, rows))]
    if lines:
        lines += ["", *_NOTE.splitlines()]
    return lines + _covariate_text(found.covariates) + _quiet_text(found.quiet)


_HEADER = [
    *("way", "n", "within", "starts", "alone", "in all", "starts", "alone"),
    *("over first", "side", "size"),
    *SIZES,
    *("from alone", "s/start"),
]


def _cells(row: Row) -> list[str]:
    unusable = f" ({row.n_unusable} not)" if row.n_unusable else ""
    return [
        row.way,
        f"{row.n_starts}{unusable}",
        _percent(row.within),
        _percent(row.between),
        _percent(row.of_starts),
        str(row.n_common),
        _percent(row.between_common),
        _percent(row.of_common),
        _ratio(row.spread_ratio),
        _around(row.side),
        _around(row.shrinking),
        *(_around(row.by_size[size]) if size in row.by_size else "–" for size in SIZES),
        _around(row.from_alone) if row.from_alone else "–",
        f"{row.took_s:.2f}",
    ]


def _covariate_text(rows: Sequence[CovariateRow]) -> list[str]:
    if not rows:
        return []
    header = ["way", "metric", "machine", "covariates", "fitted R²", "blocks", "starts"]
    cells = (
        [
            row.way,
            _NAMES[row.metric],
            "disturbed" if row.is_disturbed else "quiet",
            row.covariates,
            f"{row.explained.r_squared:.2f}",
            f"{row.explained.between_blocks:.2f}",
            _ratio(row.explained.between_starts),
        ]
        for row in rows
    )
    note = "blocks, starts: spread with the correction over without it, of starts not fitted to"
    return ["", "Covariates", *_table(header, cells), note]


def _quiet_text(rows: Sequence[QuietRow]) -> list[str]:
    if not rows:
        return []
    header = ["way", "metric", "machine", "left out", "starts"]
    cells = (
        [
            row.way,
            _NAMES[row.metric],
            "disturbed" if row.is_disturbed else "quiet",
            f"{row.left_out:.0%}",
            _ratio(row.spread_ratio),
        ]
        for row in rows
    )
    note = "starts: spread of starts without the blocks that others disturbed, over that with them"
    return ["", "Blocks left out", *_table(header, cells), note]


def truth_lines(head: Head) -> list[str]:
    """Return what is known of the truth, a line for each of the circumstances."""
    lines = ["twice the work makes a request cost as much more, in % (standard error):"]
    for where, shares in head.shares.items():
        told = (
            f"{_NAMES[name]} {share:.1%} ({head.share_errors[where][name]:.1%})"
            for name, share in shares.items()
            if name != "throughput" or where.startswith("closed")
        )
        lines.append(f"  {where:<15} {', '.join(told)}; {head.costs_s[where] * 1e3:.3f} ms of CPU")
    return lines


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    cells = [list(header), *map(list, rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    return [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def _percent(value: float) -> str:
    return f"{100 * value:.2f}" if math.isfinite(value) else "–"


def _ratio(estimate: Estimate) -> str:
    if not math.isfinite(estimate.low):
        return f"{estimate.value:.2f}" if math.isfinite(estimate.value) else "–"
    return f"{estimate.value:.2f} ({estimate.low:.2f} … {estimate.high:.2f})"


def _around(estimate: Estimate) -> str:
    """Return a value of a symmetric interval, in percent."""
    if not math.isfinite(estimate.low):
        return f"{100 * estimate.value:+.1f}" if math.isfinite(estimate.value) else "–"
    return f"{100 * estimate.value:+.1f} ± {50 * (estimate.high - estimate.low):.1f}"
