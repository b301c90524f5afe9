"""The knobs of nginx that are one directive of a scope. Source of all: nginx.org/en/docs."""

from collections.abc import Callable, Mapping

from httpdyno.servers.nginx.listen import listens
from httpdyno.servers.nginx.scope import Conf, Scope
from httpdyno.servers.nginx.tunable import ROWS, Arguments, Row, Setting


def everywhere(_conf: Conf, _scope: Scope) -> bool:
    """Return True: it means something in every scope."""
    return True


def with_tls(conf: Conf, scope: Scope) -> bool:
    """Whether a server of that scope speaks TLS."""
    return any(each.is_tls and _is_within(each.server, scope) for each in listens(conf))


def with_directive(name: str) -> Callable[[Conf, Scope], bool]:
    """Return whether something in a scope, or in one inside of it, has that directive."""

    def applies(conf: Conf, scope: Scope) -> bool:
        return any(each.own(name) for each in conf.scopes if _is_within(each, scope))

    return applies


def _with_gzip(conf: Conf, scope: Scope) -> bool:
    if scope.arguments("gzip") == ("on",):
        return True
    inner = (each for each in conf.scopes if _is_within(each, scope))
    return any(directive.texts == ("on",) for each in inner for directive in each.own("gzip"))


def _with_gzip_static(conf: Conf, _scope: Scope) -> bool:
    return "--with-http_gzip_static_module" in conf.build.options


def _is_set(conf: Conf, _scope: Scope) -> bool:
    return bool(conf.main.own("worker_rlimit_nofile"))


def _is_within(scope: Scope, outer: Scope) -> bool:
    return scope is outer or (scope.parent is not None and _is_within(scope.parent, outer))


def _keepalive_requests(conf: Conf) -> str:
    return "1000" if conf.build.version >= (1, 19, 10) else "100"


_APPLIES: Mapping[str, Callable[[Conf, Scope], bool]] = {
    "gzip_comp_level": _with_gzip,
    "gzip_min_length": _with_gzip,
    "gzip_static": _with_gzip_static,
    "ssl_buffer_size": with_tls,
    "worker_rlimit_nofile": _is_set,
}
"""Setting → where it means something; the others do everywhere."""
_COMPILED: Mapping[str, Callable[[Conf], str]] = {"keepalive_requests": _keepalive_requests}
"""Setting → its text where nothing sets it, where that depends on the version."""


def _one(row: Row) -> Setting:
    """Return a setting that is the first argument of the directive of its name."""
    name = row.name

    def text(found: Arguments) -> str | None:
        arguments = found[name]
        return arguments[0] if arguments else None

    def arguments(wanted: str, found: Arguments) -> Mapping[str, tuple[str, ...]]:
        # What stands behind it, as in `keepalive_timeout 65 60`, stays.
        return {name: (wanted, *(found[name] or ())[1:])}

    return Setting(
        info=row.bare(),
        directives=(name,),
        compiled=_COMPILED.get(name, lambda _conf: row.compiled),
        text=text,
        arguments=arguments,
        context=row.context,
        in_locations=row.in_locations,
        applies=_APPLIES.get(name, everywhere),
    )


SETTINGS = tuple(_one(row) for row in ROWS.values() if row.compiled)
"""Of those for `http`, all may stand in servers, and most in locations."""
