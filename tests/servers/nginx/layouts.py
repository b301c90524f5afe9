"""Configurations as people lay them out, for tests: sixteen shapes, all text our own."""

from tests.servers.nginx.layout import Layout, certificate
from tests.servers.nginx.layouts_by_hand import (
    CRLF,
    NO_LISTEN,
    PROXY,
    RHEL,
    STREAM,
    TIGHT,
    WORDPRESS,
)
from tests.servers.nginx.layouts_of_systems import (
    DEBIAN,
    GLOBS,
    IP_HOSTS,
    LUA,
    ONE_FILE,
    SYMLINK_FARM,
)
from tests.servers.nginx.layouts_of_tools import CERTBOT, H5BP, SSL_SNIPPET

LAYOUTS = (
    *(DEBIAN, CERTBOT, H5BP, ONE_FILE, SYMLINK_FARM, GLOBS, LUA, SSL_SNIPPET),
    *(IP_HOSTS, NO_LISTEN, RHEL, PROXY, STREAM, WORDPRESS, CRLF, TIGHT),
)

__all__ = [
    "CERTBOT",
    "CRLF",
    "DEBIAN",
    "GLOBS",
    "H5BP",
    "IP_HOSTS",
    "LAYOUTS",
    "LUA",
    "NO_LISTEN",
    "ONE_FILE",
    "PROXY",
    "RHEL",
    "SSL_SNIPPET",
    "STREAM",
    "SYMLINK_FARM",
    "TIGHT",
    "WORDPRESS",
    "Layout",
    "certificate",
]
