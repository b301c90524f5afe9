"""The book as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from httpdyno.book.advice import AdviceHere
from httpdyno.book.experiment import Experiment, way_of
from httpdyno.book.result import Now
from httpdyno.book.rule import RULE, borders
from httpdyno.book.text import why


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
        "now": {**_record(now), "because": why(one, now) or None} if now else None,
        "measured_at": now.measured_at if now else None,
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
        "now": _record(now) if now else None,
        "measured_at": now.measured_at if now else None,
    }


def _record(now: msgspec.Struct) -> dict[str, Any]:
    """Return a result's own fields, of which the empty ones are null."""
    fields = {name: getattr(now, name) for name in now.__struct_fields__}
    return {
        name: None if value == "" else msgspec.to_builtins(value)
        for name, value in fields.items()
        if name not in {"name", "measured_at"}
    }
