"""The founding documents' formulas, each declared once: worked out, checked, put right.

A file for each family; `declaration.py` says what a formula has, `evaluate.py` works one out. The
book's own expression stands beside ours, with what was wrong with it.
"""

from collections.abc import Mapping

from httpdyno.advice.formula import capacity, compression, life, memory, pool, slope, waiting
from httpdyno.advice.formula.declaration import Formula

FORMULAS: Mapping[str, Formula] = {
    each.name: each
    for family in (pool, memory, waiting, compression, slope, life, capacity)
    for each in family.FORMULAS
}
"""By name, in the order in which they are listed."""
