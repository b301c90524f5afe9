"""What the book and its successors say that a machine can check, each declared once. Pure.

`declaration.py` says what a rule has, `facts.py` what it may look at, `finding.py` asks all of
them. Rules propose nothing by themselves and change nothing; each says nothing where what it needs
is not known, since a wrong call costs more than a missing one.
"""

from httpdyno.advice.rules.apache import keep_alive as apache_keep_alive
from httpdyno.advice.rules.apache import pool as apache_pool
from httpdyno.advice.rules.declaration import Rule

RULES: tuple[Rule, ...] = tuple(
    rule for family in (apache_pool, apache_keep_alive) for rule in family.RULES
)
"""All of them, in the order in which they are listed."""
