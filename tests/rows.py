"""Tables whose rows are one test: each rule, formula or sentence is no item of its own.

`@each_row` takes what `pytest.mark.parametrize` takes. Each row is a subtest with its name, and all
are tried though one fails. It is for functions that need no fixture; what must start anew for each
case is parametrised.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest


def each_row(
    names: str | Sequence[str],
    rows: Iterable[Any],
    *,
    ids: Callable[[Any], object] | Sequence[str] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Have a test run with each row, as one test.

    Args:
        names: Of its arguments, in the order of a row: (n,), or one string with commas.
        rows: Tuples of n values or `pytest.param`; where n is 1, values.
        ids: What a row is called, as for `pytest.mark.parametrize`.
    """
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    cases = [_values(row, len(arguments)) for row in rows]
    assert cases, f"no rows of {names}"
    if ids is not None:
        named = [ids(values[0]) for values, _ in cases] if callable(ids) else ids
        cases = [(values, str(name)) for (values, _), name in zip(cases, named, strict=True)]

    def of(test: Callable[..., None]) -> Callable[..., None]:
        def tried(subtests: pytest.Subtests) -> None:
            for values, name in cases:
                with subtests.test(msg=name or repr(values)[:80]):
                    test(**dict(zip(arguments, values, strict=True)))

        tried.__name__, tried.__doc__, tried.__module__ = (
            test.__name__,
            test.__doc__,
            test.__module__,
        )
        return tried

    return of


def _values(row: Any, n: int) -> tuple[tuple[Any, ...], str]:
    if hasattr(row, "marks"):
        assert not row.marks, "a row has no marks"
        return tuple(row.values), str(row.id or "")
    return (tuple(row) if n > 1 else (row,)), ""
