"""Turns as JSON: the record, published, without the values of headers."""

from typing import Any

from msgspec.structs import replace

from httpdyno.model import TurnsOutcome
from httpdyno.report.shared.published import SCHEMA_VERSION, published
from httpdyno.report.turns.words import headline
from httpdyno.secret import workload_without_values

_OF_STUDIES = frozenset({"configuration", "effective", "n_starts", "status", "detail"})


def turns_json(outcome: TurnsOutcome) -> dict[str, Any]:
    """Return the whole; an instance's summary stands flat among what else is known of it."""
    workload = workload_without_values(outcome.workload)
    plain: dict[str, Any] = published(replace(outcome, workload=workload))
    for instance, told in zip(plain["instances"], outcome.instances, strict=True):
        del instance["summary"]
        summary = published(told.summary, without=_OF_STUDIES)
        summary["period_throughputs_per_s"] = summary.pop("start_throughputs_per_s")
        instance.update(summary)
    return {"schema_version": SCHEMA_VERSION, "headline": headline(outcome), **plain}
