"""What the book and its successors say that a machine can check, each declared once. Pure.

`declaration.py` says what a rule has, `facts.py` what it may look at, `finding.py` asks all of
them. Rules propose nothing by themselves and change nothing; each says nothing where what it needs
is not known, since a wrong call costs more than a missing one.
"""

from httpdyno.advice.rules import (
    backlog,
    debug,
    gunicorn_keep_alive,
    joint,
    leak,
    memory,
    nginx,
    php_fpm,
    place,
    python_server,
)
from httpdyno.advice.rules.apache import (
    asp,
    compression,
    folder,
    keep_alive,
    life,
    lookup,
    module,
    mount,
    plain_text,
    pool,
    size_limit,
    state,
    walk,
    wording,
)
from httpdyno.advice.rules.declaration import Rule

_APACHE = (
    *(pool, keep_alive, life, size_limit, lookup, folder, walk),
    *(plain_text, compression, module, mount, state, asp, wording),
)
RULES: tuple[Rule, ...] = tuple(
    rule
    for family in (
        memory,
        joint,
        leak,
        *_APACHE,
        nginx,
        php_fpm,
        python_server,
        gunicorn_keep_alive,
        place,
        debug,
        backlog,
    )
    for rule in family.RULES
)
"""All of them, in the order in which they are listed."""
