"""What an nginx was built with: its version, its paths, its modules, as `nginx -V` tells."""

import functools
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from httpdyno.errors import AdapterError

_PROGRAMS = ("nginx", "openresty", "angie")
_FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/usr/local/nginx/sbin", "/usr/local/openresty/bin")
_ASK_S = 10.0
_PREFIX = "/usr/local/nginx"
# Source: nginx 1.22, auto/options and auto/init; relative to the prefix.
_PATHS = {
    "--conf-path": "conf/nginx.conf",
    "--pid-path": "logs/nginx.pid",
    "--error-log-path": "logs/error.log",
    "--http-log-path": "logs/access.log",
    "--modules-path": "modules",
    "--http-client-body-temp-path": "client_body_temp",
    "--http-proxy-temp-path": "proxy_temp",
    "--http-fastcgi-temp-path": "fastcgi_temp",
    "--http-uwsgi-temp-path": "uwsgi_temp",
    "--http-scgi-temp-path": "scgi_temp",
}
_NEWEST = (9999,)
"""Where no version is known, the present one's defaults are taken."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Build:
    """One build of nginx."""

    version: tuple[int, ...]
    options: Mapping[str, str]
    """What it was configured with: `--prefix` → `/usr/share/nginx`, `--with-threads` → empty."""
    line: str = ""
    """What it says of itself, such as `nginx version: nginx/1.22.1`."""

    @property
    def prefix(self) -> str:
        """The folder that relative paths start from, except those of `include`."""
        return self.options.get("--prefix") or _PREFIX

    def path(self, option: str) -> str:
        """Return a path that is compiled in, such as that of `--pid-path`."""
        return self.full(self.options.get(option) or _PATHS[option])

    def full(self, path: str) -> str:
        """Return the path that a relative one stands for."""
        return path if path.startswith("/") else f"{self.prefix.rstrip('/')}/{path}"

    def words(self) -> tuple[str, ...]:
        """Return the options as they are given to `configure`."""
        return tuple(f"{name}={value}" if value else name for name, value in self.options.items())


def build_of(line: str, words: Sequence[str], *, prefix: str = "") -> Build:
    """Return the build that tells this line and these options.

    Args:
        line: Its version line; empty where nobody asked it.
        words: What it was configured with, such as `--with-threads`; others are left out.
        prefix: What `-p` says instead.
    """
    options = {
        name: value
        for name, _, value in (word.partition("=") for word in words)
        if name.startswith("--") and name not in {"--with-cc-opt", "--with-ld-opt"}
    }
    if prefix:
        options["--prefix"] = prefix
    number = re.search(r"/(\d+(?:\.\d+)*)", line)
    version = tuple(int(part) for part in number[1].split(".")) if number else _NEWEST
    return Build(version=version, options=options, line=line)


def program_of(named: str) -> str:
    """Return the program file: the one that is named, else the one installed; empty if none."""
    if named:
        return named
    path = os.pathsep.join((os.environ.get("PATH", ""), *_FOLDERS))
    return next((hit for name in _PROGRAMS if (hit := shutil.which(name, path=path))), "")


@functools.lru_cache(maxsize=32)
def build_of_program(program: str, prefix: str = "") -> Build:
    """Return how a program was built; without one, that of the newest nginx.

    `nginx -V` opens no file and writes none.

    Raises:
        AdapterError: It cannot be run, or is no nginx.
    """
    if not program:
        return build_of("", (), prefix=prefix)
    try:
        done = subprocess.run(  # noqa: S603 - the person's own nginx, asked for its version
            [program, "-V"], capture_output=True, text=True, timeout=_ASK_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise AdapterError(f"`{program} -V` cannot be run: {error}") from error
    line = next(iter(done.stderr.splitlines()), "")
    arguments = re.search(r"^configure arguments: *(.*)$", done.stderr, re.MULTILINE)
    if done.returncode != 0 or arguments is None:
        raise AdapterError(f"`{program} -V` does not answer as nginx does")
    return build_of(line, shlex.split(arguments[1]), prefix=prefix)
