"""The `[[knobs]]` of a study file, resolved against what the servers say of their settings."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from msgspec import structs

from httpdyno.errors import StudyFileError, UsageError
from httpdyno.load.check import check_workload
from httpdyno.model import Configuration, Replay, Study, Workload
from httpdyno.model.base import Level
from httpdyno.model.knob import (
    AS_FOUND,
    HEADER,
    LOAD_KNOBS,
    Knob,
    KnobInfo,
    level_text,
    load_knob_info,
)
from httpdyno.model.study import Candidate
from httpdyno.study.complaint import Wrong, nearest
from httpdyno.study.objective import check_workload_for
from httpdyno.study.server import whole_name

_SETTING_EXPECTED = "a setting of the site, `MEMBER:NAME[@SCOPE]`"
_KNOB_EXPECTED = "knobs of the study, each with a [[knobs]] of its own"


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What knobs can be: of a server, or of the members of a site."""

    infos: Mapping[str, KnobInfo]
    members: Sequence[str] = ()
    """Of a site; none for a server, whose application may have settings that no info tells."""
    fixed: Set[str] = frozenset()
    """Settings of the server that stay as they are."""
    has_candidates: bool = False
    """Whether there are candidates, which may set a knob that has no levels."""

    @property
    def is_site(self) -> bool:
        """Whether all that can be set is known, and its values as found."""
        return bool(self.members)


def study_knobs(tables: tuple[Knob, ...], settings: Settings, wrong: Wrong) -> tuple[Knob, ...]:
    """Return the knobs, each with its whole name and its start.

    Raises:
        StudyFileError: One of them makes no sense, or there are none. An adopted site may wait for
            some: its load, its answers and its copy are there already.
    """
    if not tables and not settings.is_site:
        raise wrong("knobs", [], "at least one [[knobs]]")
    knobs: list[Knob] = []
    for index, table in enumerate(tables):
        key = f"knobs[{index}] ({table.name})"
        name = _name(key, table, settings, wrong)
        if name in settings.fixed or any(name == knob.name for knob in knobs):
            raise wrong(f"{key}.name", table.name, "a name that is not set twice")
        info = _info(key, table, name, settings, wrong)
        start = _start(key, table, info, settings, wrong)
        # What was found may lie outside of what is worth trying; what is written may not.
        if table.start == start:
            check_domain(key, start, info, wrong)
        # A knob of the load may be there for `compare` alone.
        if table.levels or not (settings.has_candidates or table.of == "load"):
            _check_levels(key, table, start, info, wrong)
        knobs.append(
            structs.replace(
                table,
                name=name,
                start=start,
                title=table.title or (info.summary if info else ""),
                unit=table.unit or (info.unit if info else ""),
                cost=info.cost if info else "",
                pool=info.pool if info else "",
            )
        )
    return tuple(knobs)


def _info(key: str, table: Knob, name: str, settings: Settings, wrong: Wrong) -> KnobInfo | None:
    if table.of == "server":
        return settings.infos.get(name)
    if (info := load_knob_info(name)) is None:
        raise wrong(f"{key}.name", name, f"{', '.join(LOAD_KNOBS)} or {HEADER}NAME, of the load")
    return info


def _name(key: str, table: Knob, settings: Settings, wrong: Wrong) -> str:
    if not settings.is_site or table.of == "load":
        return table.name
    name = whole_name(table.name, settings.members, settings.infos)
    if name not in settings.infos:
        complaint = wrong(f"{key}.name", table.name, _SETTING_EXPECTED)
        known = nearest(name, settings.infos)
        raise StudyFileError(f"{complaint}", hint=known or "`httpdyno inspect` shows what is set")
    return name


def _start(key: str, table: Knob, info: KnobInfo | None, settings: Settings, wrong: Wrong) -> Level:
    if not settings.is_site or table.of == "load":
        if table.start == AS_FOUND:
            raise wrong(f"{key}.start", AS_FOUND, "the value that the server starts with")
        return table.start
    if table.start != AS_FOUND:
        return table.start
    if info is None or info.default is None:
        raise wrong(
            f"{key}.start", AS_FOUND, "a value: nothing sets it, and what it is then is not known"
        )
    return info.default


def _check_levels(key: str, table: Knob, start: Level, info: KnobInfo | None, wrong: Wrong) -> None:
    levels = list(table.levels)
    if not set(levels) - {start} or len(set(levels)) != len(levels):
        raise wrong(
            f"{key}.levels", levels, f"levels other than the start ({level_text(start)}), each once"
        )
    if not all(is_same_type(value, start) for value in levels):
        raise wrong(f"{key}.levels", levels, f"the type of {start!r}")
    if table.book_ratio and len(table.book_ratio) != len(levels):
        raise wrong(f"{key}.book_ratio", list(table.book_ratio), "one for each level")
    for value in levels:
        check_domain(key, value, info, wrong)


def check_domain(key: str, value: Level, info: KnobInfo | None, wrong: Wrong) -> None:
    """Refuse a value that the server is known not to take.

    Raises:
        StudyFileError: With what it takes.
    """
    try:
        if info is not None:
            info.check(value)
    except ValueError as error:
        raise wrong(key, value, f"{error}") from error


def is_same_type(value: Level, other: Level) -> bool:
    """Whether both are numbers, both text, or both true or false."""
    return _family(value) == _family(other)


def _family(value: Level) -> str:
    if isinstance(value, bool | str):
        return type(value).__name__
    return "number"


# The `[[candidates]]` of a study file: several knobs at once, as one change.

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
            complaint = wrong(key, written, _KNOB_EXPECTED)
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


# Knobs of the load: whether the workload of a study can be set so.


def check_load_knobs(study: Study, wrong: Wrong) -> None:
    """Refuse knobs of the load that set nothing in this workload, and levels that make none.

    Raises:
        StudyFileError: With the knob, or the candidate.
    """
    of_load = frozenset(knob.name for knob in study.knobs if knob.of == "load")
    for index, knob in enumerate(study.knobs):
        if knob.name not in of_load:
            continue
        key = f"knobs[{index}] ({knob.name})"
        if isinstance(study.workload.arrival, Replay):
            raise wrong(f"{key}.of", "load", "server: requests of a log are sent as they stand")
        try:
            _check_sets(knob.name, study.workload, of_load)
        except ValueError as error:
            raise wrong(f"{key}.name", knob.name, f"{error}") from error
        for level in (knob.start, *knob.levels):
            _check_makes_load(study, {knob.name: level}, f"{key}.levels", level, wrong)
    for index, candidate in enumerate(study.candidates):
        if of_load & candidate.values.keys():
            key = f"candidates[{index}] ({candidate.name}).set"
            _check_makes_load(study, candidate.values, key, candidate.values, wrong)


def check_load(study: Study, configuration: Configuration) -> None:
    """Refuse a configuration with which there is no load, or none that shows what is claimed.

    Raises:
        UsageError: With the sentence that says what.
    """
    load = study.load_of(configuration)
    if load == study.workload:
        return
    check_workload(load)
    for metric in sorted(study.objective.named):
        try:
            check_workload_for(metric, load)
        except ValueError as error:
            raise UsageError(f"it has no {metric}, which takes {error}") from error


def check_loads(study: Study) -> None:
    """Refuse a study of which a level, or a candidate, makes a load that shows nothing claimed.

    Its file is checked so for what the file claims; a command line may claim more.

    Raises:
        UsageError: With the first of them, and what it has no figure of.
    """
    of_load = frozenset(knob.name for knob in study.knobs if knob.of == "load")
    levels = [
        {knob.name: level}
        for knob in study.knobs
        if knob.name in of_load
        for level in (knob.start, *knob.levels)
    ]
    candidates = [each.values for each in study.candidates if of_load & each.values.keys()]
    for values in (*levels, *candidates):
        try:
            check_load(study, study.start_configuration().with_values(values))
        except UsageError as error:
            words = ", ".join(f"{name}={level_text(level)}" for name, level in values.items())
            raise UsageError(f"study {study.name} with {words}: {error}") from error


def _check_sets(name: str, workload: Workload, of_load: Set[str]) -> None:
    """Refuse a knob that sets nothing in this workload.

    Raises:
        ValueError: With a workload in which it does.
    """
    if name == "path" and len(workload.requests) != 1:
        raise ValueError("a workload of one request")
    if name == "objects" and sum(bool(step.objects) for step in workload.steps) != 1:
        raise ValueError("a workload of one page, a request with `objects`")
    if name == "slow_buffer" and workload.slow is None and "slow" not in of_load:
        raise ValueError("a workload in which some are `slow`")


def _check_makes_load(
    study: Study, values: Mapping[str, Level], key: str, said: object, wrong: Wrong
) -> None:
    try:
        check_load(study, study.start_configuration().with_values(values))
    except UsageError as error:
        raise wrong(key, said, f"a workload that can be: {error}") from error
