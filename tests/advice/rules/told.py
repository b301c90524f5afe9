"""Servers as text, told as `inspect` would know them, and what rules say of them."""

from typing import Any

from msgspec import structs

from httpdyno.advice.rules import RULES
from httpdyno.advice.rules.facts import Facts
from httpdyno.advice.rules.finding import findings_of
from httpdyno.model import Member, Survey
from httpdyno.report.inspect.facts import facts_of
from httpdyno.servers.apache_site import ApacheSite
from httpdyno.servers.site.adapter import MemberFiles
from httpdyno.servers.source.find import Found
from httpdyno.servers.source.inspection import Inspected

APACHE = "/etc/apache2/apache2.conf"


def apache(text: str, *modules: str, mpm: str = "prefork", **known: Any) -> Facts:
    """Return an Apache whose configuration is that text, behind its modules, on lines of its own.

    Args:
        text: Of its main file; its first line is line 1.
        modules: Without `_module`.
        mpm: The module that runs its processes.
        known: Fields of the facts.
    """
    loads = [f"LoadModule {name}_module m/mod_{name}.so" for name in (f"mpm_{mpm}", *modules)]
    member = Member(name="apache", kind="apache", main=APACHE)
    end = "\n" + "\n".join(loads) + "\n"
    files = MemberFiles(texts={APACHE: (text.strip() + end).encode()})
    survey = ApacheSite().survey(member, files, None)
    assert isinstance(survey, Survey)
    return _facts(member, survey, **known)


def _facts(member: Member, survey: Survey, **known: Any) -> Facts:
    """Return what `inspect` makes of a server that does not run, and more."""
    facts = facts_of(Inspected(found=Found(member=member), survey=survey), None, None)
    assert facts is not None
    return structs.replace(facts, **known)


def said(facts: Facts) -> list[tuple[str, str, str]]:
    """Return name, severity and words of all findings."""
    return [(each.name, each.severity, each.what) for each in findings_of(facts, RULES)]


def named(facts: Facts, name: str) -> list[str]:
    """Return the words of a rule's findings."""
    return [what for found, _, what in said(facts) if found == name]


def evidence(facts: Facts, name: str) -> str:
    """Return where a rule saw it."""
    return next(each.evidence for each in findings_of(facts, RULES) if each.name == name)

