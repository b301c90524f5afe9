"""Perl that stands in an Apache's configuration, and what that runs at the start. Pure."""

import re
from collections.abc import Iterator

from httpdyno.advice.rules.facts import Facts, place, where, words
from httpdyno.model import Reading

MODULE = "perl_module"
_SECTION = "perl"
_ASP = re.compile(r"\bApache::ASP\b")
_BY_SIZE = re.compile(r"\bApache2?::(?:SizeLimit|GTopLimit|Resource)\b")
_POD = re.compile(r"^=[a-z]\w*")
_POD_ENDS = "=cut"
_REST_IS_DATA = re.compile(r"__(?:END|DATA)__\s*")


def perl_lines(facts: Facts) -> Iterator[tuple[str, str]]:
    """Yield each line of Perl with its place: of `<Perl>` sections, then of files run at the start.

    Comments and what is documentation are left out. What such a file loads is not followed.
    """
    for reading in facts.survey.readings:
        if is_perl(reading):
            yield f"{reading.name} {reading.text}".strip(), place(reading)
    for path, text in facts.perl.startup.items() if facts.perl else ():
        is_pod = False
        for nth, line in enumerate(text.splitlines(), 1):
            if _REST_IS_DATA.fullmatch(line):
                break
            if _POD.match(line):
                is_pod = not line.startswith(_POD_ENDS)
            elif not is_pod and not line.lstrip().startswith("#"):
                yield line.strip(), f"{path}:{nth}"


def is_perl(reading: Reading) -> bool:
    """Whether it is a line of a `<Perl>` section, which is no directive."""
    return reading.scope.lower().split()[-1:] == [_SECTION]


def perl_variables(facts: Facts) -> Iterator[tuple[str, str, Reading]]:
    """Yield name, value and directive of each `PerlSetVar` and of its kin."""
    for directive in ("PerlSetVar", "PerlAddVar", "PerlSetEnv"):
        for reading in facts.said(directive):
            name, *values = words(reading.text) or [""]
            if values:
                yield name, " ".join(values), reading


def uses_asp(facts: Facts) -> bool:
    """Whether Apache::ASP answers somewhere."""
    return any(named_in_perl(facts, _ASP))


def named_in_perl(facts: Facts, name: re.Pattern[str]) -> Iterator[str]:
    """Yield the places of an Apache with mod_perl whose directives or lines of Perl have a name."""
    if not facts.has_module(MODULE):
        return
    for reading in facts.survey.readings:
        is_directive = reading.name.lower().startswith("perl") and not is_perl(reading)
        if is_directive and name.search(reading.text):
            yield where(reading)
    for line, at in perl_lines(facts):
        if name.search(line):
            yield f"{line}, {at}"


def ends_by_size(facts: Facts) -> bool:
    """Whether something in Perl ends processes that have become too large."""
    return any(named_in_perl(facts, _BY_SIZE))
