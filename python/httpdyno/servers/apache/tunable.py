"""What can be set in a person's own Apache: declared once. Source of all: httpd 2.4 documentation.

What a change costs a running server was tried on one, by `tests/real/test_apache_cost.py`.
"""

from msgspec.structs import replace

from httpdyno.servers.apache.knob import ROWS

SPARE = "spare_servers"
HTACCESS = "htaccess"
LINK_CHECKS = "link_checks"
BACKLOG = "ListenBacklog"

KNOBS = {name: row for name, row in ROWS.items() if row.of != "study"} | {
    # With mod_status, without which there is no such knob, it is on where nothing is said.
    "ExtendedStatus": replace(ROWS["ExtendedStatus"], default=True),
}

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
