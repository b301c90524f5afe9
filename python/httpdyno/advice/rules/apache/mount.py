"""One folder of scripts, or one script, under two addresses."""

import posixpath
import re
from collections.abc import Iterator
from itertools import combinations

from httpdyno.advice.rules.declaration import BOOK, HTTPD, Rule, Seen
from httpdyno.advice.rules.facts import Facts, where, words
from httpdyno.model import Reading

_BOTH = 2
_REGISTRY = re.compile(r"\b(?:ModPerl|Apache2?)::Registry(?:BB|Prefork)?\b")


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


def linked_folders(facts: Facts) -> tuple[str, ...]:
    """Return the folders of scripts that mod_perl keeps, of which it is asked where they lie."""
    return tuple(dict.fromkeys(folder for _, folder, _ in _kept(facts)))


def _kept(facts: Facts) -> Iterator[tuple[str, str, Reading]]:
    """Yield the places whose scripts stay compiled, by the name of their file."""
    if not facts.has_module("perl_module"):
        return
    registries = [
        each.scope.lower().rstrip("/").rpartition(" ")[2]
        for name in ("PerlResponseHandler", "PerlHandler")
        for each in facts.said(name)
        if _REGISTRY.search(each.text)
    ]
    for address, folder, reading in _places(facts, "Alias"):
        if {address.lower().rstrip("/"), folder.lower()} & set(registries):
            yield address, folder, reading


def _linked(facts: Facts) -> Iterator[Seen]:
    kept = list(_kept(facts))
    for (address, folder, reading), (other, same, second) in combinations(kept, 2):
        place = facts.real_paths.get(folder, "")
        if place and folder != same and facts.real_paths.get(same) == place:
            yield Seen(
                what=f"{address} and {other} are one folder, {place}: each process compiles and "
                "keeps a script once for each of the two that it was asked for at",
                evidence=(where(reading), where(second)),
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
    Rule(
        name="scripts-kept-twice",
        kinds=("apache",),
        severity="hint",
        checks="One folder of scripts of ModPerl::Registry under two names, one by a link",
        matters="A script is kept under the name of its file. Where links give one file two names, "
        "a process that was asked for both has it twice: the time to compile, and the memory.",
        needs="mod_perl is loaded, both addresses have an `Alias` and a handler of "
        "ModPerl::Registry, and where the folders lie can be seen.",
        do="let both `Alias` lines name the same path, or redirect one address to the other",
        risks="what `<Directory>` says of the other path counts no more",
        wrong="scripts are few and small, or the second address is never asked for",
        source=f"{BOOK}; perl.apache.org/docs/2.0/api/ModPerl/RegistryCooker.html",
        look=_linked,
    ),
)
