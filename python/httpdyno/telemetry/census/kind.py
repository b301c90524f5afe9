"""What kind of call a call is: by what it asks of the kernel, not by its name of the year. Pure.

`stat`, `lstat` and `fstat` are one call today, `newfstatat`, and differ in its flags: a path, a
path whose last part is not followed where it is a link, a descriptor. `fcntl` does many things, and
is a lock where it asks for one.
"""

from typing import Literal

from httpdyno.telemetry.census.call import Call

Kind = Literal[
    "stat",
    "lstat",
    "fstat",
    "open",
    "access",
    "readlink",
    "getcwd",
    "read",
    "write",
    "close",
    "poll",
    "accept",
    "socket",
    "lock",
    "sync",
    "futex",
    "fork",
    "time",
    "other",
]
NAMES: dict[Kind, tuple[str, ...]] = {
    "stat": ("stat", "newfstatat", "statx", "fstatat64"),
    "lstat": ("lstat",),
    "fstat": ("fstat",),
    "open": ("open", "openat", "openat2", "creat"),
    "access": ("access", "faccessat", "faccessat2"),
    "readlink": ("readlink", "readlinkat"),
    "getcwd": ("getcwd",),
    "read": ("read", "readv", "pread64", "preadv", "preadv2", "recvfrom", "recvmsg", "recvmmsg"),
    "write": (
        *("write", "writev", "pwrite64", "pwritev", "pwritev2", "sendto", "sendmsg", "sendmmsg"),
        *("sendfile", "splice", "tee", "copy_file_range"),
    ),
    "close": ("close", "close_range"),
    "poll": (
        *("poll", "ppoll", "select", "pselect6"),
        *("epoll_wait", "epoll_pwait", "epoll_pwait2"),
    ),
    "accept": ("accept", "accept4"),
    "socket": ("socket", "socketpair", "connect"),
    "lock": ("flock",),
    "sync": ("fsync", "fdatasync", "sync_file_range", "msync", "sync", "syncfs"),
    "futex": ("futex", "futex_waitv"),
    "fork": ("fork", "vfork", "clone", "clone3", "execve", "execveat"),
    "time": ("times", "getrusage", "gettimeofday", "clock_gettime", "time"),
}
"""In the order in which they are shown; whatever else there is, is `other`."""
KINDS: tuple[Kind, ...] = (*NAMES, "other")
COUNTED: tuple[str, ...] = (*KINDS, ".htaccess", "missing")
"""All that calls of an answer are told by: kinds, and two kinds of looks for files among them."""
BY_PATH: frozenset[Kind] = frozenset({"stat", "lstat", "open", "access", "readlink"})
"""Those that look for a file."""
TRANSFERS: frozenset[Kind] = frozenset({"read", "write"})
_LOCKING = ("F_SETLK", "F_OFD_SETLK")
"""Commands of fcntl, and how those that wait begin."""
_KIND_OF: dict[str, Kind] = {name: kind for kind, names in NAMES.items() for name in names}


def kind_of(call: Call) -> Kind:
    """Return a call's kind."""
    kind = _KIND_OF.get(call.name, "other")
    if call.name == "fcntl" and any(word in call.arguments for word in _LOCKING):
        return "lock"
    if kind != "stat":
        return kind
    if "AT_EMPTY_PATH" in call.arguments and not call.path:
        return "fstat"
    return "lstat" if "AT_SYMLINK_NOFOLLOW" in call.arguments else "stat"
