"""Records as JSON: the record itself in built-in types, and what of it is written differently.

Every field is there under its own name. What differs, for all documents alike:

- a `Reason` has its sentence too, as `text`;
- a `Configuration` is its values;
- a distribution in a field `latency` is its figures, as `latency_s`; None where it has none;
- infinities and NaN are null: JSON has no word for them;
- some records have figures or words beside their fields that follow from these: `_BESIDE`, and what
  a kind of report has of its own.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from types import MappingProxyType
from typing import Any

import msgspec

from httpdyno.model import (
    Behind,
    Configuration,
    Connecting,
    HistogramData,
    Measurement,
)
from httpdyno.reason import Reason
from httpdyno.report.shared import message
from httpdyno.report.shared.distribution import DEVIATION, figures
from httpdyno.stats.histogram import count

SCHEMA_VERSION = 2
"""Of all documents. It rises where a key goes or means something else; a new key does not."""
KEYS = {"p99.9": "p999", DEVIATION: "std_dev"}
"""Figures of a distribution whose names are no keys."""


Beside = Mapping[type, Callable[[Any], dict[str, Any]]]
"""Of a type of record what it has besides, which may hold records."""


def published(
    value: object, *, without: Iterable[str] = (), beside: Beside = MappingProxyType({})
) -> Any:  # noqa: ANN401 - built-in types
    """Return a record, or whatever holds records, in built-in types that any JSON writer takes.

    Args:
        value: What is published.
        without: Fields of it that are left out.
        beside: What the report adds to records that it knows.
    """
    plain: Any = value
    match value:
        case Reason():
            params = published(value.params, beside=beside)
            plain = {"code": value.code, "params": params, "text": message.text(value)}
        case Configuration():
            plain = published(value.values)
        case HistogramData():
            plain = distribution(value)
        case msgspec.Struct():
            plain = _record(value, frozenset(without), beside)
        case Mapping():
            plain = {str(name): published(each, beside=beside) for name, each in value.items()}
        case tuple() | list() | set() | frozenset():
            plain = [published(each, beside=beside) for each in value]
        case float():
            plain = value if math.isfinite(value) else None
        case _ if is_dataclass(value):
            plain = {
                each.name: published(getattr(value, each.name), beside=beside)
                for each in fields(value)
            }
    return plain


def distribution(data: HistogramData) -> dict[str, float | int | None]:
    """Return the figures of a distribution in seconds, and how many values it is of.

    None where too few values lie beyond a percentile, or where there is none at all.
    """
    found = {KEYS.get(name, name): each.value_s for name, each in figures(data).items()}
    return {"n": count(data), "sum_s": data.sum_s, **found}


def _record(value: msgspec.Struct, without: frozenset[str], beside: Beside) -> dict[str, Any]:
    kind = value.__struct_config__
    plain: dict[str, Any] = {} if kind.tag_field is None else {kind.tag_field: kind.tag}
    names = value.__struct_fields__
    for name in names:
        each = getattr(value, name)
        is_distribution = isinstance(each, HistogramData)
        key = f"{name}_s" if is_distribution else name
        # Of an arm there is the one as well as its figures.
        if name not in without and not (is_distribution and key in names):
            plain[key] = published(each, beside=beside)
    for more in (_BESIDE, beside):
        if type(value) in more:
            plain |= published(more[type(value)](value), beside=beside)
    return plain


_BESIDE: Beside = {
    Behind: lambda each: {"by": each.by or None},
    Connecting: lambda each: {
        "handshakes_full_per_request": each.handshakes_full_per_request,
        "handshakes_resumed_per_request": each.handshakes_resumed_per_request,
    },
    Measurement: lambda each: {"throughput_per_s": each.throughput_per_s},
}
