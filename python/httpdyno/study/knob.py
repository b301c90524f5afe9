"""The `[[knobs]]` of a study file, resolved against what the servers say of their settings."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import msgspec

from httpdyno.errors import StudyFileError
from httpdyno.model.base import Level
from httpdyno.model.knob import Knob, KnobInfo, level_text
from httpdyno.model.load_knob import HEADER, LOAD_KNOBS, load_knob_info
from httpdyno.study.complaint import nearest
from httpdyno.study.site import Wrong, whole_name
from httpdyno.study.table import KnobTable

AS_FOUND = "as found"
"""The start of a site's knob that is what its files, or its server, say."""


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


def study_knobs(
    tables: tuple[KnobTable, ...], settings: Settings, wrong: Wrong
) -> tuple[Knob, ...]:
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
            Knob(
                name=name,
                start=start,
                levels=table.levels,
                title=table.title or (info.summary if info else ""),
                unit=table.unit or (info.unit if info else ""),
                why=table.why,
                cost=info.cost if info else "",
                of=table.of,
                pool=info.pool if info else "",
                book_ratio=table.book_ratio,
            )
        )
    return tuple(knobs)


def _info(
    key: str, table: KnobTable, name: str, settings: Settings, wrong: Wrong
) -> KnobInfo | None:
    if table.of == "server":
        return settings.infos.get(name)
    if (info := load_knob_info(name)) is None:
        raise wrong(f"{key}.name", name, f"{', '.join(LOAD_KNOBS)} or {HEADER}NAME, of the load")
    return info


def _name(key: str, table: KnobTable, settings: Settings, wrong: Wrong) -> str:
    if not settings.is_site or table.of == "load":
        return table.name
    name = whole_name(table.name, settings.members, settings.infos)
    if name not in settings.infos:
        complaint = wrong(f"{key}.name", table.name, "a setting of the site, `MEMBER:NAME[@SCOPE]`")
        known = nearest(name, settings.infos)
        raise StudyFileError(f"{complaint}", hint=known or "`httpdyno inspect` shows what is set")
    return name


def _start(
    key: str, table: KnobTable, info: KnobInfo | None, settings: Settings, wrong: Wrong
) -> Level:
    if not settings.is_site or table.of == "load":
        is_text = any(isinstance(level, str) for level in table.levels)
        if isinstance(table.start, msgspec.UnsetType):
            raise wrong(f"{key}.start", "", "the value that the server starts with")
        if table.start == AS_FOUND and not is_text:
            raise wrong(f"{key}.start", AS_FOUND, "the value that the server starts with")
        return table.start
    if not isinstance(table.start, msgspec.UnsetType) and table.start != AS_FOUND:
        return table.start
    if info is None or info.default is None:
        raise wrong(
            f"{key}.start", AS_FOUND, "a value: nothing sets it, and what it is then is not known"
        )
    return info.default


def _check_levels(
    key: str, table: KnobTable, start: Level, info: KnobInfo | None, wrong: Wrong
) -> None:
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
    complaint = info.complaint(value) if info else ""
    if complaint:
        raise wrong(key, value, complaint.removeprefix("expected "))


def is_same_type(value: Level, other: Level) -> bool:
    """Whether both are numbers, both text, or both true or false."""
    return _family(value) == _family(other)


def _family(value: Level) -> str:
    if isinstance(value, bool | str):
        return type(value).__name__
    return "number"
