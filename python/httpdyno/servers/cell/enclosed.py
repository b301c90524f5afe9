"""What becomes a server behind a wall: it gives up rights, then runs the server.

A keeper runs it in the process that it forked, so with the standard library only. An interpreter
of its own would take longer than all of it, and leave signals ignored that the server inherits.
"""

import os

from httpdyno.servers.becoming import end_with_parent, execute
from httpdyno.servers.cell import landlock

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
            landlock.restrict(
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
        os.write(_STDERR, os.fsencode(f"cannot run {command[0]}: {error.strerror}\n"))
    return _NOT_RUN
