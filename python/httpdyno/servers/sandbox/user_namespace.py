"""A user namespace for those who are not root: in it they may make the namespaces of cells.

Namespaces can only be entered by who has rights over both them and oneself, and the load comes from
threads of this process. So httpdyno itself goes into a user namespace first, by running its command
anew: a process with threads cannot. There it is user 0, with rights over nothing but what it makes.
"""

import os
import sys
from pathlib import Path

from httpdyno.errors import AdapterError
from httpdyno.host.rights import outside_ids
from httpdyno.servers.sandbox.evaluator import close_all

_MARK = "HTTPDYNO_USER_NAMESPACE"
"""Set in the command that runs anew, so that it does so once only."""
_SOURCE = str(Path(__file__).parents[3])
_PROGRAM = """
import os, sys
sys.path.insert(0, sys.argv.pop(1))
from httpdyno.servers.becoming import become_root_of_namespace, execute
try:
    become_root_of_namespace()
except OSError:  # then no cell can be made, and that is said where one is
    pass
execute(sys.argv[1:], dict(os.environ))
"""


def acting_user() -> int:
    """Return the user that its servers are started as.

    Who went into a user namespace for cells alone takes himself for root there, and starts them as
    whom he is outside.
    """
    return outside_ids()[0] if _MARK in os.environ else os.geteuid()


def run_anew_in_user_namespace() -> None:
    """Run this command anew in a user namespace, unless it is root or in one already.

    Nothing may have been begun that has to be ended in order: this process becomes another
    program, and returns only where there is nothing to do.

    Raises:
        AdapterError: It cannot be run anew.
    """
    if os.geteuid() == 0 or _MARK in os.environ:
        return
    command = [sys.executable, *sys.orig_argv[1:]]
    close_all()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    try:
        os.execve(  # noqa: S606 - this very command
            sys.executable,
            [sys.executable, "-I", "-S", "-c", _PROGRAM, _SOURCE, *command],
            {**os.environ, _MARK: "1"},
        )
    except OSError as error:
        raise AdapterError(f"httpdyno cannot be run anew: {error.strerror}") from error
