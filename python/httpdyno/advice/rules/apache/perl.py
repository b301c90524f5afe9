"""Perl that stands in an Apache's configuration, and what that runs at the start. Pure."""

import re
from collections.abc import Iterator

from httpdyno.advice.rules.facts import Facts, place, words
from httpdyno.model import Reading

MODULE = "perl_module"
_SECTION = "perl"
_ASP = re.compile(r"\bApache::ASP\b")
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
    return facts.has_module(MODULE) and any(
        each.name.lower().startswith("perl") and not is_perl(each) and _ASP.search(each.text)
        for each in facts.survey.readings
    )
