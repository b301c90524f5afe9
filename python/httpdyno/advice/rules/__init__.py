"""What the book and its successors say that a machine can check, each declared once. Pure.

A rule is a row of `rules.toml`, which has its words, and a function of a module here, marked with
its name, which says when it speaks. `declaration.py` says what both are, `facts.py` what a function
may look at, `finding.py` asks all of them. Rules propose nothing by themselves and change nothing.
Each says nothing where what it needs is not known: a wrong call costs more than a missing one.
"""

import functools

from httpdyno.advice.rules import (  # noqa: F401 - what a module marks is known once it is imported
    apache,
    apache_module,
    apache_perl,
    nginx,
    php,
    programs,
    workers,
)
from httpdyno.advice.rules.declaration import Rule
from httpdyno.model.rows import rows


@functools.cache
def all_rules() -> tuple[Rule, ...]:
    """Return them in the order in which they are listed."""
    return tuple(rows("httpdyno.advice.rules", "rules.toml", Rule).values())
