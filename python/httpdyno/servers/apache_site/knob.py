"""What can be set in a person's own Apache: declared once. Source of all: httpd 2.4 documentation.

What a change costs a running server was tried on one, by `tests/real/test_apache_cost.py`.
"""

from dataclasses import dataclass

from msgspec.structs import replace

from httpdyno.model import KnobInfo
from httpdyno.servers.apache.knob import KNOBS as STUDY_KNOBS

SPARE = "spare_servers"
HTACCESS = "htaccess"
LINK_CHECKS = "link_checks"
BACKLOG = "ListenBacklog"
_DOCS = "httpd.apache.org/docs/2.4/mod/"


@dataclass(frozen=True, kw_only=True, slots=True)
class Declared:
    """A knob, and where there is one."""

    info: KnobInfo
    module: str = ""
    """Without it there is no such knob."""
    is_threaded: bool | None = None
    """Only under threaded modules, only under prefork, or under all."""
    threaded_default: int | None = None
    """What is compiled in for threaded modules, where that differs."""
    is_scoped: bool = False
    """Whether virtual hosts or folders may have values of their own."""


_DECLARED = (
    Declared(
        info=replace(
            STUDY_KNOBS["MaxRequestWorkers"],
            summary="most requests that are answered at once",
            scale="log",
            cost="reload",
            effect="memory",
            risk="each process or thread takes memory; over the ServerLimit in force a graceful "
            "restart cuts it off, and only a restart helps",
            evidence="said",
        ),
        threaded_default=400,
    ),
    Declared(
        info=KnobInfo(
            name="ThreadsPerChild",
            summary="threads of each process",
            kind="integer",
            default=25,
            minimum=1,
            maximum=20_000,
            source=f"{_DOCS}mpm_common.html#threadsperchild",
            scale="log",
            cost="reload",
            effect="memory",
            risk="a crash of one process takes more connections with it; over the ThreadLimit in "
            "force a graceful restart cuts it off, and only a restart helps",
            evidence="said",
        ),
        is_threaded=True,
    ),
    Declared(
        info=KnobInfo(
            name=SPARE,
            summary="how many processes or threads wait idle: StartServers, MinSpare…, MaxSpare…",
            kind="choice",
            default="found",
            choices=("found", "between", "narrow", "wide"),
            source=f"{_DOCS}mpm_common.html#startservers",
            cost="reload",
            effect="memory",
            risk="narrow bands fork when load comes, wide ones hold memory while none does",
            evidence="said",
            changes_at_rest=True,
        ),
    ),
    Declared(
        info=KnobInfo(
            name="AsyncRequestWorkerFactor",
            summary="connections that a process takes for each of its idle threads",
            kind="number",
            default=2,
            minimum=1,
            maximum=100,
            source=f"{_DOCS}event.html#asyncrequestworkerfactor",
            scale="log",
            cost="reload",
            effect="memory",
            evidence="said",
        ),
        module="mpm_event_module",
    ),
    Declared(
        info=replace(
            STUDY_KNOBS["MaxConnectionsPerChild"],
            scale="log",
            cost="reload",
            risk="with 0 a leak of memory goes on",
            evidence="said",
        ),
    ),
    Declared(
        info=replace(
            STUDY_KNOBS[BACKLOG],
            scale="log",
            cost="restart",
            risk="a graceful restart does not take it up",
            evidence="seen",
        ),
    ),
    Declared(
        info=replace(STUDY_KNOBS["KeepAlive"], cost="reload", effect="visible", evidence="said"),
        is_scoped=True,
    ),
    Declared(
        info=replace(
            STUDY_KNOBS["KeepAliveTimeout"],
            scale="log",
            cost="reload",
            effect="visible",
            risk="a balancer in front must close its idle connections earlier",
            evidence="said",
        ),
        is_scoped=True,
    ),
    Declared(
        info=replace(
            STUDY_KNOBS["MaxKeepAliveRequests"],
            scale="log",
            cost="reload",
            effect="visible",
            evidence="said",
        ),
        is_scoped=True,
    ),
    Declared(
        info=replace(
            STUDY_KNOBS["EnableSendfile"],
            cost="reload",
            risk="wrong on some network file systems",
            evidence="said",
        ),
        is_scoped=True,
    ),
    Declared(
        info=replace(
            STUDY_KNOBS["EnableMMAP"],
            cost="reload",
            risk="a file that shrinks while it is sent ends its process",
            evidence="said",
        ),
        is_scoped=True,
    ),
    Declared(
        info=KnobInfo(
            name=HTACCESS,
            summary="read `.htaccess` files at each request, or have them in the configuration",
            kind="choice",
            default="found",
            choices=("found", "inlined"),
            source="httpd.apache.org/docs/2.4/howto/htaccess.html#when",
            cost="reload",
            effect="visible",
            risk="changes of the files no longer count, and an application that writes them is "
            "not heard",
            evidence="said",
        ),
    ),
    Declared(
        info=KnobInfo(
            name=LINK_CHECKS,
            summary="look for each part of a path whether it is a link, or follow links "
            "(`Options FollowSymLinks`)",
            kind="choice",
            default="found",
            choices=("found", "followed"),
            source="httpd.apache.org/docs/2.4/misc/perf-tuning.html#symlinks",
            cost="reload",
            effect="visible",
            risk="whoever may make a link in a folder that is served can show any file that Apache "
            "may read",
            evidence="said",
        ),
    ),
    Declared(
        # With mod_status, without which there is no such knob, it is on where nothing is said.
        info=replace(STUDY_KNOBS["ExtendedStatus"], default=True, cost="reload", evidence="said"),
        module="status_module",
    ),
    Declared(
        info=replace(STUDY_KNOBS["HostnameLookups"], cost="reload", evidence="said"),
        is_scoped=True,
    ),
    Declared(info=replace(STUDY_KNOBS["LogLevel"], cost="reload", evidence="said")),
    Declared(
        info=KnobInfo(
            name="BufferedLogs",
            summary="keep log lines in memory until there are enough for one write",
            kind="boolean",
            default=False,
            source=f"{_DOCS}mod_log_config.html#bufferedlogs",
            cost="reload",
            effect="loss",
            risk="lines come late, and a crash loses the last ones",
            evidence="said",
        ),
        module="log_config_module",
    ),
    Declared(
        info=KnobInfo(
            name="DeflateCompressionLevel",
            summary="how hard answers are compressed",
            kind="integer",
            default=6,
            minimum=1,
            maximum=9,
            source=f"{_DOCS}mod_deflate.html#deflatecompressionlevel",
            scale="linear",
            cost="reload",
            effect="visible",
            evidence="said",
        ),
        module="deflate_module",
        is_scoped=True,
    ),
    Declared(
        info=KnobInfo(
            name="SSLSessionCache",
            summary="memory for TLS sessions that may be resumed, for all processes",
            kind="choice",
            unit="bytes",
            choices=("none", "512000", "5242880"),
            source=f"{_DOCS}mod_ssl.html#sslsessioncache",
            cost="reload",
            effect="visible",
            evidence="said",
        ),
        module="ssl_module",
    ),
    Declared(
        info=KnobInfo(
            name="SSLSessionCacheTimeout",
            summary="how long a TLS session may be resumed",
            kind="integer",
            default=300,
            unit="s",
            minimum=1,
            maximum=86_400,
            source=f"{_DOCS}mod_ssl.html#sslsessioncachetimeout",
            scale="log",
            cost="reload",
            effect="visible",
            evidence="said",
        ),
        module="ssl_module",
        is_scoped=True,
    ),
)

KNOBS = {declared.info.name: declared for declared in _DECLARED}

COMPANIONS = {
    "ServerLimit": "MaxRequestWorkers",
    "ThreadLimit": "ThreadsPerChild",
    "MinSpareServers": "StartServers",
    "MinSpareThreads": "StartServers",
    "MaxSpareServers": "MinSpareServers",
    "MaxSpareThreads": "MinSpareThreads",
    "StartServers": "MaxRequestWorkers",
    "ThreadsPerChild": "MaxRequestWorkers",
    "MaxRequestWorkers": "StartServers",
    "KeepAliveTimeout": "KeepAlive",
    "MaxKeepAliveRequests": "KeepAlive",
}
"""A directive that nothing sets → the one that it is written after."""

_FORMER = {"maxclients": "MaxRequestWorkers", "maxrequestsperchild": "MaxConnectionsPerChild"}


def present_name(directive: str) -> str:
    """Return what a directive is called since 2.4; the former names still count."""
    return _FORMER.get(directive.lower(), directive)


_ALSO_ONE_VALUE = (
    *("User", "Group", "ServerName", "DocumentRoot", "PidFile", "ErrorLog", "Timeout"),
    *("AllowOverride", "AccessFileName", "SSLSessionCache", "SSLEngine"),
)
ONE_VALUE = frozenset(
    name.lower() for name in (*KNOBS, *COMPANIONS, *COMPANIONS.values(), *_ALSO_ONE_VALUE)
)
"""Directives of which the last one in a scope counts, and no other."""

_TUNABLE = frozenset(name.lower() for name in (*KNOBS, *COMPANIONS))


def is_tunable(directive: str) -> bool:
    """Whether a directive is a knob, or is written along with one; in any case."""
    return directive.lower() in _TUNABLE
