"""Turns as JSON: the outcome in built-in types, without the values of headers."""

from typing import Any

import msgspec
from msgspec.structs import replace

from httpdyno.model import TurnsOutcome
from httpdyno.report.shared.behind_text import behind_json
from httpdyno.report.shared.caveat import caveats
from httpdyno.report.shared.message import joined
from httpdyno.report.turns.words import headline
from httpdyno.secret import workload_without_values


def turns_json(outcome: TurnsOutcome) -> dict[str, Any]:
    """Return the whole; distributions are left out, their percentiles are there."""
    workload = workload_without_values(outcome.workload)
    plain: dict[str, Any] = msgspec.to_builtins(replace(outcome, workload=workload))
    for instance, told in zip(plain["instances"], outcome.instances, strict=True):
        summary = instance.pop("summary")
        for name in ("configuration", "latency", "effective", "n_starts", "status", "detail"):
            summary.pop(name)
        summary["period_throughputs_per_s"] = summary.pop("start_throughputs_per_s")
        instance.update(summary)
        instance["behind"] = msgspec.to_builtins(behind_json(told.behind))
    for claim, of in zip(plain["claims"], outcome.claims, strict=True):
        claim["reason"] = joined(of.reasons)
        claim.pop("reasons")
    plain["caveats"] = msgspec.to_builtins(caveats(outcome.warnings))
    plain.pop("warnings")
    return {"headline": headline(outcome), **plain}
