"""The files that nginx writes, and those beside its configuration that it reads."""

import os
import posixpath
from collections.abc import Iterator
from pathlib import Path

from httpdyno.servers.nginx.scope import Conf
from httpdyno.servers.nginx.tree import Directive, walk

TEMP_OPTIONS = {
    "client_body_temp_path": "--http-client-body-temp-path",
    "proxy_temp_path": "--http-proxy-temp-path",
    "fastcgi_temp_path": "--http-fastcgi-temp-path",
    "uwsgi_temp_path": "--http-uwsgi-temp-path",
    "scgi_temp_path": "--http-scgi-temp-path",
}
_FOLDERS = frozenset(
    {*TEMP_OPTIONS, "proxy_cache_path", "fastcgi_cache_path", "uwsgi_cache_path"}
    | {"scgi_cache_path"}
)
WRITTEN = frozenset({"pid", "lock_file", "error_log", "access_log", "proxy_store"} | _FOLDERS)
"""Directives whose first argument is what nginx writes; a folder of such, or a file."""
READ = frozenset(
    {"ssl_certificate", "ssl_certificate_key", "ssl_password_file", "ssl_dhparam"}
    | {"ssl_trusted_certificate", "ssl_client_certificate", "ssl_session_ticket_key"}
    | {"ssl_stapling_file", "ssl_crl", "auth_basic_user_file"}
    | {
        f"{side}_ssl_{name}"
        for side in ("proxy", "grpc", "uwsgi")
        for name in (
            *("certificate", "certificate_key", "password_file"),
            *("trusted_certificate", "crl"),
        )
    }
)
"""Directives whose first argument is a key, a certificate or a list of users."""
_NO_FILES = ("syslog:", "memory:", "/dev/", "data:", "engine:", "$")
_SWITCHES = frozenset({"", "stderr", "off", "on"})


def is_file(text: str) -> bool:
    """Whether an argument names a file, and not a log server, a switch or a variable."""
    return text not in _SWITCHES and not text.startswith(_NO_FILES)


def written_folders(conf: Conf) -> tuple[str, ...]:
    """Return the folders that it is configured to write in, each once.

    nginx makes those of temporary files and caches itself: where one is not there yet, it writes
    in the folder around it.
    """
    found: dict[str, None] = {}
    for directive in walk(conf.tree):
        if directive.name in WRITTEN and directive.args and is_file(directive.texts[0]):
            path = conf.build.full(directive.texts[0])
            found[_folder(directive, path)] = None
    for path in _compiled(conf):
        found[path] = None
    return tuple(dict.fromkeys(posixpath.normpath(path) for path in found))


def unreadable(conf: Conf) -> tuple[str, ...]:
    """Return the keys, certificates and password files that this user may not read."""
    found: dict[str, None] = {}
    folder = posixpath.dirname(conf.main_file)
    for directive in walk(conf.tree):
        if directive.name in READ and directive.args and is_file(directive.texts[0]):
            # As `include`, these start from the configuration's folder.
            path = posixpath.join(folder, directive.texts[0])
            if not _may_read(path):
                found[path] = None
    return tuple(found)


def _folder(directive: Directive, path: str) -> str:
    if directive.name in _FOLDERS:
        return _made(path)
    # What stands before the first variable is known.
    return posixpath.dirname(path.partition("$")[0])


def _compiled(conf: Conf) -> Iterator[str]:
    """Yield the folders of what is compiled in and that nothing sets."""
    build = conf.build
    for name, option in (("pid", "--pid-path"), ("error_log", "--error-log-path")):
        path = build.path(option)
        if not conf.main.own(name) and is_file(path.removeprefix(f"{build.prefix}/")):
            yield posixpath.dirname(path)
    if conf.http is None:
        return
    # A server of several may set its own; the others, and the test, open what is compiled in.
    if not conf.http.own("access_log"):
        yield posixpath.dirname(build.path("--http-log-path"))
    for name, option in TEMP_OPTIONS.items():
        if not conf.http.own(name):
            yield _made(build.path(option))


def _made(path: str) -> str:
    return path if os.path.lexists(path) else posixpath.dirname(path)


def _may_read(path: str) -> bool:
    """Whether it may be read; also where it is not there, which nginx says better."""
    try:
        Path(path).stat()
    except PermissionError:
        return False
    except OSError:
        return True
    return os.access(path, os.R_OK)
