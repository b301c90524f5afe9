"""What is in force, from the files alone."""

from collections.abc import Iterator
from pathlib import Path

from httpdyno.model import Notice, Reading, Survey
from httpdyno.reason import because
from httpdyno.servers.nginx import catalogue
from httpdyno.servers.nginx.catalogue import idle_readings, logs
from httpdyno.servers.nginx.conf import Conf, unreadable, written_folders
from httpdyno.servers.nginx.endpoint import backends, listeners, listens
from httpdyno.servers.nginx.knob import SOMAXCONN
from httpdyno.servers.nginx.text import BOM

_TOLD = frozenset(
    {"user", "limit_req", "limit_conn", "allow", "deny", "auth_basic", "http2"}
    | {"limit_rate", "return", "proxy_cache", "fastcgi_cache", "http3", "error_log", "pid"}
    | {"daemon", "master_process", "gzip_types", "gzip_vary", "brotli", "zstd"}
)
"""What is no knob, but decides how a copy starts and answers, or who may ask it; and what rules
look at."""
_SOMAXCONN = Path("/proc/sys/net/core/somaxconn")
_NO_LOG_FILES = ("syslog:", "memory:", "/dev/")


def survey_of(conf: Conf) -> Survey:
    """Return what the files say. Reads nothing but whether keys may be read, and one sysctl."""
    to, undecided = backends(conf)
    return Survey(
        version=conf.build.line,
        readings=(*catalogue.readings(conf), *idle_readings(conf), *_told(conf), *_host()),
        listeners=listeners(conf),
        backends=to,
        logs=logs(conf),
        modules=(*conf.build.words(), *_loaded(conf)),
        writes=written_folders(conf),
        unreadable=unreadable(conf),
        notices=(*_notices(conf), *undecided),
    )


def _told(conf: Conf) -> Iterator[Reading]:
    for scope in conf.of_kind("main", "http", "server", "location"):
        for directive in scope.directives:
            if directive.name in _TOLD and not directive.is_block:
                yield Reading(
                    name=directive.name,
                    scope=scope.label,
                    text=" ".join(directive.texts),
                    origin=directive.origin,
                )


def _host() -> Iterator[Reading]:
    try:
        text = _SOMAXCONN.read_text(encoding="ascii").strip()
    except OSError:
        return
    yield Reading(name=SOMAXCONN, scope="", text=text, evidence="seen")


def _loaded(conf: Conf) -> Iterator[str]:
    """Yield the modules that are loaded at the start, as they are named."""
    for directive in conf.main.own("load_module"):
        yield from directive.texts[:1]


def _notices(conf: Conf) -> Iterator[Notice]:
    for file, text in conf.texts.items():
        if text.startswith(BOM):
            yield Notice(why=because("nginx.byte_order_mark", file=file))
    for listen in listens(conf):
        if listen.is_datagram:
            why = because("nginx.http_3", address=listen.address)
            yield Notice(why=why, origin=listen.origin)
    for directive in conf.main.directives:
        if directive.name in {"stream", "mail"}:
            why = because("nginx.not_http", name=directive.name)
            yield Notice(why=why, origin=directive.origin)
    yield from _of_logs(conf)


def _of_logs(conf: Conf) -> Iterator[Notice]:
    told: set[str] = set()
    for scope in conf.scopes:
        for directive in scope.own("access_log"):
            text = directive.texts[0] if directive.args else ""
            place = text.partition(":")[0]
            if text.startswith(_NO_LOG_FILES) and text != "/dev/null" and place not in told:
                told.add(place)
                why = because("nginx.log_elsewhere", place=place)
                yield Notice(why=why, origin=directive.origin)
