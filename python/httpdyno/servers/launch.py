"""First program in a server's process: ties it to httpdyno's life, then becomes the server.

Run as `python -I -S launch.py GO_FD PARENT_PID PROGRAM ARGUMENT…`. It is a program of its own
because what happens between fork and exec must not run in a copy of a threaded interpreter. It
waits for a byte before it goes on: httpdyno sends that once this process stands in the record on
disk, so that there never is a server which no record knows. End of file instead means that
httpdyno is gone.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_NOT_LAUNCHED = 127


def main(go: int, parent: int, command: list[str]) -> int:
    """Become the command; return an exit code when that cannot be."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    # The signal does not come when the parent died before it was asked for.
    if os.getppid() != parent or os.read(go, 1) == b"":
        return _NOT_LAUNCHED
    os.close(go)
    try:
        os.execvp(command[0], command)  # noqa: S606 - that is what this program is for
    except OSError as error:
        os.write(2, f"cannot run {command[0]}: {error.strerror}\n".encode())
    return _NOT_LAUNCHED


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
