"""What a rule is declared to be, once, for `httpdyno inspect`, its JSON and the documentation."""

from collections.abc import Callable, Iterator
from typing import Literal

from httpdyno.advice.rules.facts import Facts
from httpdyno.model import Record

Severity = Literal["bad", "doubtful", "hint"]
"""`bad`: it does not do what it says, or harms under load. `doubtful`: it mostly costs more than it
gives. `hint`: it costs something, and somebody may want that."""

SEVERITIES: tuple[Severity, ...] = ("bad", "doubtful", "hint")
"""The worst first."""

HTTPD = "httpd.apache.org/docs/2.4/"
PHP = "php.net/manual/en/"
NGINX = "nginx.org/en/docs/"
GUNICORN = "docs.gunicorn.org/en/stable/settings.html"
BOOK = "Bekman and Cholet, Practical mod_perl, 2003, chapter 11"


class Seen(Record, frozen=True):
    """A rule's case in one server, with its numbers."""

    what: str
    """A sentence without its full stop."""
    evidence: tuple[str, ...] = ()
    """Where it is seen: a file and a line, processes, the kernel."""
    do: str = ""
    """What to do about this very case; empty: what the rule says."""
    severity: Severity | None = None
    """Where it is not the rule's own."""


Look = Callable[[Facts], Iterator[Seen]]
"""Pure, and silent where something that it needs is not known."""


class Rule(Record, frozen=True):
    """Something about a server's settings that a machine can check."""

    name: str
    """For machines, and for whoever looks it up: `clipped-workers`."""
    kinds: tuple[str, ...]
    """Of the servers that it is about."""
    severity: Severity
    checks: str
    """What it checks, a sentence; the heading of its paragraph."""
    matters: str
    """Why it matters."""
    needs: str
    """Evidence needed: without it the rule says nothing."""
    do: str
    """What to do, in an imperative without a full stop."""
    risks: str
    """What doing so risks."""
    wrong: str
    """When the advice is wrong."""
    source: str
    look: Look


class Finding(Record, frozen=True):
    """What a rule says of one server."""

    name: str
    severity: Severity
    what: str
    evidence: str
    do: str
    risk: str
    wrong_when: str
    source: str
