"""Data files that are part of the program: a table for each thing that is declared, by its name."""

import tomllib
from importlib.resources import files
from typing import TypeVar

import msgspec

_T = TypeVar("_T")


def rows(package: str, file: str, kind: type[_T]) -> dict[str, _T]:
    """Return what a file declares, by name, in its order.

    Args:
        package: That the file lies in.
        file: Its name.
        kind: What a table is; the table's name is its `name`.

    Raises:
        ValueError: A table is none of that kind; it is named.
    """
    found: dict[str, _T] = {}
    for name, row in tomllib.loads(files(package).joinpath(file).read_text("utf-8")).items():
        try:
            found[name] = msgspec.convert({"name": name, **row}, kind)
        except msgspec.ValidationError as error:
            raise ValueError(f"`{name}` in {file}: {error}") from error
    return found
