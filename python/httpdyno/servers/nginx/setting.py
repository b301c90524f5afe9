"""The knobs of nginx that are one directive of a scope. Source of all: nginx.org/en/docs."""

from collections.abc import Callable, Mapping

from httpdyno.model import KnobInfo
from httpdyno.servers.nginx.listen import listens
from httpdyno.servers.nginx.scope import Conf, Scope
from httpdyno.servers.nginx.tunable import Arguments, Setting

_DOCS = "nginx.org/en/docs/"
_CORE = f"{_DOCS}ngx_core_module.html#"
_HTTP = f"{_DOCS}http/ngx_http_core_module.html#"
_GZIP = f"{_DOCS}http/ngx_http_gzip_module.html#"
_SSL = f"{_DOCS}http/ngx_http_ssl_module.html#"


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


def _one(
    info: KnobInfo,
    default: str | Callable[[Conf], str],
    *,
    context: str = "http",
    in_locations: bool = True,
    applies: Callable[[Conf, Scope], bool] = everywhere,
) -> Setting:
    """Return a setting that is the first argument of the directive of its name."""
    name = info.name

    def text(found: Arguments) -> str | None:
        arguments = found[name]
        return arguments[0] if arguments else None

    def arguments(wanted: str, found: Arguments) -> Mapping[str, tuple[str, ...]]:
        # What stands behind it, as in `keepalive_timeout 65 60`, stays.
        return {name: (wanted, *(found[name] or ())[1:])}

    return Setting(
        info=info,
        directives=(name,),
        compiled=default if callable(default) else lambda _conf: default,
        text=text,
        arguments=arguments,
        context=context,
        in_locations=in_locations,
        applies=applies,
    )


SETTINGS = (
    _one(
        KnobInfo(
            name="worker_processes",
            summary="processes that answer requests; each has its own caches and connections",
            kind="integer",
            default=1,
            minimum=1,
            maximum=1024,
            source=f"{_CORE}worker_processes",
            scale="log",
            cost="reload",
            evidence="seen",
            pool="workers",
        ),
        "1",
        context="main",
    ),
    _one(
        KnobInfo(
            name="worker_rlimit_nofile",
            summary="most open files of a worker",
            kind="integer",
            minimum=64,
            maximum=1_048_576,
            source=f"{_CORE}worker_rlimit_nofile",
            scale="log",
            cost="reload",
            evidence="seen",
        ),
        "0",
        context="main",
        applies=_is_set,
    ),
    _one(
        KnobInfo(
            name="worker_connections",
            summary="most connections of a worker, those to backends too",
            kind="integer",
            default=512,
            minimum=16,
            maximum=1_048_576,
            source=f"{_CORE}worker_connections",
            scale="log",
            cost="reload",
            effect="memory",
            risk="each connection takes memory at the start, and needs an open file",
        ),
        "512",
        context="events",
    ),
    _one(
        KnobInfo(
            name="multi_accept",
            summary="take all waiting connections at once, not one each time",
            kind="boolean",
            default=False,
            source=f"{_CORE}multi_accept",
            cost="reload",
        ),
        "off",
        context="events",
    ),
    _one(
        KnobInfo(
            name="keepalive_timeout",
            summary="how long an idle connection of a client is kept",
            kind="number",
            default=75,
            unit="s",
            minimum=0,
            maximum=3600,
            source=f"{_HTTP}keepalive_timeout",
            scale="log",
            cost="reload",
            effect="visible",
            risk="shorter than the idle time of a load balancer in front, that one sees resets",
        ),
        "75",
    ),
    _one(
        KnobInfo(
            name="keepalive_requests",
            summary="requests after which a client's connection is closed",
            kind="integer",
            default=1000,
            minimum=1,
            maximum=1_000_000_000,
            source=f"{_HTTP}keepalive_requests",
            scale="log",
            cost="reload",
            effect="visible",
            risk="memory of a connection is given back only when it is closed",
        ),
        _keepalive_requests,
    ),
    _one(
        KnobInfo(
            name="gzip",
            summary="compress answers while they are sent",
            kind="boolean",
            default=False,
            source=f"{_GZIP}gzip",
            cost="reload",
            effect="visible",
            risk="off, clients get several times the bytes",
        ),
        "off",
    ),
    _one(
        KnobInfo(
            name="gzip_comp_level",
            summary="how hard answers are compressed",
            kind="integer",
            default=1,
            minimum=1,
            maximum=9,
            source=f"{_GZIP}gzip_comp_level",
            scale="linear",
            cost="reload",
            effect="visible",
            risk="answers become larger or smaller",
        ),
        "1",
        applies=_with_gzip,
    ),
    _one(
        KnobInfo(
            name="gzip_min_length",
            summary="shorter answers are not compressed",
            kind="integer",
            default=20,
            unit="bytes",
            minimum=0,
            maximum=1 << 20,
            source=f"{_GZIP}gzip_min_length",
            scale="log",
            cost="reload",
            effect="visible",
        ),
        "20",
        applies=_with_gzip,
    ),
    _one(
        KnobInfo(
            name="gzip_static",
            summary="send `FILE.gz` where it lies beside the file",
            kind="choice",
            default="off",
            choices=("off", "on", "always"),
            source=f"{_DOCS}http/ngx_http_gzip_static_module.html#gzip_static",
            cost="reload",
            effect="visible",
            risk="a prepared file that is older than its original is sent all the same",
        ),
        "off",
        applies=_with_gzip_static,
    ),
    _one(
        KnobInfo(
            name="ssl_buffer_size",
            summary="size of TLS records: small for the first byte, large for CPU",
            kind="integer",
            default=16 << 10,
            unit="bytes",
            minimum=1 << 10,
            maximum=16 << 10,
            source=f"{_SSL}ssl_buffer_size",
            scale="log",
            cost="reload",
        ),
        "16k",
        in_locations=False,
        applies=with_tls,
    ),
    _one(
        KnobInfo(
            name="client_body_buffer_size",
            summary="a request's body beyond this is written to a file",
            kind="integer",
            default=16 << 10,
            unit="bytes",
            minimum=1 << 10,
            maximum=64 << 20,
            source=f"{_HTTP}client_body_buffer_size",
            scale="log",
            cost="reload",
            effect="memory",
        ),
        "16k",
    ),
)
"""Of those for `http`, all may stand in servers, and most in locations."""
