"""One folder of scripts under two addresses."""

import posixpath
from collections.abc import Iterator

from httpdyno.advice.rules.declaration import BOOK, HTTPD, Rule, Seen
from httpdyno.advice.rules.facts import Facts, where, words
from httpdyno.model import Reading

_BOTH = 2


def _places(facts: Facts, name: str) -> Iterator[tuple[str, str, Reading]]:
    """Yield where the address is, its folder, and the directive."""
    for reading in facts.said(name):
        given = words(reading.text)
        if len(given) == _BOTH and given[1].startswith("/"):
            yield given[0], posixpath.normpath(given[1]), reading


def _is_perl(facts: Facts, address: str) -> bool:
    """Whether Perl answers there all the same: a handler of a place counts before an alias's."""
    place = f"location {address.rstrip('/')}"
    return any(
        "perl" in each.text.lower() and each.scope.lower().rstrip("/").endswith(place)
        for each in facts.said("SetHandler")
    )


def _twice(facts: Facts) -> Iterator[Seen]:
    if not facts.has_module("perl_module"):
        return
    scripts = list(_places(facts, "ScriptAlias"))
    for address, folder, reading in _places(facts, "Alias"):
        for other, same, script in scripts:
            # Hosts may have the same folder each in its own way.
            is_both = folder == same and address != other and reading.scope == script.scope
            if is_both and not _is_perl(facts, other):
                yield Seen(
                    what=f"{folder} is served at {address} and, as CGI, at {other}: there each "
                    "request starts a process and compiles its script",
                    evidence=(where(reading), where(script)),
                )


RULES = (
    Rule(
        name="scripts-twice",
        kinds=("apache",),
        severity="hint",
        checks="The same folder of scripts at an `Alias` and at a `ScriptAlias`, with mod_perl",
        matters="What mod_perl keeps compiled at one address runs as CGI at the other: a process "
        "and a compilation for each request. Which of the two visitors use, links decide.",
        needs="mod_perl is loaded, and both stand in the same host with the same folder.",
        do="redirect the address of CGI to the other one",
        risks="scripts that rely on ending after each request misbehave under mod_perl",
        wrong="the second address is kept to compare them, or for scripts that are no good "
        "under mod_perl",
        source=f"{BOOK}; {HTTPD}mod/mod_alias.html#scriptalias",
        look=_twice,
    ),
)
