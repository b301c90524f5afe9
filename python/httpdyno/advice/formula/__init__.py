"""The founding documents' formulas, each declared once: worked out, checked, put right.

A formula is a table of `formulas.toml`, with the book's own expression beside ours and what was
wrong with it; what no expression gives is a function in `fit.py`. `declaration.py` says what a
formula has, `evaluate.py` works one out.
"""

import functools
from collections.abc import Mapping

from httpdyno.advice.formula.evaluate import Formula
from httpdyno.model.rows import rows


@functools.cache
def formulas() -> Mapping[str, Formula]:
    """Return them by name, in the order in which they are listed."""
    return rows("httpdyno.advice.formula", "formulas.toml", Formula)
