"""The `[[candidates]]` of a study file: several knobs at once, as one change."""

from collections.abc import Mapping, Sequence

from msgspec import structs

from httpdyno.errors import StudyFileError
from httpdyno.model.base import Level
from httpdyno.model.knob import Knob
from httpdyno.model.study import Candidate
from httpdyno.study.complaint import nearest
from httpdyno.study.knob import Settings, check_domain, is_same_type
from httpdyno.study.site import Wrong, whole_name

_RESERVED = frozenset("=,")
"""What tells `--b NAME` from `--b KNOB=VALUE,…`."""


def study_candidates(
    tables: tuple[Candidate, ...], knobs: Sequence[Knob], settings: Settings, wrong: Wrong
) -> tuple[Candidate, ...]:
    """Return the candidates, by whole names of the study's knobs.

    Raises:
        StudyFileError: One of them makes no sense, or a knob is neither tried nor set by any.
    """
    by_name = {knob.name: knob for knob in knobs}
    candidates: list[Candidate] = []
    for index, table in enumerate(tables):
        key = f"candidates[{index}] ({table.name})"
        if not table.name or _RESERVED & set(table.name):
            raise wrong(f"{key}.name", table.name, "a name without `=` and `,`")
        if table.name in by_name or any(table.name == each.name for each in candidates):
            raise wrong(f"{key}.name", table.name, "a name that no knob and no other candidate has")
        values = _values(f"{key}.set", table.values, by_name, settings, wrong)
        if any(_is_like(values, each.values, by_name) for each in candidates):
            raise wrong(f"{key}.set", table.values, "what no other candidate sets")
        candidates.append(structs.replace(table, values=values))
    used = {name for each in candidates for name in each.values}
    for index, knob in enumerate(knobs):
        if not knob.levels and knob.of == "server" and knob.name not in used:
            raise wrong(
                f"knobs[{index}] ({knob.name}).levels",
                [],
                f"levels other than the start ({knob.start}), or a candidate that sets it",
            )
    return tuple(candidates)


def _values(
    key: str,
    table: Mapping[str, Level],
    knobs: Mapping[str, Knob],
    settings: Settings,
    wrong: Wrong,
) -> dict[str, Level]:
    values: dict[str, Level] = {}
    for written, value in table.items():
        name = whole_name(written, settings.members, knobs)
        if name not in knobs:
            complaint = wrong(key, written, "knobs of the study, each with a [[knobs]] of its own")
            raise StudyFileError(f"{complaint}", hint=nearest(written, knobs))
        if name in values:
            raise wrong(key, written, "each knob once")
        if not is_same_type(value, knobs[name].start):
            raise wrong(f"{key}.{written}", value, f"the type of {knobs[name].start!r}")
        check_domain(f"{key}.{written}", value, settings.infos.get(name), wrong)
        values[name] = value
    if all(value == knobs[name].start for name, value in values.items()):
        raise wrong(key, dict(table), "something other than the start")
    return values


def _is_like(
    one: Mapping[str, Level], other: Mapping[str, Level], knobs: Mapping[str, Knob]
) -> bool:
    """Whether two candidates make the same configuration of the start."""
    names = {*one, *other}
    return all(
        one.get(name, knobs[name].start) == other.get(name, knobs[name].start) for name in names
    )
