"""Rules that propose knobs, a file for each kind of server; a rule is pure."""

from collections.abc import Callable, Iterable

from httpdyno.advice.knob import nginx
from httpdyno.advice.proposal import KnobProposal, Offered

Rule = Callable[[Offered], Iterable[KnobProposal]]

_RULES: dict[str, tuple[Rule, ...]] = {"nginx": nginx.RULES}


def rules(kind: str) -> tuple[Rule, ...]:
    """Return the rules for servers of a kind; none where nobody knows any."""
    return _RULES.get(kind, ())
