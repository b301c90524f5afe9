"""What is wrong with a study file as typed: values that nothing can hold, keys that are not there.

Every complaint names the file, the key as it is in TOML, the value there and what was expected; an
unknown key gets the nearest one that exists.
"""

import math
import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

from httpdyno.errors import StudyFileError
from httpdyno.model.written import Written, fields_of, key_of, written_of
from httpdyno.study.table import StudyFile

_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_LONGEST_SHOWN = 80
_BITS = 63

Wrong = Callable[[str, object, str], StudyFileError]
"""From a key, its value and what was expected to the complaint."""

_NEAREST_HINT = "did you mean `{}`?"
MISSING_HINT = "`httpdyno study schema` says all that a study file has"


def typed_study(raw: dict[str, Any], file: Path) -> StudyFile:
    """Return the file's tables.

    Raises:
        StudyFileError: One of them is wrong.
    """
    _refuse_impossible_values(raw, file)
    try:
        return msgspec.convert(_record(raw, _study_file(), ""), StudyFile)
    except msgspec.ValidationError as error:
        raise _complaint(f"{error}", raw, file) from error


@cache
def _study_file() -> inspect.Type:
    return inspect.type_info(StudyFile)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `did you mean …?` with the nearest of the known names; empty when none is near."""
    names = list(known)
    folded = {each.lower(): each for each in names}
    close = get_close_matches(name.lower(), folded, n=1)
    return _NEAREST_HINT.format(folded[close[0]]) if close else ""


def is_possible_number(value: float) -> bool:
    """Whether a number can be measured with, stored and written: finite, whole ones of 64 bits."""
    return math.isfinite(value) if isinstance(value, float) else abs(value) < 1 << _BITS


def _refuse_impossible_values(raw: dict[str, Any], file: Path) -> None:
    """Refuse what TOML can say and nothing can hold: `nan`, huge numbers, a NUL in a text.

    Raises:
        StudyFileError: With the key.
    """
    for key, value in _leaves(raw):
        if isinstance(value, int | float) and not is_possible_number(value):
            raise StudyFileError(
                f"`{file}`: {key} is {_shown(value) or 'a number of thousands of digits'}; "
                "expected a finite number of at most 64 bits"
            )
        if isinstance(value, str) and "\0" in value:
            raise StudyFileError(f"`{file}`: {key} holds a NUL; expected text without")


def _record(raw: Any, kind: inspect.Type, key: str) -> Any:  # noqa: ANN401 - TOML
    """Return a table as its record is: values that are written as text, by the names of fields.

    Raises:
        msgspec.ValidationError: One of these values is none, or a key is called as the field is.
    """
    kind = _table(kind)
    if isinstance(raw, list) and isinstance(item := _table(_item(kind)), inspect.StructType):
        return [_record(each, item, f"{key}[{index}]") for index, each in enumerate(raw)]
    if not (isinstance(raw, dict) and isinstance(kind, inspect.StructType)):
        return raw
    found = dict(raw)
    known = {key_of(field): field for field in fields_of(kind)}
    for name in (name for name in raw if name not in known):
        where = f" - at `${key}`" if key else ""
        raise msgspec.ValidationError(f"Object contains unknown field `{name}`{where}")
    for name, field in known.items():
        if name in raw:
            written = written_of(field)
            place = f"{key}.{name}"
            value = found.pop(name)
            found[field.encode_name] = (
                _record(value, field.type, place)
                if written is None
                else _read(value, written, place)
            )
    return found


def _read(value: Any, written: Written, key: str) -> Any:  # noqa: ANN401 - TOML
    try:
        return written.read(msgspec.convert(value, written.like))
    except msgspec.ValidationError as error:
        what, _, inner = f"{error}".partition(" - at `$")
        raise msgspec.ValidationError(f"{what} - at `${key}{inner.rstrip('`')}`") from error
    except ValueError as error:
        raise msgspec.ValidationError(f"{error} - at `${key}`") from error


def _complaint(message: str, raw: dict[str, Any], file: Path) -> StudyFileError:
    """Return msgspec's complaint with the file, the key as in TOML and the value there."""
    what, _, path = message.partition(" - at `$")
    key = path.rstrip("`").removeprefix(".")
    unknown = _UNKNOWN.fullmatch(what)
    if unknown:
        return _unknown_key(unknown[1], key, file)
    what = what[:1].lower() + what[1:]
    if not key:
        return StudyFileError(f"`{file}`: {what}", hint=_missing_hint(what))
    value: Any = raw
    for part in _parts(key):
        try:
            value = value[int(part)] if part.isdigit() else value[part]
        except (KeyError, IndexError, TypeError):
            return StudyFileError(f"`{file}`: {key}: {what}")
    if isinstance(value, dict | list):
        return StudyFileError(f"`{file}`: {key}: {what}")
    return StudyFileError(f"`{file}`: {key} is {_shown(value)}; {what}")


def _unknown_key(name: str, table: str, file: Path) -> StudyFileError:
    known = _keys_of(table)
    whole = f"{table}.{name}" if table else name
    return StudyFileError(
        f"`{file}`: {whole} is not a key that there is",
        hint=nearest(name, known) or f"there are {', '.join(known)}",
    )


def _missing_hint(what: str) -> str:
    return MISSING_HINT if "required" in what else ""


def _keys_of(table: str) -> list[str]:
    """Return the keys of the table at a place such as `workload.requests[0]`."""
    kind = _study_file()
    for part in _parts(table):
        if part.isdigit() or part == "...":
            kind = _item(kind)
        elif isinstance(kind, inspect.StructType):
            kind = _table(next(each.type for each in fields_of(kind) if key_of(each) == part))
    if not isinstance(kind, inspect.StructType):
        return []
    return [key_of(each) for each in fields_of(kind)]


def _table(kind: inspect.Type) -> inspect.Type:
    """Return the table of a key that may be left out."""
    if isinstance(kind, inspect.UnionType):
        return next((each for each in kind.types if isinstance(each, inspect.StructType)), kind)
    return kind


def _item(kind: inspect.Type) -> inspect.Type:
    if isinstance(kind, inspect.VarTupleType | inspect.ListType):
        return kind.item_type
    return kind


def _parts(key: str) -> list[str]:
    return re.findall(r"\.\.\.|[^.\[\]]+", key)


def _leaves(raw: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    """Yield every value that is no table or list, and every key as text, with where it is."""
    left: list[tuple[str, Any]] = [("", raw)]
    while left:
        key, value = left.pop()
        if isinstance(value, dict):
            yield from ((key or "the file", name) for name in value)
            left += [(f"{key}.{name}" if key else name, each) for name, each in value.items()]
        elif isinstance(value, list):
            left += [(f"{key}[{index}]", each) for index, each in enumerate(value)]
        else:
            yield key, value


def _shown(value: object) -> str:
    """Return a value as Python writes it, cut; empty where it has too many digits for that."""
    try:
        text = repr(value)
    except ValueError:
        return ""
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
