"""What an nginx was built with: its version, its paths, its modules, as `nginx -V` tells."""

import functools
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_files import opened_regular
from httpdyno.host.runnable import PATH, own_program, said_by

_PROGRAMS = ("nginx", "openresty", "angie")
_FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/usr/local/nginx/sbin", "/usr/local/openresty/bin")
_LARGEST_BYTES = 64 << 20
"""Of a program that is linked with all that it needs."""
_LINE = re.compile(rb"\0((?:nginx|Angie|freenginx) version: [\x20-\x7e]{1,200})\n", re.IGNORECASE)
_ARGUMENTS = re.compile(rb"\0configure arguments:([\x20-\x7e]*)\n")
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
    """Return the program file: the one that is named, else the one installed; empty if none.

    Raises:
        NotOursError: Others than this user may write what is installed.
    """
    if named:
        return named
    path = os.pathsep.join((os.environ.get("PATH", ""), *_FOLDERS))
    found = next((hit for name in _PROGRAMS if (hit := shutil.which(name, path=path))), "")
    return own_program(found) if found else ""


@functools.lru_cache(maxsize=32)
def build_of_program(program: str, prefix: str = "", user: str = "") -> Build:
    """Return how a program was built; without one, that of the newest nginx.

    What `nginx -V` says stands in its file, and is read there. Only a script that starts an nginx
    has to be asked.

    Args:
        program: Its path.
        prefix: What `-p` says instead.
        user: Whose process it was found by: nobody more than that user runs it.

    Raises:
        AdapterError: It cannot be run, or is no nginx.
    """
    if not program:
        return build_of("", (), prefix=prefix)
    line, arguments = _written(program)
    if not line:
        said = said_by([program, "-V"], environment={"PATH": PATH}, at_most=user)
        line = next(iter(said.errors.splitlines()), "")
        found = re.search(r"^configure arguments: *(.*)$", said.errors, re.MULTILINE)
        if said.exit_code != 0 or found is None:
            raise AdapterError(f"`{program} -V` does not answer as nginx does")
        arguments = found[1]
    return _build(program, line, arguments, prefix)


def build_of_running(program: str, prefix: str = "") -> Build | None:
    """Return how the program of a process was built, as its file says; None where that does not.

    Nothing is run: what a process is called is the word of whoever started it.

    Raises:
        AdapterError: What it says makes no sense.
    """
    line, arguments = _written(program)
    return _build(program, line, arguments, prefix) if line else None


def _build(program: str, line: str, arguments: str, prefix: str) -> Build:
    try:
        words = shlex.split(arguments)
    except ValueError as error:  # a quote that nothing closes
        raise AdapterError(f"`{program}` does not say how it was built: {error}") from error
    return build_of(line, words, prefix=prefix)


def _written(program: str) -> tuple[str, str]:
    """Return what stands in the file: its version line and `configure arguments`; else empty."""
    try:
        with opened_regular(program) as file:
            text = file.read(_LARGEST_BYTES)
    except OSError:  # it may be run and not read; what else is wrong, the door says
        return "", ""
    line, arguments = _LINE.search(text), _ARGUMENTS.search(text)
    if line is None or arguments is None:
        return "", ""
    return line[1].decode(errors="replace").strip(), arguments[1].decode(errors="replace")
