"""Rules for Apache's modules: those that nothing uses, and those that compress."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from httpdyno.advice.rules.apache import folder_of, roots
from httpdyno.advice.rules.declaration import Proposed, Seen, rule
from httpdyno.advice.rules.facts import Facts, is_compressed, is_said, where, words
from httpdyno.model import Reading
from httpdyno.reason import Reason, because

# What makes a module of Apache's do something: directives, or words that name it.
#
# Only modules are here that do nothing unless something names them. Those that act unasked are
# not: `mod_mime`, `mod_dir`, `mod_reqtimeout`, `mod_unique_id`, `mod_http2` beside its protocol,
# the providers that others take by default (`mod_socache_shmcb`, `mod_slotmem_shm`), and what
# says who may ask (`mod_authz_core` and its kin), which nobody should take out for a hint.


class Use(NamedTuple):
    """What shows that a module may be used; any of both does."""

    directives: tuple[str, ...]
    """In small letters; one that ends in `*` is all that begin so."""
    words: str = ""
    """A pattern for the lines of all directives, without regard to case; empty is none."""


def _filter(name: str, *directives: str) -> Use:
    """Return what shows that a filter of that name may be set."""
    return Use(directives, rf"^\S*filter\S* .*\b{name}\b")


_CGI = Use(
    # The element `exec` of server-side includes is these modules' own.
    ("scriptalias*", "action", "script", "xbithack"),
    r"cgi-script|x-httpd-cgi|includes|server-parsed",
)
_PHP = Use(("php_*", "phpinidir"), r"x-httpd-php|\bphp-script\b")
_PROXY = Use(("proxy*", "balancer*"), r"\bproxy:|[\[,](?:P|proxy)[,\]]")
_BALANCER = Use(("balancer*",), r"\bbalancer:")
_UNKNOWN_SCHEME = r"[\[,](?:P|proxy)[,\]]|\bproxy:%|^proxypass\S* .*\$\{"
"""A rule that passes on, or an address that is known at a request only: to anything."""


def _scheme(name: str) -> Use:
    """Return what shows that a proxy passes on to such an address, or to any that is asked for."""
    return Use(("proxyrequests",), rf"\b(?:{name})://|{_UNKNOWN_SCHEME}")


USES: Mapping[str, Use] = {
    # These come first: each process has an interpreter of theirs, whoever asks for it.
    "perl": Use(("perl*",), r"\bperl-script\b|\bmodperl\b|\bperl\b"),
    "php": _PHP,
    "php7": _PHP,
    "wsgi": Use(("wsgi*",), r"\bwsgi-script\b"),
    "actions": Use(("action", "script")),
    "alias": Use(("alias*", "redirect*", "scriptalias*")),
    "asis": Use((), r"\bsend-as-is\b"),
    "auth_digest": Use(("authdigest*",), r"\bdigest\b"),
    "auth_form": Use(("authform*",), r"\bform\b|form-log(?:in|out)-handler"),
    "brotli": Use(("brotli*",), r"\bbrotli"),
    "buffer": _filter("buffer", "buffersize"),
    "cache": _filter("cache", "cacheenable"),
    "cache_disk": _filter("cache", "cacheenable"),
    "cache_socache": _filter("cache", "cacheenable"),
    "cgi": _CGI,
    "cgid": _CGI,
    "charset_lite": Use(("charset*",)),
    "data": _filter("data"),
    "dav": Use(("dav",)),
    "dav_fs": Use(("dav",)),
    "dav_lock": Use(("dav", "davgenericlockdb")),
    "dbd": Use(("dbd*", "authdbd*", "authzdbd*"), r"\bdbd\b"),
    "deflate": Use(("deflate*",), r"\b(?:de|in)flate\b"),
    "dumpio": Use(("dumpio*",)),
    "env": Use(("setenv", "unsetenv", "passenv")),
    "expires": Use(("expires*",)),
    "ext_filter": Use(("extfilter*",)),
    "fcgid": Use(("fcgidwrapper", "fcgida*"), r"\bfcgid-script\b"),
    "file_cache": Use(("cachefile", "mmapfile")),
    "filter": Use(("filter*", "addoutputfilterbytype")),
    "headers": Use(("header", "requestheader")),
    "imagemap": Use(("imap*",), r"\bimap-file\b|x-httpd-imap"),
    "include": Use(("ssi*", "xbithack"), r"includes|server-parsed|x-server-parsed-html3?"),
    "lua": Use(("lua*",), r"lua-script"),
    "mime_magic": Use(("mimemagicfile",)),
    "proxy": _PROXY,
    "proxy_ajp": _scheme("ajp"),
    "proxy_balancer": _BALANCER,
    "proxy_connect": Use(("proxyrequests", "allowconnect")),
    "proxy_express": Use(("proxyexpress*",)),
    "proxy_fcgi": _scheme("fcgi"),
    "proxy_fdpass": _scheme("fd"),
    "proxy_ftp": _scheme("ftp"),
    "proxy_hcheck": Use(("proxyhc*",), r"\bhc(?:method|uri|expr|interval|template)="),
    "proxy_html": Use(("proxyhtml*",), r"proxy-html"),
    "proxy_http": _scheme("https?|wss?"),
    "proxy_http2": _scheme("h2c?"),
    "proxy_scgi": _scheme("scgi"),
    "proxy_uwsgi": _scheme("uwsgi"),
    "proxy_wstunnel": Use(("proxyrequests",), rf"\bwss?://|upgrade=|{_UNKNOWN_SCHEME}"),
    "ratelimit": Use((), r"rate[_-]limit"),
    "remoteip": Use(("remoteip*",)),
    "rewrite": Use(("rewrite*",)),
    "sed": _filter("sed", "inputsed", "outputsed"),
    "session": Use(("session*",)),
    "session_cookie": Use(("session*",)),
    "session_crypto": Use(("session*",)),
    "session_dbd": Use(("session*",)),
    "setenvif": Use(("setenvif*", "browsermatch*")),
    "speling": Use(("checkspelling", "checkcaseonly", "checkbasenamematch")),
    "substitute": _filter("substitute", "substitute*"),
    "usertrack": Use(("cookietracking",)),
    "vhost_alias": Use(("virtual*",)),
    "xml2enc": Use(("xml2*", "proxyhtml*"), r"xml2enc|proxy-html"),
    **{
        f"lbmethod_{name}": _BALANCER
        for name in ("bybusyness", "byrequests", "bytraffic", "heartbeat")
    },
}
"""By name without `_module`: those of Debian's packages, after Apache's own manual of each.

Source: httpd.apache.org/docs/2.4/mod/, "Directives", handlers and filters of each module; of those
that are not Apache's own, likewise, their own manuals.
"""
_NEEDS: Mapping[str, tuple[str, ...]] = {
    "auth_form": ("session",),
    "authn_dbd": ("dbd",),
    "authz_dbd": ("dbd",),
    "deflate": ("filter",),
    "file_cache": ("cache",),
    "proxy_balancer": ("alias",),
    "proxy_html": ("xml2enc",),
    "ratelimit": ("env",),
    "ssl": ("setenvif",),
}
_NEEDED_BY_KIN = ("cache", "dav", "proxy", "session")
"""Whatever begins with such a name needs it."""


def needs(name: str) -> tuple[str, ...]:
    """Return the modules without which one does not load, or `a2dismod` refuses.

    Args:
        name: Without `_module`, as what is returned.

    Source:
        `# Depends` in Debian's `/etc/apache2/mods-available/*.load`.
    """
    kin = (base for base in _NEEDED_BY_KIN if name.startswith(f"{base}_"))
    balancer = ("proxy_balancer",) if name.startswith("lbmethod_") else ()
    return (*_NEEDS.get(name, ()), *kin, *balancer)


_FLAGS = re.IGNORECASE | re.MULTILINE


def is_used(use: Use, names: frozenset[str], text: str) -> bool:
    """Return whether something in a configuration may use a module.

    Args:
        use: Of the module.
        names: Of all directives, in small letters.
        text: Of all directives, a line each: name, arguments, and the sections that it is in.
    """
    beginnings = tuple(each[:-1] for each in use.directives if each.endswith("*"))
    is_named = not names.isdisjoint(use.directives)
    if is_named or (beginnings and any(name.startswith(beginnings) for name in names)):
        return True
    return bool(use.words) and re.search(use.words, text, _FLAGS) is not None


# Modules that are loaded and that nothing in the configuration uses.

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


@rule("unused-modules")
def _unused(facts: Facts) -> Iterator[Seen]:
    if is_told_elsewhere(facts):
        return
    found: list[tuple[str, Reason | None]] = [
        (module, because("rules.unused-modules.handler", handler=handler))
        for module, handler in _BY_HANDLER.items()
        if facts.has_module(module) and not _has_handler(facts, handler)
    ]
    is_off = all(words(r.text)[:1] == ["disabled"] for r in facts.said("UserDir"))
    if facts.has_module("userdir_module") and is_off:
        found.append(("userdir_module", because("rules.unused-modules.userdir")))
    if facts.has_module("autoindex_module") and not has_option(facts, "indexes"):
        found.append(("autoindex_module", because("rules.unused-modules.indexes")))
    is_asked = has_option(facts, "multiviews") or _has_handler(facts, "type-map")
    if facts.has_module("negotiation_module") and not is_asked:
        found.append(("negotiation_module", because("rules.unused-modules.negotiation")))
    found += [(name, None) for name in _never_named(facts)]
    if found:
        names = [name for name, _ in found]
        yield Seen(
            what=because("rules.unused-modules.loaded", names=names),
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


def _told(facts: Facts, module: str, why: Reason | None, names: Sequence[str]) -> str | Reason:
    """Return a module's line, and why it is told where that is more than that nothing names it.

    Where one alone is told, its name is not told again.
    """
    at = ", ".join(word for word in (module * (len(names) > 1), facts.loading(module)) if word)
    if why is None:
        return at
    return because("rules.unused-modules.at", at=at, why=why) if at else why


@rule("unseen-status")
def _unseen_status(facts: Facts) -> Iterator[Seen]:
    reading = facts.reading("ExtendedStatus")
    if reading is None or not is_said(reading) or reading.text.lower() != "on":
        return
    if not is_told_elsewhere(facts) and not _has_handler(facts, _STATUS):
        yield Seen(
            what=because("rules.unseen-status", handler=_STATUS),
            evidence=(where(reading),),
            proposes=(Proposed(knob="ExtendedStatus", value=False),),
        )


# What Apache compresses.

FILTER = re.compile(r"(?:.*;)?(deflate|brotli_compress)(?:;.*)?", re.IGNORECASE)
"""An argument that names a compressing filter."""


@rule("compressed-twice")
def _packed(facts: Facts) -> Iterator[Seen]:
    found = []
    for reading in facts.said("AddOutputFilterByType"):
        given = words(reading.text)
        if given and FILTER.fullmatch(given[0]):
            found += [(kind, reading) for kind in given[1:] if is_compressed(kind)]
    if found:
        yield Seen(
            what=because(
                "rules.compressed-twice", kinds=list(dict.fromkeys(kind for kind, _ in found))
            ),
            evidence=tuple(where(reading) for _, reading in found),
        )


@rule("compressed-everything")
def _everything(facts: Facts) -> Iterator[Seen]:
    found = [
        reading
        for reading in facts.said("SetOutputFilter")
        # What lies at one address may be all text.
        if (" " not in reading.scope or folder_of(reading.scope))
        and FILTER.fullmatch(reading.text.strip('"'))
    ]
    if not found or any(_is_guard(each) for each in _guards(facts)):
        return
    yield Seen(
        what=because("rules.compressed-everything"),
        evidence=tuple(map(where, found)),
    )


def _guards(facts: Facts) -> list[Reading]:
    names = ("SetEnvIf", "SetEnvIfNoCase", "SetEnv", "SetEnvIfExpr", "RewriteRule")
    return [reading for name in names for reading in facts.said(name)]


def _is_guard(reading: Reading) -> bool:
    return re.search(r"\bno-(gzip|brotli)\b", reading.text) is not None


@rule("forced-compression")
def _forced(facts: Facts) -> Iterator[Seen]:
    is_on = any(
        FILTER.fullmatch((words(reading.text) or [""])[0])
        for name in ("AddOutputFilterByType", "SetOutputFilter", "AddOutputFilter")
        for reading in facts.said(name)
    )
    found = [
        reading
        for name in ("SetEnv", "SetEnvIf", "SetEnvIfNoCase")
        for reading in facts.said(name)
        if re.search(r"\bforce-gzip\b", reading.text)
    ]
    if is_on and found:
        yield Seen(
            what=because("rules.forced-compression"),
            evidence=tuple(map(where, found)),
        )


# Text that Apache sends as it is, and compressed files that it chooses by hand.

_COMPRESSORS = ("deflate_module", "brotli_module")
_HTML = re.compile(r"text/(?:html|\*)|\*/\*|\*", re.IGNORECASE)
_BY_PROGRAM = re.compile(
    r"zlib\.output_compression|CompressGzip|Apache2?::(?:Gzip\w*|Compress\w*|Dynagzip)|\bgzip\b",
    re.IGNORECASE,
)
"""What programs inside Apache are told, and modules of Perl that compress."""
_PACKED_FILE = re.compile(r"\.(?:gz|br|zst)\b")
_ACCEPT = re.compile(r"%\{HTTP:Accept-Encoding\}", re.IGNORECASE)
_NAMES_IT = re.compile(r"accept-encoding|\*", re.IGNORECASE)
_ADDING = frozenset({"set", "add", "append", "merge", "setifempty"})
_TAKING = frozenset({"unset"})


@rule("uncompressed-text")
def _plain(facts: Facts) -> Iterator[Seen]:
    if not facts.is_whole or is_told_elsewhere(facts):
        return
    served = roots(facts)
    if not served or _is_html_compressed(facts) or _is_by_program(facts) or _by_hand(facts):
        return
    loaded = [each for each in _COMPRESSORS if facts.has_module(each)]
    why = because(
        "rules.uncompressed-text.unset" if loaded else "rules.uncompressed-text.none_loaded",
        names=loaded,
    )
    yield Seen(
        what=because("rules.uncompressed-text.plain"),
        evidence=(why, *(where(each.reading) for each in served)),
    )


def _is_filtered(facts: Facts) -> bool:
    """Whether a filter compresses anything."""
    names = ("SetOutputFilter", "AddOutputFilter", "FilterProvider", "AddOutputFilterByType")
    return any(
        FILTER.fullmatch(word)
        for name in names
        for each in facts.said(name)
        for word in words(each.text)
    )


def _is_html_compressed(facts: Facts) -> bool:
    """Whether something compresses HTML anywhere; sections that are not followed count as well."""
    for name in ("SetOutputFilter", "AddOutputFilter", "FilterProvider", "FilterDeclare"):
        if any(FILTER.fullmatch(w) for each in facts.said(name) for w in words(each.text)):
            return True
    for reading in facts.said("AddOutputFilterByType"):
        given = words(reading.text)
        if given and FILTER.fullmatch(given[0]) and any(_HTML.fullmatch(k) for k in given[1:]):
            return True
    return False


def _is_by_program(facts: Facts) -> bool:
    """Whether a program inside may compress, which its own settings say."""
    return any(
        _BY_PROGRAM.search(f"{each.name} {each.text}")
        for each in facts.survey.readings
        if is_said(each) and each.name.lower().startswith(("perl", "php_"))
    )


def _by_hand(facts: Facts) -> list[Reading]:
    """Return what chooses compressed files, or calls answers compressed."""
    found = [each for each in facts.said("RewriteCond") if _ACCEPT.search(each.text)]
    found += [
        each
        for each in facts.said("RewriteRule")
        if _PACKED_FILE.search((words(each.text)[1:2] or [""])[0])
    ]
    found += [
        each for each in facts.said("Header") if _header(each)[1:] == ("set", "content-encoding")
    ]
    if has_option(facts, "multiviews"):
        found += [each for each in facts.said("AddEncoding") if "gzip" in each.text.lower()]
    return found


def _header(reading: Reading) -> tuple[str, str, str]:
    """Return condition, what is done, and the header's name, in small letters."""
    given = [word.lower() for word in words(reading.text)]
    condition = given.pop(0) if given[:1] in (["always"], ["onsuccess"]) else ""
    action, name, *_ = [*given, "", ""]
    return condition, action, name


@rule("no-vary")
def _unvaried(facts: Facts) -> Iterator[Seen]:
    if is_told_elsewhere(facts):
        return
    vary = [(each, _header(each)) for each in facts.said("Header")]
    taken = [each for each, (_, do, name) in vary if name == "vary" and do in _TAKING]
    taken += [each for each in facts.said("SetEnv") if words(each.text)[:1] == ["force-no-vary"]]
    added = [
        each
        for each, (_, do, name) in vary
        if name == "vary" and do in _ADDING and _NAMES_IT.search(each.text)
    ]
    chosen = [each for each in facts.said("RewriteCond") if _ACCEPT.search(each.text)]
    # A filter says it in each answer of its types, compressed or not.
    is_filtered = _is_filtered(facts)
    if taken and (chosen or is_filtered):
        yield Seen(
            what=because("rules.no-vary.taken"),
            evidence=tuple(map(where, taken)),
        )
    elif chosen and not added and not is_filtered:
        yield Seen(
            what=because("rules.no-vary.unsaid"),
            evidence=tuple(map(where, chosen)),
        )
