"""What the columns of a window and of a finished run say."""

from datetime import UTC, datetime
from typing import Any

from httpdyno.metrics.table import named
from httpdyno.model import HostFacts, Outcome, Record, WindowRecord
from httpdyno.stats.histogram import quantile_s
from httpdyno.store.payload import to_text

_NO_PLAN = "null"
"""In the place of the plan of what has none."""


def now() -> str:
    """Return the present instant as it is stored: UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def passed_s(began_at: str, ended_at: str) -> float:
    """Return the seconds between two instants; 0 where one of them is none."""
    try:
        passed = datetime.fromisoformat(ended_at) - datetime.fromisoformat(began_at)
    except (ValueError, TypeError):  # no instants, or one without its zone
        return 0.0
    return passed.total_seconds()


def whole_row(  # noqa: PLR0913 - the columns of what has neither starts nor windows
    *,
    what: str,
    command: str,
    is_interrupted: bool,
    began_at: str,
    duration_s: float,
    host: HostFacts,
    outcome: Record,
    headline: str,
) -> dict[str, Any]:
    """Return the row of a run that is stored whole when it has ended.

    Args:
        what: Was loaded.
        command: Its kind.
        is_interrupted: Whether it was cut short.
        began_at: As it is stored; empty is now.
        duration_s: Of the run.
        host: Where it was made.
        outcome: All that was found.
        headline: The same in a line.
    """
    return {
        "study": what,
        "command": command,
        "status": "interrupted" if is_interrupted else "complete",
        "began_at": began_at or now(),
        "duration_s": duration_s,
        "n_claims": 1,
        "metric": "",
        "plan": _NO_PLAN,
        "host": to_text(host),
        "outcome": to_text(outcome),
        "headline": headline,
    }


def window_row(run_key: int, claim: int, window: WindowRecord) -> dict[str, Any]:
    """Return the row of a window.

    Args:
        run_key: The run's number.
        claim: How many times the run had been claimed when the window was measured.
        window: What was measured.
    """
    measurement = window.measurement
    # The CPU time is the whole window's, so it is divided by all that it was used for.
    completed = measurement.completed
    has_latency = bool(measurement.latency.counts)
    return {
        "run_id": run_key,
        "comparison": window.comparison,
        "start": window.start,
        "block": window.block,
        "arm": window.arm,
        "claim": claim,
        "saved_at": now(),
        "measured_s": measurement.measured_s,
        "throughput_per_s": measurement.throughput_per_s,
        "cpu_s_per_request": window.telemetry.cpu_s / completed if completed else None,
        "latency_p50_s": quantile_s(measurement.latency, 0.5) if has_latency else None,
        "latency_p99_s": quantile_s(measurement.latency, 0.99) if has_latency else None,
        "offered": measurement.offered,
        "completed": measurement.completed,
        "n_errors": measurement.n_errors,
        "payload": to_text(window),
    }


def final_columns(outcome: Outcome) -> dict[str, Any]:
    """Return what a list of runs says of the final comparison."""
    final = outcome.final
    interval = final.ratios.get(named(final.metric).ratio) if final else None
    return {
        "metric": outcome.plan.study.objective.metric,
        "verdict": final.verdict if final else None,
        "ratio": interval.ratio if interval else None,
        "ratio_low": interval.low if interval else None,
        "ratio_high": interval.high if interval else None,
    }
