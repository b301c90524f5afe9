"""Switches for development of Apache::ASP."""

from collections.abc import Iterator

from httpdyno.advice.rules.apache.perl import perl_variables, uses_asp
from httpdyno.advice.rules.declaration import BOOK, Rule, Seen
from httpdyno.advice.rules.facts import Facts, number, where

_SHOWN = 2
"""From there on, or below minus that, it is sent to visitors."""
_NO = frozenset({"", "0"})


def _debugging(facts: Facts) -> Iterator[Seen]:
    if not uses_asp(facts):
        return
    found = list(perl_variables(facts))
    levels = [(number(value) or 0, each) for name, value, each in found if name == "Debug"]
    # 1 is what its manual has for production: only what pages write by `$Response->Debug`.
    on = [(level, each) for level, each in levels if level < 0 or level >= _SHOWN]
    if on:
        is_logged = any(level < 0 for level, _ in on)
        is_shown = any(abs(level) >= _SHOWN for level, _ in on)
        does = (
            *(["writes all that it does into the error log"] if is_logged else []),
            *(["shows visitors what was found wrong, with the script"] if is_shown else []),
        )
        yield Seen(
            what=f"Apache::ASP {' and '.join(does)}: `Debug` is on",
            evidence=tuple(where(each) for _, each in on),
            severity="bad" if is_shown else None,
        )
    reloading = [each for name, value, each in found if name == "StatINC" and value not in _NO]
    if reloading:
        yield Seen(
            what="Apache::ASP asks for the time of change of each loaded module, for each request",
            evidence=tuple(map(where, reloading)),
            do="set `PerlSetVar StatINC 0`, or name the few modules that change in `StatINCMatch`",
        )


RULES = (
    Rule(
        name="asp-debugging",
        kinds=("apache",),
        severity="doubtful",
        checks="`PerlSetVar Debug` or `StatINC` of Apache::ASP on",
        matters="With a negative `Debug` each request writes lines; from 2 on, of either sign, "
        "pages of errors show what only you should see; with `StatINC` each request asks the "
        "kernel for each module that is loaded.",
        needs="mod_perl and Apache::ASP stand in the configuration, and `Debug` is written with 2 "
        "or more or below 0, or `StatINC` with 1.",
        do="set `PerlSetVar Debug 0`, or 1",
        risks="what a fault would have written is missing when it comes; changed modules count "
        "after a restart only",
        wrong="this is a machine for development",
        source=f"{BOOK}; metacpan.org/pod/Apache::ASP#Debug",
        look=_debugging,
    ),
)
