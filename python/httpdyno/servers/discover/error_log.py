"""Where a server that runs writes its errors: by the files that it has open, and by its settings.

Its stderr counts, and what it has open to write to and calls an error log; so do the logs that its
configuration names by their whole paths, since which files other users' processes have open only
root may see. What goes to a pipe, a journal or a log server is no file, and is not found.

Apache, nginx and php-fpm have their main error log as stderr too.

Source: httpd 2.4, server/log.c, `ap_open_logs`; nginx, src/core/ngx_log.c,
`ngx_log_redirect_stderr`; PHP, sapi/fpm/fpm/fpm_stdio.c.
"""

import os
import posixpath
import re
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from httpdyno.host.runnable import user_name
from httpdyno.model import Survey
from httpdyno.servers.discover.inspection import Inspected
from httpdyno.servers.link import is_device
from httpdyno.servers.network.listening import PROC

_MOST = 16
"""Files: a hundred virtual hosts may have one each."""
_STDERR = "2"
_CALLED = re.compile(r"error|(?:^|[\W_])err(?:[\W_]|$)", re.IGNORECASE)
_SETTINGS = frozenset({"errorlog", "error_log"})


def error_logs(
    seen: Iterable[Inspected], proc: Path = PROC, *, besides: Collection[int] = ()
) -> tuple[Path, ...]:
    """Return the files that servers write their errors to, each once, as they are opened from here.

    Args:
        seen: One server, or several that are taken as one.
        proc: Where processes are told of.
        besides: Processes that are the servers' too, though not below them.
    """
    by_file: dict[object, Path] = {}
    for server in seen:
        for path in _paths(server, proc, besides):
            by_file.setdefault(_file(path), path)
    return tuple(by_file.values())[:_MOST]


def _paths(server: Inspected, proc: Path, besides: Collection[int]) -> Iterator[Path]:
    found = server.found
    if found.root is None:
        return
    for pid in (found.root.pid, *besides):
        # What a container calls so may be another file here.
        root = f"{proc}/{pid}/root" if found.is_elsewhere else ""
        yield from _opened(proc / str(pid), root)
        if pid == found.root.pid:
            named = (Path(f"{root}{path}") for path in _configured(server.survey))
            yield from (path for path in named if _may_be_named(path, found.root.user))


def _opened(folder: Path, root: str) -> Iterator[Path]:
    """Yield the regular files that a process has open for its errors, stderr first."""
    try:
        names = sorted(os.listdir(folder / "fd"), key=lambda name: (name != _STDERR, name))  # noqa: PTH208 - names
    except OSError:  # another user's, or gone
        return
    for name in names:
        with suppress(OSError):
            path = os.readlink(folder / "fd" / name)  # noqa: PTH115 - as it stands there
            is_called = _CALLED.search(posixpath.basename(path)) is not None
            if not path.startswith("/") or not (name == _STDERR or is_called):
                continue
            seen, file = Path(f"{root}{path}"), (folder / "fd" / name).stat()
            is_written = _flags(folder / "fdinfo" / name) & (os.O_WRONLY | os.O_RDWR)
            # In mounts of its own another file may be called so, which it may not even read.
            if stat.S_ISREG(file.st_mode) and is_written and os.path.samestat(file, seen.stat()):
                yield seen


def _flags(file: Path) -> int:
    for line in file.read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("flags:"):
            return int(line.split()[1], 8)
    return 0


def _configured(survey: Survey | None) -> Iterator[str]:
    for each in survey.readings if survey else ():
        words = each.text.replace('"', " ").split()
        is_path = bool(words) and words[0].startswith("/") and not is_device(words[0])
        if each.name.lower() in _SETTINGS and is_path:
            yield words[0]


def _may_be_named(path: Path, user: str) -> bool:
    """Whether a server's configuration may have a file read as its log.

    Root may read for whoever writes a configuration what he may not: then the file must be his.
    """
    if user in {"", "root", user_name(os.geteuid())}:
        return True
    try:
        return user_name(path.stat().st_uid) == user
    except PermissionError:  # nor may this user read it
        return True
    except OSError:
        return False


def _file(path: Path) -> object:
    """Return what no other file has; of one that is not there, or not to be seen, its path."""
    try:
        now = path.stat()
    except OSError:
        return path
    return now.st_dev, now.st_ino
