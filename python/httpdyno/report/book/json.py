"""The book as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from httpdyno.book.experiment import Experiment
from httpdyno.book.result import Now
from httpdyno.book.rule import RULE


def book_json(
    experiments: Sequence[Experiment], reasons: Mapping[str, str], found: Mapping[str, Now]
) -> dict[str, Any]:
    """Return all experiments with what was found then and now.

    Args:
        experiments: In the order of the documents.
        reasons: Why each cannot be run here; empty where it can.
        found: The last results here, by name.
    """
    return {
        "format": 1,
        "rule": RULE,
        "experiments": [
            experiment_json(each, reasons.get(each.name, ""), found.get(each.name))
            for each in experiments
        ],
    }


def experiment_json(each: Experiment, reason: str, now: Now | None) -> dict[str, Any]:
    """Return one experiment; `reason` says why it cannot be run here."""
    then = each.then
    return {
        "name": each.name,
        "chapter": each.chapter,
        "year": each.year,
        "title": each.title,
        "runnable": not reason,
        "reason": reason or None,
        "same_as": each.same_as or None,
        "then": {"says": then.says, "ratio": then.ratio, "count": then.count},
        "now": _now(now),
        "measured_at": now.measured_at if now else None,
    }


def _now(now: Now | None) -> dict[str, Any] | None:
    if now is None:
        return None
    return {
        "verdict": now.word,
        "says": now.says,
        "ratio": now.ratio,
        "low": now.low,
        "high": now.high,
        "count": now.count,
        "n_starts": now.n_starts,
        "evidence": list(now.moved),
        "run_id": now.run_id or None,
        "seed": now.seed,
        "host": now.host,
        "machine": dict(now.machine),
        "server": now.version or None,
        "command": now.command,
        "duration_s": now.duration_s,
    }
