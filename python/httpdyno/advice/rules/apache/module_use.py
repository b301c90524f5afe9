"""What makes a module of Apache's do something: directives, or words that name it. Pure.

Only modules are here that do nothing unless something names them. Those that act unasked are not:
`mod_mime`, `mod_dir`, `mod_reqtimeout`, `mod_unique_id`, `mod_http2` beside its protocol, the
providers that others take by default (`mod_socache_shmcb`, `mod_slotmem_shm`), and what says who
may ask (`mod_authz_core` and its kin), which nobody should take out for a hint.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple


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
