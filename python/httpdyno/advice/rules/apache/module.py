"""Modules that are loaded and that nothing in the configuration uses."""

from collections.abc import Iterator, Mapping, Sequence

from httpdyno.advice.rules.apache.module_use import USES, is_used, needs
from httpdyno.advice.rules.declaration import BOOK, HTTPD, Proposed, Proposes, Rule, Seen
from httpdyno.advice.rules.facts import Facts, is_said, where, words

_STATUS, _INFO = "server-status", "server-info"
_HANDLERS = ("SetHandler", "AddHandler", "Action")
_OVERRIDES = ("AllowOverride", "AllowOverrideList")
_BY_HANDLER: Mapping[str, str] = {"status_module": _STATUS, "info_module": _INFO}
"""Each is asked by its handler alone."""


def _has_handler(facts: Facts, handler: str) -> bool:
    found = (reading for name in _HANDLERS for reading in facts.said(name))
    return any(handler in reading.text.lower() for reading in found)


def has_option(facts: Facts, option: str) -> bool:
    """Whether some folder has that one of `Options`, in small letters."""
    for reading in facts.said("Options"):
        given = [word.lower().lstrip("+") for word in words(reading.text)]
        if option in given or (option != "multiviews" and "all" in given):
            return True
    return False


def is_told_elsewhere(facts: Facts) -> bool:
    """Whether files that are not read may set what uses a module."""
    said = (reading for name in _OVERRIDES for reading in facts.said(name))
    is_allowed = any(reading.text.strip('"').lower() != "none" for reading in said)
    return is_allowed or not facts.is_whole


def _unused(facts: Facts) -> Iterator[Seen]:
    if is_told_elsewhere(facts):
        return
    found = [
        (module, f"nothing has the handler `{handler}`")
        for module, handler in _BY_HANDLER.items()
        if facts.has_module(module) and not _has_handler(facts, handler)
    ]
    is_off = all(words(r.text)[:1] == ["disabled"] for r in facts.said("UserDir"))
    if facts.has_module("userdir_module") and is_off:
        found.append(("userdir_module", "no `UserDir` is set"))
    if facts.has_module("autoindex_module") and not has_option(facts, "indexes"):
        found.append(("autoindex_module", "no folder has `Options Indexes`"))
    is_asked = has_option(facts, "multiviews") or _has_handler(facts, "type-map")
    if facts.has_module("negotiation_module") and not is_asked:
        found.append(("negotiation_module", "no `MultiViews`, and no handler `type-map`"))
    found += [(name, "") for name in _never_named(facts)]
    if found:
        names = [name for name, _ in found]
        yield Seen(
            what=f"loaded, and used by nothing here: {', '.join(names)}",
            evidence=tuple(_told(facts, name, why, names) for name, why in found),
        )


def _never_named(facts: Facts) -> list[str]:
    """Return the modules that lines load and that no directive, handler or filter is of.

    None that one of the others needs is among them.
    """
    unnamed = list(_unnamed(facts))
    while True:
        kept = [each for each in facts.survey.modules if each not in unnamed]
        needed = {f"{base}_module" for each in kept for base in needs(_short(each))}
        if needed.isdisjoint(unnamed):
            return unnamed
        unnamed = [each for each in unnamed if each not in needed]


def _unnamed(facts: Facts) -> Iterator[str]:
    readings = facts.survey.readings
    names = frozenset(each.name.lower() for each in readings)
    text = "\n".join(f"{each.name} {each.text} {each.scope}" for each in readings)
    for name, use in USES.items():
        module = f"{name}_module"
        # One that is compiled in stays, whatever is written.
        if facts.loading(module) and not is_used(use, names, text):
            yield module


def _short(module: str) -> str:
    return module.removesuffix("_module")


def _told(facts: Facts, module: str, why: str, names: Sequence[str]) -> str:
    """Return a module's line, and why it is told where that is more than that nothing names it.

    Where one alone is told, its name is not told again.
    """
    at = ", ".join(word for word in (module * (len(names) > 1), facts.loading(module)) if word)
    return ": ".join(word for word in (at, why) if word)


def _unseen_status(facts: Facts) -> Iterator[Seen]:
    reading = facts.reading("ExtendedStatus")
    if reading is None or not is_said(reading) or reading.text.lower() != "on":
        return
    if not is_told_elsewhere(facts) and not _has_handler(facts, _STATUS):
        yield Seen(
            what="`ExtendedStatus` is on, and nothing shows it: no place has the handler "
            f"`{_STATUS}`",
            evidence=(where(reading),),
            proposes=(Proposed(knob="ExtendedStatus", value=False),),
        )


RULES = (
    Rule(
        name="unused-modules",
        kinds=("apache",),
        severity="hint",
        checks="Modules that are loaded and that nothing here uses, such as status, autoindex, "
        "userdir, negotiation, dav, cgi, proxy_*, perl, php",
        matters="Each module has its hooks in each request and its pages in each process; one "
        "that is not loaded has no holes either.",
        needs="What would use them can be told from the configuration, which was read whole, and "
        "no `.htaccess` files are allowed. Of modules that act without a word of the configuration "
        "(mime, dir, reqtimeout, unique_id), that serve others (socache_*, slotmem_*, or one that "
        "a module needs which stays), or that say who may ask (authz_*), nothing is said.",
        do="leave out their `LoadModule` lines (`a2dismod` on Debian)",
        risks="directives of theirs that are left are refused: Apache does not start",
        wrong="something asks for the module by code, as a Perl handler may",
        source=f"{BOOK}; {HTTPD}mod/",
        look=_unused,
    ),
    Rule(
        name="unseen-status",
        kinds=("apache",),
        severity="hint",
        checks="`ExtendedStatus On` where no status page shows it",
        matters="Each request then asks for the time twice and writes what it is into memory that "
        "all processes share.",
        needs="The directive is on, no handler `server-status`, in a configuration that was read "
        "whole and allows no `.htaccess` files.",
        do="set `ExtendedStatus Off`",
        risks="nothing: nobody sees it",
        wrong="a module of another make reads the scoreboard",
        source=f"{BOOK}; {HTTPD}mod/core.html#extendedstatus",
        look=_unseen_status,
        proposes=(Proposes(knob="ExtendedStatus", value="off"),),
    ),
)
