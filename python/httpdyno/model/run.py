"""A stored run in one line: what a list of runs is made of."""

from typing import Literal

from httpdyno.model.base import Record
from httpdyno.model.result import Verdict

RunStatus = Literal["running", "complete", "interrupted", "failed"]


class RunSummary(Record, frozen=True):
    """One run, without its evidence."""

    id: str
    study: str
    """Its name; of a run without a study, what was loaded."""
    command: str
    """`tune`, `compare` …; `load` for a load test, `turns` for running servers."""
    status: RunStatus
    """`interrupted` also when its process died without saying so."""
    began_at: str
    """UTC, ISO 8601."""
    duration_s: float
    """Until it ended; for a run without an end, until the last window that it stored."""
    n_starts: int = 0
    n_windows: int = 0
    metric: str = ""
    verdict: Verdict | None = None
    """Of the final comparison: the best configuration against the one at the start."""
    ratio: float | None = None
    """Of the deciding metric, final over start; None where there is no final comparison."""
    ratio_low: float | None = None
    ratio_high: float | None = None
    headline: str = ""
    """What was found, of what is stored whole: a load test, a comparison of running servers."""
