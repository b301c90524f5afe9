"""The book as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from httpdyno.book.advice import AdviceHere, Told
from httpdyno.book.declared import way_of
from httpdyno.book.experiment import Experiment
from httpdyno.book.result import Now
from httpdyno.book.rule import RULE, borders
from httpdyno.report.book.words import why


def book_json(
    experiments: Sequence[Experiment],
    reasons: Mapping[str, str],
    found: Mapping[str, Now],
    advice: Sequence[AdviceHere] = (),
) -> dict[str, Any]:
    """Return all experiments with what was found then and now, and the advice without figures.

    Args:
        experiments: In the order of the documents.
        reasons: Why each cannot be run here; empty where it can.
        found: The last results here, by name.
        advice: In the order of the documents, with what was found here last.
    """
    return {
        "format": 1,
        "rule": RULE,
        "experiments": [
            experiment_json(each, way_of(each), reasons.get(each.name, ""), found.get(each.name))
            for each in experiments
        ],
        "advice": [advice_json(here) for here in advice],
    }


def experiment_json(
    each: Experiment, one: Experiment, reason: str, now: Now | None
) -> dict[str, Any]:
    """Return one experiment.

    Args:
        each: The experiment.
        one: The one that is run for it: itself, but for what was printed twice.
        reason: Why it cannot be run here; empty where it can.
        now: What was found here last.
    """
    then = each.then
    return {
        "name": each.name,
        "chapter": each.chapter,
        "year": each.year,
        "title": each.title,
        "runnable": not reason,
        "reason": reason or None,
        "same_as": each.same_as or None,
        "budget_s": one.budget_s if one.way is not None else None,
        "then": {
            "says": then.says,
            "ratio": then.ratio,
            "count": then.count,
            "is_flat": then.is_flat,
            "borders": list(borders(then)) if then.ratio is not None else None,
        },
        "now": _now(one, now),
        "measured_at": now.measured_at if now else None,
    }


def _now(one: Experiment, now: Now | None) -> dict[str, Any] | None:
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
        "because": why(one, now) or None,
        "evidence": list(now.moved),
        "run_id": now.run_id or None,
        "seed": now.seed,
        "host": now.host,
        "machine": dict(now.machine),
        "server": now.version or None,
        "command": now.command,
        "duration_s": now.duration_s,
    }


def advice_json(here: AdviceHere) -> dict[str, Any]:
    """Return one advice."""
    advice, now = here.advice, here.now
    return {
        "name": here.name,
        "chapter": advice.chapter,
        "says": advice.says,
        "study": advice.study,
        "title": here.title,
        "claim": here.claim,
        "command": advice.command,
        "runnable": not here.reason,
        "reason": here.reason or None,
        "budget_s": here.budget_s,
        "now": None if now is None else _told(now),
        "measured_at": now.measured_at if now else None,
    }


def _told(now: Told) -> dict[str, Any]:
    return {
        "claim": now.claim,
        "verdict": now.verdict,
        "says": now.says,
        "metric": now.metric or None,
        "ratio": now.ratio,
        "low": now.low,
        "high": now.high,
        "confidence": now.confidence,
        "n_starts": now.n_starts,
        "run_id": now.run_id,
        "seed": now.seed,
        "host": now.host,
        "server": now.version or None,
    }
