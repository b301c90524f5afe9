"""The kernel's access rules for unprivileged processes, by system calls. Standard library only.

A process gives up rights for itself and all that comes from it, for good. What is not named by a
rule can still be read, but neither written nor, from version 4 of the rules on, reached by TCP.
Then it becomes a server: a keeper runs `main` in the process that it forked. An interpreter of its
own would take longer than all of it, and leave signals ignored that the server inherits.

Source:
    Linux, Documentation/userspace-api/landlock.rst, and include/uapi/linux/landlock.h.
"""

import ctypes
import errno
import os
import stat
import struct
from _collections_abc import Iterable

from httpdyno.servers.becoming import CANNOT_RUN, end_with_parent, execute

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""The same on all architectures."""
_VERSION = 1
_PATH_BENEATH, _NET_PORT = 1, 2
_NO_NEW_PRIVS = 38
_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14
_WRITES = {1: 0b1_1111_1111_0010, 2: 1 << 13, 3: _TRUNCATE}
"""From which version on → the rights to write that it knows: files, folders, links to elsewhere."""
_BIND, _CONNECT = 1, 2
_SCOPES = 0b11
"""Abstract unix sockets of others, and signals to them."""
_TCP_FROM, _SCOPES_FROM = 4, 6

_libc = ctypes.CDLL(None, use_errno=True)


def version() -> int:
    """Return which version of the rules this kernel has; 0 is none."""
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)))


def keeps_tcp() -> bool:
    """Whether rules can keep a process from TCP here."""
    return version() >= _TCP_FROM


def keeps_processes() -> bool:
    """Whether rules can keep a process from signals to others and from abstract sockets here."""
    return version() >= _SCOPES_FROM


def restrict(writable: Iterable[str], binds: Iterable[int], connects: Iterable[int]) -> None:
    """Give up writing elsewhere than below these paths, and TCP but at these ports.

    Before version 4 of the rules TCP stays as it is, and before 6 so do signals and abstract
    unix sockets.

    Raises:
        OSError: The kernel does not have the rules, or does not take them.
    """
    known = version()
    if not known:
        raise OSError(errno.EOPNOTSUPP, "this kernel has no Landlock", "give_up_rights")
    writes = sum(bits for since, bits in _WRITES.items() if known >= since)
    tcp = (_BIND | _CONNECT) if known >= _TCP_FROM else 0
    scopes = _SCOPES if known >= _SCOPES_FROM else 0
    sizes = {_TCP_FROM: 16, _SCOPES_FROM: 24}
    size = max((n for since, n in sizes.items() if known >= since), default=8)
    attributes = struct.pack("=QQQ", writes, tcp, scopes)[:size]
    rules = _checked(_libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(size), 0))
    for path in writable:
        _add_path(rules, path, writes)
    if tcp:
        rights = dict.fromkeys(connects, _CONNECT)
        for port in binds:
            rights[port] = rights.get(port, 0) | _BIND
        for port, right in rights.items():
            rule = struct.pack("=QQ", right, port)
            _checked(_libc.syscall(_ADD_RULE, rules, _NET_PORT, rule, 0))
    _checked(_libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0))
    _checked(_libc.syscall(_RESTRICT_SELF, rules, 0))
    os.close(rules)


def _add_path(rules: int, path: str, writes: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(os.fstat(handle).st_mode):
        writes &= _WRITE_FILE | _TRUNCATE
    rule = struct.pack("=Qi", writes, handle)
    _checked(_libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, rule, 0))
    os.close(handle)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "give_up_rights")
    return result


_NOT_RUN = 127
_STDERR = 2


def main(*arguments: str) -> int:
    """Become the server; return an exit code where that cannot be.

    Args:
        arguments: Rules such as `write=/path`, `bind=8080`, `connect=8080` and `owner=33 33`, then
            `--` and the command.
    """
    n_rules = arguments.index("--")
    rules = [rule.partition("=") for rule in arguments[:n_rules]]
    command = list(arguments[n_rules + 1 :])
    keeper = os.getppid()
    try:
        if rules:
            restrict(
                [text for kind, _, text in rules if kind == "write"],
                [int(text) for kind, _, text in rules if kind == "bind"],
                [int(text) for kind, _, text in rules if kind == "connect"],
            )
        for owner in (text.split() for kind, _, text in rules if kind == "owner"):
            user, group, *others = map(int, owner)
            os.setgroups(others)
            os.setgid(group)
            os.setuid(user)
        end_with_parent()
        if os.getppid() == keeper:
            execute(command, dict(os.environ))
    except OSError as error:
        os.write(_STDERR, os.fsencode(f"{CANNOT_RUN}{command[0]}: {error.strerror}\n"))
    return _NOT_RUN
